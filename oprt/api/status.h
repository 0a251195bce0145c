// Status codes for programs, messages for people.
#ifndef OPRT_API_STATUS_H
#define OPRT_API_STATUS_H

#include "oprt/api/export.h"

OPRT_EXTERN_C_BEGIN

typedef enum OPRT_ENUM_BASE {
  OPRT_SUCCESS = 0,
  OPRT_ERR_INVALID_ARG = 1,             // an argument is null, out of range, or does not fit the others
  OPRT_ERR_UNSUPPORTED_DTYPE = 2,       // the operator does not take this dtype, or this mix of dtypes
  OPRT_ERR_RUNTIME = 3,                 // the backend failed: a refused launch, a lost device
  OPRT_ERR_INSUFFICIENT_WORKSPACE = 4,  // smaller than the workspace size getter said
  OPRT_ERR_NOT_SUPPORTED = 5,           // valid, but not with this build, library or device
  OPRT_ERR_OUT_OF_MEMORY = 6            // host or device memory ran out
} oprt_status_t;

// "success", "invalid argument", ... ; "unknown status" for a value outside the enum. Never null; lives forever.
OPRT_API const char *oprt_status_string(oprt_status_t status);

// What the calling thread's last failed call said: operator, argument, what was expected, what came. Empty before the
// first failure, never null. A successful call leaves it alone; the text is valid until the thread's next failure.
OPRT_API const char *oprt_last_error_message(void);

OPRT_EXTERN_C_END

#endif
