// The C functions of api/memory.h.
#include "oprt/api/memory.h"

#include "oprt/core/text.h"
#include "oprt/runtime/driver.h"

namespace oprt {
namespace {

constexpr oprt_device_t kHost = {OPRT_BACKEND_CPU, 0};

Status check_pointer(const char* what, const char* argument, const void* pointer, const char* expected) {
  if (pointer) return {};
  return invalid(what, argument, expected, "a null pointer");
}

// The four functions that hand out and take back a block differ in the driver's method alone.
using Alloc = Status (Driver::*)(int32_t, size_t, void**);
using Free = Status (Driver::*)(int32_t, void*);

oprt_status_t alloc_with(Alloc alloc, const char* what, oprt_device_t device, size_t bytes, void** data) {
  return guarded(what, [&]() -> Status {
    OPRT_TRY(check_pointer(what, "data", data, "a pointer to write to"));
    *data = nullptr;
    Driver* driver;
    OPRT_TRY(find_driver(what, "device", device, &driver));
    return bytes ? (driver->*alloc)(device.index, bytes, data) : Status{};
  });
}

oprt_status_t free_with(Free free, const char* what, oprt_device_t device, void* data) {
  return guarded(what, [&]() -> Status {
    Driver* driver;
    OPRT_TRY(find_driver(what, "device", device, &driver));
    return data ? (driver->*free)(device.index, data) : Status{};
  });
}

Status check_range(const char* what, const char* argument, const void* data, size_t bytes) {
  if (bytes && !data) return invalid(what, argument, std::to_string(bytes) + " bytes", "a null pointer");
  if (bytes > UINTPTR_MAX - reinterpret_cast<uintptr_t>(data))
    return invalid(what, "bytes", "a range inside the address space", std::to_string(bytes));
  return {};
}

oprt_status_t copy_with(const char* what, void* dst, oprt_device_t dst_device, const void* src,
                        oprt_device_t src_device, size_t bytes, oprt_stream_t stream, bool wait) {
  return guarded(what, [&]() -> Status {
    Driver *to, *from;
    OPRT_TRY(find_driver(what, "dst_device", dst_device, &to));
    OPRT_TRY(find_driver(what, "src_device", src_device, &from));
    if (bytes == 0) return {};
    OPRT_TRY(check_range(what, "dst", dst, bytes));
    OPRT_TRY(check_range(what, "src", src, bytes));
    if (dst_device.backend == src_device.backend && dst_device.index == src_device.index) {
      const auto a = reinterpret_cast<uintptr_t>(dst), b = reinterpret_cast<uintptr_t>(src);
      if (a < b + bytes && b < a + bytes)
        return invalid(what, "dst", "memory apart from src",
                       "an overlap, " + std::to_string(a < b ? b - a : a - b) + " bytes apart with " +
                           std::to_string(bytes) + " to copy");
    }
    Driver& driver = dst_device.backend == kHost.backend ? *from : *to;
    return driver.copy(dst, dst_device, src, src_device, bytes, stream, wait);
  });
}

oprt_status_t zero_with(const char* what, oprt_device_t device, void* data, size_t bytes, oprt_stream_t stream,
                        bool wait) {
  return guarded(what, [&]() -> Status {
    Driver* driver;
    OPRT_TRY(find_driver(what, "device", device, &driver));
    if (bytes == 0) return {};
    OPRT_TRY(check_range(what, "data", data, bytes));
    return driver->zero(device.index, data, bytes, stream, wait);
  });
}

}  // namespace
}  // namespace oprt

using namespace oprt;

oprt_status_t oprt_memory_alloc(oprt_device_t device, size_t bytes, void** data) {
  return alloc_with(&Driver::alloc, "memory_alloc", device, bytes, data);
}

oprt_status_t oprt_memory_free(oprt_device_t device, void* data) {
  return free_with(&Driver::free, "memory_free", device, data);
}

oprt_status_t oprt_memory_alloc_pinned(oprt_device_t device, size_t bytes, void** data) {
  return alloc_with(&Driver::alloc_pinned, "memory_alloc_pinned", device, bytes, data);
}

oprt_status_t oprt_memory_free_pinned(oprt_device_t device, void* data) {
  return free_with(&Driver::free_pinned, "memory_free_pinned", device, data);
}

oprt_status_t oprt_memory_copy(void* dst, oprt_device_t dst_device, const void* src, oprt_device_t src_device,
                               size_t bytes) {
  return copy_with("memory_copy", dst, dst_device, src, src_device, bytes, nullptr, true);
}

