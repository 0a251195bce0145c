// silu_and_mul on the GPU: a functor of two halves on the elementwise skeleton.
#include "oprt/device/activations.cuh"
#include "oprt/device/elementwise.cuh"
#include "oprt/ops/silu_and_mul/silu_and_mul_plan.h"

namespace oprt {
namespace {

Status silu_and_mul_run(const ElementwisePlan& plan, const Call& call, LoopPath path) {
  return with_float(plan.dtype, [&](auto t) {
    using T = decltype(t);
    return elementwise_gated<T>("silu_and_mul", path, plan.loop, call, Gated<Silu<T>>{});
  });
}

}  // namespace

OPRT_ELEMENTWISE_GPU_BACKEND(silu_and_mul, ElementwisePlan, gated_path_of);

}  // namespace oprt
