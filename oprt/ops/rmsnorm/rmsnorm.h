// rmsnorm: each row divided by its root mean square.
//
//   out[r, i] = in[r, i] / sqrt(mean over j of in[r, j]^2 + eps) * gamma[i]
//
// Shapes:  out and in alike, rank 0 to 8, any axis (a negative one counts from the end; rank 0 takes 0 or -1); gamma
//          1-D, as long as the axis, or null at create and then at execute: 1. Any strides (out: no two indices at one
//          address).
// Alias:   out may be exactly in; any other overlap is refused.
// Empty:   nothing is launched, success; null data is legal.
// NaN:     a NaN in a row makes the whole row NaN; other rows are not touched by it. Squares that sum to more than f32
//          holds give 0.
// Dtypes:  f32, f16, bf16, the same for out and in; gamma that or f32. Computed in f32, gamma included, and rounded
//          once. A row's bits depend on its length, its dtype and whether the axis is contiguous, not on the other
//          rows, the alignment or the threads.
// Errors:  INVALID_ARG (null view, shape, axis, eps below 0 or NaN, overlap), UNSUPPORTED_DTYPE.
// Source:  Zhang, Sennrich: Root Mean Square Layer Normalization, 2019.
#ifndef OPRT_OPS_RMSNORM_RMSNORM_H
#define OPRT_OPS_RMSNORM_RMSNORM_H

#include "oprt/api/descriptor.h"

OPRT_EXTERN_C_BEGIN

OPRT_API oprt_status_t oprt_create_rmsnorm_descriptor(oprt_operator_descriptor_t *desc, const oprt_tensor_view_t *out,
                                                      const oprt_tensor_view_t *in, const oprt_tensor_view_t *gamma,
                                                      int64_t axis, float eps);
OPRT_API oprt_status_t oprt_get_rmsnorm_workspace_size(oprt_operator_descriptor_t desc, size_t *size);
OPRT_API oprt_status_t oprt_execute_rmsnorm(oprt_operator_descriptor_t desc, void *workspace, size_t workspace_size,
                                            void *out, const void *in, const void *gamma, oprt_stream_t stream);
OPRT_API oprt_status_t oprt_destroy_rmsnorm_descriptor(oprt_operator_descriptor_t desc);

OPRT_EXTERN_C_END

#endif
