#include "oprt/core/check.h"

#include <algorithm>

#include "oprt/core/text.h"

namespace oprt {

Status check_view(const char* op, const char* argument, const View& v) {
  if (v.ndim < 0 || v.ndim > OPRT_MAX_DIMS) return invalid(op, argument, "a rank from 0 to 8", "rank " + text(v.ndim));
  if (!is_valid(v.dtype))
    return fail(OPRT_ERR_UNSUPPORTED_DTYPE, op, argument, "a dtype of oprt (f32, f16, bf16, i32, i64)",
                "dtype " + std::to_string(static_cast<int>(v.dtype)));
  const auto shape = [&] { return "shape " + text(v.shape, v.ndim); };
  bool empty = false;
  for (int i = 0; i < v.ndim; ++i) {
    if (v.shape[i] < 0) return invalid(op, argument, "lengths of 0 or more", shape());
    empty = empty || v.shape[i] == 0;
  }
  int64_t bytes = size_of(v.dtype);
  for (int i = 0; i < v.ndim; ++i)
    if (v.shape[i] && __builtin_mul_overflow(bytes, v.shape[i], &bytes))
      return invalid(op, argument, "fewer than 2^63 bytes", shape());
  int64_t low = 0, high = size_of(v.dtype);
  for (int i = 0; i < v.ndim && !empty; ++i) {
    if (v.shape[i] == 1) continue;
    int64_t reach;
    if (__builtin_mul_overflow(v.shape[i] - 1, v.strides[i], &reach) ||
        __builtin_mul_overflow(reach, size_of(v.dtype), &reach) ||
        __builtin_add_overflow(reach < 0 ? low : high, reach, reach < 0 ? &low : &high))
      return invalid(op, argument, "strides that reach less than 2^63 bytes",
                     "strides " + text(v.strides, v.ndim) + " with " + shape());
  }
  int64_t span;
  if (__builtin_sub_overflow(high, low, &span))
    return invalid(op, argument, "strides that reach less than 2^63 bytes",
                   "strides " + text(v.strides, v.ndim) + " with " + shape());
  if (!empty && !v.data) return invalid(op, argument, "data for " + shape(), "a null pointer");
  return {};
}

Status check_float(const char* op, const char* argument, const View& v) {
  if (is_float(v.dtype)) return {};
  return fail(OPRT_ERR_UNSUPPORTED_DTYPE, op, argument, "f32, f16 or bf16", text(v.dtype));
}

Status check_index(const char* op, const char* argument, const View& v) {
  if (is_index(v.dtype)) return {};
  return fail(OPRT_ERR_UNSUPPORTED_DTYPE, op, argument, "i32 or i64", text(v.dtype));
}

Status check_same_dtype(const char* op, const char* argument, const View& v, const char* other_name,
                        const View& other) {
  if (v.dtype == other.dtype) return {};
  return fail(OPRT_ERR_UNSUPPORTED_DTYPE, op, argument, text(other.dtype) + " as " + other_name, text(v.dtype));
}

Status check_same_dtype_or_f32(const char* op, const char* argument, const View& v, const char* other_name,
                               const View& other) {
  if (v.dtype == other.dtype || v.dtype == OPRT_DTYPE_F32) return {};
  return fail(OPRT_ERR_UNSUPPORTED_DTYPE, op, argument, text(other.dtype) + " as " + other_name + ", or f32",
              text(v.dtype));
}

Status check_same_shape(const char* op, const char* argument, const View& v, const char* other_name,
                        const View& other) {
  if (same_shape(v, other)) return {};
  return invalid(op, argument, "shape " + text(other.shape, other.ndim) + " as " + other_name,
                 "shape " + text(v.shape, v.ndim));
}

Status check_shape(const char* op, const char* argument, const View& v, const int64_t* shape, int ndim) {
  if (v.ndim == ndim && std::equal(shape, shape + ndim, v.shape)) return {};
  return invalid(op, argument, "shape " + text(shape, ndim), "shape " + text(v.shape, v.ndim));
}

Status check_broadcast(const char* op, const char* argument, View* v, const char* like_name, const View& like) {
  if (broadcast(*v, like, v)) return {};
  return invalid(op, argument, "a shape that broadcasts to " + text(like.shape, like.ndim) + " of " + like_name,
                 "shape " + text(v->shape, v->ndim));
}

Status check_axis(const char* op, int64_t axis, int rank, int* out) {
  const int axes = std::max(rank, 1);  // rank 0 counts as one axis of length 1
  if (axis < -axes || axis >= axes)
    return invalid(op, "axis", "an axis from " + text(int64_t{-axes}) + " to " + text(int64_t{axes - 1}), text(axis));
  *out = static_cast<int>(axis < 0 ? axis + axes : axis);
  return {};
}

}  // namespace oprt
