#pragma once

#include "oprt/core/call.h"
#include "oprt/core/dtype.h"

namespace oprt {

struct ReduceSumPlan {
  // Of in and out, in this order: in is the one to walk through in the order of memory. The call's data are out and in.
  Rows rows;
  oprt_dtype_t dtype;
};

extern const Backend<ReduceSumPlan> reduce_sum_cpu;
extern const Backend<ReduceSumPlan> reduce_sum_gpu;

}  // namespace oprt
