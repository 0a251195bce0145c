#pragma once

#include "oprt/core/call.h"
#include "oprt/core/dtype.h"

namespace oprt {

struct ReluPlan {
  Loop loop;  // out, in
  oprt_dtype_t dtype;
  float negative_slope;
};

extern const Backend<ReluPlan> relu_cpu;
extern const Backend<ReluPlan> relu_gpu;

}  // namespace oprt
