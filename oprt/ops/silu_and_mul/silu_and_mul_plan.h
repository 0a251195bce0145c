#pragma once

#include "oprt/core/elementwise.h"

namespace oprt {

extern const Backend<ElementwisePlan> silu_and_mul_cpu;
extern const Backend<ElementwisePlan> silu_and_mul_gpu;

}  // namespace oprt
