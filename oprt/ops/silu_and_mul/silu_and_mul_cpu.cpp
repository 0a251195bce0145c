// silu_and_mul on the CPU: a functor of two halves on the elementwise skeleton.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "oprt/ops/silu_and_mul/silu_and_mul_cpu.cpp"
#include <hwy/foreach_target.h>

#include "oprt/device/cpu/activations.h"
#include "oprt/device/cpu/elementwise.h"
#include "oprt/ops/silu_and_mul/silu_and_mul_plan.h"

HWY_BEFORE_NAMESPACE();
namespace oprt {
namespace HWY_NAMESPACE {

void silu_and_mul_run(const ElementwisePlan& plan, const Call& call, ElementwisePath path) {
  with_float(plan.dtype, [&](auto t) {
    using T = decltype(t);
    elementwise_gated<T>(path, plan.loop, call, Gated<Silu<T>>{});
  });
}

}  // namespace HWY_NAMESPACE
}  // namespace oprt
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace oprt {
OPRT_ELEMENTWISE_BACKEND(silu_and_mul, ElementwisePlan);
}  // namespace oprt
#endif
