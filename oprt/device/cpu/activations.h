// The activations as functors on f32 vectors: what the elementwise operators and matmul's epilogue share, so that fused
// and composed have one formula. Each keeps a NaN, and none cancels in the tails.
//
//   functor        formula                      written as
//   Relu           max(x, 0)                    a select, since 0 * -inf is not 0
//   Silu<T>        x / (1 + e^-x)
//   GeluTanh<T>    x/2 (1 + tanh t)             x / (1 + e^-2t)
//   GeluErf<T>     x/2 erfc(-x / sqrt 2)        max(x, 0) - |x| times the normal distribution's tail
//   Gated<F>       F(gate) * up
//
// T is the type that the result is rounded to, or float where it is used further. For 16 bits a few units of 2^-20 are
// allowed, for f32 of 2^-24 (numerics.md), so 16 bits take shorter polynomials. All are minimax fits of our own; errors
// are relative and in units of 2^-24, f32 first, then 16 bits.
#if defined(OPRT_DEVICE_CPU_ACTIVATIONS_H) == defined(HWY_TARGET_TOGGLE)
#ifdef OPRT_DEVICE_CPU_ACTIVATIONS_H
#undef OPRT_DEVICE_CPU_ACTIVATIONS_H
#else
#define OPRT_DEVICE_CPU_ACTIVATIONS_H
#endif

#include "oprt/device/cpu/simd.h"

HWY_BEFORE_NAMESPACE();
namespace oprt {
namespace HWY_NAMESPACE {

// c0 + x (c1 + x (c2 + ...))
HWY_INLINE VecF32 polynomial(VecF32, float c0) { return hn::Set(F32(), c0); }
template <class... C>
HWY_INLINE VecF32 polynomial(VecF32 x, float c0, C... rest) {
  return hn::MulAdd(polynomial(x, rest...), x, hn::Set(F32(), c0));
}

constexpr float kLog2E = 0x1.715476p+0f;

// 2^y for y in [-126, 127], within 1 and 48 units;
// any other y, NaN included, gives anything.
template <class T>
HWY_INLINE VecF32 exp2_within(VecF32 y) {
  const F32 d;
  // Adding 1.5 * 2^23 rounds y to an integer n and leaves n in the low bits, from where it goes to the exponent of 2^r.
  const auto big = hn::Set(d, 0x1.8p23f);
  const auto shifted = hn::Add(y, big);
  const auto r = hn::Sub(y, hn::Sub(shifted, big));
  const auto power = sizeof(T) == 2 ? polynomial(r, 1.0f, 0x1.62e12cp-1f, 0x1.ec0378p-3f, 0x1.c9fc7p-5f, 0x1.3a02bcp-7f)
                                    : polynomial(r, 1.0f, 0x1.62e43p-1f, 0x1.ebfbdcp-3f, 0x1.c6aee8p-5f, 0x1.3b2d4ep-7f,
                                                 0x1.5f3e6ap-10f, 0x1.41fbaep-13f);
  const I32 i;
  return hn::BitCast(d, hn::Add(hn::BitCast(i, power), hn::ShiftLeft<23>(hn::BitCast(i, shifted))));
}

// x / (1 + 2^y), where y falls as x rises: x -> inf gives x; x -> -inf gives 0, and -inf itself NaN.
template <class T>
HWY_INLINE VecF32 over_one_plus_exp2(VecF32 x, VecF32 y) {
  const F32 d;
  const auto power = exp2_within<T>(hn::Max(y, hn::Set(d, -126.0f)));
  const auto bounded = hn::IfThenElse(hn::Gt(y, hn::Set(d, 127.0f)), hn::Inf(d), power);
  return hn::Div(x, hn::Add(bounded, hn::Set(d, 1.0f)));
}

struct Relu {
  HWY_INLINE VecF32 operator()(VecF32 x) const {
    return hn::IfThenElse(hn::Lt(x, hn::Zero(F32())), hn::Zero(F32()), x);
  }
};

template <class T>
struct Silu {
  HWY_INLINE VecF32 operator()(VecF32 x) const { return over_one_plus_exp2<T>(x, hn::Mul(x, hn::Set(F32(), -kLog2E))); }
};

// t = sqrt(2/pi) (x + 0.044715 x^3)
template <class T>
struct GeluTanh {
  HWY_INLINE VecF32 operator()(VecF32 x) const {
    constexpr float kLinear = -2.302208198f;  // -2 sqrt(2/pi) log2 e
    return over_one_plus_exp2<T>(x, hn::Mul(x, polynomial(hn::Mul(x, x), kLinear, kLinear * 0.044715f)));
  }
};

// With z = |x| the tail is erfc(z / sqrt 2)/2 = e^(-z^2/2) R(z), R a ratio of polynomials: within 0.02 and 75 units
// times 1 + 3/8 z^2, as the bound grows. Past z = 13.2 the result is below 2^-126.
template <class T>
struct GeluErf {
  HWY_INLINE VecF32 operator()(VecF32 x) const {
    const F32 d;
    const auto z = hn::Min(hn::Abs(x), hn::Set(d, 13.2f));
    const auto decay = exp2_within<T>(hn::Mul(hn::Mul(z, z), hn::Set(d, -0.5f * kLog2E)));
    constexpr bool kShort = sizeof(T) == 2;
    const auto above = kShort ? polynomial(z, 0x1.00004ap-1f, 0x1.050f7p-2f, 0x1.b1e04ep-5f)
                              : polynomial(z, 0.5f, 0x1.ae997ep-2f, 0x1.5c820cp-3f, 0x1.29084p-5f, 0x1.c76812p-9f);
    const auto below =
        kShort ? polynomial(z, 1.0f, 0x1.4ed5d8p+0f, 0x1.4bf20ap-1f, 0x1.0efe3cp-3f)
               : polynomial(z, 1.0f, 0x1.a38eeap+0f, 0x1.25e2c2p+0f, 0x1.bd7094p-2f, 0x1.74543ap-4f, 0x1.1d5fc6p-7f);
    const auto z_tail = hn::Div(hn::Mul(hn::Mul(z, above), decay), below);
    // x * 0 rather than 0: NaN stays NaN, and -inf becomes it.
    const auto positive = hn::IfThenElse(hn::Gt(x, hn::Zero(d)), x, hn::Mul(x, hn::Zero(d)));
    return hn::Sub(positive, z_tail);
  }
};

template <class F>
struct Gated {
  HWY_INLINE VecF32 operator()(VecF32 gate, VecF32 up) const { return hn::Mul(F()(gate), up); }
};

}  // namespace HWY_NAMESPACE
}  // namespace oprt
HWY_AFTER_NAMESPACE();

#endif
