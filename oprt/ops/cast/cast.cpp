#include "oprt/ops/cast/cast.h"

#include "oprt/core/operator.h"
#include "oprt/ops/cast/cast_plan.h"

namespace oprt {
namespace {

const Operator<CastPlan> kCast{
    "cast", {{"out", Role::kOutput}, {"in", Role::kInPlaceInput}}, &cast_cpu, OPRT_GPU(cast_gpu)};

}  // namespace
}  // namespace oprt

using namespace oprt;

oprt_status_t oprt_create_cast_descriptor(oprt_operator_descriptor_t* desc, const oprt_tensor_view_t* out,
                                          const oprt_tensor_view_t* in) {
  return create(kCast, desc, {out, in}, [&](CastPlan& plan, const View* views) -> Status {
    View source = views[1];
    OPRT_TRY(check_float("cast", "out", views[0]));
    OPRT_TRY(check_float("cast", "in", source));
    OPRT_TRY(check_broadcast("cast", "in", &source, "out", views[0]));
    plan = {make_loop(views[0], source), views[0].dtype, source.dtype};
    return {};
  });
}

oprt_status_t oprt_get_cast_workspace_size(oprt_operator_descriptor_t desc, size_t* size) {
  return workspace_size(kCast, desc, size);
}

oprt_status_t oprt_execute_cast(oprt_operator_descriptor_t desc, void* workspace, size_t workspace_size, void* out,
                                const void* in, oprt_stream_t stream) {
  return execute(kCast, desc, workspace, workspace_size, {out, in}, stream);
}

oprt_status_t oprt_destroy_cast_descriptor(oprt_operator_descriptor_t desc) { return destroy(kCast, desc); }
