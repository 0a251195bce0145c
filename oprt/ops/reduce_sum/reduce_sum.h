// reduce_sum: the sum along one axis.
//
//   out[r] = sum over i of in[r, i]                       i along the axis, r over all other axes
//
// Shapes:  in of rank n; out of rank n-1 without the axis, or of rank n with length 1 on it. A negative axis counts
//          from the end; rank 0 takes axis 0 or -1 and is one element. Any strides (out: no two indices at one
//          address).
// Alias:   out may not overlap in.
// Empty:   the sum over an empty axis is 0. With an empty output nothing is launched, success; null data is legal.
// NaN:     kept; inf and -inf together give NaN.
// Dtypes:  f32, f16, bf16, the same for both; added in f32 pairwise, rounded once. A row's bits depend on its length,
//          its dtype and whether the axis is contiguous, not on the other rows, the alignment or the threads.
// Errors:  INVALID_ARG (null view, shape, axis, overlap), UNSUPPORTED_DTYPE.
// Source:  Higham: The Accuracy of Floating Point Summation, 1993 (pairwise).
#ifndef OPRT_OPS_REDUCE_SUM_REDUCE_SUM_H
#define OPRT_OPS_REDUCE_SUM_REDUCE_SUM_H

#include "oprt/api/descriptor.h"

OPRT_EXTERN_C_BEGIN

OPRT_API oprt_status_t oprt_create_reduce_sum_descriptor(oprt_operator_descriptor_t *desc,
                                                         const oprt_tensor_view_t *out, const oprt_tensor_view_t *in,
                                                         int64_t axis);
OPRT_API oprt_status_t oprt_get_reduce_sum_workspace_size(oprt_operator_descriptor_t desc, size_t *size);
OPRT_API oprt_status_t oprt_execute_reduce_sum(oprt_operator_descriptor_t desc, void *workspace, size_t workspace_size,
                                               void *out, const void *in, oprt_stream_t stream);
OPRT_API oprt_status_t oprt_destroy_reduce_sum_descriptor(oprt_operator_descriptor_t desc);

OPRT_EXTERN_C_END

#endif
