#pragma once

#include "oprt/core/call.h"
#include "oprt/core/dtype.h"

namespace oprt {

struct EmbeddingPlan {
  Loop lookups;                                 // out without its last axis, no table, ids: one element a row
  oprt_tensor_view_t ids;                       // as given, to name a bad one
  int64_t rows, width;                          // of the table
  int64_t table_row, table_column, out_column;  // strides, elements; 1 for a column where width is 1
  oprt_dtype_t dtype;
};

extern const Backend<EmbeddingPlan> embedding_cpu;
extern const Backend<EmbeddingPlan> embedding_gpu;

}  // namespace oprt
