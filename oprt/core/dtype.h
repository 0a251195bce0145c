// Element types inside the library: sizes, names, and the C++ type of each.
#pragma once

#include <cstdint>

#include "oprt/api/dtype.h"

namespace oprt {

// Storage of the 16-bit floats. Arithmetic is never done on them: widen, compute in f32, narrow once (core/half.h).
struct f16 {
  uint16_t bits;
};
struct bf16 {
  uint16_t bits;
};

template <class T>
struct dtype_of;
template <>
struct dtype_of<float> {
  static constexpr oprt_dtype_t value = OPRT_DTYPE_F32;
};
template <>
struct dtype_of<f16> {
  static constexpr oprt_dtype_t value = OPRT_DTYPE_F16;
};
template <>
struct dtype_of<bf16> {
  static constexpr oprt_dtype_t value = OPRT_DTYPE_BF16;
};
template <>
struct dtype_of<int32_t> {
  static constexpr oprt_dtype_t value = OPRT_DTYPE_I32;
};
template <>
struct dtype_of<int64_t> {
  static constexpr oprt_dtype_t value = OPRT_DTYPE_I64;
};

constexpr bool is_valid(oprt_dtype_t dtype) {
  return static_cast<int>(dtype) >= OPRT_DTYPE_F16 && static_cast<int>(dtype) <= OPRT_DTYPE_I64;
}
constexpr bool is_float(oprt_dtype_t dtype) { return static_cast<int>(dtype) <= OPRT_DTYPE_BF16 && is_valid(dtype); }
constexpr bool is_index(oprt_dtype_t dtype) { return dtype == OPRT_DTYPE_I32 || dtype == OPRT_DTYPE_I64; }

constexpr int64_t size_of(oprt_dtype_t dtype) {
  switch (dtype) {
    case OPRT_DTYPE_F16:
    case OPRT_DTYPE_BF16: return 2;
    case OPRT_DTYPE_F32:
    case OPRT_DTYPE_I32: return 4;
    case OPRT_DTYPE_I64: return 8;
  }
  return 0;
}

// Calls f with a value of the C++ type of a float dtype: with_float(dtype, [&](auto t) { using T = decltype(t); ... }).
template <class F>
decltype(auto) with_float(oprt_dtype_t dtype, F&& f) {
  switch (dtype) {
    case OPRT_DTYPE_F16: return f(f16{});
    case OPRT_DTYPE_BF16: return f(bf16{});
    default: return f(float{});
  }
}

// Likewise for the index dtypes.
template <class F>
decltype(auto) with_index(oprt_dtype_t dtype, F&& f) {
  return dtype == OPRT_DTYPE_I32 ? f(int32_t{}) : f(int64_t{});
}

}  // namespace oprt
