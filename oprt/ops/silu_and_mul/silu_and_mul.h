// silu_and_mul: the gated feed-forward's activation (SwiGLU), on one tensor that holds both projections.
//
//   out[.., i] = silu(in[.., i]) * in[.., d + i]        i in [0, d), d the length of out's last axis
//   silu(x) = x / (1 + e^-x)
//
// Shapes:  in's last axis is twice as long as out's, its first half is gate and its second up; in's other axes
//          broadcast to out's. Rank 1 to 8, any strides (out: no two indices at one address).
// Alias:   out may not overlap in.
// Empty:   nothing is launched, success; null data is legal.
// NaN:     kept, from either half; silu(-inf) is NaN.
// Dtypes:  f32, f16, bf16, the same for both; computed in f32, rounded once, after the product.
// Errors:  INVALID_ARG (null view, shape, overlap), UNSUPPORTED_DTYPE.
// Source:  Shazeer: GLU Variants Improve Transformer, 2020.
#ifndef OPRT_OPS_SILU_AND_MUL_SILU_AND_MUL_H
#define OPRT_OPS_SILU_AND_MUL_SILU_AND_MUL_H

#include "oprt/api/descriptor.h"

OPRT_EXTERN_C_BEGIN

OPRT_API oprt_status_t oprt_create_silu_and_mul_descriptor(oprt_operator_descriptor_t *desc,
                                                           const oprt_tensor_view_t *out, const oprt_tensor_view_t *in);
OPRT_API oprt_status_t oprt_get_silu_and_mul_workspace_size(oprt_operator_descriptor_t desc, size_t *size);
OPRT_API oprt_status_t oprt_execute_silu_and_mul(oprt_operator_descriptor_t desc, void *workspace,
                                                 size_t workspace_size, void *out, const void *in,
                                                 oprt_stream_t stream);
OPRT_API oprt_status_t oprt_destroy_silu_and_mul_descriptor(oprt_operator_descriptor_t desc);

OPRT_EXTERN_C_END

#endif
