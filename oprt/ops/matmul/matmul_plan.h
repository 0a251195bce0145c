#pragma once

#include <memory>

#include "oprt/core/call.h"
#include "oprt/core/dtype.h"
#include "oprt/ops/matmul/matmul.h"

namespace oprt {

// Where a matrix's element (row, column) lies, in elements from its first one.
struct MatrixStrides {
  int64_t row, column;
};

struct LibraryProduct;  // matmul_library_gpu.h

// batch.count products out[m, n] = act(sum_k a[m, k] b[k, n] + bias). Canonical: batches that share b are more rows of
// one product where the strides allow it, and the product is turned (out^T = b^T a^T) where that makes out's rows
// contiguous, or a vector out of a column.
struct MatmulPlan {
  Loop batch;                    // out, a, b without their last two axes
  int32_t a_operand, b_operand;  // of the batch and the call: 1 and 2, exchanged where the product is turned
  int64_t m, n, k;
  MatrixStrides out, a, b;
  MatrixStrides bias;  // 0 along the axis on which it repeats
  bool has_bias;
  oprt_dtype_t dtype;
  oprt_matmul_t algorithm;
  oprt_activation_t activation;
  bool allow_tf32;
  int32_t threads;  // that the CPU had at create: the workspace holds what each needs
  mutable std::shared_ptr<const LibraryProduct> library;  // filled in by the GPU's workspace(), in create; may be null
};

extern const Backend<MatmulPlan> matmul_cpu;
extern const Backend<MatmulPlan> matmul_gpu;

}  // namespace oprt
