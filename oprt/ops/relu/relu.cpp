#include "oprt/ops/relu/relu.h"

#include "oprt/core/operator.h"
#include "oprt/ops/relu/relu_plan.h"

namespace oprt {
namespace {

const Operator<ReluPlan> kRelu{
    "relu", {{"out", Role::kOutput}, {"in", Role::kInPlaceInput}}, &relu_cpu, OPRT_GPU(relu_gpu)};

}  // namespace
}  // namespace oprt

using namespace oprt;

oprt_status_t oprt_create_relu_descriptor(oprt_operator_descriptor_t* desc, const oprt_tensor_view_t* out,
                                          const oprt_tensor_view_t* in, float negative_slope) {
  return create(kRelu, desc, {out, in}, [&](ReluPlan& plan, const View* views) -> Status {
    plan.negative_slope = negative_slope;
    return plan_elementwise(kRelu, views, &plan);
  });
}

oprt_status_t oprt_get_relu_workspace_size(oprt_operator_descriptor_t desc, size_t* size) {
  return workspace_size(kRelu, desc, size);
}

oprt_status_t oprt_execute_relu(oprt_operator_descriptor_t desc, void* workspace, size_t workspace_size, void* out,
                                const void* in, oprt_stream_t stream) {
  return execute(kRelu, desc, workspace, workspace_size, {out, in}, stream);
}

oprt_status_t oprt_destroy_relu_descriptor(oprt_operator_descriptor_t desc) { return destroy(kRelu, desc); }
