// @op@: FILL IN in a few words.
//
//   out[i] = FILL IN(in[i])
//
// Shapes:  in broadcasts to out; any rank 0 to 8, any strides (out: no two indices at one address).
// Alias:   out may be exactly in; any other overlap is refused.
// Empty:   nothing is launched, success; null data is legal.
// NaN:     FILL IN: what becomes of NaN and infinity.
// Dtypes:  f32, f16, bf16, the same for both; computed in f32, rounded once.
// Errors:  INVALID_ARG (null view, shape, overlap), UNSUPPORTED_DTYPE.
// Source:  FILL IN: the paper or manual that the formula comes from.
#ifndef OPRT_OPS_@OP@_@OP@_H
#define OPRT_OPS_@OP@_@OP@_H

#include "oprt/api/descriptor.h"

OPRT_EXTERN_C_BEGIN

OPRT_API oprt_status_t oprt_create_@op@_descriptor(oprt_operator_descriptor_t *desc, const oprt_tensor_view_t *out,
                                                   const oprt_tensor_view_t *in);
OPRT_API oprt_status_t oprt_get_@op@_workspace_size(oprt_operator_descriptor_t desc, size_t *size);
OPRT_API oprt_status_t oprt_execute_@op@(oprt_operator_descriptor_t desc, void *workspace, size_t workspace_size,
                                         void *out, const void *in, oprt_stream_t stream);
OPRT_API oprt_status_t oprt_destroy_@op@_descriptor(oprt_operator_descriptor_t desc);

OPRT_EXTERN_C_END

#endif
