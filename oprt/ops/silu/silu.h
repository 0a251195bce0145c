// silu: the sigmoid linear unit, also called swish.
//
//   out[i] = in[i] / (1 + e^-in[i])
//
// Shapes:  in broadcasts to out; any rank 0 to 8, any strides (out: no two indices at one address).
// Alias:   out may be exactly in; any other overlap is refused.
// Empty:   nothing is launched, success; null data is legal.
// NaN:     kept. silu(inf) = inf, silu(-inf) is NaN, as the formula says.
// Dtypes:  f32, f16, bf16, the same for both; computed in f32, rounded once.
// Errors:  INVALID_ARG (null view, shape, overlap), UNSUPPORTED_DTYPE.
// Source:  Elfwing, Uchibe, Doya: Sigmoid-Weighted Linear Units for Neural Network Function Approximation, 2017.
#ifndef OPRT_OPS_SILU_SILU_H
#define OPRT_OPS_SILU_SILU_H

#include "oprt/api/descriptor.h"

OPRT_EXTERN_C_BEGIN

OPRT_API oprt_status_t oprt_create_silu_descriptor(oprt_operator_descriptor_t *desc, const oprt_tensor_view_t *out,
                                                   const oprt_tensor_view_t *in);
OPRT_API oprt_status_t oprt_get_silu_workspace_size(oprt_operator_descriptor_t desc, size_t *size);
OPRT_API oprt_status_t oprt_execute_silu(oprt_operator_descriptor_t desc, void *workspace, size_t workspace_size,
                                         void *out, const void *in, oprt_stream_t stream);
OPRT_API oprt_status_t oprt_destroy_silu_descriptor(oprt_operator_descriptor_t desc);

OPRT_EXTERN_C_END

#endif
