#pragma once

#include "oprt/core/elementwise.h"

namespace oprt {

struct ReluPlan : ElementwisePlan {
  float negative_slope;
};

extern const Backend<ReluPlan> relu_cpu;
extern const Backend<ReluPlan> relu_gpu;

}  // namespace oprt
