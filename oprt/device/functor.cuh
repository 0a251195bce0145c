// What the elementwise skeleton's paths share: where the inputs are, and a functor applied to their elements.
#pragma once

namespace oprt {

template <class T, int kInputs>
struct Sources {
  const T* of[kInputs];
};

// f of kInputs arrays' elements.
template <int kCount, class Y, class X, int kInputs, class F>
__device__ __forceinline__ void apply(const F& f, const X (&x)[kInputs][kCount], Y (&y)[kCount]) {
#pragma unroll
  for (int i = 0; i < kCount; ++i) {
    if constexpr (kInputs == 1)
      y[i] = f(x[0][i]);
    else
      y[i] = f(x[0][i], x[1][i]);
  }
}

}  // namespace oprt
