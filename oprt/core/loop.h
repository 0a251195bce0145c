// A loop nest over several operands of one shape, made as simple as it can be: axes of length 1 dropped, the output's
// negative strides turned round, axes sorted by the output's stride, neighbours merged. Plain data, C++17: kernels on
// every backend take it by value.
#pragma once

#include <cstdint>
#include <initializer_list>

#include "oprt/api/tensor_view.h"

namespace oprt {

constexpr int kMaxOperands = 6;

struct Loop {
  int32_t operands;
  int32_t rank;                                  // after merging; 0 means one element
  int64_t count;                                 // elements; 0 means empty (then rank is 0 too)
  int64_t shape[OPRT_MAX_DIMS];                  // outermost first
  int64_t strides[kMaxOperands][OPRT_MAX_DIMS];  // elements
  int64_t offset[kMaxOperands];                  // elements from an operand's data pointer to the loop's first element
};

// Operand 0 is the output that decides the order. All views have the same shape (broadcast first); null is an operand
// that is absent (strides 0).
Loop make_loop(const oprt_tensor_view_t* const* views, int operands);

inline Loop make_loop(const oprt_tensor_view_t& a, const oprt_tensor_view_t& b) {
  const oprt_tensor_view_t* views[] = {&a, &b};
  return make_loop(views, 2);
}
inline Loop make_loop(const oprt_tensor_view_t& a, const oprt_tensor_view_t& b, const oprt_tensor_view_t& c) {
  const oprt_tensor_view_t* views[] = {&a, &b, &c};
  return make_loop(views, 3);
}

// One axis of length loop.count with stride 1 for every operand (any stride where count is 1).
inline bool is_contiguous(const Loop& loop) {
  if (loop.rank == 0) return true;
  if (loop.rank > 1) return false;
  for (int i = 0; i < loop.operands; ++i)
    if (loop.strides[i][0] != 1) return false;
  return true;
}

// Rows along one axis: each operand's stride on it, and a loop over the rows. An operand without the axis (the sum's
// output) has axis stride 0.
struct Rows {
  int64_t length;                     // elements of a row
  int64_t axis_stride[kMaxOperands];  // elements; 1 throughout where the length is 1
  Loop rows;                          // rows.count of them
};

// views[i] has the axis at `axis`, all of the same shape; an entry of reduced[] that is true marks a view in which the
// axis has length 1 and does not move.
Rows make_rows(const oprt_tensor_view_t* const* views, const bool* reduced, int operands, int axis);

// The same where every operand has the axis.
inline Rows make_rows(std::initializer_list<const oprt_tensor_view_t*> views, int axis) {
  const bool reduced[kMaxOperands] = {};
  return make_rows(views.begin(), reduced, static_cast<int>(views.size()), axis);
}

}  // namespace oprt
