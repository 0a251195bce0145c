// copy: any strides to any strides, so also transpose, permute, slice and expand.
//
//   dst[i] = src[i], bit for bit
//
// Shapes:  src broadcasts to dst; any rank 0 to 8, any strides (dst: no two indices at one address).
// Alias:   dst may be exactly src; any other overlap is refused.
// Empty:   nothing is launched, success; null data is legal.
// NaN:     its bits are kept.
// Dtypes:  any, the same for both (cast converts).
// Errors:  INVALID_ARG (null view, shape, overlap), UNSUPPORTED_DTYPE (two different ones).
#ifndef OPRT_OPS_COPY_COPY_H
#define OPRT_OPS_COPY_COPY_H

#include "oprt/api/descriptor.h"

OPRT_EXTERN_C_BEGIN

OPRT_API oprt_status_t oprt_create_copy_descriptor(oprt_operator_descriptor_t *desc, const oprt_tensor_view_t *dst,
                                                   const oprt_tensor_view_t *src);
OPRT_API oprt_status_t oprt_get_copy_workspace_size(oprt_operator_descriptor_t desc, size_t *size);
OPRT_API oprt_status_t oprt_execute_copy(oprt_operator_descriptor_t desc, void *workspace, size_t workspace_size,
                                         void *dst, const void *src, oprt_stream_t stream);
OPRT_API oprt_status_t oprt_destroy_copy_descriptor(oprt_operator_descriptor_t desc);

OPRT_EXTERN_C_END

#endif
