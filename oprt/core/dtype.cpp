#include "oprt/core/dtype.h"

extern "C" {

size_t oprt_dtype_size(oprt_dtype_t dtype) { return static_cast<size_t>(oprt::size_of(dtype)); }

const char* oprt_dtype_string(oprt_dtype_t dtype) {
  switch (dtype) {
    case OPRT_DTYPE_F16: return "f16";
    case OPRT_DTYPE_F32: return "f32";
    case OPRT_DTYPE_BF16: return "bf16";
    case OPRT_DTYPE_I32: return "i32";
    case OPRT_DTYPE_I64: return "i64";
  }
  return "unknown";
}

}  // extern "C"
