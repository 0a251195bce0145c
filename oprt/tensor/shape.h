// Shapes as oprt::Tensor computes with them: lengths per axis, checked products, broadcasting, strides of a reshape.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "oprt/api/tensor_view.h"
#include "oprt/runtime/error.h"

namespace oprt {

using Shape = std::vector<int64_t>;

namespace detail {

inline std::string to_text(const Shape& shape) {
  std::string out = "[";
  for (size_t i = 0; i < shape.size(); ++i) out.append(i ? ", " : "").append(std::to_string(shape[i]));
  return out + "]";
}

[[noreturn]] inline void refuse(const char* function, const char* argument, const std::string& expected,
                                const std::string& got) {
  throw Error(OPRT_ERR_INVALID_ARG,
              std::string("Tensor::") + function + ": " + argument + ": expected " + expected + ", got " + got);
}

// Elements. Throws for a rank over 8, a negative length, and where the lengths, zeros left out, multiply to 2^63 bytes.
inline int64_t checked_count(const char* function, const Shape& shape, int64_t element_bytes) {
  if (shape.size() > OPRT_MAX_DIMS)
    refuse(function, "shape", "a rank from 0 to 8", "rank " + std::to_string(shape.size()));
  int64_t bytes = element_bytes;
  bool empty = false;
  for (const int64_t length : shape) {
    if (length < 0) refuse(function, "shape", "lengths of 0 or more", to_text(shape));
    empty = empty || length == 0;
    if (length && __builtin_mul_overflow(bytes, length, &bytes))
      refuse(function, "shape", "fewer than 2^63 bytes", to_text(shape));
  }
  return empty ? 0 : bytes / element_bytes;
}

// An axis, counted from the end where negative, of `axes` there are.
inline int checked_axis(const char* function, int axis, int axes) {
  if (axis < -axes || axis >= axes)
    refuse(function, "axis", "one from " + std::to_string(-axes) + " to " + std::to_string(axes - 1),
           std::to_string(axis));
  return axis < 0 ? axis + axes : axis;
}

inline void set_row_major(oprt_tensor_view_t* view) {
  int64_t stride = 1;
  for (int i = view->ndim - 1; i >= 0; --i) {
    view->strides[i] = stride;
    stride *= std::max<int64_t>(view->shape[i], 1);
  }
}

// The strides with which the elements of a view that is not empty, in their order, have another shape of the same
// count; none where no strides do it and a copy must be made.
inline std::optional<Shape> strides_of_reshape(const oprt_tensor_view_t& view, const Shape& shape) {
  struct Run {
    int64_t length, stride;
  };
  std::vector<Run> runs;  // from the inside out: neighbouring axes that lie in memory like one
  for (int i = view.ndim - 1; i >= 0; --i) {
    if (view.shape[i] == 1) continue;
    if (!runs.empty() && view.strides[i] == runs.back().stride * runs.back().length)
      runs.back().length *= view.shape[i];
    else
      runs.push_back({view.shape[i], view.strides[i]});
  }
  Shape strides(shape.size(), 1);
  size_t run = 0;
  int64_t covered = 1;  // of runs[run].length, by the new axes so far
  for (size_t i = shape.size(); i-- > 0;) {
    if (shape[i] == 1) continue;
    if (covered == runs[run].length) {
      ++run;
      covered = 1;
    }
    strides[i] = runs[run].stride * covered;
    covered *= shape[i];
    if (runs[run].length % covered != 0) return std::nullopt;
  }
  return strides;
}

}  // namespace detail

// NumPy's rule: aligned at the last axis, a length of 1 stretches. Throws where the shapes do not fit.
inline Shape broadcast_shapes(const Shape& a, const Shape& b) {
  Shape out(std::max(a.size(), b.size()));
  for (size_t i = 1; i <= out.size(); ++i) {
    const int64_t la = i <= a.size() ? a[a.size() - i] : 1, lb = i <= b.size() ? b[b.size() - i] : 1;
    if (la != lb && la != 1 && lb != 1)
      detail::refuse("broadcast", "shape", "one that broadcasts with " + detail::to_text(a), detail::to_text(b));
    out[out.size() - i] = la == 1 ? lb : la;
  }
  return out;
}

}  // namespace oprt
