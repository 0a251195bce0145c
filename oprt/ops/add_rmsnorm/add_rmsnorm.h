// add_rmsnorm: a residual added, and the sum's rows divided by their root mean square.
//
//   residual_out[r, i] = in[r, i] + residual[r, i]                                              rounded to the dtype
//   out[r, i] = residual_out[r, i] / sqrt(mean over j of residual_out[r, j]^2 + eps) * gamma[i]
//
// The bits are those of vector_add followed by rmsnorm: it is the rounded sum that feeds the norm.
//
// Shapes:  out, residual_out, in and residual alike, rank 0 to 8, any axis (a negative one counts from the end; rank 0
//          takes 0 or -1); gamma 1-D, as long as the axis, or null at create and then at execute: 1. Any strides
//          (outputs: no two indices at one address).
// Alias:   each output may be exactly in or exactly residual; any other overlap is refused, so is one of the outputs.
// Empty:   nothing is launched, success; null data is legal.
// NaN:     a NaN in a row of the sum makes the whole row of out NaN; other rows are not touched by it. Squares that sum
//          to more than f32 holds give 0.
// Dtypes:  f32, f16, bf16, the same for all four; gamma that or f32. Computed in f32, gamma included; each output
//          rounded once. A row's bits depend on its length, its dtype and whether the axis is contiguous, not on the
//          other rows, the alignment or the threads.
// Errors:  INVALID_ARG (null view, shape, axis, eps below 0 or NaN, overlap), UNSUPPORTED_DTYPE.
// Source:  Zhang, Sennrich: Root Mean Square Layer Normalization, 2019.
#ifndef OPRT_OPS_ADD_RMSNORM_ADD_RMSNORM_H
#define OPRT_OPS_ADD_RMSNORM_ADD_RMSNORM_H

#include "oprt/api/descriptor.h"

OPRT_EXTERN_C_BEGIN

OPRT_API oprt_status_t oprt_create_add_rmsnorm_descriptor(oprt_operator_descriptor_t *desc,
                                                          const oprt_tensor_view_t *out,
                                                          const oprt_tensor_view_t *residual_out,
                                                          const oprt_tensor_view_t *in,
                                                          const oprt_tensor_view_t *residual,
                                                          const oprt_tensor_view_t *gamma, int64_t axis, float eps);
OPRT_API oprt_status_t oprt_get_add_rmsnorm_workspace_size(oprt_operator_descriptor_t desc, size_t *size);
OPRT_API oprt_status_t oprt_execute_add_rmsnorm(oprt_operator_descriptor_t desc, void *workspace, size_t workspace_size,
                                                void *out, void *residual_out, const void *in, const void *residual,
                                                const void *gamma, oprt_stream_t stream);
OPRT_API oprt_status_t oprt_destroy_add_rmsnorm_descriptor(oprt_operator_descriptor_t desc);

OPRT_EXTERN_C_END

#endif
