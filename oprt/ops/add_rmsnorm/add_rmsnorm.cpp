#include "oprt/ops/add_rmsnorm/add_rmsnorm.h"

#include "oprt/core/operator.h"
#include "oprt/ops/add_rmsnorm/add_rmsnorm_plan.h"

namespace oprt {
namespace {

const Operator<AddRmsnormPlan> kAddRmsnorm{"add_rmsnorm",
                                           {{"out", Role::kOutput},
                                            {"residual_out", Role::kOutput},
                                            {"in", Role::kInPlaceInput},
                                            {"residual", Role::kInPlaceInput},
                                            {"gamma", Role::kInput, /*optional=*/true}},
                                           &add_rmsnorm_cpu,
                                           OPRT_GPU(add_rmsnorm_gpu)};

}  // namespace
}  // namespace oprt

using namespace oprt;

oprt_status_t oprt_create_add_rmsnorm_descriptor(oprt_operator_descriptor_t* desc, const oprt_tensor_view_t* out,
                                                 const oprt_tensor_view_t* residual_out, const oprt_tensor_view_t* in,
                                                 const oprt_tensor_view_t* residual, const oprt_tensor_view_t* gamma,
                                                 int64_t axis, float eps) {
  return create(kAddRmsnorm, desc, {out, residual_out, in, residual, gamma},
                [&](AddRmsnormPlan& plan, const View* views) -> Status {
                  const View& to = views[0];
                  int row_axis;
                  OPRT_TRY(check_float("add_rmsnorm", "out", to));
                  for (int i = 1; i < 4; ++i) {
                    const char* name = kAddRmsnorm.operands[i].name;
                    OPRT_TRY(check_same_dtype("add_rmsnorm", name, views[i], "out", to));
                    OPRT_TRY(check_same_shape("add_rmsnorm", name, views[i], "out", to));
                  }
                  OPRT_TRY(check_axis("add_rmsnorm", axis, to.ndim, &row_axis));
                  OPRT_TRY(check_weight("add_rmsnorm", "gamma", views[4], to, row_axis, &plan.gamma));
                  OPRT_TRY(check_eps("add_rmsnorm", eps));
                  plan.rows = make_rows({&views[0], &views[1], &views[2], &views[3]}, row_axis);
                  plan.dtype = to.dtype;
                  plan.eps = eps;
                  return {};
                });
}

oprt_status_t oprt_get_add_rmsnorm_workspace_size(oprt_operator_descriptor_t desc, size_t* size) {
  return workspace_size(kAddRmsnorm, desc, size);
}

oprt_status_t oprt_execute_add_rmsnorm(oprt_operator_descriptor_t desc, void* workspace, size_t workspace_size,
                                       void* out, void* residual_out, const void* in, const void* residual,
                                       const void* gamma, oprt_stream_t stream) {
  return execute(kAddRmsnorm, desc, workspace, workspace_size, {out, residual_out, in, residual, gamma}, stream);
}

oprt_status_t oprt_destroy_add_rmsnorm_descriptor(oprt_operator_descriptor_t desc) {
  return destroy(kAddRmsnorm, desc);
}
