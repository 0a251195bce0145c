#include "oprt/ops/rmsnorm/rmsnorm.h"

#include "oprt/core/operator.h"
#include "oprt/ops/rmsnorm/rmsnorm_plan.h"

namespace oprt {
namespace {

const Operator<RmsnormPlan> kRmsnorm{
    "rmsnorm",
    {{"out", Role::kOutput}, {"in", Role::kInPlaceInput}, {"gamma", Role::kInput, /*optional=*/true}},
    &rmsnorm_cpu,
    OPRT_GPU(rmsnorm_gpu)};

}  // namespace
}  // namespace oprt

using namespace oprt;

oprt_status_t oprt_create_rmsnorm_descriptor(oprt_operator_descriptor_t* desc, const oprt_tensor_view_t* out,
                                             const oprt_tensor_view_t* in, const oprt_tensor_view_t* gamma,
                                             int64_t axis, float eps) {
  return create(kRmsnorm, desc, {out, in, gamma}, [&](RmsnormPlan& plan, const View* views) -> Status {
    const View *to = &views[0], *from = &views[1];
    int row_axis;
    OPRT_TRY(check_float("rmsnorm", "out", *to));
    OPRT_TRY(check_same_dtype("rmsnorm", "in", *from, "out", *to));
    OPRT_TRY(check_same_shape("rmsnorm", "in", *from, "out", *to));
    OPRT_TRY(check_axis("rmsnorm", axis, to->ndim, &row_axis));
    OPRT_TRY(check_weight("rmsnorm", "gamma", views[2], *from, row_axis, &plan.gamma));
    OPRT_TRY(check_eps("rmsnorm", eps));
    plan.rows = make_rows({to, from}, row_axis);
    plan.dtype = to->dtype;
    plan.eps = eps;
    return {};
  });
}

oprt_status_t oprt_get_rmsnorm_workspace_size(oprt_operator_descriptor_t desc, size_t* size) {
  return workspace_size(kRmsnorm, desc, size);
}

oprt_status_t oprt_execute_rmsnorm(oprt_operator_descriptor_t desc, void* workspace, size_t workspace_size, void* out,
                                   const void* in, const void* gamma, oprt_stream_t stream) {
  return execute(kRmsnorm, desc, workspace, workspace_size, {out, in, gamma}, stream);
}

oprt_status_t oprt_destroy_rmsnorm_descriptor(oprt_operator_descriptor_t desc) { return destroy(kRmsnorm, desc); }
