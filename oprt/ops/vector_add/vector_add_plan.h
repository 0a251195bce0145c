#pragma once

#include "oprt/core/elementwise.h"

namespace oprt {

extern const Backend<ElementwisePlan> vector_add_cpu;
extern const Backend<ElementwisePlan> vector_add_gpu;

}  // namespace oprt
