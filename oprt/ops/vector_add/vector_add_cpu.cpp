// vector_add on the CPU: a functor on the elementwise skeleton.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "oprt/ops/vector_add/vector_add_cpu.cpp"
#include <hwy/foreach_target.h>

#include "oprt/device/cpu/elementwise.h"
#include "oprt/ops/vector_add/vector_add_plan.h"

HWY_BEFORE_NAMESPACE();
namespace oprt {
namespace HWY_NAMESPACE {

struct Add {
  VecF32 operator()(VecF32 a, VecF32 b) const { return hn::Add(a, b); }
};

void vector_add_run(const ElementwisePlan& plan, const Call& call, ElementwisePath path) {
  with_float(plan.dtype, [&](auto t) { elementwise<decltype(t), 2>(path, plan.loop, call, Add{}); });
}

}  // namespace HWY_NAMESPACE
}  // namespace oprt
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace oprt {
OPRT_ELEMENTWISE_BACKEND(vector_add, ElementwisePlan);
}  // namespace oprt
#endif
