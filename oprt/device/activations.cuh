// The activations as functors on f32, for the elementwise operators and for matmul's epilogue. Each keeps a NaN, and
// none cancels in the tails.
//
//   functor        formula                      written as
//   Relu           max(x, 0)                    a select, since 0 * -inf is not 0
//   Silu<T>        x / (1 + e^-x)
//   GeluTanh<T>    x/2 (1 + tanh t)             x / (1 + e^-2t)
//   GeluErf<T>     x/2 erfc(-x / sqrt 2)
//   Gated<F>       F(gate) * up
//
// T is the type that the result is rounded to, or float where it is used further. 16 bits take the hardware's
// exponential and division (2 units of 2^-23 each), f32 the accurate ones.
#pragma once

#include "oprt/device/gpu.h"

namespace oprt {

constexpr float kLog2E = 0x1.715476p+0f;

struct Relu {
  __device__ float operator()(float x) const { return x < 0.0f ? 0.0f : x; }
};

// The hardware's 2^x and 1/x, to 2 units of 2^-23 and 1; results below 2^-126 are 0.
__device__ __forceinline__ float exp2_fast(float x) {
  float y;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}
__device__ __forceinline__ float reciprocal_fast(float x) {
  float y;
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}

// e^x.
template <class T>
__device__ __forceinline__ float exponential(float x) {
  if constexpr (sizeof(T) == 2)
    return exp2_fast(x * kLog2E);
  else
    return expf(x);
}

// x / (1 + e^z). f32: by e^-|z|, so that the divisor is 1 to 2, and what IEEE's division does for others is not needed:
// a call of 2 KB takes 0.60 us in place of 0.76, one of 512 KB 1.37 in place of 1.55.
template <class T>
__device__ __forceinline__ float over_one_plus_exp(float x, float z) {
  if constexpr (sizeof(T) == 2) return x * reciprocal_fast(1.0f + exponential<T>(z));  // NaN for -inf, as it must be
  const float e = expf(-fabsf(z)), over = z > 0.0f ? x * e : x, under = 1.0f + e;
  const float r = reciprocal_fast(under), q = over * r;
  return fabsf(q) < INFINITY ? fmaf(fmaf(q, under, -over), -r, q) : q;  // so written, -0 stays -0
}

template <class T>
struct Silu {
  __device__ float operator()(float x) const { return over_one_plus_exp<T>(x, -x); }
};

// t = sqrt(2/pi) (x + 0.044715 x^3)
template <class T>
struct GeluTanh {
  __device__ float operator()(float x) const {
    constexpr float kLinear = -1.5957691216f;  // -2 sqrt(2/pi)
    return over_one_plus_exp<T>(x, x * fmaf(x * x, kLinear * 0.044715f, kLinear));
  }
};

// erfc(|x| / sqrt 2) / 2 = e^(-x^2 / 2) (1/2 + v Q(v)) with v = |x| / (1 + a |x|), a rational argument as in Hastings,
// Approximations for Digital Computers, 1955. Q is fitted for the least relative error where the tails may have 1 +
// 3x^2/4 times as much: 2^-27 in f32, 2^-18 in 16 bits. v is 0 with x, so that what the hardware's reciprocal lacks
// fades where least is allowed. Under half of erfcf's instructions, which alone take longer than memory does.
template <class T>
struct GeluErf {
  __device__ float operator()(float x) const {
    constexpr bool kShort = sizeof(T) == 2;
    constexpr float kA = kShort ? 0.34648234f : 0.28991378f;
    constexpr int kTerms = kShort ? 5 : 8;
    constexpr float kQ[2][8] = {{-0.39894244f, 0.134343505f, -0.02156674f, 1.8585699e-4f, 3.3129850e-4f, 3.381067e-5f,
                                 -2.0913107e-5f, 1.9595038e-6f},
                                {-0.3989099f, 0.11151664f, -0.0069520376f, -0.0030862705f, 0.0005201132f}};
    const float size = fminf(fabsf(x), 20.0f);  // nothing is below -20, and infinity times 0 is NaN
    const float v = size * reciprocal_fast(fmaf(size, kA, 1.0f));
    float q = kQ[kShort][kTerms - 1];
#pragma unroll
    for (int i = kTerms - 2; i >= 0; --i) q = fmaf(q, v, kQ[kShort][i]);
    const float below = fmaf(q, v, 0.5f) * exp2_fast(size * size * (-0.5f * kLog2E));
    return x > 0.0f ? fmaf(-size, below, x) : x * below;
  }
};

template <class F>
struct Gated {
  __device__ float operator()(float gate, float up) const { return F()(gate) * up; }
};

}  // namespace oprt
