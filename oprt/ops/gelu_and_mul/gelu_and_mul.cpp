#include "oprt/ops/gelu_and_mul/gelu_and_mul.h"

#include "oprt/core/operator.h"
#include "oprt/ops/gelu_and_mul/gelu_and_mul_plan.h"

namespace oprt {
namespace {

const Operator<GeluAndMulPlan> kGeluAndMul{
    "gelu_and_mul", {{"out", Role::kOutput}, {"in", Role::kInput}}, &gelu_and_mul_cpu, OPRT_GPU(gelu_and_mul_gpu)};

}  // namespace
}  // namespace oprt

using namespace oprt;

oprt_status_t oprt_create_gelu_and_mul_descriptor(oprt_operator_descriptor_t* desc, const oprt_tensor_view_t* out,
                                                  const oprt_tensor_view_t* in, oprt_gelu_t approximate) {
  return create(kGeluAndMul, desc, {out, in}, [&](GeluAndMulPlan& plan, const View* views) -> Status {
    OPRT_TRY(check_gelu("gelu_and_mul", approximate));
    plan.approximate = approximate;
    return plan_gated(kGeluAndMul, views, &plan);
  });
}

oprt_status_t oprt_get_gelu_and_mul_workspace_size(oprt_operator_descriptor_t desc, size_t* size) {
  return workspace_size(kGeluAndMul, desc, size);
}

oprt_status_t oprt_execute_gelu_and_mul(oprt_operator_descriptor_t desc, void* workspace, size_t workspace_size,
                                        void* out, const void* in, oprt_stream_t stream) {
  return execute(kGeluAndMul, desc, workspace, workspace_size, {out, in}, stream);
}

oprt_status_t oprt_destroy_gelu_and_mul_descriptor(oprt_operator_descriptor_t desc) {
  return destroy(kGeluAndMul, desc);
}
