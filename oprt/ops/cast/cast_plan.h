#pragma once

#include "oprt/core/call.h"

namespace oprt {

struct CastPlan {
  Loop loop;  // out, in
  oprt_dtype_t to, from;
};

extern const Backend<CastPlan> cast_cpu;
extern const Backend<CastPlan> cast_gpu;

}  // namespace oprt
