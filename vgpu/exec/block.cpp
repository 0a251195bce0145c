#include "exec/block.h"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <random>

#include "exec/grid.h"

namespace vgpu {
namespace {

// Instructions of a warp's turn: long enough that its registers, once in the cache, are used, short enough that warps
// which wait for one another by polling do not wait long.
constexpr uint64_t kTurn = 4096;

uint64_t round_up(uint64_t value, uint64_t to) { return (value + to - 1) / to * to; }

}  // namespace

Block::Bytes Block::zeros(uint64_t bytes) {
  const uint64_t rounded = std::max<uint64_t>(round_up(bytes, 64), 64);
  Bytes p(static_cast<std::byte*>(std::aligned_alloc(64, rounded)));
  std::memset(p.get(), 0, rounded);
  return p;
}

Block::Block(Grid& grid, Worker& worker) : grid(grid), worker(worker) {
  const uint32_t count = (grid.threads + kLanes - 1) / kLanes;
  const uint64_t frame = round_up(grid.kernel.entry->frame_bytes, 64);
  registers_ = zeros(count * frame);
  shared_bytes = grid.shared_bytes;
  shared_ = zeros(shared_bytes);
  shared = shared_.get();
  const Kernel& kernel = grid.kernel;
  const uint64_t stack = kernel.recurses ? kernel.entry->local_bytes + uint64_t{grid.launch.stack_bytes} : 0;
  local_stride_ = round_up(std::max(kernel.local_bytes, stack), 16);
  if (local_stride_) local_ = zeros(count * kLanes * local_stride_);
  for (uint32_t i = 0; i < count; ++i) {
    warps_.push_back(std::make_unique<Warp>(*this, i));
    Warp& w = *warps_.back();
    w.frame->registers = registers_.get() + i * frame;
    w.bank[static_cast<int>(Bank::launch)] = grid.constants;
    w.bank[static_cast<int>(Bank::block)] = reinterpret_cast<std::byte*>(&specials_);
    w.bank[static_cast<int>(Bank::warp)] = reinterpret_cast<std::byte*>(&grid.warps[i]);
    w.windows = worker.windows.data();
    w.shared = shared;
    w.shared_bytes = shared_bytes;
    w.params = grid.launch.params.data();
    w.params_bytes = grid.launch.params.size();
    w.local = local_.get() + i * kLanes * local_stride_;
    w.local_stride = local_stride_;
  }
  turns_.resize(count);
  std::iota(turns_.begin(), turns_.end(), 0u);
}

Block::~Block() = default;

void Block::start(uint32_t linear, Cluster* of, uint32_t rank_in_cluster) {
  index = linear;
  cluster = of;
  rank = rank_in_cluster;
  live = grid.threads;
  polls = 0;
  barriers_ = {};
  const Dim3 &g = grid.launch.grid, &c = grid.launch.cluster;
  at = {linear % g.x, linear / g.x % g.y, linear / g.x / g.y};
  const uint32_t position[3] = {at.x, at.y, at.z}, size[3] = {c.x, c.y, c.z};
  for (int i = 0; i < 3; ++i) {
    fill(specials_.ctaid[i], position[i]);
    fill(specials_.clusterid[i], position[i] / size[i]);
    fill(specials_.cluster_ctaid[i], position[i] % size[i]);
  }
  fill(specials_.cluster_ctarank, rank);
  fill(specials_.smid, linear % grid.limits.multiprocessors);
  std::memset(shared, 0, shared_bytes);
  if (local_stride_ && grid.kernel.entry->local_bytes)
    for (uint32_t lane = 0; lane < warps_.size() * kLanes; ++lane)
      std::memset(local_.get() + lane * local_stride_, 0, grid.kernel.entry->local_bytes);
  if (grid.options.seed) {
    std::iota(turns_.begin(), turns_.end(), 0u);
    std::shuffle(turns_.begin(), turns_.end(), std::mt19937_64(grid.options.seed + linear));
  }
  for (Observer* o : grid.observers) o->block_begin(grid.launch, index, shared_bytes);
  for (const auto& w : warps_) w->start();
}

void Block::end() {
  for (Observer* o : grid.observers) o->block_end(grid.launch, index);
}

Block::State Block::round() {
  bool ran = false;
  uint64_t before = worker.clock;
  polls = 0;
  wrote = false;
  for (uint32_t i : turns_) {
    Warp& w = *warps_[i];
    if (!w.can_run()) continue;
    ran = true;
    w.wrote = false;
    const Warp::Pause pause = w.run(kTurn);
    wrote |= w.wrote;
    if (pause == Warp::Pause::fault) return State::fault;
    if (w.executed > grid.options.budget) {
      w.endless();
      return State::fault;
    }
  }
  if (!live) return State::done;
  if (!ran) return State::stuck;
  // A wait's loop is short; a loop that only counts with atomics is longer, or ends.
  return polls * 16 > worker.clock - before ? State::spins : State::works;
}

bool Block::release_partners() {
  for (const auto& w : warps_)
    if (w->waiting.partners) {
      w->go_alone();
      return true;
    }
  return false;
}

// --- Barriers ----------------------------------------------------------------------------------------------

const Decoded* Block::arrive(Warp& warp, const Decoded& d, Mask lanes, int id, uint32_t expected, bool waits,
                             Mask predicate) {
  if (warp.observed)
    for (Observer* o : grid.observers) o->arrive(warp.place(d), lanes, id, waits);
  Barrier& b = barriers_[static_cast<size_t>(id)];
  b.expected = expected;
  // Counts are of whole warps: lanes that are gone, or that the block never had, are counted with their warp.
  b.arrived += expected && lanes == warp.live ? kLanes : static_cast<uint32_t>(std::popcount(lanes));
  b.count += static_cast<uint32_t>(std::popcount(lanes & predicate));
  b.all = b.all && !(lanes & ~predicate);
  b.any = b.any || (lanes & predicate);
  const Decoded* next = waits ? warp.wait(d, lanes, id) : &d + 1;
  try_open(id);
  return warp.can_run() ? warp.regroup(d) : next;
}

void Block::try_open(int id) {
  Barrier& b = barriers_[static_cast<size_t>(id)];
  if (!b.arrived || b.arrived < (b.expected ? b.expected : live)) return;
  for (Observer* o : grid.observers) o->open(grid.launch, index, id);
  for (const auto& w : warps_) {
    Mask waiting = 0;
    for (Mask m = w->waiting.block; m; m &= m - 1) {
      const int l = std::countr_zero(m);
      if (w->barrier[l] != id) continue;
      waiting |= 1u << l;
      const Decoded& d = w->at[l][-1];
      std::byte* out = w->in[l]->registers + d.d.offset();
      Mask& p = *reinterpret_cast<Mask*>(out);
      switch (d.offset) {
        case 1: reinterpret_cast<uint32_t*>(out)[l] = b.count; break;
        case 2: p = (p & ~(1u << l)) | static_cast<Mask>(b.all) << l; break;
        case 3: p = (p & ~(1u << l)) | static_cast<Mask>(b.any) << l; break;
        default: break;
      }
    }
    w->release(waiting);
  }
  b = {};
}

void Block::left(uint32_t threads) {
  live -= threads;
  for (int id = 0; id < 16; ++id) try_open(id);
  cluster->try_open();
}

void Cluster::arrive(Warp& warp, const Decoded& d, Mask lanes) {
  if (warp.observed)
    for (Observer* o : warp.block.grid.observers) o->arrive(warp.place(d), lanes, Warp::kCluster, false);
  for (Mask m = lanes; m; m &= m - 1) warp.cluster_phase[std::countr_zero(m)] = phase;
  arrived += static_cast<uint32_t>(std::popcount(lanes));
  try_open();
}

const Decoded* Cluster::wait(Warp& warp, const Decoded& d, Mask lanes) {
  Mask early = 0;  // the barrier that they have arrived at has not opened
  for (Mask m = lanes; m; m &= m - 1) {
    const int l = std::countr_zero(m);
    early |= static_cast<Mask>(warp.cluster_phase[l] == phase) << l;
  }
  return early ? warp.wait(d, early, Warp::kCluster) : &d + 1;
}

void Cluster::try_open() {
  uint32_t live = 0;
  for (const Block* b : blocks) live += b->live;
  if (!arrived || arrived < live) return;
  const Block& first = *blocks.front();
  for (Observer* o : first.grid.observers)
    o->cluster_open(first.grid.launch, first.index, static_cast<uint32_t>(blocks.size()));
  arrived = 0;
  ++phase;
  for (const Block* b : blocks)
    for (const auto& w : b->warps()) {
      Mask waiting = 0;
      for (Mask m = w->waiting.block; m; m &= m - 1) {
        const int l = std::countr_zero(m);
        waiting |= static_cast<Mask>(w->barrier[l] == Warp::kCluster) << l;
      }
      w->release(waiting);
    }
}

}  // namespace vgpu
