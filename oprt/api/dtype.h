// Element types.
#ifndef OPRT_API_DTYPE_H
#define OPRT_API_DTYPE_H

#include <stddef.h>

#include "oprt/api/export.h"

OPRT_EXTERN_C_BEGIN

typedef enum OPRT_ENUM_BASE {
  OPRT_DTYPE_F16 = 0,   // IEEE 754 binary16
  OPRT_DTYPE_F32 = 1,   // IEEE 754 binary32
  OPRT_DTYPE_BF16 = 2,  // the upper half of a binary32
  OPRT_DTYPE_I32 = 3,   // indices: ids and positions; copy and embedding move it too
  OPRT_DTYPE_I64 = 4
} oprt_dtype_t;

// Bytes of one element; 0 for a value outside the enum.
OPRT_API size_t oprt_dtype_size(oprt_dtype_t dtype);

// "f16", "f32", "bf16", "i32", "i64"; "unknown" for a value outside the enum. Never null.
OPRT_API const char *oprt_dtype_string(oprt_dtype_t dtype);

OPRT_EXTERN_C_END

#endif
