// What the elementwise operators share before any backend: one output, and inputs of its dtype that broadcast to it.
// The plan is C++17: GPU sources include it.
#pragma once

#include "oprt/api/gelu.h"
#include "oprt/api/tensor_view.h"
#include "oprt/core/call.h"
#include "oprt/core/dtype.h"

namespace oprt {

struct OperatorInfo;

struct ElementwisePlan {
  Loop loop;           // the operands in order, the output first
  oprt_dtype_t dtype;  // of all of them
};

// Every check of an elementwise operator, on its views in the operands' order, and the plan.
Status plan_elementwise(const OperatorInfo& op, const oprt_tensor_view_t* views, ElementwisePlan* plan);

// The same for the gated forms, (out, in) with gate and up in the halves of in's last axis. The loop's operands are
// out, gate and up; the last two are offset from the data of `in`.
Status plan_gated(const OperatorInfo& op, const oprt_tensor_view_t* views, ElementwisePlan* plan);

Status check_gelu(const char* op, oprt_gelu_t approximate);

}  // namespace oprt
