// Operator descriptors: what is common to every operator.
//
//   oprt_create_<op>_descriptor       checks everything once; cheap, launches nothing; *desc is null unless it succeeds
//   oprt_get_<op>_workspace_size      bytes that execute needs, of any alignment, on the device of the data
//   oprt_execute_<op>                 allocates, copies to the device and synchronises nothing; in stream order
//   oprt_destroy_<op>_descriptor      once, after the last use; null is fine; submitted work keeps running
//
// A descriptor is immutable after create: many threads may execute it at once, each with its own workspace and stream.
// execute may be given other pointers than create saw, of the same layout; alignment is decided from them.
#ifndef OPRT_API_DESCRIPTOR_H
#define OPRT_API_DESCRIPTOR_H

#include <stddef.h>
#include <stdint.h>

#include "oprt/api/backend.h"
#include "oprt/api/status.h"
#include "oprt/api/tensor_view.h"

OPRT_EXTERN_C_BEGIN

typedef struct oprt_operator_descriptor *oprt_operator_descriptor_t;

// A stream of the data's device (cudaStream_t for NVIDIA); null is the legacy default stream. The CPU has none: calls
// return when the work is done, whatever is passed.
typedef void *oprt_stream_t;

// The kernel that the descriptor would launch for create's pointers; "none" for an empty tensor or a null descriptor.
OPRT_API const char *oprt_descriptor_kernel(oprt_operator_descriptor_t desc);

// The kernel that the calling thread launched last; "none" before the first and after an execute with nothing to do.
OPRT_API const char *oprt_last_kernel(void);

// Every operator of this build in alphabetical order, and every kernel name each can return; null past the end.
OPRT_API const char *oprt_operator_name(int32_t index);
OPRT_API const char *oprt_operator_kernel(const char *op, oprt_backend_t backend, int32_t index);

OPRT_EXTERN_C_END

#endif
