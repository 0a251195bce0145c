// oprt::MemoryPool: device memory in stream order. What its buffers give back is kept for the next ones, so a loop that
// allocates the same sizes again asks the system once; stats() shows it.
#pragma once

#include <cstdint>
#include <memory>

#include "oprt/runtime/buffer.h"

namespace oprt {

class MemoryPool {
 public:
  // limit_bytes bounds what is reserved; 0: the device's memory is the only bound.
  explicit MemoryPool(Device device = Device::cpu(), uint64_t limit_bytes = 0) : device_(device) {
    oprt_memory_pool_t pool = nullptr;
    check(oprt_memory_pool_create(device.c(), limit_bytes, &pool));
    pool_ = {pool, [](oprt_memory_pool_t p) { oprt_memory_pool_destroy(p); }};
  }

  // A buffer that is used in the order of the stream and goes back to the pool in it. It may outlive this object.
  DeviceBuffer allocate(size_t bytes, const Stream& stream) {
    DeviceBuffer::Free free{device_, pool_, std::make_shared<const Stream>(stream)};
    void* data = nullptr;
    check(oprt_memory_pool_alloc(pool_.get(), bytes, stream.c(), &data));
    return {data, bytes, std::move(free)};
  }
  DeviceBuffer allocate(size_t bytes) { return allocate(bytes, Stream::default_of(device_)); }

  // Releases cached memory to the system until at most keep_bytes are reserved, or none is cached.
  void trim(uint64_t keep_bytes = 0) { check(oprt_memory_pool_trim(pool_.get(), keep_bytes)); }

  // From now on memory reserved beyond this is released as it becomes free.
  void set_release_threshold(uint64_t bytes) { check(oprt_memory_pool_set_release_threshold(pool_.get(), bytes)); }

  oprt_memory_pool_stats_t stats() const {
    oprt_memory_pool_stats_t stats = {};
    stats.struct_size = sizeof(stats);
    check(oprt_memory_pool_get_stats(pool_.get(), &stats));
    return stats;
  }

  Device device() const { return device_; }

 private:
  Device device_;
  std::shared_ptr<oprt_memory_pool> pool_;
};

}  // namespace oprt
