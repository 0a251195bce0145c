#include "oprt/ops/silu/silu.h"

#include "oprt/core/operator.h"
#include "oprt/ops/silu/silu_plan.h"

namespace oprt {
namespace {

const Operator<ElementwisePlan> kSilu{
    "silu", {{"out", Role::kOutput}, {"in", Role::kInPlaceInput}}, &silu_cpu, OPRT_GPU(silu_gpu)};

}  // namespace
}  // namespace oprt

using namespace oprt;

oprt_status_t oprt_create_silu_descriptor(oprt_operator_descriptor_t* desc, const oprt_tensor_view_t* out,
                                          const oprt_tensor_view_t* in) {
  return create(kSilu, desc, {out, in},
                [&](ElementwisePlan& plan, const View* views) { return plan_elementwise(kSilu, views, &plan); });
}

oprt_status_t oprt_get_silu_workspace_size(oprt_operator_descriptor_t desc, size_t* size) {
  return workspace_size(kSilu, desc, size);
}

oprt_status_t oprt_execute_silu(oprt_operator_descriptor_t desc, void* workspace, size_t workspace_size, void* out,
                                const void* in, oprt_stream_t stream) {
  return execute(kSilu, desc, workspace, workspace_size, {out, in}, stream);
}

oprt_status_t oprt_destroy_silu_descriptor(oprt_operator_descriptor_t desc) { return destroy(kSilu, desc); }
