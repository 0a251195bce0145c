// add_rmsnorm on the GPU: rmsnorm's own kernels with a second input, so its bits are those of vector_add, then rmsnorm.
#include "oprt/device/norms.cuh"
#include "oprt/ops/add_rmsnorm/add_rmsnorm_plan.h"

namespace oprt {
namespace {

Status add_rmsnorm_run(const AddRmsnormPlan& plan, const Call& call) {
  const RmsNorm<2> op = {{RowWeight(plan.gamma, call.data[4])}, static_cast<float>(plan.rows.length), plan.eps};
  return with_float(plan.dtype, [&](auto t) { return map_rows<decltype(t)>("add_rmsnorm", plan.rows, call, op); });
}

}  // namespace

OPRT_ROWS_GPU_BACKEND(add_rmsnorm, AddRmsnormPlan, 4, SumStat);

}  // namespace oprt
