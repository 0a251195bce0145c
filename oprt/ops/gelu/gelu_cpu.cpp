// gelu on the CPU: two functors on the elementwise skeleton.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "oprt/ops/gelu/gelu_cpu.cpp"
#include <hwy/foreach_target.h>

#include "oprt/device/cpu/activations.h"
#include "oprt/device/cpu/elementwise.h"
#include "oprt/ops/gelu/gelu_plan.h"

HWY_BEFORE_NAMESPACE();
namespace oprt {
namespace HWY_NAMESPACE {

void gelu_run(const GeluPlan& plan, const Call& call, ElementwisePath path) {
  with_float(plan.dtype, [&](auto t) {
    using T = decltype(t);
    if (plan.approximate == OPRT_GELU_ERF)
      elementwise<T, 1>(path, plan.loop, call, GeluErf<T>{});
    else
      elementwise<T, 1>(path, plan.loop, call, GeluTanh<T>{});
  });
}

}  // namespace HWY_NAMESPACE
}  // namespace oprt
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace oprt {
OPRT_ELEMENTWISE_BACKEND(gelu, GeluPlan);
}  // namespace oprt
#endif
