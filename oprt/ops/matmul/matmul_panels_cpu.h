// What the matrix kernels share: walking the products of a batch, panels widened to f32, and the last step from f32
// sums to out. Compiled per Highway target.
#if defined(OPRT_OPS_MATMUL_PANELS_CPU_H) == defined(HWY_TARGET_TOGGLE)
#ifdef OPRT_OPS_MATMUL_PANELS_CPU_H
#undef OPRT_OPS_MATMUL_PANELS_CPU_H
#else
#define OPRT_OPS_MATMUL_PANELS_CPU_H
#endif

#include <algorithm>

#include "oprt/core/parallel.h"
#include "oprt/device/cpu/activations.h"
#include "oprt/device/cpu/odometer.h"
#include "oprt/device/cpu/simd.h"
#include "oprt/ops/matmul/matmul_plan.h"

HWY_BEFORE_NAMESPACE();
namespace oprt {
namespace HWY_NAMESPACE {

// A place in out, counted over all elements of all products, row by row.
struct Place2d {
  const MatmulPlan& plan;
  Odometer product;
  int64_t row, column;

  Place2d(const MatmulPlan& plan, int64_t flat)
      : plan(plan), product(plan.batch, flat / (plan.m * plan.n)), row(flat / plan.n % plan.m), column(flat % plan.n) {}

  // Moves on by n elements, at most to the end of the row.
  void advance(int64_t n) {
    column += n;
    if (column < plan.n) return;
    column = 0;
    if (++row < plan.m) return;
    row = 0;
    product.advance(1);
  }
};

// The first elements of a and b of the product at a place in the batch.
template <class T>
const T* a_of(const MatmulPlan& plan, const Call& call, const Odometer& product) {
  return first<const T>(call, plan.batch, plan.a_operand) + product.at[plan.a_operand];
}
template <class T>
const T* b_of(const MatmulPlan& plan, const Call& call, const Odometer& product) {
  return first<const T>(call, plan.batch, plan.b_operand) + product.at[plan.b_operand];
}

// n elements, `stride` apart, as f32.
template <class T>
HWY_INLINE void widen_run(const T* from, int64_t stride, int64_t n, float* to) {
  int64_t i = 0;
  if (stride == 1)
    for (const int64_t step = lanes(); i + step <= n; i += step) store(load_f32(from + i), to + i);
  for (; i < n; ++i) to[i] = widen(from[i * stride]);
}

// Part of a row of out, and the bias that goes there (null: none).
template <class T>
struct Target {
  T* out;
  int64_t step;
  const T* bias;
  int64_t bias_step;

  Target(const MatmulPlan& plan, const Call& call, const Odometer& product, int64_t row, int64_t column)
      : out(first<T>(call, plan.batch, 0) + product.at[0] + row * plan.out.row + column * plan.out.column),
        step(plan.out.column),
        bias(nullptr),
        bias_step(plan.bias.column) {
    if (plan.has_bias) bias = static_cast<const T*>(call.data[3]) + row * plan.bias.row + column * plan.bias.column;
  }
};

// The bias of lanes [i, i + n), n <= lanes().
template <class T>
HWY_INLINE VecF32 bias_at(const Target<T>& to, int64_t i, int64_t n) {
  if (to.bias_step == 1 && n == static_cast<int64_t>(lanes())) return load_f32(to.bias + i);
  HWY_ALIGN float buffer[kMaxLanes] = {};
  for (int64_t j = 0; j < n; ++j) buffer[j] = widen(to.bias[(i + j) * to.bias_step]);
  return hn::Load(F32(), buffer);
}

template <class T, class Activation>
HWY_INLINE void finish_with(Activation activation, const float* sums, int64_t n, const Target<T>& to) {
  const int64_t step = static_cast<int64_t>(lanes());
  for (int64_t i = 0; i < n; i += step) {
    const int64_t left = std::min(step, n - i);
    auto v = left == step ? hn::LoadU(F32(), sums + i) : load_f32_n(sums + i, left);
    if (to.bias) v = hn::Add(v, bias_at(to, i, left));
    v = activation(v);
    if (to.step == 1) {
      if (left == step)
        store(v, to.out + i);
      else
        store_n(v, to.out + i, left);
    } else {
      HWY_ALIGN T buffer[kMaxLanes];
      store(v, buffer);
      for (int64_t j = 0; j < left; ++j) to.out[(i + j) * to.step] = buffer[j];
    }
  }
}

struct Identity {
  HWY_INLINE VecF32 operator()(VecF32 x) const { return x; }
};

// out = act(sums + bias), rounded once; n elements of one row. The activation is that of f32 for every T: the bound of
// matmul has no room for the shorter ones.
template <class T>
HWY_NOINLINE void finish(const MatmulPlan& plan, const float* sums, int64_t n, const Target<T>& to) {
  switch (plan.activation) {
    case OPRT_ACTIVATION_NONE: return finish_with(Identity(), sums, n, to);
    case OPRT_ACTIVATION_RELU: return finish_with(Relu(), sums, n, to);
    case OPRT_ACTIVATION_GELU_ERF: return finish_with(GeluErf<float>(), sums, n, to);
    case OPRT_ACTIVATION_GELU_TANH: return finish_with(GeluTanh<float>(), sums, n, to);
    case OPRT_ACTIVATION_SILU: return finish_with(Silu<float>(), sums, n, to);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace oprt
HWY_AFTER_NAMESPACE();

#endif
