// relu on the CPU: a functor on the elementwise skeleton.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "oprt/ops/relu/relu_cpu.cpp"
#include <hwy/foreach_target.h>

#include "oprt/device/cpu/activations.h"
#include "oprt/device/cpu/elementwise.h"
#include "oprt/ops/relu/relu_plan.h"

HWY_BEFORE_NAMESPACE();
namespace oprt {
namespace HWY_NAMESPACE {

// Slope 0 has its own functor: 0 * -inf is NaN where relu(-inf) is 0.
struct LeakyRelu {
  float slope;
  VecF32 operator()(VecF32 x) const {
    return hn::IfThenElse(hn::Gt(x, hn::Zero(F32())), x, hn::Mul(x, hn::Set(F32(), slope)));
  }
};

void relu_run(const ReluPlan& plan, const Call& call, ElementwisePath path) {
  with_float(plan.dtype, [&](auto t) {
    using T = decltype(t);
    if (plan.negative_slope == 0.0f)
      elementwise<T, 1>(path, plan.loop, call, Relu{});
    else
      elementwise<T, 1>(path, plan.loop, call, LeakyRelu{plan.negative_slope});
  });
}

}  // namespace HWY_NAMESPACE
}  // namespace oprt
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace oprt {
OPRT_ELEMENTWISE_BACKEND(relu, ReluPlan);
}  // namespace oprt
#endif
