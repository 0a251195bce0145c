// Which path of the elementwise skeleton a loop takes: a pure function of the loop, and the constants that tune it.
#pragma once

#include <cstdint>

#include "oprt/core/loop.h"

namespace oprt {

enum class ElementwisePath { kContiguous, kRows, kStrided };

// Shorter rows lose more to their start and tail than gathering costs.
constexpr int64_t kMinRow = 16;

// Output bytes from which stores go past the cache.
constexpr int64_t kStreamBytes = int64_t{8} << 20;

// Elements a thread takes at least: 32 KiB of output. Below two of those the call stays on one thread.
constexpr int64_t grain_of(int64_t element_bytes) { return (int64_t{32} << 10) / element_bytes; }

inline ElementwisePath elementwise_path(const Loop& loop) {
  if (is_contiguous(loop)) return ElementwisePath::kContiguous;
  const int inner = loop.rank - 1;
  bool rows = loop.shape[inner] >= kMinRow && loop.strides[0][inner] == 1;
  for (int i = 1; i < loop.operands; ++i) rows = rows && (loop.strides[i][inner] == 0 || loop.strides[i][inner] == 1);
  return rows ? ElementwisePath::kRows : ElementwisePath::kStrided;
}

}  // namespace oprt
