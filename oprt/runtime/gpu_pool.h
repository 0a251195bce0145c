// The GPU's memory pool, for its driver.
#pragma once

#include "oprt/runtime/driver.h"

namespace oprt {

// limit_bytes 0: none.
Status make_gpu_pool(oprt_device_t device, uint64_t limit_bytes, oprt_memory_pool** pool);

}  // namespace oprt
