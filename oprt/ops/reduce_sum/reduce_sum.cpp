#include "oprt/ops/reduce_sum/reduce_sum.h"

#include <algorithm>

#include "oprt/core/operator.h"
#include "oprt/core/text.h"
#include "oprt/ops/reduce_sum/reduce_sum_plan.h"

namespace oprt {
namespace {

const Operator<ReduceSumPlan> kReduceSum{
    "reduce_sum", {{"out", Role::kOutput}, {"in", Role::kInput}}, &reduce_sum_cpu, OPRT_GPU(reduce_sum_gpu)};

// out with the axis, of length 1, where it came without.
Status with_axis(View* out, const View& in, int axis) {
  View expected = in;
  if (in.ndim) expected.shape[axis] = 1;
  if (same_shape(*out, expected)) return {};
  const View reduced = in.ndim ? without_axis(in, axis) : in;
  if (!same_shape(*out, reduced))
    return invalid("reduce_sum", "out",
                   "shape " + text(reduced.shape, reduced.ndim) + " or " + text(expected.shape, expected.ndim) +
                       ", for in of shape " + text(in.shape, in.ndim),
                   "shape " + text(out->shape, out->ndim));
  std::copy_backward(out->strides + axis, out->strides + out->ndim, out->strides + in.ndim);
  out->strides[axis] = 1;
  out->ndim = in.ndim;
  std::copy(expected.shape, expected.shape + in.ndim, out->shape);
  return {};
}

}  // namespace
}  // namespace oprt

using namespace oprt;

oprt_status_t oprt_create_reduce_sum_descriptor(oprt_operator_descriptor_t* desc, const oprt_tensor_view_t* out,
                                                const oprt_tensor_view_t* in, int64_t axis) {
  return create(kReduceSum, desc, {out, in}, [&](ReduceSumPlan& plan, const View* views) -> Status {
    View sums = views[0];
    const View& source = views[1];
    int reduced_axis;
    OPRT_TRY(check_float("reduce_sum", "out", sums));
    OPRT_TRY(check_same_dtype("reduce_sum", "in", source, "out", sums));
    OPRT_TRY(check_axis("reduce_sum", axis, source.ndim, &reduced_axis));
    OPRT_TRY(with_axis(&sums, source, reduced_axis));
    const View* operands[] = {&source, &sums};
    const bool reduced[] = {false, true};
    plan = {make_rows(operands, reduced, 2, reduced_axis), sums.dtype};
    return {};
  });
}

oprt_status_t oprt_get_reduce_sum_workspace_size(oprt_operator_descriptor_t desc, size_t* size) {
  return workspace_size(kReduceSum, desc, size);
}

oprt_status_t oprt_execute_reduce_sum(oprt_operator_descriptor_t desc, void* workspace, size_t workspace_size,
                                      void* out, const void* in, oprt_stream_t stream) {
  return execute(kReduceSum, desc, workspace, workspace_size, {out, in}, stream);
}

oprt_status_t oprt_destroy_reduce_sum_descriptor(oprt_operator_descriptor_t desc) { return destroy(kReduceSum, desc); }
