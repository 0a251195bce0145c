// Host memory for the CPU driver and its pool.
#pragma once

#include <cstddef>
#include <cstdint>

#include "oprt/core/status.h"
#include "oprt/runtime/driver.h"

namespace oprt {

constexpr size_t kHostAlignment = 256;  // as a GPU's allocator gives, so that kernels see the same alignment everywhere

uint64_t host_memory_bytes();  // of the machine

// OUT_OF_MEMORY, also for a request that only overcommitting could grant. Release with std::free.
Status host_alloc(const char* what, size_t bytes, void** data);

// limit_bytes 0: none.
Status make_cpu_pool(oprt_device_t device, uint64_t limit_bytes, oprt_memory_pool** pool);

}  // namespace oprt
