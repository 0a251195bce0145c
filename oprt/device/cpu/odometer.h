// Walks a Loop element by element, or run by run along its innermost axis.
#pragma once

#include "oprt/core/loop.h"

namespace oprt {

// A place in a Loop, counted in elements of the flattened index, with one element offset per operand.
struct Odometer {
  const Loop& loop;
  int64_t index[OPRT_MAX_DIMS];
  int64_t at[kMaxOperands];

  Odometer(const Loop& loop, int64_t flat) : loop(loop), index{}, at{} {
    for (int d = loop.rank - 1; d >= 0; --d) {
      index[d] = flat % loop.shape[d];
      flat /= loop.shape[d];
      for (int k = 0; k < loop.operands; ++k) at[k] += index[d] * loop.strides[k][d];
    }
  }

  int64_t left_in_row() const { return loop.rank ? loop.shape[loop.rank - 1] - index[loop.rank - 1] : 1; }

  // Moves on by n <= left_in_row() elements.
  void advance(int64_t n) {
    int d = loop.rank - 1;
    if (d < 0) return;
    index[d] += n;
    for (int k = 0; k < loop.operands; ++k) at[k] += n * loop.strides[k][d];
    while (index[d] == loop.shape[d] && d > 0) {
      for (int k = 0; k < loop.operands; ++k) at[k] += loop.strides[k][d - 1] - loop.shape[d] * loop.strides[k][d];
      index[d] = 0;
      ++index[--d];
    }
  }
};

}  // namespace oprt
