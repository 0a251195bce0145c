#include "oprt/core/elementwise.h"

#include "oprt/core/operator.h"

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

}  // namespace oprt
