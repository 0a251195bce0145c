#pragma once

#include "oprt/core/call.h"
#include "oprt/core/dtype.h"

namespace oprt {

struct @Op@Plan {
  Loop loop;  // out, in
  oprt_dtype_t dtype;
};

extern const Backend<@Op@Plan> @op@_cpu;
extern const Backend<@Op@Plan> @op@_gpu;

}  // namespace oprt
