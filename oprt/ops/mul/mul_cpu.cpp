// mul on the CPU: a functor on the elementwise skeleton.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "oprt/ops/mul/mul_cpu.cpp"
#include <hwy/foreach_target.h>

#include "oprt/device/cpu/elementwise.h"
#include "oprt/ops/mul/mul_plan.h"

HWY_BEFORE_NAMESPACE();
namespace oprt {
namespace HWY_NAMESPACE {

struct Mul {
  VecF32 operator()(VecF32 a, VecF32 b) const { return hn::Mul(a, b); }
};

void mul_run(const ElementwisePlan& plan, const Call& call, ElementwisePath path) {
  with_float(plan.dtype, [&](auto t) { elementwise<decltype(t), 2>(path, plan.loop, call, Mul{}); });
}

}  // namespace HWY_NAMESPACE
}  // namespace oprt
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace oprt {
OPRT_ELEMENTWISE_BACKEND(mul, ElementwisePlan);
}  // namespace oprt
#endif
