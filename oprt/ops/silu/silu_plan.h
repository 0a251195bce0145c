#pragma once

#include "oprt/core/elementwise.h"

namespace oprt {

extern const Backend<ElementwisePlan> silu_cpu;
extern const Backend<ElementwisePlan> silu_gpu;

}  // namespace oprt
