// The activations as functors on f32 vectors: what the elementwise operators and matmul's epilogue share, so that fused
// and composed have one formula. Each keeps a NaN.
//
//   functor    formula                            why it is written so
//   Relu       max(x, 0)                          selects, since 0 * -inf is not 0
//   Silu       x / (1 + e^-x)
//   GeluTanh   x / (1 + e^-2t)                    equal to 0.5 x (1 + tanh t), which cancels in the negative tail
//   GeluErf    0.5 x erfc(-x / sqrt 2)            for the same reason not 1 + erf
#if defined(OPRT_DEVICE_CPU_ACTIVATIONS_H) == defined(HWY_TARGET_TOGGLE)
#ifdef OPRT_DEVICE_CPU_ACTIVATIONS_H
#undef OPRT_DEVICE_CPU_ACTIVATIONS_H
#else
#define OPRT_DEVICE_CPU_ACTIVATIONS_H
#endif

#include "oprt/device/cpu/math.h"

HWY_BEFORE_NAMESPACE();
namespace oprt {
namespace HWY_NAMESPACE {

struct Relu {
  HWY_INLINE VecF32 operator()(VecF32 x) const {
    const auto zero = hn::Zero(F32());
    return hn::IfThenElse(hn::Or(hn::Gt(x, zero), hn::IsNaN(x)), x, zero);
  }
};

struct Silu {
  HWY_INLINE VecF32 operator()(VecF32 x) const {
    return hn::Div(x, hn::Add(exp_f32(hn::Neg(x)), hn::Set(F32(), 1.0f)));
  }
};

// t = sqrt(2 / pi) (x + 0.044715 x^3). Where x^3 overflows e^-2t is 0 or infinite, as it is long before.
struct GeluTanh {
  HWY_INLINE VecF32 operator()(VecF32 x) const {
    const F32 d;
    const auto cubic = hn::MulAdd(hn::Mul(x, x), hn::Set(d, -0.0713548163f), hn::Set(d, -1.59576912f));
    return hn::Div(x, hn::Add(exp_f32(hn::Mul(x, cubic)), hn::Set(d, 1.0f)));
  }
};

// With z = |x|: tail(z) = 0.5 erfc(z / sqrt 2) = e^(-z^2 / 2) t q(t), t = 1 / (1 + 0.3 z), q of degree 9 (fitted for z
// to 14: relative error 0.06 units of 2^-24). Then x < 0 gives x tail, x > 0 gives x - x tail: neither cancels.
struct GeluErf {
  HWY_INLINE VecF32 operator()(VecF32 x) const {
    const F32 d;
    const auto one = hn::Set(d, 1.0f);
    const auto t = hn::Div(one, hn::MulAdd(hn::Abs(x), hn::Set(d, 0.3f), one));
    auto q = hn::Set(d, -0x1.51b87ap-6f);
    q = hn::MulAdd(q, t, hn::Set(d, 0x1.cc4a88p-4f));
    q = hn::MulAdd(q, t, hn::Set(d, -0x1.d31508p-3f));
    q = hn::MulAdd(q, t, hn::Set(d, 0x1.885beep-3f));
    q = hn::MulAdd(q, t, hn::Set(d, -0x1.4498c6p-4f));
    q = hn::MulAdd(q, t, hn::Set(d, 0x1.8973e2p-4f));
    q = hn::MulAdd(q, t, hn::Set(d, 0x1.413b32p-4f));
    q = hn::MulAdd(q, t, hn::Set(d, 0x1.c37dbap-4f));
    q = hn::MulAdd(q, t, hn::Set(d, 0x1.e9c538p-4f));
    q = hn::MulAdd(q, t, hn::Set(d, 0x1.ea3c8ap-4f));
    const auto e = exp_f32(hn::Mul(hn::Mul(x, x), hn::Set(d, -0.5f)));
    const auto tail = hn::Mul(hn::Mul(t, q), e);
    const auto finite = hn::Min(x, hn::Set(d, 100.0f));  // tail is 0 there; inf * 0 would be NaN
    return hn::IfThenElse(hn::Lt(x, hn::Zero(d)), hn::Mul(x, tail), hn::NegMulAdd(finite, tail, x));
  }
};

}  // namespace HWY_NAMESPACE
}  // namespace oprt
HWY_AFTER_NAMESPACE();

#endif
