#include "oprt/ops/@op@/@op@.h"

#include "oprt/core/operator.h"
#include "oprt/ops/@op@/@op@_plan.h"

namespace oprt {
namespace {

const Operator<ElementwisePlan> k@Op@{
    "@op@", {{"out", Role::kOutput}, {"in", Role::kInPlaceInput}}, &@op@_cpu, OPRT_GPU(@op@_gpu)};

}  // namespace
}  // namespace oprt

using namespace oprt;

oprt_status_t oprt_create_@op@_descriptor(oprt_operator_descriptor_t* desc, const oprt_tensor_view_t* out,
                                          const oprt_tensor_view_t* in) {
  return create(k@Op@, desc, {out, in},
                [&](ElementwisePlan& plan, const View* views) { return plan_elementwise(k@Op@, views, &plan); });
}

oprt_status_t oprt_get_@op@_workspace_size(oprt_operator_descriptor_t desc, size_t* size) {
  return workspace_size(k@Op@, desc, size);
}

oprt_status_t oprt_execute_@op@(oprt_operator_descriptor_t desc, void* workspace, size_t workspace_size, void* out,
                                const void* in, oprt_stream_t stream) {
  return execute(k@Op@, desc, workspace, workspace_size, {out, in}, stream);
}

oprt_status_t oprt_destroy_@op@_descriptor(oprt_operator_descriptor_t desc) { return destroy(k@Op@, desc); }
