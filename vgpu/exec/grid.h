// A launch while it runs, and the workers that run its blocks.
#pragma once

#include <atomic>
#include <functional>
#include <mutex>
#include <span>
#include <vector>

#include "exec/access.h"
#include "exec/block.h"
#include "exec/kernel.h"

namespace vgpu {

// What all blocks of a launch share.
struct Grid {
  Grid(const Kernel& kernel, const Launch& launch, Memory& memory, const DeviceLimits& limits,
       const RunOptions& options)
      : kernel(kernel), launch(launch), memory(memory), limits(limits), options(options) {}

  const Kernel& kernel;
  const Launch& launch;
  Memory& memory;
  const DeviceLimits& limits;
  const RunOptions& options;
  std::span<Observer* const> observers;
  std::unique_ptr<std::byte[]> memory_of_constants;
  std::byte* constants = nullptr;          // the launch bank, 64-byte aligned
  std::vector<WarpSpecials> warps;         // the warp bank, by index of the warp
  uint32_t threads = 0, shared_bytes = 0;  // of a block
  bool counts = false;                     // executed instructions are asked for

  std::mutex output;  // of printf
  bool said = false;
  void print(const std::string& text);
  void say_once(const std::string& sentence);  // the first of the launch

  // The fault of the earliest block, in the order in which blocks are taken: what a single worker would have met first.
  std::mutex fault_mutex;
  Fault fault;
  std::atomic<uint64_t> fault_at{~uint64_t{0}};
};

// Runs blocks, one or some at a time, to their end.
class Worker {
 public:
  explicit Worker(Grid& grid);
  ~Worker();
  // Takes units of work (a block, a cluster, a whole cooperative grid) until none is left; `order` permutes them.
  void run(std::atomic<uint64_t>& next, const std::vector<uint32_t>& order);

  // Ends the launch with a fault of the block that runs now.
  void fail(Fault fault);

  Grid& grid;
  std::vector<Window> windows;
  std::vector<std::vector<Executed>> counts;  // by code and decoded instruction
  uint64_t clock = 0;                         // instructions, about

 private:
  struct Unit;
  std::unique_ptr<Unit> open(uint64_t unit, uint64_t order);
  static bool release_partners(const std::vector<std::unique_ptr<Unit>>& units);
  void deadlock(const std::vector<std::unique_ptr<Unit>>& units, const char* how);

  std::vector<std::unique_ptr<Block>> spare_;
  uint64_t running_ = 0;  // position in the order of the unit that runs
};

}  // namespace vgpu
