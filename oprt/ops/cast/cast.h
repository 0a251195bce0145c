// cast: another floating dtype.
//
//   out[i] = in[i], rounded to nearest even where out's dtype is narrower
//
// Shapes:  in broadcasts to out; any rank 0 to 8, any strides (out: no two indices at one address).
// Alias:   out may be exactly in where the dtypes are the same; any other overlap is refused.
// Empty:   nothing is launched, success; null data is legal.
// NaN:     stays a NaN; its bits are kept between equal dtypes only. Values past the narrower range become infinity.
// Dtypes:  f32, f16, bf16 to f32, f16, bf16; between equal dtypes the bits are copied.
// Errors:  INVALID_ARG (null view, shape, overlap), UNSUPPORTED_DTYPE.
#ifndef OPRT_OPS_CAST_CAST_H
#define OPRT_OPS_CAST_CAST_H

#include "oprt/api/descriptor.h"

OPRT_EXTERN_C_BEGIN

OPRT_API oprt_status_t oprt_create_cast_descriptor(oprt_operator_descriptor_t *desc, const oprt_tensor_view_t *out,
                                                   const oprt_tensor_view_t *in);
OPRT_API oprt_status_t oprt_get_cast_workspace_size(oprt_operator_descriptor_t desc, size_t *size);
OPRT_API oprt_status_t oprt_execute_cast(oprt_operator_descriptor_t desc, void *workspace, size_t workspace_size,
                                         void *out, const void *in, oprt_stream_t stream);
OPRT_API oprt_status_t oprt_destroy_cast_descriptor(oprt_operator_descriptor_t desc);

OPRT_EXTERN_C_END

#endif
