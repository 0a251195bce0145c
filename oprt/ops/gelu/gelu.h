// gelu: the Gaussian error linear unit, by its definition or by its tanh approximation; the caller names which.
//
//   out[i] = gelu(in[i])
//
//   OPRT_GELU_ERF    gelu(x) = x/2 erfc(-x / sqrt(2))
//   OPRT_GELU_TANH   gelu(x) = x / (1 + e^(-2t)),  t = sqrt(2/pi) (x + 0.044715 x^3); up to 4.73e-4 from the other
//
// Shapes:  in broadcasts to out; any rank 0 to 8, any strides (out: no two indices at one address).
// Alias:   out may be exactly in; any other overlap is refused.
// Empty:   nothing is launched, success; null data is legal.
// NaN:     kept. gelu(inf) = inf, gelu(-inf) is NaN, as the formula says.
// Dtypes:  f32, f16, bf16, the same for both; computed in f32, rounded once.
// Errors:  INVALID_ARG (null view, shape, overlap, unknown form), UNSUPPORTED_DTYPE.
// Source:  Hendrycks, Gimpel: Gaussian Error Linear Units, 2016.
#ifndef OPRT_OPS_GELU_GELU_H
#define OPRT_OPS_GELU_GELU_H

#include "oprt/api/descriptor.h"
#include "oprt/api/gelu.h"

OPRT_EXTERN_C_BEGIN

OPRT_API oprt_status_t oprt_create_gelu_descriptor(oprt_operator_descriptor_t *desc, const oprt_tensor_view_t *out,
                                                   const oprt_tensor_view_t *in, oprt_gelu_t approximate);
OPRT_API oprt_status_t oprt_get_gelu_workspace_size(oprt_operator_descriptor_t desc, size_t *size);
OPRT_API oprt_status_t oprt_execute_gelu(oprt_operator_descriptor_t desc, void *workspace, size_t workspace_size,
                                         void *out, const void *in, oprt_stream_t stream);
OPRT_API oprt_status_t oprt_destroy_gelu_descriptor(oprt_operator_descriptor_t desc);

OPRT_EXTERN_C_END

#endif
