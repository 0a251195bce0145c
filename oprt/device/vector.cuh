// Elements on their way between memory and registers.
//
//   compute type   f32, f16 and bf16 are float in registers: widened when loaded, rounded once (to nearest even) when
//                  stored. Integers stay what they are: copy and embedding move elements as integers of their size.
//   piece          neighbouring elements of which the narrowest operand fills 16 bytes, the widest access of a thread.
//
// A piece is moved whole where its address allows it (a multiple of 16 bytes), else element by element; which element
// is whose never depends on that.
#pragma once

#include <type_traits>

#include "oprt/core/dtype.h"
#include "oprt/device/gpu.h"
#include "oprt/device/nest.h"

namespace oprt {

template <class T>
constexpr int kPieceElements = kPieceBytes / static_cast<int>(sizeof(T));

template <class T>
struct Compute {
  using type = T;
};
template <>
struct Compute<f16> {
  using type = float;
};
template <>
struct Compute<bf16> {
  using type = float;
};
template <class T>
using compute_t = typename Compute<T>::type;

template <class T>
__device__ __forceinline__ T widen(T x) {
  return x;
}
__device__ __forceinline__ float widen(f16 x) { return __half2float(__ushort_as_half(x.bits)); }
__device__ __forceinline__ float widen(bf16 x) { return __uint_as_float(static_cast<uint32_t>(x.bits) << 16); }

template <class T>
__device__ __forceinline__ T narrow(compute_t<T> x) {
  return x;
}
template <>
__device__ __forceinline__ f16 narrow<f16>(float x) {
  return {__half_as_ushort(__float2half_rn(x))};
}
template <>
__device__ __forceinline__ bf16 narrow<bf16>(float x) {
  return {__bfloat16_as_ushort(__float2bfloat16_rn(x))};
}

// Two 16-bit floats of one word: the first element is the low half.
__device__ __forceinline__ float2 widen_pair(uint32_t word, f16) {
  return __half22float2(__halves2half2(__ushort_as_half(static_cast<uint16_t>(word)),
                                       __ushort_as_half(static_cast<uint16_t>(word >> 16))));
}
__device__ __forceinline__ float2 widen_pair(uint32_t word, bf16) {
  return make_float2(__uint_as_float(word << 16), __uint_as_float(word & 0xFFFF0000u));
}
__device__ __forceinline__ uint32_t narrow_pair(float low, float high, f16) {
  const __half2 pair = __floats2half2_rn(low, high);
  return *reinterpret_cast<const uint32_t*>(&pair);
}
__device__ __forceinline__ uint32_t narrow_pair(float low, float high, bf16) {
  const __nv_bfloat162 pair = __floats2bfloat162_rn(low, high);
  return *reinterpret_cast<const uint32_t*>(&pair);
}

// The elements of one 16-byte word.
template <class T>
__device__ __forceinline__ void unpack(const uint4& word, compute_t<T>* x) {
  const uint32_t parts[4] = {word.x, word.y, word.z, word.w};
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    if constexpr (std::is_same_v<T, f16> || std::is_same_v<T, bf16>) {
      const float2 pair = widen_pair(parts[i], T{});
      x[2 * i] = pair.x;
      x[2 * i + 1] = pair.y;
    } else if constexpr (std::is_same_v<T, float>) {
      x[i] = __uint_as_float(parts[i]);
    } else if constexpr (sizeof(T) == 2) {
      x[2 * i] = static_cast<T>(parts[i]);
      x[2 * i + 1] = static_cast<T>(parts[i] >> 16);
    } else if constexpr (sizeof(T) == 4) {
      x[i] = static_cast<T>(parts[i]);
    } else {
      if (i % 2 == 0) x[i / 2] = static_cast<T>(static_cast<uint64_t>(parts[i + 1]) << 32 | parts[i]);
    }
  }
}
template <class T>
__device__ __forceinline__ uint4 pack(const compute_t<T>* x) {
  uint32_t parts[4];
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    if constexpr (std::is_same_v<T, f16> || std::is_same_v<T, bf16>) {
      parts[i] = narrow_pair(x[2 * i], x[2 * i + 1], T{});
    } else if constexpr (std::is_same_v<T, float>) {
      parts[i] = __float_as_uint(x[i]);
    } else if constexpr (sizeof(T) == 2) {
      parts[i] = static_cast<uint32_t>(x[2 * i]) | static_cast<uint32_t>(x[2 * i + 1]) << 16;
    } else if constexpr (sizeof(T) == 4) {
      parts[i] = static_cast<uint32_t>(x[i]);
    } else {
      parts[i] = static_cast<uint32_t>(static_cast<uint64_t>(x[i / 2]) >> (i % 2 * 32));
    }
  }
  return make_uint4(parts[0], parts[1], parts[2], parts[3]);
}

// kCount neighbours at an address that is a multiple of 16 bytes; they fill whole 16-byte words.
template <int kCount, class T>
__device__ __forceinline__ void load_piece(const T* from, compute_t<T> (&x)[kCount]) {
  constexpr int kEach = kPieceElements<T>;
  static_assert(kCount % kEach == 0);
#pragma unroll
  for (int i = 0; i < kCount / kEach; ++i) unpack<T>(reinterpret_cast<const uint4*>(from)[i], x + i * kEach);
}
template <int kCount, class T>
__device__ __forceinline__ void store_piece(T* to, const compute_t<T> (&x)[kCount]) {
  constexpr int kEach = kPieceElements<T>;
  static_assert(kCount % kEach == 0);
#pragma unroll
  for (int i = 0; i < kCount / kEach; ++i) reinterpret_cast<uint4*>(to)[i] = pack<T>(x + i * kEach);
}

// The first `present` of kCount elements that lie `stride` apart, anywhere; `otherwise` stands in for the rest.
template <int kCount, class T>
__device__ __forceinline__ void load_each(const T* from, int64_t stride, int present, compute_t<T> otherwise,
                                          compute_t<T> (&x)[kCount]) {
#pragma unroll
  for (int i = 0; i < kCount; ++i) x[i] = i < present ? widen(from[i * stride]) : otherwise;
}
template <int kCount, class T>
__device__ __forceinline__ void store_each(T* to, int64_t stride, int present, const compute_t<T> (&x)[kCount]) {
#pragma unroll
  for (int i = 0; i < kCount; ++i)
    if (i < present) to[i * stride] = narrow<T>(x[i]);
}

}  // namespace oprt
