#pragma once

#include "oprt/api/gelu.h"
#include "oprt/core/elementwise.h"

namespace oprt {

struct GeluAndMulPlan : ElementwisePlan {
  oprt_gelu_t approximate;
};

extern const Backend<GeluAndMulPlan> gelu_and_mul_cpu;
extern const Backend<GeluAndMulPlan> gelu_and_mul_gpu;

}  // namespace oprt
