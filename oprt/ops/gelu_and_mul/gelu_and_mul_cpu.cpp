// gelu_and_mul on the CPU: two functors of two halves on the elementwise skeleton.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "oprt/ops/gelu_and_mul/gelu_and_mul_cpu.cpp"
#include <hwy/foreach_target.h>

#include "oprt/device/cpu/activations.h"
#include "oprt/device/cpu/elementwise.h"
#include "oprt/ops/gelu_and_mul/gelu_and_mul_plan.h"

HWY_BEFORE_NAMESPACE();
namespace oprt {
namespace HWY_NAMESPACE {

void gelu_and_mul_run(const GeluAndMulPlan& plan, const Call& call, ElementwisePath path) {
  with_float(plan.dtype, [&](auto t) {
    using T = decltype(t);
    if (plan.approximate == OPRT_GELU_ERF)
      elementwise_gated<T>(path, plan.loop, call, Gated<GeluErf<T>>{});
    else
      elementwise_gated<T>(path, plan.loop, call, Gated<GeluTanh<T>>{});
  });
}

}  // namespace HWY_NAMESPACE
}  // namespace oprt
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace oprt {
OPRT_ELEMENTWISE_BACKEND(gelu_and_mul, GeluAndMulPlan);
}  // namespace oprt
#endif
