// gelu_and_mul on the GPU: a functor of two halves on the elementwise skeleton.
#include "oprt/device/activations.cuh"
#include "oprt/device/elementwise.cuh"
#include "oprt/ops/gelu_and_mul/gelu_and_mul_plan.h"

namespace oprt {
namespace {

Status gelu_and_mul_run(const GeluAndMulPlan& plan, const Call& call, LoopPath path) {
  return with_float(plan.dtype, [&](auto t) {
    using T = decltype(t);
    if (plan.approximate == OPRT_GELU_TANH)
      return elementwise_gated<T>("gelu_and_mul", path, plan.loop, call, Gated<GeluTanh<T>>{});
    return elementwise_gated<T>("gelu_and_mul", path, plan.loop, call, Gated<GeluErf<T>>{});
  });
}

}  // namespace

OPRT_ELEMENTWISE_GPU_BACKEND(gelu_and_mul, GeluAndMulPlan, gated_path_of);

}  // namespace oprt
