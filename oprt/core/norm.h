// What the norms share before any backend: their weights and eps.
#pragma once

#include "oprt/core/status.h"
#include "oprt/core/view.h"

namespace oprt {

// gamma or beta, 1-D. Plain data, C++17: kernels take it by value. An absent one has a null pointer in the call.
struct Weight {
  oprt_dtype_t dtype;
  int64_t stride;  // elements; any, also 0 and negative
};

// v (absent where its ndim is negative) is 1-D, as long as `in` is on the axis, and of in's dtype or f32.
Status check_weight(const char* op, const char* argument, const View& v, const View& in, int axis, Weight* out);

// 0 or more, so not NaN either.
Status check_eps(const char* op, float eps);

}  // namespace oprt
