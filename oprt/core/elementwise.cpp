#include "oprt/core/elementwise.h"

#include "oprt/core/operator.h"
#include "oprt/core/text.h"

namespace oprt {

Status plan_elementwise(const OperatorInfo& op, const View* views, ElementwisePlan* plan) {
  const View& out = views[0];
  OPRT_TRY(check_float(op.name, op.operands[0].name, out));
  View inputs[kMaxOperands];
  const View* all[kMaxOperands] = {&out};
  for (int i = 1; i < op.operand_count; ++i) {
    const char* name = op.operands[i].name;
    inputs[i] = views[i];
    OPRT_TRY(check_same_dtype(op.name, name, inputs[i], op.operands[0].name, out));
    OPRT_TRY(check_broadcast(op.name, name, &inputs[i], op.operands[0].name, out));
    all[i] = &inputs[i];
  }
  *plan = {make_loop(all, op.operand_count), out.dtype};
  return {};
}

Status plan_gated(const OperatorInfo& op, const View* views, ElementwisePlan* plan) {
  const View& out = views[0];
  const View& in = views[1];
  OPRT_TRY(check_float(op.name, "out", out));
  OPRT_TRY(check_same_dtype(op.name, "in", in, "out", out));
  const int last = in.ndim - 1;
  if (out.ndim < 1) return invalid(op.name, "out", "rank 1 or more", "rank 0");
  const int64_t half = out.shape[out.ndim - 1];
  if (last < 0 || in.shape[last] % 2 != 0 || in.shape[last] / 2 != half)
    return invalid(op.name, "in", "a last axis twice as long as the " + text(half) + " of out",
                   "shape " + text(in.shape, in.ndim));
  View gate = in;
  gate.shape[last] = half;
  OPRT_TRY(check_broadcast(op.name, "in", &gate, "out", out));
  *plan = {make_loop(out, gate, gate), out.dtype};
  plan->loop.offset[2] += half * in.strides[last];
  return {};
}

Status check_gelu(const char* op, oprt_gelu_t approximate) {
  if (approximate == OPRT_GELU_ERF || approximate == OPRT_GELU_TANH) return {};
  return invalid(op, "approximate", "OPRT_GELU_ERF (0) or OPRT_GELU_TANH (1)", text(int64_t{approximate}));
}

}  // namespace oprt
