// embedding: rows of a table, picked by ids.
//
//   out[i..., d] = table[ids[i...], d]                          i over the shape of ids, d in [0, width)
//
// Shapes:  table is [rows, width]; ids has any rank 0 to 7; out is the shape of ids with width after it. Any strides
//          (out: no two indices at one address).
// Alias:   out overlaps neither table nor ids.
// Empty:   nothing is launched, success; null data is legal.
// Ids:     from 0 to rows - 1; none counts from the end. CPU: with a bad id nothing is written, INVALID_ARG names the
//          first. GPU: its row of out becomes NaN (0 for integer tables), good rows are right.
// Dtypes:  table and out: any, the same; moved bit by bit. ids: i32 or i64.
// Errors:  INVALID_ARG (null view, rank, shape, overlap, a bad id), UNSUPPORTED_DTYPE.
#ifndef OPRT_OPS_EMBEDDING_EMBEDDING_H
#define OPRT_OPS_EMBEDDING_EMBEDDING_H

#include "oprt/api/descriptor.h"

OPRT_EXTERN_C_BEGIN

OPRT_API oprt_status_t oprt_create_embedding_descriptor(oprt_operator_descriptor_t *desc, const oprt_tensor_view_t *out,
                                                        const oprt_tensor_view_t *table, const oprt_tensor_view_t *ids);
OPRT_API oprt_status_t oprt_get_embedding_workspace_size(oprt_operator_descriptor_t desc, size_t *size);
OPRT_API oprt_status_t oprt_execute_embedding(oprt_operator_descriptor_t desc, void *workspace, size_t workspace_size,
                                              void *out, const void *table, const void *ids, oprt_stream_t stream);
OPRT_API oprt_status_t oprt_destroy_embedding_descriptor(oprt_operator_descriptor_t desc);

OPRT_EXTERN_C_END

#endif
