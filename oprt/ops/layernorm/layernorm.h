// layernorm: each row brought to mean 0 and variance 1, then scaled and shifted.
//
//   out[r, i] = (in[r, i] - mean_r) / sqrt(var_r + eps) * gamma[i] + beta[i]
//   mean_r = mean over j of in[r, j]        var_r = mean over j of (in[r, j] - mean_r)^2
//
// Shapes:  out and in alike, rank 0 to 8, any axis (a negative one counts from the end; rank 0 takes 0 or -1); gamma
//          and beta 1-D, as long as the axis, either null at create and then at execute: 1 and 0. Any strides (out: no
//          two indices at one address).
// Alias:   out may be exactly in; any other overlap is refused.
// Empty:   nothing is launched, success; null data is legal.
// NaN:     a NaN or an infinity in a row makes the whole row NaN; other rows are not touched by it.
// Dtypes:  f32, f16, bf16, the same for out and in; gamma and beta each that or f32. Computed in f32, weights included,
//          and rounded once; the variance from centred squares. A row's bits depend on its length, its dtype and
//          whether the axis is contiguous, not on the other rows, the alignment or the threads.
// Errors:  INVALID_ARG (null view, shape, axis, eps below 0 or NaN, overlap), UNSUPPORTED_DTYPE.
// Source:  Ba, Kiros, Hinton: Layer Normalization, 2016; Chan, Golub, LeVeque: Updating Formulae and a Pairwise
//          Algorithm for Computing Sample Variances, 1979.
#ifndef OPRT_OPS_LAYERNORM_LAYERNORM_H
#define OPRT_OPS_LAYERNORM_LAYERNORM_H

#include "oprt/api/descriptor.h"

OPRT_EXTERN_C_BEGIN

OPRT_API oprt_status_t oprt_create_layernorm_descriptor(oprt_operator_descriptor_t *desc, const oprt_tensor_view_t *out,
                                                        const oprt_tensor_view_t *in, const oprt_tensor_view_t *gamma,
                                                        const oprt_tensor_view_t *beta, int64_t axis, float eps);
OPRT_API oprt_status_t oprt_get_layernorm_workspace_size(oprt_operator_descriptor_t desc, size_t *size);
OPRT_API oprt_status_t oprt_execute_layernorm(oprt_operator_descriptor_t desc, void *workspace, size_t workspace_size,
                                              void *out, const void *in, const void *gamma, const void *beta,
                                              oprt_stream_t stream);
OPRT_API oprt_status_t oprt_destroy_layernorm_descriptor(oprt_operator_descriptor_t desc);

OPRT_EXTERN_C_END

#endif
