#pragma once

#include "oprt/core/elementwise.h"

namespace oprt {

extern const Backend<ElementwisePlan> mul_cpu;
extern const Backend<ElementwisePlan> mul_gpu;

}  // namespace oprt
