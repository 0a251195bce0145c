// @op@ on the CPU: a functor on the elementwise skeleton.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "oprt/ops/@op@/@op@_cpu.cpp"
#include <hwy/foreach_target.h>

#include "oprt/device/cpu/elementwise.h"
#include "oprt/ops/@op@/@op@_plan.h"

HWY_BEFORE_NAMESPACE();
namespace oprt {
namespace HWY_NAMESPACE {

struct @Op@ {
  VecF32 operator()(VecF32 x) const {
    return x;  // FILL IN
  }
};

void @op@_run(const ElementwisePlan& plan, const Call& call, ElementwisePath path) {
  with_float(plan.dtype, [&](auto t) { elementwise<decltype(t), 1>(path, plan.loop, call, @Op@{}); });
}

}  // namespace HWY_NAMESPACE
}  // namespace oprt
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace oprt {
OPRT_ELEMENTWISE_BACKEND(@op@, ElementwisePlan);
}  // namespace oprt
#endif
