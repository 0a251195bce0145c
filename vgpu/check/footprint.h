// What the lanes of one access touch together.
#pragma once

#include <bit>
#include <cstdint>

#include "exec/observer.h"

namespace vgpu {

// All 32 lanes, each right behind the one before.
inline bool in_a_row(const Access& access) {
  if (access.lanes != ~0u) return false;
  uint64_t off = 0;
  for (uint32_t lane = 1; lane < 32; ++lane) {
    off |= access.address[lane] ^ (access.address[0] + uint64_t{lane} * access.bytes);
  }
  return off == 0;
}

inline bool one_place(const Access& access) {
  const uint64_t first = access.address[std::countr_zero(access.lanes)];
  uint64_t off = 0;
  for_each_lane(access.lanes, [&](uint32_t lane) { off |= access.address[lane] ^ first; });
  return off == 0;
}

struct Footprint {
  uint32_t sectors = 0, ideal = 0;  // of 32 bytes
  uint32_t bytes = 0;               // distinct
};
Footprint sectors_of(const Access& access);

// Of shared memory with 32 banks of 4 bytes: 8-byte accesses go by half-warp, 16-byte ones by quarter; a group takes as
// many wavefronts as the fullest bank has distinct words.
struct Wavefronts {
  uint32_t wavefronts = 0, ideal = 0;
};
Wavefronts wavefronts_of(const Access& access);

}  // namespace vgpu
