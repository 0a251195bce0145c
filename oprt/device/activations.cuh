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

// e^x.
template <class T>
__device__ __forceinline__ float exponential(float x) {
  if constexpr (sizeof(T) == 2)
    return __expf(x);
  else
    return expf(x);
}

template <class T>
__device__ __forceinline__ float quotient(float x, float y) {
  if constexpr (sizeof(T) == 2)
    return x * __frcp_rn(y);  // __fdividef gives 0, not NaN, for inf / inf
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

template <class T>
struct GeluErf {
  __device__ float operator()(float x) const { return 0.5f * x * erfcf(-x * 0.70710678118654752f); }
};

template <class F>
struct Gated {
  __device__ float operator()(float gate, float up) const { return F()(gate) * up; }
};

}  // namespace oprt
