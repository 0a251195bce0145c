#pragma once

#include "oprt/core/call.h"
#include "oprt/core/dtype.h"
#include "oprt/core/norm.h"

namespace oprt {

struct AddRmsnormPlan {
  Rows rows;  // out, residual_out, in, residual
  oprt_dtype_t dtype;
  Weight gamma;
  float eps;
};

extern const Backend<AddRmsnormPlan> add_rmsnorm_cpu;
extern const Backend<AddRmsnormPlan> add_rmsnorm_gpu;

}  // namespace oprt
