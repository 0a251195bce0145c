#include "oprt/ops/softmax/softmax.h"

#include "oprt/core/operator.h"
#include "oprt/ops/softmax/softmax_plan.h"

namespace oprt {
namespace {

const Operator<SoftmaxPlan> kSoftmax{
    "softmax", {{"out", Role::kOutput}, {"in", Role::kInPlaceInput}}, &softmax_cpu, OPRT_GPU(softmax_gpu)};

}  // namespace
}  // namespace oprt

using namespace oprt;

oprt_status_t oprt_create_softmax_descriptor(oprt_operator_descriptor_t* desc, const oprt_tensor_view_t* out,
                                             const oprt_tensor_view_t* in, int64_t axis) {
  return create(kSoftmax, desc, {out, in}, [&](SoftmaxPlan& plan, const View* views) -> Status {
    const View *to = &views[0], *from = &views[1];
    int row_axis;
    OPRT_TRY(check_float("softmax", "out", *to));
    OPRT_TRY(check_same_dtype("softmax", "in", *from, "out", *to));
    OPRT_TRY(check_same_shape("softmax", "in", *from, "out", *to));
    OPRT_TRY(check_axis("softmax", axis, to->ndim, &row_axis));
    plan = {make_rows({to, from}, row_axis), to->dtype};
    return {};
  });
}

oprt_status_t oprt_get_softmax_workspace_size(oprt_operator_descriptor_t desc, size_t* size) {
  return workspace_size(kSoftmax, desc, size);
}

oprt_status_t oprt_execute_softmax(oprt_operator_descriptor_t desc, void* workspace, size_t workspace_size, void* out,
                                   const void* in, oprt_stream_t stream) {
  return execute(kSoftmax, desc, workspace, workspace_size, {out, in}, stream);
}

oprt_status_t oprt_destroy_softmax_descriptor(oprt_operator_descriptor_t desc) { return destroy(kSoftmax, desc); }
