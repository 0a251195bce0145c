// What the engine tells the checks. A check is an Observer: it sees accesses, barriers and branches as they happen,
// keeps its own books, and reports findings. The engine knows no check by name.
//
// Calls come from one thread at a time for one launch (a launch with observers runs its blocks on one worker). Threads
// of a block are numbered linearly, t = x + y*nx + z*nx*ny; warp = t / 32, lane = t % 32.
#pragma once

#include <bit>
#include <cstdint>

#include "exec/engine.h"
#include "ptx/module.h"

namespace vgpu {

// f(lane) for the lanes of a mask, in order.
template <class F>
[[gnu::always_inline]] inline void for_each_lane(uint32_t lanes, F&& f) {
  for (; lanes; lanes &= lanes - 1) f(std::countr_zero(lanes));
}

enum class AccessKind : uint8_t { load, store, atomic };
enum class Order : uint8_t { weak, relaxed, acquire, release, acq_rel, volatile_ };
enum class Scope : uint8_t { none, cta, cluster, gpu, sys };

// Where something happened: enough to name kernel, line, block and threads.
struct Place {
  const Launch* launch;
  const ptx::Function* function;
  const ptx::Instruction* instruction;
  uint32_t block;  // linear block index in the grid
  uint32_t warp;   // in the block
};

// One memory instruction of one warp, before it takes effect. All lanes have been found in bounds and aligned.
struct Access {
  Place place;
  ptx::Space space;  // global, shared, local, constant: never generic; parameters are not reported
  AccessKind kind;
  Order order;
  Scope scope;
  uint32_t lanes;           // bit l: lane l takes part
  uint32_t bytes;           // of one lane, all vector elements together
  const uint64_t* address;  // [32], byte address in `space` (shared: offset in the block's shared memory; local: offset
                            // in the thread's)
  uint32_t owner_block;     // shared: linear index of the block whose shared memory it is (another's in a cluster)
  bool async;               // the copy part of cp.async
};

class Observer {
 public:
  virtual ~Observer() = default;
  virtual void begin(const Launch&) {}
  virtual void end(const Launch&) {}
  virtual void block_begin(const Launch&, uint32_t /*block*/, uint64_t /*shared_bytes*/) {}
  virtual void block_end(const Launch&, uint32_t /*block*/) {}
  virtual void access(const Access&) {}
  // Threads of `warp` in `lanes` arrive at barrier `id` (bar.arrive: they do not wait; then waits is false).
  virtual void arrive(const Place&, uint32_t /*lanes*/, int /*id*/, bool /*waits*/) {}
  // The barrier opens for every thread that arrived since it last opened.
  virtual void open(const Launch&, uint32_t /*block*/, int /*id*/) {}
  virtual void cluster_open(const Launch&, uint32_t /*first_block*/, uint32_t /*blocks*/) {}
  // A warp-level barrier or *.sync intrinsic executed by `lanes` together; `mask` is what the program named. `read`:
  // the lanes whose value a shuffle gives to another (0 for the others).
  virtual void warp_sync(const Place&, uint32_t /*lanes*/, uint32_t /*mask*/, uint32_t /*read*/) {}
  virtual void fence(const Place&, uint32_t /*lanes*/, Scope) {}
  // cp.async: `lanes` close a group (commit_group); they wait until all but the `in_flight` youngest groups have landed
  // (wait_group; 0 and the open group too: wait_all, then `all`).
  virtual void async_commit(const Place&, uint32_t /*lanes*/) {}
  virtual void async_wait(const Place&, uint32_t /*lanes*/, uint32_t /*in_flight*/, bool /*all*/) {}
  // An mbarrier's arrive (release) or a test/try_wait that found its phase complete (acquire), by the lanes, at a
  // shared offset of the owner block.
  virtual void mbarrier(const Place&, uint32_t /*lanes*/, uint32_t /*owner_block*/, const uint64_t* /*address*/,
                        bool /*acquire*/) {}
  // A conditional branch: `taken` of `active` jump.
  virtual void branch(const Place&, uint32_t /*active*/, uint32_t /*taken*/) {}
  virtual void exit(const Place&, uint32_t /*lanes*/) {}
};

// How often each instruction ran and for how many lanes: kept by the engine itself, since it is two additions.
struct Executed {
  uint64_t warps = 0, lanes = 0;
};

}  // namespace vgpu
