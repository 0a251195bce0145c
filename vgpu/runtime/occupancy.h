// How many blocks of a kernel fit on a multiprocessor.
#pragma once

#include <cstdint>

#include "exec/engine.h"
#include "runtime/registry.h"

namespace vgpu {

// 0 where not even one fits. Registers do not limit: PTX does not say how many a kernel takes.
uint32_t blocks_per_multiprocessor(const Function& function, uint64_t threads, uint64_t dynamic_shared,
                                   const DeviceLimits& limits);

}  // namespace vgpu
