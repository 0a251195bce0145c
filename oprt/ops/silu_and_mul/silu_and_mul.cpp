#include "oprt/ops/silu_and_mul/silu_and_mul.h"

#include "oprt/core/operator.h"
#include "oprt/ops/silu_and_mul/silu_and_mul_plan.h"

namespace oprt {
namespace {

const Operator<ElementwisePlan> kSiluAndMul{
    "silu_and_mul", {{"out", Role::kOutput}, {"in", Role::kInput}}, &silu_and_mul_cpu, OPRT_GPU(silu_and_mul_gpu)};

}  // namespace
}  // namespace oprt

using namespace oprt;

oprt_status_t oprt_create_silu_and_mul_descriptor(oprt_operator_descriptor_t* desc, const oprt_tensor_view_t* out,
                                                  const oprt_tensor_view_t* in) {
  return create(kSiluAndMul, desc, {out, in},
                [&](ElementwisePlan& plan, const View* views) { return plan_gated(kSiluAndMul, views, &plan); });
}

oprt_status_t oprt_get_silu_and_mul_workspace_size(oprt_operator_descriptor_t desc, size_t* size) {
  return workspace_size(kSiluAndMul, desc, size);
}

oprt_status_t oprt_execute_silu_and_mul(oprt_operator_descriptor_t desc, void* workspace, size_t workspace_size,
                                        void* out, const void* in, oprt_stream_t stream) {
  return execute(kSiluAndMul, desc, workspace, workspace_size, {out, in}, stream);
}

oprt_status_t oprt_destroy_silu_and_mul_descriptor(oprt_operator_descriptor_t desc) {
  return destroy(kSiluAndMul, desc);
}
