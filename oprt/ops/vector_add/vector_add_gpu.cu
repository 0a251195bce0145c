// vector_add on the GPU: a functor of two on the elementwise skeleton.
#include "oprt/device/elementwise.cuh"
#include "oprt/ops/vector_add/vector_add_plan.h"

namespace oprt {
namespace {

struct Add {
  __device__ float operator()(float a, float b) const { return a + b; }
};

Status vector_add_run(const ElementwisePlan& plan, const Call& call, LoopPath path) {
  return with_float(plan.dtype,
                    [&](auto t) { return elementwise<decltype(t), 2>("vector_add", path, plan.loop, call, Add{}); });
}

}  // namespace

OPRT_ELEMENTWISE_GPU_BACKEND(vector_add, ElementwisePlan, path_of);

}  // namespace oprt
