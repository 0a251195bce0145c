// A tensor as every operator takes it: an address, a dtype, a shape and strides. Owns nothing.
#ifndef OPRT_API_TENSOR_VIEW_H
#define OPRT_API_TENSOR_VIEW_H

#include <stdint.h>

#include "oprt/api/dtype.h"

#define OPRT_MAX_DIMS 8

// 144 bytes on LP64. create copies it, so it may live on the caller's stack.
typedef struct {
  void *data;                      // element [0, ..., 0], also with negative strides; null only for an empty tensor
  oprt_dtype_t dtype;              //
  int32_t ndim;                    // rank, 0 to 8; rank 0 is one element
  int64_t shape[OPRT_MAX_DIMS];    // elements per axis; a 0 makes the tensor empty; entries past ndim are ignored
  int64_t strides[OPRT_MAX_DIMS];  // elements (not bytes) to the next index of an axis; 0 and negative are legal on
                                   // inputs; meaningless where the axis has length 1
} oprt_tensor_view_t;

#endif
