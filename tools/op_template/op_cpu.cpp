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

void @op@_run(const @Op@Plan& plan, const Call& call) {
  with_float(plan.dtype, [&](auto t) { elementwise<decltype(t), 1>(plan.loop, call, @Op@{}); });
}

}  // namespace HWY_NAMESPACE
}  // namespace oprt
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace oprt {
namespace {

HWY_EXPORT(@op@_run);

Status run(const @Op@Plan& plan, const Call& call) {
  HWY_DYNAMIC_DISPATCH(@op@_run)(plan, call);
  return {};
}

constexpr Kernel<@Op@Plan> kKernels[] = {{"@op@_contiguous", run}, {"@op@_rows", run}, {"@op@_strided", run}};

Status choose(const @Op@Plan& plan, const Call&, const Kernel<@Op@Plan>** kernel) {
  *kernel = &kKernels[static_cast<int>(elementwise_path(plan.loop))];
  return {};
}

}  // namespace

const Backend<@Op@Plan> @op@_cpu = {kKernels, 3, choose, nullptr};

}  // namespace oprt
#endif
