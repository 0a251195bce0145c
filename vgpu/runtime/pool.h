// Memory pools: stream-ordered allocation, with the counters that programs read.
//
// Operations run in program order, so that a free is a free at once. What a pool holds back is only counted: every
// allocation has an address of its own, and a use after a free is seen as one.
#pragma once

#include <cstdint>

#include "runtime/api.h"

namespace vgpu {

class MemoryPool {
 public:
  explicit MemoryPool(const PoolProperties& properties)
      : properties(properties), device(properties.location.id), reach(1u << device) {}

  const PoolProperties properties;
  const int device;
  uint32_t reach;  // bit d: device d may access what the pool holds (cudaMemPoolSetAccess)
  uint64_t release_threshold = 0;
  uint64_t used = 0, used_high = 0, reserved = 0, reserved_high = 0;
  int reuse[3] = {1, 1, 1};  // follow events, opportunistic, internal dependencies
  bool destroyed = false;    // by the program; the pool stays for what it still holds

  void took(uint64_t bytes);
  void gave_back(uint64_t bytes);
  void trim(uint64_t keep);  // a synchronisation does so down to the threshold
};

MemoryPool& default_pool(int device);
MemoryPool& current_pool(int device);
void trim_pools(int device);
void release_from_pool(uint64_t address);  // the bytes of an allocation, if it is one of a pool
bool kept_by_graph(uint64_t address);      // its memory stays for replays: a free gives back no more than the bytes
// A live pool of the program, or a default one.
bool is_pool(MemoryPool* pool);

}  // namespace vgpu
