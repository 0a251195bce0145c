// mul: the elementwise product of two tensors.
//
//   out[i] = a[i] * b[i]
//
// Shapes:  a and b broadcast to out; any rank 0 to 8, any strides (out: no two indices at one address).
// Alias:   out may be exactly a, exactly b, or both; any other overlap is refused.
// Empty:   nothing is launched, success; null data is legal.
// NaN:     kept; 0 * inf is NaN.
// Dtypes:  f32, f16, bf16, the same for all three; computed in f32, rounded once.
// Errors:  INVALID_ARG (null view, shape, overlap), UNSUPPORTED_DTYPE.
#ifndef OPRT_OPS_MUL_MUL_H
#define OPRT_OPS_MUL_MUL_H

#include "oprt/api/descriptor.h"

OPRT_EXTERN_C_BEGIN

OPRT_API oprt_status_t oprt_create_mul_descriptor(oprt_operator_descriptor_t *desc, const oprt_tensor_view_t *out,
                                                  const oprt_tensor_view_t *a, const oprt_tensor_view_t *b);
OPRT_API oprt_status_t oprt_get_mul_workspace_size(oprt_operator_descriptor_t desc, size_t *size);
OPRT_API oprt_status_t oprt_execute_mul(oprt_operator_descriptor_t desc, void *workspace, size_t workspace_size,
                                        void *out, const void *a, const void *b, oprt_stream_t stream);
OPRT_API oprt_status_t oprt_destroy_mul_descriptor(oprt_operator_descriptor_t desc);

OPRT_EXTERN_C_END

#endif
