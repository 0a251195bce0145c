// The race check's accesses: every one is compared with what shadow memory holds, then takes its place there.
#include "check/race.h"

#include <bit>

#include "check/findings.h"
#include "check/footprint.h"

namespace vgpu {

uint32_t RaceCheck::site(const Place& place) {
  if (functions_.empty() || functions_.back().first != place.function) {
    auto known = std::find_if(functions_.begin(), functions_.end(), [&](auto& f) { return f.first == place.function; });
    if (known == functions_.end()) {
      functions_.emplace_back(place.function, sites_);
      sites_ += place.function->code.size();
    } else {
      std::swap(*known, functions_.back());
    }
  }
  return functions_.back().second + uint32_t(place.instruction - place.function->code.data());
}

Place RaceCheck::place_of(const Entry& entry, const Launch& launch) const {
  const Segment& segment = segments_[(entry.time & ~Entry::kCopy) - begun_ - 1];
  Place place{&launch, nullptr, nullptr, segment.block, segment.warp};
  for (auto& [function, first] : functions_) {
    if (entry.site - first < function->code.size()) {
      place.function = function;
      place.instruction = &function->code[entry.site - first];
    }
  }
  return place;
}

// Whether the entry's access happened before this one.
bool RaceCheck::ordered(const Now& now, Entry entry) const {
  Time time = entry.time & ~Entry::kCopy;
  const Segment& segment = segments_[time - begun_ - 1];
  const Warp& warp = now.warp;
  const uint32_t lane = now.mine.first;
  if (segment.copies) {  // done when its thread has waited, and then as if that thread had written at that moment
    if (!segment.landed) return false;
    time = segment.landed;
  }
  const bool own_warp = segment.block == warp.block && segment.warp == warp.index;
  if (own_warp && time <= warp.warp[lane]) return true;
  const Clock* clock = warp.clock[lane] ? &*warp.clock[lane] : nullptr;
  for (uint32_t other : {uint32_t{entry.first}, uint32_t{entry.last}}) {
    if (own_warp && other == lane) continue;
    if (!clock || !clock->knows(segment.block, segment.warp, other, time)) return false;
  }
  return true;
}

// Two strong accesses do not race, unless the program counts on its lanes running in step: volatile shared memory
// within one warp.
bool RaceCheck::conflicts(const Now& now, Entry entry) const {
  if ((entry.time & ~Entry::kCopy) <= now.oldest || ordered(now, entry)) return false;
  if (!entry.strong || !now.mine.strong) return true;
  if (now.access.space != ptx::Space::shared || !(entry.is_volatile || now.mine.is_volatile)) return false;
  const Segment& segment = segments_[(entry.time & ~Entry::kCopy) - begun_ - 1];
  return segment.block == now.warp.block && segment.warp == now.warp.index;
}

void RaceCheck::load(Now& now, ShadowPage& page, uint64_t piece, uint64_t address) {
  if (page.has_writes()) {
    const Entry write = page.writes()[piece];
    if (write.time > now.settled && conflicts(now, write)) report(now, write, true, address);
  }
  Entry& newest = page.reads()[piece];
  if (newest.time == now.mine.time) {  // the same warp: more lanes
    const uint32_t first = std::min<uint32_t>(newest.first, now.mine.first),
                   last = std::max<uint32_t>(newest.last, now.mine.last);
    newest.strong &= now.mine.strong;
    newest.first = first;
    newest.last = last;
    return;
  }
  if (newest.time > now.settled) {  // else, or if ordered, every later writer knows of it through this lane
    const Segment& segment = segments_[newest.time - begun_ - 1];
    const bool own_block = segment.block == now.warp.block, own_warp = own_block && segment.warp == now.warp.index;
    if (!own_warp && !ordered(now, newest)) (own_block ? page.other_warps() : page.other_blocks())[piece] = newest;
  }
  newest = now.mine;
}

void RaceCheck::store(Now& now, ShadowPage& page, uint64_t piece, uint64_t address) {
  Entry& write = page.writes()[piece];
  if (write.time > now.settled && conflicts(now, write)) report(now, write, true, address);
  if (page.has_reads()) {
    for (const Entry read : {page.reads()[piece], page.other_warp(piece), page.other_block(piece)}) {
      if (read.time > now.settled && conflicts(now, read)) report(now, read, false, address);
    }
  }
  write = now.mine;
}

namespace {

Entry with_lane(Entry entry, uint32_t lane) {
  entry.first = entry.last = lane;
  return entry;
}

}  // namespace

// Lanes [lane, end), in a row from `piece` on, all at once: where nobody that counts has been there lately, or a load
// meets other readers alone. False: every lane has to look for itself.
bool RaceCheck::run(Now& now, ShadowPage& page, uint64_t piece, uint32_t lane, uint32_t end) {
  const uint64_t each = now.access.bytes >> page.grain(), count = (end - lane) * each;
  if (!page.untouched_since(now.settled, piece, count) && (now.writes || !read_by_others(now, page, piece, count)))
    return false;
  Entry* entry = (now.writes ? page.writes() : page.reads()) + piece;
  for (; lane < end; ++lane) entry = std::fill_n(entry, each, with_lane(now.mine, lane));
  return true;
}

// What load() does about the newest readers, where they are one other segment's and all lanes know the same of it.
bool RaceCheck::read_by_others(const Now& now, ShadowPage& page, uint64_t piece, uint64_t count) {
  if (!page.unwritten_since(now.settled, piece, count)) return false;
  const Entry* reads = page.reads() + piece;
  const Time time = reads->time;
  if (time <= now.settled || time == now.mine.time) return false;
  if (std::any_of(reads, reads + count, [=](const Entry& e) { return e.time != time; })) return false;
  const Segment& segment = segments_[time - begun_ - 1];
  const bool own_block = segment.block == now.warp.block;
  if (own_block && segment.warp == now.warp.index) return true;
  const ClockRef& clock = now.warp.clock[0];
  if (std::any_of(now.warp.clock, now.warp.clock + 32, [&](const ClockRef& c) { return !(c == clock); })) return false;
  if (clock && clock->whole_block(segment.block) >= time) return true;
  if (clock && !clock->ignores(segment.block, time)) return false;
  std::copy_n(reads, count, (own_block ? page.other_warps() : page.other_blocks()) + piece);
  return true;
}

template <class Page>
void RaceCheck::lanes(const Access& access, Now& now, Page page_at) {
  const auto touch = [&](ShadowPage& page, uint64_t piece, uint64_t address) {
    if (now.writes) {
      store(now, page, piece, address);
    } else if (Entry& newest = page.reads()[piece];
               newest.time <= now.settled && (!page.has_writes() || page.writes()[piece].time <= now.settled)) {
      newest = now.mine;
    } else {
      load(now, page, piece, address);
    }
  };
  // All lanes read one place that nobody has written lately: one entry says it.
  if (const uint32_t lane = std::countr_zero(access.lanes); !now.writes && one_place(access)) {
    const uint64_t address = access.address[lane];
    ShadowPage& page = page_at(address);
    page.split(std::countr_zero(address | access.bytes | 16));
    const uint64_t piece = (address & (ShadowPage::kBytes - 1)) >> page.grain();
    if (access.bytes == 1u << page.grain() && (!page.has_writes() || page.writes()[piece].time <= now.settled)) {
      now.mine.first = lane;
      now.mine.last = 31 - std::countl_zero(access.lanes);
      load(now, page, piece, address);
      return;
    }
  }
  // Mostly the lanes stand in a row, and nobody has been there lately: then the row is filled in as a whole.
  if (in_a_row(access)) {
    for (uint32_t lane = 0; lane < 32;) {
      const uint64_t address = access.address[lane], in_page = address & (ShadowPage::kBytes - 1);
      const uint32_t end = std::min<uint64_t>(32, lane + (ShadowPage::kBytes - in_page) / access.bytes);
      ShadowPage& page = page_at(address);
      page.split(std::countr_zero(access.bytes | 16));
      const int grain = page.grain();
      uint64_t piece = in_page >> grain;
      if (!run(now, page, piece, lane, end)) {
        for (uint32_t l = lane; l < end; ++l) {
          now.mine = with_lane(now.mine, l);
          for (uint64_t k = 0; k < access.bytes >> grain; ++k, ++piece) {
            touch(page, piece, access.address[l] + (k << grain));
          }
        }
      }
      lane = end;
    }
    return;
  }
  for_each_lane(access.lanes, [&](uint32_t lane) {
    uint64_t address = access.address[lane];
    const uint64_t end = address + access.bytes;
    const int finest = std::countr_zero(address | access.bytes | 16);
    now.mine.first = now.mine.last = lane;
    while (address < end) {
      ShadowPage& page = page_at(address);
      page.split(finest);
      const int grain = page.grain();
      const uint64_t page_end = std::min(end, (address & ~(ShadowPage::kBytes - 1)) + ShadowPage::kBytes);
      for (; address < page_end; address += uint64_t{1} << grain) {
        touch(page, (address & (ShadowPage::kBytes - 1)) >> grain, address);
      }
    }
  });
}

void RaceCheck::access(const Access& access) {
  const bool shared = access.space == ptx::Space::shared;
  if (!shared && access.space != ptx::Space::global) return;
  Warp& warp = warp_of(access.place);
  if (access.kind == AccessKind::atomic || access.order != Order::weak) synchronise(access, warp);
  const bool writes = access.kind != AccessKind::load, copy = access.async && writes;
  Now now{access, warp, begun_, begun_, {}, !writes || access.kind == AccessKind::atomic, writes};
  if (copy) {
    if (!warp.copies) warp.copies = tick({warp.block, uint16_t(warp.index), true});
    now.mine.time = warp.copies | Entry::kCopy;
  } else {
    now.mine.time = segment(warp);
  }
  now.mine.strong = access.kind == AccessKind::atomic || access.order != Order::weak;
  now.mine.is_volatile = access.order == Order::volatile_;
  now.mine.site = site(access.place);
  if (shared) {
    Block& owner = block(access.owner_block);
    now.oldest = owner.born;
    const bool alone = access.place.launch->cluster.count() <= 1;  // else other blocks reach in, unsettled
    now.settled = alone ? std::max(owner.born, warp.settled) : owner.born;
    lanes(access, now, [&](uint64_t offset) -> ShadowPage& { return owner.shadow.page(offset); });
  } else {
    lanes(access, now, [&](uint64_t address) -> ShadowPage& { return global_.page(address); });
  }
}

void RaceCheck::report(const Now& now, Entry entry, bool entry_wrote, uint64_t address) {
  const std::pair<uint32_t, uint32_t> sites = std::minmax<uint32_t>(now.mine.site, entry.site);
  if (!reported_.insert(sites).second) return;
  const Launch& launch = *now.access.place.launch;
  const Place before = place_of(entry, launch);
  const Place& place = now.access.place;
  const uint32_t lane = now.mine.first;
  uint32_t other = entry.last;
  if (before.block == place.block && before.warp == place.warp && other == lane) other = entry.first;

  const bool copies = (entry.time | now.mine.time) & Entry::kCopy;
  const bool same_block = before.block == place.block, same_warp = same_block && before.warp == place.warp;
  Diagnostic d = findings_.about(launch, same_block ? "E03" : "E04");
  Spot mine = findings_.spot(place, lane, now.writes ? (now.reads ? "updated it" : "wrote it") : "read it");
  Spot theirs = findings_.spot(before, other, entry_wrote ? (entry.strong ? "updated it" : "wrote it") : "read it");
  // At the line that reads, whichever came first this time.
  const bool mine_first = !now.writes || entry_wrote;
  d.spots = mine_first ? std::vector{mine, theirs} : std::vector{theirs, mine};
  d.object = findings_.object(launch, now.access.space, address);
  const bool is_read = !now.writes || !entry_wrote;
  d.what = std::string(same_warp && other == lane ? "a copy in the background and its own thread"
                       : same_warp                ? "two threads of one warp"
                       : same_block               ? "two threads of one block"
                                                  : "two threads of two blocks") +
           " touch the same byte, " + (is_read ? "one writes and one reads" : "both write") +
           ", and nothing orders them";
  if (copies) {
    d.reason =
        "cp.async copies in the background: its bytes are there only after its own thread has waited for the group";
    d.hint = "wait for the copies (__pipeline_wait_prior, cp.async.wait_group), then __syncthreads(), then read";
  } else if (same_warp) {
    d.reason = "lanes of a warp need not run in step, and a shuffle, vote or volatile orders no memory";
    d.hint = "__syncwarp() between the two lines";
  } else if (same_block) {
    d.reason = "warps run in any order between two barriers";
    d.hint = "__syncthreads() between the two lines, reached by every thread of the block";
  } else {
    d.reason =
        "blocks run in any order and at the same time; only a fence with an atomic, or the end of the kernel, orders "
        "them";
    d.hint = "__threadfence() after the write and before the atomic that announces it; or atomics; or two kernels";
  }
  findings_.add(std::move(d));
}

}  // namespace vgpu
