// mul on the GPU: a functor of two on the elementwise skeleton.
#include "oprt/device/elementwise.cuh"
#include "oprt/ops/mul/mul_plan.h"

namespace oprt {
namespace {

struct Multiply {
  __device__ float operator()(float a, float b) const { return a * b; }
};

Status mul_run(const ElementwisePlan& plan, const Call& call, LoopPath path) {
  return with_float(plan.dtype,
                    [&](auto t) { return elementwise<decltype(t), 2>("mul", path, plan.loop, call, Multiply{}); });
}

}  // namespace

OPRT_ELEMENTWISE_GPU_BACKEND(mul, ElementwisePlan, path_of);

}  // namespace oprt
