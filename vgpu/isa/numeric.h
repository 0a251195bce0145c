// The number formats that C++ lacks, and rounding.
//
// Half precision is computed in float and rounded once: with p = 24 digits, float is wide enough (p >= 2q + 2 for q =
// 11 and q = 8) that the second rounding of +, -, *, / and sqrt changes nothing (Figueroa, "When is double rounding
// innocuous?", 1995). The fused product needs more: see fma_odd.
#pragma once

#include <xmmintrin.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <limits>

#include "exec/warp.h"

namespace vgpu::isa {

struct Half {
  uint16_t bits;
};
struct Bfloat {
  uint16_t bits;
};
template <class T>
struct Pair {  // f16x2, bf16x2: the low half first
  T low, high;
};

enum class Rounding : uint8_t { nearest, zero, down, up, away };  // rn, rz, rm, rp, rna

constexpr float kNan = std::bit_cast<float>(0x7fffffffu);  // the NaN that an f32 instruction returns

// --- Binary formats of `kExponent` and `kMantissa` bits ----------------------------------------------------

// The value nearest to x in the rounding's sense, as bits. Overflow: infinity or the largest, as IEEE says. A finite
// format (e4m3) has numbers in place of the infinity, and overflows to the largest.
template <int kExponent, int kMantissa, bool kFinite = false>
inline uint32_t narrow(double x, Rounding rounding = Rounding::nearest) {
  constexpr int kBias = (1 << (kExponent - 1)) - 1;
  constexpr uint32_t kInfinity = kFinite ? (1u << (kExponent + kMantissa)) - 1 : ((1u << kExponent) - 1) << kMantissa;
  const uint64_t bits = std::bit_cast<uint64_t>(x);
  const uint32_t sign = static_cast<uint32_t>(bits >> 63) << (kExponent + kMantissa);
  const uint64_t magnitude = bits & ~(uint64_t{1} << 63);
  if (magnitude > uint64_t{0x7ff} << 52) return (1u << (kExponent + kMantissa)) - 1;  // NaN: all ones, sign 0
  if (magnitude == uint64_t{0x7ff} << 52) return sign | (kInfinity - kFinite);
  const int exponent = static_cast<int>(magnitude >> 52) - 1023;
  // Digits that are cut off: more where the result is subnormal.
  int cut = 52 - kMantissa;
  if (exponent < 1 - kBias) cut += 1 - kBias - exponent;
  uint64_t digits = (magnitude & ((uint64_t{1} << 52) - 1)) | (magnitude >> 52 ? uint64_t{1} << 52 : 0);
  if (cut > 54) {  // all cut off, and less than half of the last place
    digits = digits != 0;
    cut = 2;
  }
  const uint64_t kept = digits >> cut, rest = digits & ((uint64_t{1} << cut) - 1), half = uint64_t{1} << (cut - 1);
  bool up = false;
  switch (rounding) {
    case Rounding::nearest: up = rest > half || (rest == half && (kept & 1)); break;
    case Rounding::away: up = rest >= half; break;
    case Rounding::zero: break;
    case Rounding::down: up = rest && sign; break;
    case Rounding::up: up = rest && !sign; break;
  }
  // A carry out of the digits raises the exponent by itself.
  uint32_t result = static_cast<uint32_t>(kept + up);
  if (exponent >= 1 - kBias) result += static_cast<uint32_t>(exponent + kBias - 1) << kMantissa;
  if (exponent > kBias + 1 || result >= kInfinity) {
    const bool to_infinity = !kFinite && (rounding == Rounding::nearest || rounding == Rounding::away ||
                                          (rounding == Rounding::up && !sign) || (rounding == Rounding::down && sign));
    result = to_infinity ? kInfinity : kInfinity - 1;
  }
  return sign | result;
}

// --- Widening: exact ---------------------------------------------------------------------------------------

// The exponent is moved by a multiplication, which also makes subnormals normal; no branch, so that it vectorises.
inline float widen(Half h) {
  const uint32_t magnitude = static_cast<uint32_t>(h.bits & 0x7fff) << 13;
  const float scaled = std::bit_cast<float>(magnitude) * 0x1p112f;
  const uint32_t special = magnitude >= 0x0f800000u ? 0x7f800000u : 0;  // infinity, NaN
  return std::bit_cast<float>(std::bit_cast<uint32_t>(scaled) | special | static_cast<uint32_t>(h.bits & 0x8000) << 16);
}
inline float widen(Bfloat b) { return std::bit_cast<float>(static_cast<uint32_t>(b.bits) << 16); }
inline float widen(float x) { return x; }

// --- Narrowing to nearest ----------------------------------------------------------------------------------

template <class T>
T round_to(float x);

// The magic sum makes the processor round: adding 2^(e+13) to a number of exponent e cuts 13 digits off, to nearest
// even.
template <>
inline Half round_to<Half>(float x) {
  const uint32_t bits = std::bit_cast<uint32_t>(x), sign = bits >> 16 & 0x8000, magnitude = bits & 0x7fffffff;
  const uint32_t normal = (magnitude + 0xfff + (magnitude >> 13 & 1) - 0x38000000u) >> 13;
  const float shifted = std::bit_cast<float>(magnitude) + 0.5f;  // subnormal: the last place of 0.5 is 2^-24
  const uint32_t subnormal = std::bit_cast<uint32_t>(shifted) - 0x3f000000u;
  uint32_t result = magnitude < 0x38800000u ? subnormal : normal;
  result = magnitude >= 0x477ff000u ? 0x7c00u : result;
  result = magnitude > 0x7f800000u ? 0x7fffu : result | sign;
  return {static_cast<uint16_t>(result)};
}
template <>
inline Bfloat round_to<Bfloat>(float x) {
  const uint32_t bits = std::bit_cast<uint32_t>(x);
  const uint32_t rounded = (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
  return {static_cast<uint16_t>((bits & 0x7fffffff) > 0x7f800000u ? 0x7fffu : rounded)};
}
template <>
inline float round_to<float>(float x) {
  return x;
}

// a*b + c rounded once to T. The product of two halves is exact in double. The sum is rounded to odd there: where it is
// inexact its last digit becomes 1, so that rounding it again, to fewer digits, sees which side it is on.
inline double fma_odd(float a, float b, float c) {
  const double product = static_cast<double>(a) * b, sum = product + c;
  const double back = sum - product;
  const double error = (product - (sum - back)) + (c - back);  // of the sum, exact (Knuth's TwoSum)
  uint64_t bits = std::bit_cast<uint64_t>(sum);
  if (error != 0 && !(bits & 1) && std::isfinite(sum)) bits += ((error > 0) == (sum > 0)) ? 1 : -1;
  return std::bit_cast<double>(bits);
}
inline Half fma_half(Half a, Half b, Half c) {
  return {static_cast<uint16_t>(narrow<5, 10>(fma_odd(widen(a), widen(b), widen(c))))};
}
inline Bfloat fma_half(Bfloat a, Bfloat b, Bfloat c) {
  return {static_cast<uint16_t>(narrow<8, 7>(fma_odd(widen(a), widen(b), widen(c))))};
}

// --- Rounding modes of float and double --------------------------------------------------------------------

// While one lives the processor rounds so. The compiler moves no load or store across its ends, and a handler's
// operations lie between a load and a store.
class ProcessorRounds {
 public:
  explicit ProcessorRounds(Rounding rounding) : before_(_mm_getcsr()) {
    _mm_setcsr((before_ & ~static_cast<unsigned>(_MM_ROUND_MASK)) | kModes[static_cast<int>(rounding)]);
    asm volatile("" ::: "memory");
  }
  ~ProcessorRounds() {
    asm volatile("" ::: "memory");
    _mm_setcsr(before_);
  }
  ProcessorRounds(const ProcessorRounds&) = delete;
  ProcessorRounds& operator=(const ProcessorRounds&) = delete;

  static Rounding now() {
    const unsigned mode = _mm_getcsr() & _MM_ROUND_MASK;
    return static_cast<Rounding>(std::find(kModes, std::end(kModes), mode) - kModes);
  }

 private:
  static constexpr unsigned kModes[] = {_MM_ROUND_NEAREST, _MM_ROUND_TOWARD_ZERO, _MM_ROUND_DOWN, _MM_ROUND_UP};
  unsigned before_;
};

// --- Flush to zero, saturation, NaN ------------------------------------------------------------------------

inline float flush(float x) {
  const uint32_t bits = std::bit_cast<uint32_t>(x);
  return std::bit_cast<float>((bits & 0x7fffffffu) < 0x00800000u ? bits & 0x80000000u : bits);
}
inline Half flush(Half x) { return {static_cast<uint16_t>(x.bits & 0x7c00 ? x.bits : x.bits & 0x8000)}; }

// Any NaN becomes the one that the hardware returns.
inline float canonical(float x) {
  const uint32_t bits = std::bit_cast<uint32_t>(x);
  return std::bit_cast<float>((bits & 0x7fffffffu) > 0x7f800000u ? 0x7fffffffu : bits);
}
inline double canonical(double x) { return x; }

// To [0, 1]; NaN becomes +0.
template <class T>
inline T saturate(T x) {
  return x > T(0) ? (x < T(1) ? x : T(1)) : T(0);
}

}  // namespace vgpu::isa
