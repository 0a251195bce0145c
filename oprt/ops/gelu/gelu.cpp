#include "oprt/ops/gelu/gelu.h"

#include "oprt/core/operator.h"
#include "oprt/ops/gelu/gelu_plan.h"

namespace oprt {
namespace {

const Operator<GeluPlan> kGelu{
    "gelu", {{"out", Role::kOutput}, {"in", Role::kInPlaceInput}}, &gelu_cpu, OPRT_GPU(gelu_gpu)};

}  // namespace
}  // namespace oprt

using namespace oprt;

oprt_status_t oprt_create_gelu_descriptor(oprt_operator_descriptor_t* desc, const oprt_tensor_view_t* out,
                                          const oprt_tensor_view_t* in, oprt_gelu_t approximate) {
  return create(kGelu, desc, {out, in}, [&](GeluPlan& plan, const View* views) -> Status {
    OPRT_TRY(check_gelu("gelu", approximate));
    plan.approximate = approximate;
    return plan_elementwise(kGelu, views, &plan);
  });
}

oprt_status_t oprt_get_gelu_workspace_size(oprt_operator_descriptor_t desc, size_t* size) {
  return workspace_size(kGelu, desc, size);
}

oprt_status_t oprt_execute_gelu(oprt_operator_descriptor_t desc, void* workspace, size_t workspace_size, void* out,
                                const void* in, oprt_stream_t stream) {
  return execute(kGelu, desc, workspace, workspace_size, {out, in}, stream);
}

oprt_status_t oprt_destroy_gelu_descriptor(oprt_operator_descriptor_t desc) { return destroy(kGelu, desc); }
