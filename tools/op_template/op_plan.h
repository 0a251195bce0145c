#pragma once

#include "oprt/core/elementwise.h"

namespace oprt {

extern const Backend<ElementwisePlan> @op@_cpu;
extern const Backend<ElementwisePlan> @op@_gpu;

}  // namespace oprt
