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

template <class T>
__device__ __forceinline__ float quotient(float x, float y) {
  if constexpr (sizeof(T) == 2)
    return x * reciprocal_fast(y);  // inf / inf is NaN, as it must be: -inf has no silu
  else
    return x / y;
}

template <class T>
struct Silu {
  __device__ float operator()(float x) const { return quotient<T>(x, 1.0f + exponential<T>(-x)); }
};

// t = sqrt(2/pi) (x + 0.044715 x^3)
template <class T>
struct GeluTanh {
  __device__ float operator()(float x) const {
    constexpr float kLinear = -1.5957691216f;  // -2 sqrt(2/pi)
    return quotient<T>(x, 1.0f + exponential<T>(x * fmaf(x * x, kLinear * 0.044715f, kLinear)));
  }
};

// 16 bits: with z = |x| / sqrt 2, erfc(z) / 2 = e^(-z^2) t P(t), t = 1 / (1 + 0.51 z), after Hastings, Approximations
// for Digital Computers, 1955; P is fitted for the least relative error, 2^-20.1. Half of erfcf's instructions, which
// alone take longer than memory does.
template <class T>
struct GeluErf {
  static constexpr int kPieces = sizeof(T) == 4 ? 2 : 1;  // erfcf: 1 GB in 265 us, with one piece in 292

  __device__ float operator()(float x) const {
    if constexpr (sizeof(T) == 2) {
      constexpr float kHalf[] = {0.14395874985638836f, 0.14207617878598533f, 0.13953293918919712f,
                                 0.02752668519314736f, 0.17922228974993712f, -0.17956702667287275f,
                                 0.047249865482923915f};
      const float t = reciprocal_fast(fmaf(fabsf(x), 0.51f * 0.70710678118654752f, 1.0f));
      float p = kHalf[6];
#pragma unroll
      for (int i = 5; i >= 0; --i) p = fmaf(p, t, kHalf[i]);
      const float below = p * t * exp2_fast(x * x * (-0.5f * kLog2E));  // the normal distribution's share below -|x|
      return x * (x > 0.0f ? 1.0f - below : below);
    } else {
      return 0.5f * x * erfcf(-x * 0.70710678118654752f);
    }
  }
};

template <class F>
struct Gated {
  __device__ float operator()(float gate, float up) const { return F()(gate) * up; }
};

}  // namespace oprt
