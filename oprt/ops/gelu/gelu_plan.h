#pragma once

#include "oprt/api/gelu.h"
#include "oprt/core/elementwise.h"

namespace oprt {

struct GeluPlan : ElementwisePlan {
  oprt_gelu_t approximate;
};

extern const Backend<GeluPlan> gelu_cpu;
extern const Backend<GeluPlan> gelu_gpu;

}  // namespace oprt
