#include "oprt/ops/layernorm/layernorm.h"

#include "oprt/core/operator.h"
#include "oprt/ops/layernorm/layernorm_plan.h"

namespace oprt {
namespace {

const Operator<LayernormPlan> kLayernorm{"layernorm",
                                         {{"out", Role::kOutput},
                                          {"in", Role::kInPlaceInput},
                                          {"gamma", Role::kInput, /*optional=*/true},
                                          {"beta", Role::kInput, /*optional=*/true}},
                                         &layernorm_cpu,
                                         OPRT_GPU(layernorm_gpu)};

}  // namespace
}  // namespace oprt

using namespace oprt;

oprt_status_t oprt_create_layernorm_descriptor(oprt_operator_descriptor_t* desc, const oprt_tensor_view_t* out,
                                               const oprt_tensor_view_t* in, const oprt_tensor_view_t* gamma,
                                               const oprt_tensor_view_t* beta, int64_t axis, float eps) {
  return create(kLayernorm, desc, {out, in, gamma, beta}, [&](LayernormPlan& plan, const View* views) -> Status {
    const View *to = &views[0], *from = &views[1];
    int row_axis;
    OPRT_TRY(check_float("layernorm", "out", *to));
    OPRT_TRY(check_same_dtype("layernorm", "in", *from, "out", *to));
    OPRT_TRY(check_same_shape("layernorm", "in", *from, "out", *to));
    OPRT_TRY(check_axis("layernorm", axis, to->ndim, &row_axis));
    OPRT_TRY(check_weight("layernorm", "gamma", views[2], *from, row_axis, &plan.gamma));
    OPRT_TRY(check_weight("layernorm", "beta", views[3], *from, row_axis, &plan.beta));
    OPRT_TRY(check_eps("layernorm", eps));
    plan.rows = make_rows({to, from}, row_axis);
    plan.dtype = to->dtype;
    plan.eps = eps;
    return {};
  });
}

oprt_status_t oprt_get_layernorm_workspace_size(oprt_operator_descriptor_t desc, size_t* size) {
  return workspace_size(kLayernorm, desc, size);
}

oprt_status_t oprt_execute_layernorm(oprt_operator_descriptor_t desc, void* workspace, size_t workspace_size, void* out,
                                     const void* in, const void* gamma, const void* beta, oprt_stream_t stream) {
  return execute(kLayernorm, desc, workspace, workspace_size, {out, in, gamma, beta}, stream);
}

oprt_status_t oprt_destroy_layernorm_descriptor(oprt_operator_descriptor_t desc) { return destroy(kLayernorm, desc); }
