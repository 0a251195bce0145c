// The race check's clocks: what barriers, fences, atomics and waits make known to whom.
#include <bit>

#include "check/footprint.h"
#include "check/race.h"

namespace vgpu {
namespace {

constexpr Time kRestart = Time{1} << 30;        // old stamps are dropped at the next launch beyond this
constexpr size_t kPagesKept = size_t{1} << 17;  // and shadow of more than 512 MiB of memory too
constexpr int kClusterBarrier = 16;             // barriers of a block are 0 to 15
constexpr uint64_t kSharedKey = uint64_t{1} << 63;

uint64_t key(ptx::Space space, uint32_t owner_block, uint64_t address) {
  return space == ptx::Space::shared ? kSharedKey | uint64_t{owner_block} << 24 | address : address;
}

bool beyond_block(Scope scope) { return scope == Scope::cluster || scope == Scope::gpu || scope == Scope::sys; }

}  // namespace

// --- launches, blocks, segments ----------------------------------------------------------------------------

void RaceCheck::begin(const Launch&) {
  if (now_ > kRestart || global_.pages() > kPagesKept) {
    global_.clear();
    spare_.clear();
    now_ = 0;
  }
  begun_ = now_;
  functions_.clear();
  sites_ = 0;
  reported_.clear();
}

void RaceCheck::end(const Launch&) {
  segments_.clear();
  locations_.clear();
  for (auto& [index, block] : blocks_) spare_.push_back(std::move(block));  // of a launch that ended early
  blocks_.clear();
  recent_ = nullptr;
}

void RaceCheck::block_begin(const Launch& launch, uint32_t index, uint64_t shared_bytes) {
  std::unique_ptr<Block> block = std::make_unique<Block>();
  if (!spare_.empty()) {
    block = std::move(spare_.back());
    spare_.pop_back();
  }
  const uint32_t threads = launch.block.count();
  block->index = index;
  block->born = now_;
  block->live = threads;
  block->barriers.clear();
  block->shadow.reach(shared_bytes);
  block->warps.clear();
  block->warps.resize((threads + 31) / 32);
  for (uint32_t w = 0; w < block->warps.size(); ++w) {
    Warp& warp = block->warps[w];
    warp.block = index;
    warp.index = w;
    const uint32_t count = std::min(threads - w * 32, 32u);
    warp.live = count == 32 ? ~0u : (1u << count) - 1;
  }
  blocks_[index] = std::move(block);
  recent_ = nullptr;
}

void RaceCheck::block_end(const Launch&, uint32_t index) {
  auto found = blocks_.find(index);
  if (found == blocks_.end()) return;
  spare_.push_back(std::move(found->second));
  blocks_.erase(found);
  recent_ = nullptr;
}

RaceCheck::Block& RaceCheck::block(uint32_t index) {
  if (!recent_ || recent_->index != index) recent_ = blocks_.at(index).get();
  return *recent_;
}

Time RaceCheck::tick(Segment segment) {
  segments_.push_back(segment);
  return ++now_;
}

Time RaceCheck::segment(Warp& warp) {
  if (!warp.segment) warp.segment = tick({warp.block, uint16_t(warp.index), false, 0});
  return warp.segment;
}

void RaceCheck::exit(const Place& place, uint32_t lanes) {
  Block& block = this->block(place.block);
  Warp& warp = block.warps[place.warp];
  block.live -= std::popcount(lanes & warp.live);
  warp.live &= ~lanes;
}

// --- what a thread knows -----------------------------------------------------------------------------------

void RaceCheck::settle(Warp& warp) {
  Time settled = ~Time{0};
  const ClockRef* last = nullptr;
  for_each_lane(warp.live, [&](uint32_t lane) {
    if (last && *last == warp.clock[lane]) return;
    last = &warp.clock[lane];
    settled = std::min(settled, *last ? (*last)->whole_block(warp.block) : 0);
  });
  warp.settled = last ? settled : 0;
}

void RaceCheck::tell(Clock& into, const Warp& warp, uint32_t lane, const View& view) const {
  if (view.clock) into.learn(*view.clock);
  if (view.warp > begun_) into.learn({warp.block, warp.index + 1, ~0u, view.warp});
  if (view.self > begun_) into.learn({warp.block, warp.index + 1, 1u << lane, view.self});
}

// Adds what the lanes know now, but not themselves. `last` is a clock that is in already.
void RaceCheck::gather(ClockRef& into, ClockRef& last, const Warp& warp, uint32_t lanes) const {
  Time warp_time = 0;
  for_each_lane(lanes, [&](uint32_t lane) {
    warp_time = std::max(warp_time, warp.warp[lane]);
    const ClockRef& clock = warp.clock[lane];
    if (!clock || clock == last) return;
    last = clock;
    if (into) {
      into.own().learn(*clock);
    } else {
      into = clock;
    }
  });
  if (warp_time) into.own().learn({warp.block, warp.index + 1, ~0u, warp_time});
}

void RaceCheck::gather_fences(Clock& all, Clock& block, const Warp& warp, uint32_t lanes) const {
  if (!warp.fences) return;
  for_each_lane(lanes, [&](uint32_t lane) {
    const Fences& fences = (*warp.fences)[lane];
    if (fences.all.there) tell(all, warp, lane, fences.all);
    if (fences.block.there) tell(block, warp, lane, fences.block);
  });
}

// After a barrier each of its threads may publish what any of them had fenced before it.
void RaceCheck::give_fences(Warp& warp, uint32_t lanes, const Clock& all, const Clock& block) {
  if (all.empty() && block.empty()) return;
  if (!warp.fences) warp.fences = std::make_unique<std::array<Fences, 32>>();
  const ClockRef all_ref(all), block_ref(block);
  for_each_lane(lanes, [&](uint32_t lane) {
    Fences& fences = (*warp.fences)[lane];
    for (auto [view, given] : {std::pair(&fences.all, &all_ref), std::pair(&fences.block, &block_ref)}) {
      if ((*given)->empty()) continue;
      *view = {*given, 0, 0, true};  // its own fence is in `given`: it took part
    }
  });
}

// What relaxed reads found becomes known: at a fence of that scope, or at a barrier.
void RaceCheck::take_found(Warp& warp, uint32_t lanes, Scope scope) {
  if (!warp.fences) return;
  for_each_lane(lanes, [&](uint32_t lane) {
    Fences& fences = (*warp.fences)[lane];
    if (fences.found_block) {
      warp.clock[lane].own().learn(*fences.found_block);
      fences.found_block = {};
    }
    if (fences.found_all && beyond_block(scope)) {
      warp.clock[lane].own().learn(*fences.found_all);
      fences.found_all = {};
    }
  });
}

// --- barriers ----------------------------------------------------------------------------------------------

void RaceCheck::arrive(const Place& place, uint32_t lanes, int id, bool waits) {
  Block& block = this->block(place.block);
  Warp& warp = block.warps[place.warp];
  if (id >= kClusterBarrier) return;  // cluster_open says all
  Barrier& barrier = block.barriers[id];
  take_found(warp, lanes, Scope::gpu);
  gather(barrier.gathered, barrier.last, warp, lanes);
  gather_fences(barrier.fenced_all, barrier.fenced_block, warp, lanes);
  barrier.parts.push_back({warp.index, lanes, now_, waits});
  warp.segment = 0;
}

void RaceCheck::open(const Launch&, uint32_t index, int id) {
  Block& block = this->block(index);
  Barrier& barrier = block.barriers[id];
  uint32_t waiting = 0;
  for (const auto& part : barrier.parts) waiting += part.waits ? std::popcount(part.lanes) : 0;
  Clock& clock = barrier.gathered.own();
  if (waiting == block.live) {
    clock.learn({index, Known::kWholeBlock, 0, now_});
  } else {
    for (const auto& part : barrier.parts) clock.learn({index, part.warp + 1, part.lanes, part.time});
  }
  for (const auto& part : barrier.parts) {
    if (!part.waits) continue;
    Warp& warp = block.warps[part.warp];
    for_each_lane(part.lanes, [&](uint32_t lane) { warp.clock[lane] = barrier.gathered; });
    give_fences(warp, part.lanes, barrier.fenced_all, barrier.fenced_block);
    settle(warp);
  }
  barrier = {};
}

void RaceCheck::cluster_open(const Launch&, uint32_t first_block, uint32_t blocks) {
  ClockRef gathered, last;
  Clock fenced_all, fenced_block;
  auto each_warp = [&](auto what) {
    for (uint32_t b = first_block; b < first_block + blocks; ++b) {
      if (!blocks_.count(b)) continue;
      for (Warp& warp : block(b).warps) what(warp);
    }
  };
  each_warp([&](Warp& warp) {
    take_found(warp, warp.live, Scope::gpu);
    gather(gathered, last, warp, warp.live);
    gather_fences(fenced_all, fenced_block, warp, warp.live);
  });
  for (uint32_t b = first_block; b < first_block + blocks; ++b) {
    gathered.own().learn({b, Known::kWholeBlock, 0, now_});
  }
  each_warp([&](Warp& warp) {
    for_each_lane(warp.live, [&](uint32_t lane) { warp.clock[lane] = gathered; });
    give_fences(warp, warp.live, fenced_all, {});
    settle(warp);
    warp.segment = 0;
  });
}

void RaceCheck::warp_sync(const Place& place, uint32_t lanes, uint32_t, uint32_t) {
  // Of the *.sync instructions only bar.warp.sync orders memory.
  if (place.instruction->opcode() != "bar" && place.instruction->opcode() != "barrier") return;
  Warp& warp = warp_of(place);
  take_found(warp, lanes, Scope::gpu);
  if (warp.fences) {
    Clock all, block;
    gather_fences(all, block, warp, lanes);
    give_fences(warp, lanes, all, block);
  }
  const Time time = now_;
  warp.segment = 0;
  const ClockRef& clock = warp.clock[std::countr_zero(lanes)];
  bool alike = true;
  for_each_lane(lanes, [&](uint32_t lane) { alike &= warp.clock[lane] == clock; });
  if (alike && (lanes & warp.live) == warp.live) {
    for_each_lane(lanes, [&](uint32_t lane) { warp.warp[lane] = time; });
    return;
  }
  ClockRef gathered, last;
  gather(gathered, last, warp, lanes);
  gathered.own().learn({warp.block, warp.index + 1, lanes, time});
  for_each_lane(lanes, [&](uint32_t lane) { warp.clock[lane] = gathered; });
  settle(warp);
}

// --- fences and what is published through memory -----------------------------------------------------------

void RaceCheck::fence(const Place& place, uint32_t lanes, Scope scope) {
  Warp& warp = warp_of(place);
  if (!warp.fences) warp.fences = std::make_unique<std::array<Fences, 32>>();
  take_found(warp, lanes, scope);
  for_each_lane(lanes, [&](uint32_t lane) {
    Fences& fences = (*warp.fences)[lane];
    fences.block = {warp.clock[lane], warp.warp[lane], now_, true};
    if (beyond_block(scope)) fences.all = fences.block;
  });
  warp.segment = 0;
  settle(warp);
}

void RaceCheck::synchronise(const Access& access, Warp& warp) {
  const bool acquires = access.order == Order::acquire || access.order == Order::acq_rel;
  const bool releases = access.order == Order::release || access.order == Order::acq_rel;
  if (locations_.empty() && !releases && !warp.fences) return;
  const Scope scope = access.scope == Scope::none ? Scope::gpu : access.scope;
  bool published = false;
  for_each_lane(access.lanes, [&](uint32_t lane) {
    const uint64_t where = key(access.space, access.owner_block, access.address[lane]);
    auto found = locations_.find(where);
    if (access.kind != AccessKind::store && found != locations_.end()) {
      acquire(warp, lane, found->second, acquires, scope);
    }
    if (access.kind == AccessKind::load) return;
    Location location;
    if (access.kind == AccessKind::atomic && found != locations_.end()) location = std::move(found->second);
    published |= publish(warp, lane, location, releases, scope);
    if (location.all || location.block) {
      locations_[where] = std::move(location);
    } else if (found != locations_.end()) {
      locations_.erase(found);  // a plain value covers what was published here
    }
  });
  if (published && releases) warp.segment = 0;
  if (acquires) settle(warp);
}

void RaceCheck::acquire(Warp& warp, uint32_t lane, const Location& location, bool at_once, Scope scope) {
  const bool mates = location.block && location.owner == warp.block;
  if (at_once) {
    if (location.all && (beyond_block(scope) || mates)) warp.clock[lane].own().learn(*location.all);
    if (mates) warp.clock[lane].own().learn(*location.block);
    return;
  }
  if (!warp.fences) warp.fences = std::make_unique<std::array<Fences, 32>>();
  Fences& fences = (*warp.fences)[lane];
  for (auto [found, clock, may] : {std::tuple(&fences.found_all, &location.all, beyond_block(scope)),
                                   std::tuple(&fences.found_block, &location.block, mates)}) {
    if (!*clock || !may) continue;
    if (*found) {
      found->own().learn(**clock);
    } else {
      *found = *clock;
    }
  }
}

// Adds to the location what the lane has fenced, and (`current`: the operation itself releases) all it knows.
bool RaceCheck::publish(Warp& warp, uint32_t lane, Location& location, bool current, Scope scope) const {
  bool published = false;
  if (location.owner != warp.block) location.block = {};
  location.owner = warp.block;
  auto add = [&](ClockRef& into, const View& view) {
    if (!view.there) return;
    tell(into.own(), warp, lane, view);
    published = true;
  };
  const View all_of_it{warp.clock[lane], warp.warp[lane], now_, true};
  const bool wide = beyond_block(scope);
  if (warp.fences) {
    const Fences& fences = (*warp.fences)[lane];
    if (wide) add(location.all, fences.all);
    add(location.block, fences.block);
  }
  if (current) {
    if (wide) add(location.all, all_of_it);
    add(location.block, all_of_it);
  }
  return published;
}

// --- asynchronous copies and mbarriers ---------------------------------------------------------------------

void RaceCheck::async_commit(const Place& place, uint32_t) {
  Warp& warp = warp_of(place);
  warp.groups.push_back(warp.copies);
  warp.copies = 0;
}

void RaceCheck::async_wait(const Place& place, uint32_t, uint32_t in_flight, bool all) {
  Warp& warp = warp_of(place);
  const Time landed = tick({});
  auto land = [&](Time group) {
    if (group) segments_[group - begun_ - 1].landed = landed;
  };
  const size_t done = warp.groups.size() - std::min<size_t>(in_flight, warp.groups.size());
  for (size_t g = 0; g < done; ++g) land(warp.groups[g]);
  warp.groups.erase(warp.groups.begin(), warp.groups.begin() + done);
  if (all) {
    land(warp.copies);
    warp.copies = 0;
  }
  warp.segment = 0;
}

void RaceCheck::mbarrier(const Place& place, uint32_t lanes, uint32_t owner_block, const uint64_t* address,
                         bool acquires) {
  Warp& warp = warp_of(place);
  for_each_lane(lanes, [&](uint32_t lane) {
    Location& location = locations_[key(ptx::Space::shared, owner_block, address[lane])];
    if (acquires) {
      acquire(warp, lane, location, true, Scope::gpu);
    } else {
      publish(warp, lane, location, true, Scope::gpu);
    }
  });
  warp.segment = 0;
  settle(warp);
}

}  // namespace vgpu
