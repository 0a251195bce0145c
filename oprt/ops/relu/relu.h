// relu: the rectifier, leaky where the slope is not 0.
//
//   out[i] = in[i] > 0 ? in[i] : negative_slope * in[i]       with slope 0: max(in[i], 0)
//
// Shapes:  in broadcasts to out; any rank 0 to 8, any strides (out: no two indices at one address).
// Alias:   out may be exactly in; any other overlap is refused.
// Empty:   nothing is launched, success; null data is legal.
// NaN:     kept, with any slope. relu(inf) = inf; with slope 0 relu(-inf) = 0. The sign of a zero is not promised.
// Dtypes:  f32, f16, bf16, the same for both; computed in f32, rounded once.
// Errors:  INVALID_ARG (null view, shape, overlap), UNSUPPORTED_DTYPE.
// Source:  Maas, Hannun, Ng: Rectifier Nonlinearities Improve Neural Network Acoustic Models, 2013.
#ifndef OPRT_OPS_RELU_RELU_H
#define OPRT_OPS_RELU_RELU_H

#include "oprt/api/descriptor.h"

OPRT_EXTERN_C_BEGIN

OPRT_API oprt_status_t oprt_create_relu_descriptor(oprt_operator_descriptor_t *desc, const oprt_tensor_view_t *out,
                                                   const oprt_tensor_view_t *in, float negative_slope);
OPRT_API oprt_status_t oprt_get_relu_workspace_size(oprt_operator_descriptor_t desc, size_t *size);
OPRT_API oprt_status_t oprt_execute_relu(oprt_operator_descriptor_t desc, void *workspace, size_t workspace_size,
                                         void *out, const void *in, oprt_stream_t stream);
OPRT_API oprt_status_t oprt_destroy_relu_descriptor(oprt_operator_descriptor_t desc);

OPRT_EXTERN_C_END

#endif
