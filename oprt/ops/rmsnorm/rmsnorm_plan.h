#pragma once

#include "oprt/core/call.h"
#include "oprt/core/dtype.h"
#include "oprt/core/norm.h"

namespace oprt {

struct RmsnormPlan {
  Rows rows;  // out, in
  oprt_dtype_t dtype;
  Weight gamma;
  float eps;
};

extern const Backend<RmsnormPlan> rmsnorm_cpu;
extern const Backend<RmsnormPlan> rmsnorm_gpu;

}  // namespace oprt
