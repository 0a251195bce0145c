// relu on the GPU: a functor on the elementwise skeleton.
#include "oprt/device/activations.cuh"
#include "oprt/device/elementwise.cuh"
#include "oprt/ops/relu/relu_plan.h"

namespace oprt {
namespace {

// Slope 0 has its own functor: 0 * -inf is NaN where relu(-inf) is 0.
struct LeakyRelu {
  float slope;
  __device__ float operator()(float x) const { return x > 0.0f ? x : x * slope; }
};

Status relu_run(const ReluPlan& plan, const Call& call, LoopPath path) {
  return with_float(plan.dtype, [&](auto t) {
    using T = decltype(t);
    if (plan.negative_slope == 0.0f) return elementwise<T, 1>("relu", path, plan.loop, call, Relu{});
    return elementwise<T, 1>("relu", path, plan.loop, call, LeakyRelu{plan.negative_slope});
  });
}

}  // namespace

OPRT_ELEMENTWISE_GPU_BACKEND(relu, ReluPlan, path_of);

}  // namespace oprt
