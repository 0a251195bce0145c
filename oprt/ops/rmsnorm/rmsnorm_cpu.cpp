// rmsnorm on the CPU: the norm of device/cpu/rms.h on the row skeleton.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "oprt/ops/rmsnorm/rmsnorm_cpu.cpp"
#include <hwy/foreach_target.h>

#include "oprt/device/cpu/rms.h"
#include "oprt/ops/rmsnorm/rmsnorm_plan.h"

HWY_BEFORE_NAMESPACE();
namespace oprt {
namespace HWY_NAMESPACE {

struct Rmsnorm : RmsNorm {
  static constexpr int kOut = 0, kIn = 1;
};

void rmsnorm_run(const RmsnormPlan& plan, const Call& call) {
  const Rmsnorm op{{{}, static_cast<float>(plan.rows.length), plan.eps, plan.gamma, call.data[2]}};
  with_float(plan.dtype, [&](auto t) { map_any_rows<decltype(t)>(op, plan.rows, call); });
}

}  // namespace HWY_NAMESPACE
}  // namespace oprt
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace oprt {
namespace {

HWY_EXPORT(rmsnorm_run);

Status run(const RmsnormPlan& plan, const Call& call) {
  HWY_DYNAMIC_DISPATCH(rmsnorm_run)(plan, call);
  return {};
}

constexpr Kernel<RmsnormPlan> kKernels[] = {
    {"rmsnorm_row", run}, {"rmsnorm_columns", run}, {"rmsnorm_gathered_columns", run}};

Status choose(const RmsnormPlan& plan, const Call&, const Kernel<RmsnormPlan>** kernel) {
  *kernel = &kKernels[static_cast<int>(map_path(plan.rows))];
  return {};
}

}  // namespace

const Backend<RmsnormPlan> rmsnorm_cpu = {kKernels, 3, choose, nullptr};

}  // namespace oprt
#endif
