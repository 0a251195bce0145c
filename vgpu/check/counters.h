// What a kernel moves, per instruction; report/ sums it by source line.
//
//   request      one warp's memory instruction
//   sector       32 aligned bytes; ideal is ceil(distinct bytes / 32)
//   wavefront    one pass over the 32 banks of shared memory; ideal is one for each group of lanes that goes at a time
#pragma once

#include <array>
#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include "exec/observer.h"

namespace vgpu {

struct Traffic {
  uint64_t requests = 0, sectors = 0, ideal = 0, bytes = 0;  // bytes: distinct within each request
};

struct Counters {
  uint64_t warps = 0, lanes = 0;  // warp instructions, and the lanes active in them
  Traffic load, store, atomic;    // of global memory
  uint64_t shared_requests = 0, wavefronts = 0, ideal_wavefronts = 0;
  uint64_t barriers = 0;                 // warps that came to one
  uint64_t branches = 0, divergent = 0;  // conditional branches, and those whose lanes parted
  Counters& operator+=(const Counters& other);
};

// One access as an example of its instruction's: the addresses of its lanes.
struct Sample {
  ptx::Space space;
  AccessKind kind;
  uint32_t lanes, bytes;
  std::array<uint64_t, 32> address;
};

// Of one kernel, all its launches together.
struct KernelCounters {
  const ptx::Module* module = nullptr;
  const ptx::Function* function = nullptr;
  uint64_t launches = 0;
  Dim3 grid, block;                                            // of the last launch
  std::map<const ptx::Function*, std::vector<Counters>> code;  // by instruction
  std::map<const ptx::Instruction*, Sample> samples;           // the first access of each
  Counters total() const;
};

class CountersCheck : public Observer {
 public:
  void begin(const Launch& launch) override;
  void access(const Access& access) override;
  void arrive(const Place& place, uint32_t lanes, int id, bool waits) override;
  void branch(const Place& place, uint32_t active, uint32_t taken) override;
  // At the end of a launch: what the engine counted.
  void executed(const std::vector<std::pair<const ptx::Function*, std::vector<Executed>>>& counts);
  const KernelCounters& launch() const { return launch_; }                 // of the last one alone
  const std::vector<KernelCounters>& kernels() const { return kernels_; }  // in order of their first launch

 private:
  Counters& at(const Place& place);

  KernelCounters launch_;
  std::vector<KernelCounters> kernels_;
  const ptx::Function* recent_ = nullptr;
  std::vector<Counters>* recent_code_ = nullptr;
};

}  // namespace vgpu
