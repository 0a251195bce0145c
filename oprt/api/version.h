// Versions. The ABI version grows when a program built against an older header could misbehave; SONAME follows it.
#ifndef OPRT_API_VERSION_H
#define OPRT_API_VERSION_H

#include "oprt/api/export.h"

#define OPRT_ABI_VERSION 1
#define OPRT_VERSION_MAJOR 0
#define OPRT_VERSION_MINOR 1
#define OPRT_VERSION_PATCH 0

OPRT_EXTERN_C_BEGIN

// The ABI version of the library that is loaded; a program may compare it with the OPRT_ABI_VERSION it was built with.
OPRT_API int oprt_abi_version(void);

// "0.1.0". Never null.
OPRT_API const char *oprt_version_string(void);

OPRT_EXTERN_C_END

#endif
