// The 16-bit floats, one element at a time: widening is exact, narrowing rounds to nearest even, a NaN stays a NaN.
#pragma once

#include <bit>
#include <cstdint>

#include "oprt/core/dtype.h"

namespace oprt {

inline float widen(float x) { return x; }

inline float widen(bf16 x) { return std::bit_cast<float>(static_cast<uint32_t>(x.bits) << 16); }

inline float widen(f16 x) {
  const uint32_t sign = static_cast<uint32_t>(x.bits & 0x8000u) << 16;
  const uint32_t magnitude = x.bits & 0x7FFFu;
  uint32_t wide;
  if (magnitude < 0x400u) {
    // A subnormal is m * 2^-24, and 0.5 + m * 2^-24 is a float: no f32 subnormal is met, which a thread that has
    // switched them off would lose.
    wide = std::bit_cast<uint32_t>(std::bit_cast<float>(0x3F000000u | magnitude) - 0.5f);
  } else if (magnitude < 0x7C00u) {
    wide = (magnitude << 13) + (112u << 23);  // the exponent's bias is 15 there and 127 here
  } else {
    wide = 0x7F800000u | (magnitude & 0x3FFu) << 13;  // infinity or NaN: the largest exponent, the same fraction
  }
  return std::bit_cast<float>(sign | wide);
}

template <class T>
T narrow(float x);

template <>
inline float narrow<float>(float x) {
  return x;
}

template <>
inline bf16 narrow<bf16>(float x) {
  const uint32_t bits = std::bit_cast<uint32_t>(x);
  if ((bits & 0x7FFFFFFFu) > 0x7F800000u) return {static_cast<uint16_t>(bits >> 16 | 0x40u)};  // quiet NaN
  return {static_cast<uint16_t>((bits + 0x7FFFu + (bits >> 16 & 1u)) >> 16)};                  // ties to even
}

template <>
inline f16 narrow<f16>(float x) {
  const uint32_t bits = std::bit_cast<uint32_t>(x);
  const uint32_t sign = bits >> 16 & 0x8000u;
  const uint32_t magnitude = bits & 0x7FFFFFFFu;
  uint32_t half;
  if (magnitude > 0x7F800000u) {
    half = 0x7E00u;  // quiet NaN
  } else if (magnitude >= 0x477FF000u) {
    half = 0x7C00u;  // 65520 and more round to infinity
  } else if (magnitude < 0x38800000u) {
    // Below 2^-14 the result is subnormal, a multiple of 2^-24: adding 0.5 lets the f32 addition do the rounding.
    half = std::bit_cast<uint32_t>(std::bit_cast<float>(magnitude) + 0.5f) - 0x3F000000u;
  } else {
    half = (magnitude - 0x38000000u + 0xFFFu + (magnitude >> 13 & 1u)) >> 13;
  }
  return {static_cast<uint16_t>(sign | half)};
}

}  // namespace oprt
