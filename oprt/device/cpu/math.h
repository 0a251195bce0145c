// Elementary functions on f32 vectors: polynomials of our own, cheaper than Highway's contrib versions. Each states its
// error as measured over a dense sample of the f32 of its range on AVX2.
#if defined(OPRT_DEVICE_CPU_MATH_H) == defined(HWY_TARGET_TOGGLE)
#ifdef OPRT_DEVICE_CPU_MATH_H
#undef OPRT_DEVICE_CPU_MATH_H
#else
#define OPRT_DEVICE_CPU_MATH_H
#endif

#include "oprt/device/cpu/simd.h"

HWY_BEFORE_NAMESPACE();
namespace oprt {
namespace HWY_NAMESPACE {

// 2^n in two factors, so that results go gradually into the subnormals and over into infinity; |n| <= 252.
HWY_INLINE VecF32 scale_by_power(VecF32 v, hn::Vec<I32> n) {
  const I32 d;
  const auto half = hn::ShiftRight<1>(n);
  const auto bias = hn::Set(d, 127);
  const auto a = hn::BitCast(F32(), hn::ShiftLeft<23>(hn::Add(half, bias)));
  const auto b = hn::BitCast(F32(), hn::ShiftLeft<23>(hn::Add(hn::Sub(n, half), bias)));
  return hn::Mul(hn::Mul(v, a), b);
}

// e^x within 1.5 units of 2^-24 relative; exp(-inf) = 0, exp(inf) = inf, subnormal results right, NaN stays.
//
// x = n ln 2 + r with |r| <= ln 2 / 2, then e^r = 1 + r + r^2 q(r) with q of degree 4 (minimax, relative error 0.06
// units of 2^-24), then 2^n. ln 2 comes in two parts (Cody and Waite) so that r is exact to the last bits.
HWY_INLINE VecF32 exp_f32(VecF32 x) {
  const F32 d;
  const auto within = hn::Max(hn::Min(x, hn::Set(d, 90.0f)), hn::Set(d, -126.0f));  // may lose a NaN
  const auto n = hn::NearestInt(hn::Mul(within, hn::Set(d, 1.44269504f)));
  const auto whole = hn::ConvertTo(d, n);
  auto r = hn::NegMulAdd(whole, hn::Set(d, 0x1.62e4p-1f), within);  // 0.693145752: whole * this is exact
  r = hn::NegMulAdd(whole, hn::Set(d, 0x1.7f7d1cp-20f), r);         // ln 2 - 0x1.62e4p-1
  auto q = hn::Set(d, 0x1.6a241ap-10f);
  q = hn::MulAdd(q, r, hn::Set(d, 0x1.1239f2p-7f));
  q = hn::MulAdd(q, r, hn::Set(d, 0x1.5558f2p-5f));
  q = hn::MulAdd(q, r, hn::Set(d, 0x1.555492p-3f));
  q = hn::MulAdd(q, r, hn::Set(d, 0x1.fffffcp-2f));
  const auto tail = hn::MulAdd(hn::Mul(r, r), q, r);
  return hn::IfThenElse(hn::IsNaN(x), x, scale_by_power(hn::Add(tail, hn::Set(d, 1.0f)), n));
}

// e^x for x <= 0, in half of exp_f32's instructions: below -87 it is 0 (e^-87 is 2^-125.5), a NaN stays, above 0 it is
// anything. Within 1.3 units of 2^-24 relative. The polynomial is exp_f32's.
//
// Adding 1.5 * 2^23 leaves the nearest integer in the low bits of the sum; with 127 added as well, those bits moved up
// are 2^n.
HWY_INLINE VecF32 exp_nonpositive_f32(VecF32 x) {
  const F32 d;
  const auto shifter = hn::Set(d, 0x1.8p23f + 127.0f);
  const auto shifted = hn::MulAdd(x, hn::Set(d, 1.44269504f), shifter);
  const auto power = hn::BitCast(d, hn::ShiftLeft<23>(hn::BitCast(I32(), shifted)));
  const auto whole = hn::Sub(shifted, shifter);
  auto r = hn::NegMulAdd(whole, hn::Set(d, 0x1.62e4p-1f), x);
  r = hn::NegMulAdd(whole, hn::Set(d, 0x1.7f7d1cp-20f), r);
  auto p = hn::Set(d, 0x1.6a241ap-10f);
  p = hn::MulAdd(p, r, hn::Set(d, 0x1.1239f2p-7f));
  p = hn::MulAdd(p, r, hn::Set(d, 0x1.5558f2p-5f));
  p = hn::MulAdd(p, r, hn::Set(d, 0x1.555492p-3f));
  p = hn::MulAdd(p, r, hn::Set(d, 0x1.fffffcp-2f));
  p = hn::MulAdd(p, r, hn::Set(d, 1.0f));
  p = hn::MulAdd(p, r, hn::Set(d, 1.0f));
  return hn::IfThenZeroElse(hn::Lt(x, hn::Set(d, -87.0f)), hn::Mul(p, power));
}

}  // namespace HWY_NAMESPACE
}  // namespace oprt
HWY_AFTER_NAMESPACE();

#endif
