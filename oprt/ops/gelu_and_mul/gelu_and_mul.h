// gelu_and_mul: the gated feed-forward's activation (GEGLU), on one tensor that holds both projections.
//
//   out[.., i] = gelu(in[.., i]) * in[.., d + i]        i in [0, d), d the length of out's last axis
//
//   OPRT_GELU_ERF    gelu(x) = x/2 erfc(-x / sqrt(2))
//   OPRT_GELU_TANH   gelu(x) = x / (1 + e^(-2t)),  t = sqrt(2/pi) (x + 0.044715 x^3); up to 4.73e-4 from the other
//
// Shapes:  in's last axis is twice as long as out's, its first half is gate and its second up; in's other axes
//          broadcast to out's. Rank 1 to 8, any strides (out: no two indices at one address).
// Alias:   out may not overlap in.
// Empty:   nothing is launched, success; null data is legal.
// NaN:     kept, from either half; gelu(-inf) is NaN.
// Dtypes:  f32, f16, bf16, the same for both; computed in f32, rounded once, after the product.
// Errors:  INVALID_ARG (null view, shape, overlap, unknown form), UNSUPPORTED_DTYPE.
// Source:  Shazeer: GLU Variants Improve Transformer, 2020.
#ifndef OPRT_OPS_GELU_AND_MUL_GELU_AND_MUL_H
#define OPRT_OPS_GELU_AND_MUL_GELU_AND_MUL_H

#include "oprt/api/descriptor.h"
#include "oprt/api/gelu.h"

OPRT_EXTERN_C_BEGIN

OPRT_API oprt_status_t oprt_create_gelu_and_mul_descriptor(oprt_operator_descriptor_t *desc,
                                                           const oprt_tensor_view_t *out, const oprt_tensor_view_t *in,
                                                           oprt_gelu_t approximate);
OPRT_API oprt_status_t oprt_get_gelu_and_mul_workspace_size(oprt_operator_descriptor_t desc, size_t *size);
OPRT_API oprt_status_t oprt_execute_gelu_and_mul(oprt_operator_descriptor_t desc, void *workspace,
                                                 size_t workspace_size, void *out, const void *in,
                                                 oprt_stream_t stream);
OPRT_API oprt_status_t oprt_destroy_gelu_and_mul_descriptor(oprt_operator_descriptor_t desc);

OPRT_EXTERN_C_END

#endif
