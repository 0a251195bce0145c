#pragma once

#include "oprt/core/call.h"
#include "oprt/core/dtype.h"
#include "oprt/core/norm.h"

namespace oprt {

struct LayernormPlan {
  Rows rows;  // out, in
  oprt_dtype_t dtype;
  Weight gamma, beta;
  float eps;
};

extern const Backend<LayernormPlan> layernorm_cpu;
extern const Backend<LayernormPlan> layernorm_gpu;

}  // namespace oprt
