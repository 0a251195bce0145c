// copy on the CPU: device/cpu/move.h, one kernel for each of its paths.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "oprt/ops/copy/copy_cpu.cpp"
#include <hwy/foreach_target.h>

#include "oprt/device/cpu/move.h"
#include "oprt/ops/copy/copy_plan.h"

HWY_BEFORE_NAMESPACE();
namespace oprt {
namespace HWY_NAMESPACE {

void copy_run(const CopyPlan& plan, const Call& call, MovePath path) {
  move(path, plan.loop, call, plan.element_bytes);
}

}  // namespace HWY_NAMESPACE
}  // namespace oprt
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace oprt {
namespace {

HWY_EXPORT(copy_run);

template <MovePath kPath>
Status run(const CopyPlan& plan, const Call& call) {
  HWY_DYNAMIC_DISPATCH(copy_run)(plan, call, kPath);
  return {};
}

constexpr Kernel<CopyPlan> kKernels[] = {{"copy_contiguous", run<MovePath::kContiguous>},
                                         {"copy_rows", run<MovePath::kRows>},
                                         {"copy_transpose", run<MovePath::kTranspose>},
                                         {"copy_strided", run<MovePath::kStrided>}};

Status choose(const CopyPlan& plan, const Call&, const Kernel<CopyPlan>** kernel) {
  *kernel = &kKernels[static_cast<int>(move_path(plan.loop))];
  return {};
}

}  // namespace

const Backend<CopyPlan> copy_cpu = {kKernels, 4, choose, nullptr};

}  // namespace oprt
#endif