oprt_status_t oprt_memory_copy_async(void* dst, oprt_device_t dst_device, const void* src, oprt_device_t src_device,
                                     size_t bytes, oprt_stream_t stream) {
  return copy_with("memory_copy_async", dst, dst_device, src, src_device, bytes, stream, false);
}

oprt_status_t oprt_memory_zero(oprt_device_t device, void* data, size_t bytes) {
  return zero_with("memory_zero", device, data, bytes, nullptr, true);
}

oprt_status_t oprt_memory_zero_async(oprt_device_t device, void* data, size_t bytes, oprt_stream_t stream) {
  return zero_with("memory_zero_async", device, data, bytes, stream, false);
}

oprt_status_t oprt_memory_pool_create(oprt_device_t device, uint64_t limit_bytes, oprt_memory_pool_t* pool) {
  return guarded("memory_pool_create", [&]() -> Status {
    OPRT_TRY(check_pointer("memory_pool_create", "pool", pool, "a pointer to write to"));
    *pool = nullptr;
    Driver* driver;
    OPRT_TRY(find_driver("memory_pool_create", "device", device, &driver));
    return driver->pool_create(device.index, limit_bytes, pool);
  });
}

oprt_status_t oprt_memory_pool_destroy(oprt_memory_pool_t pool) {
  return guarded("memory_pool_destroy", [&]() -> Status {
    if (!pool) return {};
    const uint64_t used = pool->stats().used_bytes;
    if (used)
      return invalid("memory_pool_destroy", "pool", "a pool with no block in use",
                     std::to_string(used) + " bytes in use");
    delete pool;
    return {};
  });
}

oprt_status_t oprt_memory_pool_alloc(oprt_memory_pool_t pool, size_t bytes, oprt_stream_t stream, void** data) {
  return guarded("memory_pool_alloc", [&]() -> Status {
    OPRT_TRY(check_pointer("memory_pool_alloc", "data", data, "a pointer to write to"));
    *data = nullptr;
    OPRT_TRY(check_pointer("memory_pool_alloc", "pool", pool, "a memory pool"));
    return bytes ? pool->alloc(bytes, stream, data) : Status{};
  });
}

oprt_status_t oprt_memory_pool_free(oprt_memory_pool_t pool, void* data, oprt_stream_t stream) {
  return guarded("memory_pool_free", [&]() -> Status {
    OPRT_TRY(check_pointer("memory_pool_free", "pool", pool, "a memory pool"));
    return data ? pool->free(data, stream) : Status{};
  });
}

oprt_status_t oprt_memory_pool_use(oprt_memory_pool_t pool, void* data, oprt_stream_t stream) {
  return guarded("memory_pool_use", [&]() -> Status {
    OPRT_TRY(check_pointer("memory_pool_use", "pool", pool, "a memory pool"));
    return data ? pool->use(data, stream) : Status{};
  });
}

oprt_status_t oprt_memory_pool_trim(oprt_memory_pool_t pool, uint64_t keep_bytes) {
  return guarded("memory_pool_trim", [&]() -> Status {
    OPRT_TRY(check_pointer("memory_pool_trim", "pool", pool, "a memory pool"));
    return pool->trim(keep_bytes);
  });
}

oprt_status_t oprt_memory_pool_set_release_threshold(oprt_memory_pool_t pool, uint64_t bytes) {
  return guarded("memory_pool_set_release_threshold", [&]() -> Status {
    OPRT_TRY(check_pointer("memory_pool_set_release_threshold", "pool", pool, "a memory pool"));
    return pool->set_release_threshold(bytes);
  });
}

oprt_status_t oprt_memory_pool_get_stats(oprt_memory_pool_t pool, oprt_memory_pool_stats_t* stats) {
  return guarded("memory_pool_get_stats", [&]() -> Status {
    OPRT_TRY(check_pointer("memory_pool_get_stats", "pool", pool, "a memory pool"));
    OPRT_TRY(check_pointer("memory_pool_get_stats", "stats", stats, "a struct to fill"));
    const size_t size = stats->struct_size;
    if (size < sizeof(*stats))
      return invalid("memory_pool_get_stats", "stats", "struct_size " + std::to_string(sizeof(*stats)) + " or more",
                     std::to_string(size));
    *stats = pool->stats();
    stats->struct_size = size;
    return {};
  });
}
