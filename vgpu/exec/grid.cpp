#include "exec/grid.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <iterator>
#include <numeric>
#include <random>
#include <thread>
#include <utility>

namespace vgpu {

void Grid::print(const std::string& text) {
  std::lock_guard lock(output);
  if (options.print)
    options.print(text);
  else
    std::fwrite(text.data(), 1, text.size(), stdout);
}

void Grid::say_once(const std::string& sentence) {
  std::lock_guard lock(output);
  if (std::exchange(said, true)) return;
  if (options.say)
    options.say(sentence);
  else
    std::fprintf(stderr, "vgpu: %s\n", sentence.c_str());
}

// --- Units of work: blocks that need one another's company -------------------------------------------------

namespace {

// Which blocks the unit of number `unit` has. A plain launch's units are blocks, a cooperative launch is one unit.
std::vector<std::pair<uint32_t, uint32_t>> blocks_of(const Launch& launch, uint64_t unit) {  // linear index, cluster
  std::vector<std::pair<uint32_t, uint32_t>> blocks;
  const Dim3 &g = launch.grid, &c = launch.cluster;
  const Dim3 clusters{g.x / c.x, g.y / c.y, g.z / c.z};
  const auto add_cluster = [&](uint32_t cluster) {
    const Dim3 at{cluster % clusters.x, cluster / clusters.x % clusters.y, cluster / clusters.x / clusters.y};
    for (uint32_t z = 0; z < c.z; ++z)
      for (uint32_t y = 0; y < c.y; ++y)
        for (uint32_t x = 0; x < c.x; ++x)
          blocks.push_back({at.x * c.x + x + g.x * (at.y * c.y + y + g.y * (at.z * c.z + z)), cluster});
  };
  if (launch.cooperative)
    for (uint32_t i = 0; i < clusters.count(); ++i) add_cluster(i);
  else
    add_cluster(static_cast<uint32_t>(unit));
  return blocks;
}

uint64_t units_of(const Launch& launch) {
  return launch.cooperative ? 1 : launch.grid.count() / launch.cluster.count();
}

// Units that a device of these limits would hold at once.
uint64_t resident_units(const Grid& grid) {
  const DeviceLimits& l = grid.limits;
  uint64_t blocks =
      std::min<uint64_t>(l.blocks_per_multiprocessor, l.threads_per_multiprocessor / std::max(grid.threads, 1u));
  if (grid.shared_bytes) blocks = std::min<uint64_t>(blocks, l.shared_per_multiprocessor / grid.shared_bytes);
  return std::max<uint64_t>(blocks * l.multiprocessors / grid.launch.cluster.count(), 1);
}

}  // namespace

struct Worker::Unit {
  uint64_t order = 0;
  std::vector<Cluster> clusters;
  std::vector<std::unique_ptr<Block>> blocks;
  std::vector<bool> ended;
  size_t left = 0;
};

Worker::Worker(Grid& grid) : grid(grid), windows(grid.kernel.windows) {
  if (grid.counts)
    for (const auto& code : grid.kernel.codes) counts.emplace_back(code->code.size());
}

Worker::~Worker() = default;

std::unique_ptr<Worker::Unit> Worker::open(uint64_t unit, uint64_t order) {
  auto u = std::make_unique<Unit>();
  u->order = order;
  const auto list = blocks_of(grid.launch, unit);
  const size_t per_cluster = grid.launch.cluster.count();
  u->clusters.resize(list.size() / per_cluster);
  for (size_t i = 0; i < list.size(); ++i) {
    if (spare_.empty()) spare_.push_back(std::make_unique<Block>(grid, *this));
    u->blocks.push_back(std::move(spare_.back()));
    spare_.pop_back();
    u->clusters[i / per_cluster].blocks.push_back(u->blocks.back().get());
  }
  for (size_t i = 0; i < list.size(); ++i)
    u->blocks[i]->start(list[i].first, &u->clusters[i / per_cluster], static_cast<uint32_t>(i % per_cluster));
  u->left = list.size();
  u->ended.resize(list.size());
  return u;
}

void Worker::run(std::atomic<uint64_t>& next, const std::vector<uint32_t>& order) {
  const uint64_t units = units_of(grid.launch), most = resident_units(grid);
  std::vector<std::unique_ptr<Unit>> resident;
  uint64_t idle_since = clock;
  const auto open_next = [&] {
    const uint64_t i = next++;
    if (i >= units || i > grid.fault_at) return false;
    resident.push_back(open(order.empty() ? i : order[i], i));
    return true;
  };
  // One unit at a time, until its blocks wait for others by polling: then more of them, as on a device, side by side.
  while (!resident.empty() || open_next()) {
    bool ran = false, ended = false, wrote = false, spun = false;
    for (auto& unit : resident) {
      running_ = unit->order;
      for (size_t i = 0; i < unit->blocks.size(); ++i) {
        if (unit->ended[i]) continue;
        if (unit->order > grid.fault_at) return;  // an earlier block has failed
        Block& block = *unit->blocks[i];
        Block::State state;
        while ((state = block.round()) == Block::State::works) ran = wrote = true;
        if (state == Block::State::fault) return;
        ran = ran || state != Block::State::stuck;
        spun = spun || state == Block::State::spins;
        wrote = wrote || block.wrote;
        if (state != Block::State::done) continue;
        ended = unit->ended[i] = true;
        --unit->left;
        block.end();
      }
    }
    for (auto& unit : resident)  // a cluster's blocks stay until the last: others may name them
      if (!unit->left) std::move(unit->blocks.begin(), unit->blocks.end(), std::back_inserter(spare_));
    std::erase_if(resident, [](const auto& unit) { return !unit->left; });
    if (ended || wrote) idle_since = clock;
    if (ended) continue;
    if (!ran) {
      if (release_partners(resident)) continue;
      deadlock(resident, "wait at barriers");
      return;
    }
    if (clock - idle_since > grid.options.idle) {
      deadlock(resident, "wait for a value that nobody writes");
      return;
    }
    // Twice as many as there were: who is waited for may be far off.
    for (size_t more = spun ? resident.size() : 0; more && resident.size() < most && open_next(); --more) {
    }
  }
}

bool Worker::release_partners(const std::vector<std::unique_ptr<Unit>>& units) {
  for (const auto& unit : units)
    for (const auto& block : unit->blocks)
      if (block->release_partners()) return true;
  return false;
}

void Worker::deadlock(const std::vector<std::unique_ptr<Unit>>& units, const char* how) {
  Fault f;
  f.kind = Fault::Kind::deadlock;
  uint64_t waits = 0, gone = 0;
  for (const auto& unit : units)
    for (const auto& block : unit->blocks) {
      for (const auto& w : block->warps())
        for (int l = 0; l < kLanes && w->index * kLanes + static_cast<uint32_t>(l) < grid.threads; ++l) {
          Fault::Waiting who{block->index, w->index * kLanes + static_cast<uint32_t>(l), nullptr, nullptr};
          if (w->live >> l & 1) {
            const Decoded& at = w->waiting.block >> l & 1 ? w->at[l][-1] : *w->at[l];
            const Site& site = *at.site;
            who.function = site.code->function;
            who.at = site.instruction;
            if (!waits++) {
              f.function = who.function;
              f.instruction = who.at;
              f.block = who.block;
              f.thread = who.thread;
            }
          } else {
            ++gone;
          }
          f.waiting.push_back(who);
        }
    }
  f.what = "no thread can go on: " + std::to_string(waits) + " " + how +
           (gone ? ", " + std::to_string(gone) + " have left" : "");
  fail(std::move(f));
}

void Worker::fail(Fault fault) {
  std::lock_guard lock(grid.fault_mutex);
  if (running_ >= grid.fault_at) return;
  grid.fault_at = running_;
  grid.fault = std::move(fault);
}

// --- A launch ----------------------------------------------------------------------------------------------

namespace {

void fill_launch_bank(Grid& grid, uint64_t cooperative_workspace) {
  const Launch& launch = grid.launch;
  const std::vector<std::byte>& constants = grid.kernel.constants;
  grid.memory_of_constants = std::make_unique<std::byte[]>(constants.size() + 64);
  grid.constants = grid.memory_of_constants.get();
  grid.constants += -reinterpret_cast<uintptr_t>(grid.constants) & 63;
  std::memcpy(grid.constants, constants.data(), constants.size());
  LaunchSpecials& s = *reinterpret_cast<LaunchSpecials*>(grid.constants);
  const Dim3 &g = launch.grid, &b = launch.block, &c = launch.cluster;
  s.all = kAllLanes;
  s.none = 0;
  s.explicit_cluster = c.count() > 1 ? kAllLanes : 0;
  const auto fill3 = [](LaneArray3<uint32_t>& lanes, const Dim3& value) {
    fill(lanes[0], value.x);
    fill(lanes[1], value.y);
    fill(lanes[2], value.z);
  };
  fill3(s.ntid, b);
  fill3(s.nctaid, g);
  fill3(s.cluster_nctaid, c);
  fill3(s.nclusterid, {g.x / c.x, g.y / c.y, g.z / c.z});
  fill(s.cluster_nctarank, static_cast<uint32_t>(c.count()));
  fill(s.nwarpid, grid.limits.threads_per_multiprocessor / kLanes);
  fill(s.nsmid, grid.limits.multiprocessors);
  fill(s.dynamic_smem_size, launch.dynamic_shared);
  fill(s.total_smem_size, grid.shared_bytes);
  fill(s.zero, 0u);
  fill(s.workspace_high, static_cast<uint32_t>(cooperative_workspace >> 32));
  fill(s.workspace_low, static_cast<uint32_t>(cooperative_workspace));
  fill(s.gridid, launch.serial);
  fill(s.zero64, uint64_t{0});
}

void fill_warp_bank(Grid& grid) {
  const Dim3& b = grid.launch.block;
  grid.warps.resize((grid.threads + kLanes - 1) / kLanes);
  for (uint32_t w = 0; w < grid.warps.size(); ++w) {
    WarpSpecials& s = grid.warps[w];
    fill(s.warpid, w);
    for (uint32_t l = 0; l < kLanes; ++l) {
      const uint32_t t = w * kLanes + l, eq = 1u << l;
      s.tid[0][l] = t % b.x;
      s.tid[1][l] = t / b.x % b.y;
      s.tid[2][l] = t / b.x / b.y;
      s.laneid[l] = l;
      s.mask_eq[l] = eq;
      s.mask_lt[l] = eq - 1;
      s.mask_le[l] = eq | (eq - 1);
      s.mask_ge[l] = ~(eq - 1);
      s.mask_gt[l] = ~(eq | (eq - 1));
    }
  }
}

void add_counts(const Kernel& kernel, const std::vector<std::unique_ptr<Worker>>& workers,
                std::vector<std::pair<const ptx::Function*, std::vector<Executed>>>& executed) {
  for (const auto& code : kernel.codes) {
    std::vector<Executed> sum(code->function->code.size());
    for (const auto& w : workers)
      for (size_t i = 0; i < sum.size(); ++i) {
        const Executed& e = w->counts[static_cast<size_t>(code->index)][code->main[i]];
        sum[i].warps += e.warps;
        sum[i].lanes += e.lanes;
      }
    executed.push_back({code->function, std::move(sum)});
  }
}

}  // namespace

Fault run(const Kernel& kernel, const Launch& launch, Memory& memory, const DeviceLimits& limits,
          const RunOptions& options, std::vector<std::pair<const ptx::Function*, std::vector<Executed>>>* executed) {
  if (!launch.grid.count() || !launch.block.count()) return {};
  if (launch.params.size() < kernel.info.param_bytes) {
    Fault f;
    f.kind = Fault::Kind::trap;
    f.function = launch.function;
    f.what = "the launch passes " + std::to_string(launch.params.size()) + " bytes of parameters, the kernel takes " +
             std::to_string(kernel.info.param_bytes);
    return f;
  }
  Grid grid(kernel, launch, memory, limits, options);
  grid.observers = options.observers;
  grid.threads = static_cast<uint32_t>(launch.block.count());
  grid.shared_bytes = kernel.info.static_shared + launch.dynamic_shared;
  grid.counts = executed != nullptr;
  // Cooperative groups find their barrier through %envreg1 and %envreg2.
  const Allocation* workspace = nullptr;
  if (launch.cooperative) {
    workspace = memory.allocate(256, MemoryKind::device, "the barrier of a cooperative launch", nullptr, launch.owner);
    if (workspace) std::memset(memory.host(*workspace, workspace->address), 0, workspace->bytes);
  }
  fill_launch_bank(grid, workspace ? workspace->address : 0);
  fill_warp_bank(grid);

  std::vector<uint32_t> order;
  if (options.seed) {
    order.resize(units_of(launch));
    std::iota(order.begin(), order.end(), 0u);
    std::shuffle(order.begin(), order.end(), std::mt19937_64(options.seed));
  }
  const uint64_t cores = options.workers ? static_cast<uint64_t>(options.workers) : std::thread::hardware_concurrency();
  const bool one = grid.observers.size() || kernel.order_matters;
  const size_t count = one ? 1 : std::clamp<uint64_t>(cores, 1, units_of(launch));

  for (Observer* o : grid.observers) o->begin(launch);
  std::vector<std::unique_ptr<Worker>> workers;
  for (size_t i = 0; i < count; ++i) workers.push_back(std::make_unique<Worker>(grid));
  std::atomic<uint64_t> next{0};
  std::vector<std::thread> threads;
  for (size_t i = 1; i < count; ++i) threads.emplace_back([&, i] { workers[i]->run(next, order); });
  workers[0]->run(next, order);
  for (std::thread& t : threads) t.join();
  for (Observer* o : grid.observers) o->end(launch);

  if (workspace) memory.free(workspace->address);
  if (executed) add_counts(kernel, workers, *executed);
  return std::move(grid.fault);
}

}  // namespace vgpu
