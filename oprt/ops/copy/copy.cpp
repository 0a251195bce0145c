#include "oprt/ops/copy/copy.h"

#include "oprt/core/operator.h"
#include "oprt/ops/copy/copy_plan.h"

namespace oprt {
namespace {

const Operator<CopyPlan> kCopy{
    "copy", {{"dst", Role::kOutput}, {"src", Role::kInPlaceInput}}, &copy_cpu, OPRT_GPU(copy_gpu)};

}  // namespace
}  // namespace oprt

using namespace oprt;

oprt_status_t oprt_create_copy_descriptor(oprt_operator_descriptor_t* desc, const oprt_tensor_view_t* dst,
                                          const oprt_tensor_view_t* src) {
  return create(kCopy, desc, {dst, src}, [&](CopyPlan& plan, const View* views) -> Status {
    View source = views[1];
    OPRT_TRY(check_same_dtype("copy", "src", source, "dst", views[0]));
    OPRT_TRY(check_broadcast("copy", "src", &source, "dst", views[0]));
    plan = {make_loop(views[0], source), static_cast<int32_t>(size_of(source.dtype))};
    return {};
  });
}

oprt_status_t oprt_get_copy_workspace_size(oprt_operator_descriptor_t desc, size_t* size) {
  return workspace_size(kCopy, desc, size);
}

oprt_status_t oprt_execute_copy(oprt_operator_descriptor_t desc, void* workspace, size_t workspace_size, void* dst,
                                const void* src, oprt_stream_t stream) {
  return execute(kCopy, desc, workspace, workspace_size, {dst, src}, stream);
}

oprt_status_t oprt_destroy_copy_descriptor(oprt_operator_descriptor_t desc) { return destroy(kCopy, desc); }
