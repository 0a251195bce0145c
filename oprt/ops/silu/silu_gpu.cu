// silu on the GPU: a functor on the elementwise skeleton.
#include "oprt/device/activations.cuh"
#include "oprt/device/elementwise.cuh"
#include "oprt/ops/silu/silu_plan.h"

namespace oprt {
namespace {

Status silu_run(const ElementwisePlan& plan, const Call& call, LoopPath path) {
  return with_float(plan.dtype, [&](auto t) {
    using T = decltype(t);
    return elementwise<T, 1>("silu", path, plan.loop, call, Silu<T>{});
  });
}

}  // namespace

OPRT_ELEMENTWISE_GPU_BACKEND(silu, ElementwisePlan, path_of);

}  // namespace oprt
