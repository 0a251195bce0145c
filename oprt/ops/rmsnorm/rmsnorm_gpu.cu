// rmsnorm on the GPU: the norm of device/norms.cuh on the row skeleton.
#include "oprt/device/norms.cuh"
#include "oprt/ops/rmsnorm/rmsnorm_plan.h"

namespace oprt {
namespace {

Status rmsnorm_run(const RmsnormPlan& plan, const Call& call) {
  const RmsNorm<1> op = {{RowWeight(plan.gamma, call.data[2])}, static_cast<float>(plan.rows.length), plan.eps};
  return with_float(plan.dtype, [&](auto t) { return map_rows<decltype(t)>("rmsnorm", plan.rows, call, op); });
}

}  // namespace

OPRT_ROWS_GPU_BACKEND(rmsnorm, RmsnormPlan, 2, SumStat);

}  // namespace oprt
