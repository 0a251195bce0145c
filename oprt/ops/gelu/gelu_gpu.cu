// gelu on the GPU: a functor on the elementwise skeleton.
#include "oprt/device/activations.cuh"
#include "oprt/device/elementwise.cuh"
#include "oprt/ops/gelu/gelu_plan.h"

namespace oprt {
namespace {

Status gelu_run(const GeluPlan& plan, const Call& call, LoopPath path) {
  return with_float(plan.dtype, [&](auto t) {
    using T = decltype(t);
    if (plan.approximate == OPRT_GELU_TANH) return elementwise<T, 1>("gelu", path, plan.loop, call, GeluTanh<T>{});
    return elementwise<T, 1>("gelu", path, plan.loop, call, GeluErf<T>{});
  });
}

}  // namespace

OPRT_ELEMENTWISE_GPU_BACKEND(gelu, GeluPlan, path_of);

}  // namespace oprt
