#include "oprt/ops/rope/rope.h"

#include "oprt/core/operator.h"
#include "oprt/core/text.h"
#include "oprt/ops/rope/rope_plan.h"

namespace oprt {
namespace {

const Operator<RopePlan> kRope{"rope",
                               {{"out", Role::kOutput},
                                {"in", Role::kInPlaceInput},
                                {"cos", Role::kInput},
                                {"sin", Role::kInput},
                                {"positions", Role::kInput}},
                               &rope_cpu,
                               OPRT_GPU(rope_gpu)};

std::string shape(const View& v) { return "shape " + text(v.shape, v.ndim); }

Status check_dtypes(const View& out, const View& in, const View& cos, const View& sin, const View& positions) {
  OPRT_TRY(check_float("rope", "out", out));
  OPRT_TRY(check_same_dtype("rope", "in", in, "out", out));
  if (cos.dtype != OPRT_DTYPE_F32) return fail(OPRT_ERR_UNSUPPORTED_DTYPE, "rope", "cos", "f32", text(cos.dtype));
  OPRT_TRY(check_same_dtype("rope", "sin", sin, "cos", cos));
  return check_index("rope", "positions", positions);
}

Status check_shapes(const View& out, const View& in, const View& cos, const View& sin, const View& positions) {
  if (in.ndim != 3 && in.ndim != 4)
    return invalid("rope", "in", "rank 3 or 4, [(batch,) tokens, heads, head_dim]", shape(in));
  OPRT_TRY(check_same_shape("rope", "out", out, "in", in));
  if (cos.ndim != 2 || 2 * cos.shape[1] > in.shape[in.ndim - 1])
    return invalid("rope", "cos",
                   "[max_position, rotary_dim / 2] with a rotary_dim up to " + text(in.shape[in.ndim - 1]), shape(cos));
  OPRT_TRY(check_same_shape("rope", "sin", sin, "cos", cos));
  const bool every_batch = in.ndim == 4 && positions.ndim == 2;
  return check_shape("rope", "positions", positions, every_batch ? in.shape : in.shape + in.ndim - 3,
                     every_batch ? 2 : 1);
}

}  // namespace
}  // namespace oprt

using namespace oprt;

oprt_status_t oprt_create_rope_descriptor(oprt_operator_descriptor_t* desc, const oprt_tensor_view_t* out,
                                          const oprt_tensor_view_t* in, const oprt_tensor_view_t* cos,
                                          const oprt_tensor_view_t* sin, const oprt_tensor_view_t* positions,
                                          oprt_rope_t mode) {
  return create(kRope, desc, {out, in, cos, sin, positions}, [&](RopePlan& plan, const View* views) -> Status {
    const View &to = views[0], &from = views[1], &cosines = views[2], &sines = views[3];
    OPRT_TRY(check_dtypes(to, from, cosines, sines, views[4]));
    OPRT_TRY(check_shapes(to, from, cosines, sines, views[4]));
    const int64_t wanted = static_cast<int>(mode);
    if (wanted != OPRT_ROPE_INTERLEAVED && wanted != OPRT_ROPE_HALF)
      return invalid("rope", "mode", "interleaved or half, 0 or 1", text(wanted));

    const int rank = to.ndim, heads = rank - 2, element = rank - 1;
    View to_tokens = to, from_tokens = from, positions_of = views[4];
    to_tokens.ndim = from_tokens.ndim = rank - 2;
    broadcast(positions_of, from_tokens, &positions_of);  // check_shapes saw that it does
    const View* token_views[] = {&to_tokens, &from_tokens, nullptr, nullptr, &positions_of};
    plan.tokens = make_loop(token_views, 5);
    plan.positions = views[4];
    plan.heads = to.shape[heads];
    plan.head_dim = to.shape[element];
    plan.pairs = cosines.shape[1];
    plan.out_head = to.strides[heads];
    plan.in_head = from.strides[heads];
    plan.out_element = plan.head_dim == 1 ? 1 : to.strides[element];
    plan.in_element = plan.head_dim == 1 ? 1 : from.strides[element];
    plan.cos_row = cosines.strides[0];
    plan.cos_pair = cosines.strides[1];
    plan.sin_row = sines.strides[0];
    plan.sin_pair = sines.strides[1];
    plan.max_position = cosines.shape[0];
    plan.dtype = to.dtype;
    plan.mode = mode;
    return {};
  });
}

oprt_status_t oprt_get_rope_workspace_size(oprt_operator_descriptor_t desc, size_t* size) {
  return workspace_size(kRope, desc, size);
}

oprt_status_t oprt_execute_rope(oprt_operator_descriptor_t desc, void* workspace, size_t workspace_size, void* out,
                                const void* in, const void* cos, const void* sin, const void* positions,
                                oprt_stream_t stream) {
  return execute(kRope, desc, workspace, workspace_size, {out, in, cos, sin, positions}, stream);
}

oprt_status_t oprt_destroy_rope_descriptor(oprt_operator_descriptor_t desc) { return destroy(kRope, desc); }
