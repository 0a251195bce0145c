// The exponential on f32 vectors: a polynomial of our own, cheaper than Highway's contrib version. Its error is what
// tests/cpp/exp_test.cpp measures over a dense sample of its range.
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

// e^x for x <= 0: below -87 it is 0 (e^-87 is 2^-125.5), a NaN stays, above 0 it is anything. Within 1.3 units of 2^-24
// relative; 1.6 without fused multiply-add.
//
// x = n ln 2 + r with |r| <= ln 2 / 2, then e^r = 1 + r + r^2 q(r) with q of degree 4 (minimax, relative error 0.06
// units of 2^-24), then 2^n. ln 2 comes in two parts (Cody and Waite) so that r is exact to the last bits.
//
// Adding 1.5 * 2^23 leaves the nearest integer in the low bits of the sum; with 127 added as well, those bits moved up
// are 2^n.
HWY_INLINE VecF32 exp_nonpositive_f32(VecF32 x) {
  const F32 d;
  const auto shifter = hn::Set(d, 0x1.8p23f + 127.0f);
  const auto shifted = hn::MulAdd(x, hn::Set(d, 1.44269504f), shifter);
  const auto power = hn::BitCast(d, hn::ShiftLeft<23>(hn::BitCast(I32(), shifted)));
  const auto whole = hn::Sub(shifted, shifter);
  auto r = hn::NegMulAdd(whole, hn::Set(d, 0x1.62e4p-1f), x);  // 0.693145752: whole * this is exact
  r = hn::NegMulAdd(whole, hn::Set(d, 0x1.7f7d1cp-20f), r);    // ln 2 - 0x1.62e4p-1
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
