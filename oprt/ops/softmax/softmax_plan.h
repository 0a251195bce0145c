#pragma once

#include "oprt/core/call.h"
#include "oprt/core/dtype.h"

namespace oprt {

struct SoftmaxPlan {
  Rows rows;  // out, in
  oprt_dtype_t dtype;
};

extern const Backend<SoftmaxPlan> softmax_cpu;
extern const Backend<SoftmaxPlan> softmax_gpu;

}  // namespace oprt
