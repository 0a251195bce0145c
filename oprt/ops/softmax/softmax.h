// softmax: exponentials along one axis, scaled to a sum of 1.
//
//   out[r, i] = exp(in[r, i] - m_r) / sum over j of exp(in[r, j] - m_r)       m_r = the largest in[r, j]
//
// Shapes:  out and in alike; any rank 0 to 8, any axis (a negative one counts from the end; rank 0 takes 0 or -1), any
//          strides (out: no two indices at one address).
// Alias:   out may be exactly in; any other overlap is refused.
// Empty:   nothing is launched, success; null data is legal.
// NaN:     a NaN or +inf in a row makes the whole row NaN, and so does a row of -inf alone; -inf next to something
//          finite gives 0. Other rows are not touched by it.
// Dtypes:  f32, f16, bf16, the same for both; computed in f32, rounded once. A row's bits depend on its length, its
//          dtype and whether the axis is contiguous, not on the other rows, the alignment or the threads.
// Errors:  INVALID_ARG (null view, shape, axis, overlap), UNSUPPORTED_DTYPE.
// Source:  Milakov, Gimelshein: Online normalizer calculation for softmax, 2018 (long rows).
#ifndef OPRT_OPS_SOFTMAX_SOFTMAX_H
#define OPRT_OPS_SOFTMAX_SOFTMAX_H

#include "oprt/api/descriptor.h"

OPRT_EXTERN_C_BEGIN

OPRT_API oprt_status_t oprt_create_softmax_descriptor(oprt_operator_descriptor_t *desc, const oprt_tensor_view_t *out,
                                                      const oprt_tensor_view_t *in, int64_t axis);
OPRT_API oprt_status_t oprt_get_softmax_workspace_size(oprt_operator_descriptor_t desc, size_t *size);
OPRT_API oprt_status_t oprt_execute_softmax(oprt_operator_descriptor_t desc, void *workspace, size_t workspace_size,
                                            void *out, const void *in, oprt_stream_t stream);
OPRT_API oprt_status_t oprt_destroy_softmax_descriptor(oprt_operator_descriptor_t desc);

OPRT_EXTERN_C_END

#endif
