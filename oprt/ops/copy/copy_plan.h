#pragma once

#include "oprt/core/call.h"

namespace oprt {

struct CopyPlan {
  Loop loop;              // dst, src
  int32_t element_bytes;  // 2, 4 or 8
};

extern const Backend<CopyPlan> copy_cpu;
extern const Backend<CopyPlan> copy_gpu;

}  // namespace oprt
