#pragma once

#include "oprt/core/call.h"
#include "oprt/core/dtype.h"
#include "oprt/ops/rope/rope.h"

namespace oprt {

struct RopePlan {
  Loop tokens;                   // out and in without heads and head_dim, no tables, positions: one element a token
  oprt_tensor_view_t positions;  // as given, to name a bad one
  int64_t heads, head_dim;
  int64_t pairs;                  // of a head: half of the rotary dimension
  int64_t out_head, out_element;  // strides, elements; 1 for an element where head_dim is 1
  int64_t in_head, in_element;
  int64_t cos_row, cos_pair, sin_row, sin_pair;
  int64_t max_position;
  oprt_dtype_t dtype;
  oprt_rope_t mode;
};

extern const Backend<RopePlan> rope_cpu;
extern const Backend<RopePlan> rope_gpu;

}  // namespace oprt
