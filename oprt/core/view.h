// View algebra on oprt_tensor_view_t: counts, extents, broadcasting, overlap. All in 64 bits, hostile shapes included:
// a view that passed check_view (core/check.h) has lengths whose product, zeros left out, and extents that fit int64_t
// in bytes, so no sum or product below overflows.
#pragma once

#include <cstdint>

#include "oprt/api/tensor_view.h"
#include "oprt/core/dtype.h"

namespace oprt {

using View = oprt_tensor_view_t;

inline int64_t count(const View& v) {
  int64_t n = 1;
  for (int i = 0; i < v.ndim; ++i) n *= v.shape[i];
  return n;
}

inline bool is_empty(const View& v) { return count(v) == 0; }

// The bytes a non-empty view touches, relative to its data pointer: [low, high).
struct Extent {
  int64_t low, high;
};
Extent extent(const View& v);

bool same_shape(const View& a, const View& b);

// Same lengths and strides, in order, axes of length 1 left out: one index leads both to the same place.
bool same_layout(const View& a, const View& b);

// v as the shape of `like`, aligned at the last axis, stride 0 where it repeats; false where the shapes do not fit.
bool broadcast(const View& v, const View& like, View* out);

// NumPy's common shape of a and b, written to shape and ndim; false where they do not fit.
bool broadcast_shape(const View& a, const View& b, int64_t* shape, int32_t* ndim);

// v without one axis.
View without_axis(const View& v, int axis);

enum class Overlap { kNo, kYes, kUnknown };  // kUnknown: not decided within the bounded work

// Whether two non-empty views share a byte; a_data and b_data stand in for the views' own pointers. Exact.
Overlap overlap(const View& a, const void* a_data, const View& b, const void* b_data);

// Whether two different indices of a view share an address. Exact.
Overlap self_overlap(const View& v);

}  // namespace oprt
