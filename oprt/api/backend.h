// Where an operator runs.
#ifndef OPRT_API_BACKEND_H
#define OPRT_API_BACKEND_H

#include "oprt/api/status.h"

OPRT_EXTERN_C_BEGIN

typedef enum OPRT_ENUM_BASE {
  OPRT_BACKEND_AUTO = 0,    // where the data lives: host memory means CPU
  OPRT_BACKEND_NVIDIA = 1,  // needs a build with CUDA
  OPRT_BACKEND_METAX = 2,   // needs a build with MACA
  OPRT_BACKEND_CPU = 3
} oprt_backend_t;

// "auto", "nvidia", "metax", "cpu"; "unknown" for a value outside the enum. Never null.
OPRT_API const char *oprt_backend_string(oprt_backend_t backend);

// Sets the backend of descriptors that the calling thread creates from now on. A thread that never set one sees the
// value last set anywhere; at first that is AUTO.
// Errors: INVALID_ARG outside the enum; NOT_SUPPORTED for a backend that this build lacks (the setting stays).
OPRT_API oprt_status_t oprt_set_backend(oprt_backend_t backend);
OPRT_API oprt_status_t oprt_get_backend(oprt_backend_t *backend);

// For bindings that take a backend per call: sets the calling thread's backend alone, without a check (create makes
// it), and returns what was there. OPRT_BACKEND_UNSET stands for "this thread never set one".
#define OPRT_BACKEND_UNSET (-1)
OPRT_API int oprt_exchange_thread_backend(int backend);

OPRT_EXTERN_C_END

#endif
