#include "oprt/ops/mul/mul.h"

#include "oprt/core/operator.h"
#include "oprt/ops/mul/mul_plan.h"

namespace oprt {
namespace {

const Operator<ElementwisePlan> kMul{"mul",
                                     {{"out", Role::kOutput}, {"a", Role::kInPlaceInput}, {"b", Role::kInPlaceInput}},
                                     &mul_cpu,
                                     OPRT_GPU(mul_gpu)};

}  // namespace
}  // namespace oprt

using namespace oprt;

oprt_status_t oprt_create_mul_descriptor(oprt_operator_descriptor_t* desc, const oprt_tensor_view_t* out,
                                         const oprt_tensor_view_t* a, const oprt_tensor_view_t* b) {
  return create(kMul, desc, {out, a, b},
                [&](ElementwisePlan& plan, const View* views) { return plan_elementwise(kMul, views, &plan); });
}

oprt_status_t oprt_get_mul_workspace_size(oprt_operator_descriptor_t desc, size_t* size) {
  return workspace_size(kMul, desc, size);
}

oprt_status_t oprt_execute_mul(oprt_operator_descriptor_t desc, void* workspace, size_t workspace_size, void* out,
                               const void* a, const void* b, oprt_stream_t stream) {
  return execute(kMul, desc, workspace, workspace_size, {out, a, b}, stream);
}

oprt_status_t oprt_destroy_mul_descriptor(oprt_operator_descriptor_t desc) { return destroy(kMul, desc); }
