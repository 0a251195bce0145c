#include "oprt/ops/vector_add/vector_add.h"

#include "oprt/core/operator.h"
#include "oprt/ops/vector_add/vector_add_plan.h"

namespace oprt {
namespace {

const Operator<ElementwisePlan> kVectorAdd{
    "vector_add",
    {{"out", Role::kOutput}, {"a", Role::kInPlaceInput}, {"b", Role::kInPlaceInput}},
    &vector_add_cpu,
    OPRT_GPU(vector_add_gpu)};

}  // namespace
}  // namespace oprt

using namespace oprt;

oprt_status_t oprt_create_vector_add_descriptor(oprt_operator_descriptor_t* desc, const oprt_tensor_view_t* out,
                                                const oprt_tensor_view_t* a, const oprt_tensor_view_t* b) {
  return create(kVectorAdd, desc, {out, a, b},
                [&](ElementwisePlan& plan, const View* views) { return plan_elementwise(kVectorAdd, views, &plan); });
}

oprt_status_t oprt_get_vector_add_workspace_size(oprt_operator_descriptor_t desc, size_t* size) {
  return workspace_size(kVectorAdd, desc, size);
}

oprt_status_t oprt_execute_vector_add(oprt_operator_descriptor_t desc, void* workspace, size_t workspace_size,
                                      void* out, const void* a, const void* b, oprt_stream_t stream) {
  return execute(kVectorAdd, desc, workspace, workspace_size, {out, a, b}, stream);
}

oprt_status_t oprt_destroy_vector_add_descriptor(oprt_operator_descriptor_t desc) { return destroy(kVectorAdd, desc); }
