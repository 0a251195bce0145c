// matmul: matrix products, with a bias and an activation in the same pass.
//
//   out[..., m, n] = act(sum_k a[..., m, k] * b[..., k, n] + bias[n])        m in [0, M), n in [0, N), k in [0, K)
//
// Shapes:  a is [..., M, K], b is [..., K, N], out is [..., M, N], each of rank 2 to 8; the axes before the last two
//          broadcast to out's. bias is [N] or absent. Any strides, 0 and negative too (out: no two indices at one
//          address).
// Alias:   out overlaps no input.
// Empty:   out empty: nothing is launched, success. K = 0: out is act(bias), or act(0) without one. Null data is legal
//          for what is empty.
// NaN:     as the sum gives it: 0 * inf and 0 * NaN are NaN. relu keeps a NaN.
// Dtypes:  f32, f16, bf16, one for all; sum, bias and activation in f32, rounded once. TF32 only where allow_tf32 asks
//          for it (the CPU has none).
// Order:   the same call gives the same bits. A row's bits may depend on the other rows there are, and with the library
//          on the number of threads: it picks its blocking by the whole shape.
// Errors:  INVALID_ARG (null view, rank, shape, overlap, an enum's value), UNSUPPORTED_DTYPE, NOT_SUPPORTED (LIBRARY
//          where no library is found, or past its limits; an options struct with fields this build does not know).
// Source:  Goto, van de Geijn: Anatomy of High-Performance Matrix Multiplication, 2008.
#ifndef OPRT_OPS_MATMUL_MATMUL_H
#define OPRT_OPS_MATMUL_MATMUL_H

#include "oprt/api/descriptor.h"

OPRT_EXTERN_C_BEGIN

typedef enum OPRT_ENUM_BASE {
  OPRT_MATMUL_AUTO = 0,    // the fastest of the others for the shape; falls back where there is no library
  OPRT_MATMUL_NAIVE = 1,   // one sum after another: the first rung of the ladder
  OPRT_MATMUL_TILED = 2,   // panels packed into the workspace, tiles of out in registers
  OPRT_MATMUL_LIBRARY = 3  // the machine's own: oneDNN or OpenBLAS on a CPU; views it cannot express are packed first
} oprt_matmul_t;

typedef enum OPRT_ENUM_BASE {
  OPRT_ACTIVATION_NONE = 0,
  OPRT_ACTIVATION_RELU = 1,
  OPRT_ACTIVATION_GELU_ERF = 2,
  OPRT_ACTIVATION_GELU_TANH = 3,
  OPRT_ACTIVATION_SILU = 4
} oprt_activation_t;

// Set struct_size to sizeof(oprt_matmul_options_t) and the rest to zero, then what is wanted. A smaller struct, from
// an older header, is taken: what it lacks is zero. So is a larger one whose unknown bytes are all zero.
typedef struct {
  size_t struct_size;              // bytes of the struct as the caller knows it
  const oprt_tensor_view_t *bias;  // [N], the dtype of a; null for none
  oprt_activation_t activation;    // applied to the biased sum
  int32_t allow_tf32;              // not 0: a GPU may round f32 factors to 10 bits; no effect on other dtypes
} oprt_matmul_options_t;

// options may be null: no bias, no activation. bias at execute is null exactly where the option was.
OPRT_API oprt_status_t oprt_create_matmul_descriptor(oprt_operator_descriptor_t *desc, const oprt_tensor_view_t *out,
                                                     const oprt_tensor_view_t *a, const oprt_tensor_view_t *b,
                                                     oprt_matmul_t algorithm, const oprt_matmul_options_t *options);
OPRT_API oprt_status_t oprt_get_matmul_workspace_size(oprt_operator_descriptor_t desc, size_t *size);
OPRT_API oprt_status_t oprt_execute_matmul(oprt_operator_descriptor_t desc, void *workspace, size_t workspace_size,
                                           void *out, const void *a, const void *b, const void *bias,
                                           oprt_stream_t stream);
OPRT_API oprt_status_t oprt_destroy_matmul_descriptor(oprt_operator_descriptor_t desc);

// The library that LIBRARY uses on the CPU, with its version: "oneDNN 2.6.3", "OpenBLAS 0.3.21"; "none" where none was
// found. Never null. Looked for once, at the first matmul: the shared object that the environment's OPRT_BLAS names
// ("none": no library), else oneDNN, else OpenBLAS.
OPRT_API const char *oprt_matmul_library(void);

OPRT_EXTERN_C_END

#endif
