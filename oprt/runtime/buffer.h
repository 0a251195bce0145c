// oprt::DeviceBuffer and oprt::PinnedBuffer: blocks of memory that free themselves. Sizes are bytes; new contents are
// undefined. Without a stream a copy is done when the call returns; with one it runs in the stream's order, and both
// buffers live until the stream has passed it.
#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include "oprt/api/memory.h"
#include "oprt/runtime/stream.h"

namespace oprt {

// Host memory that a device can copy from and to in stream order.
class PinnedBuffer {
 public:
  explicit PinnedBuffer(size_t bytes, Device device = Device::cpu()) : bytes_(bytes) {
    void* data = nullptr;
    check(oprt_memory_alloc_pinned(device.c(), bytes, &data));
    data_ = {data, Free{device}};
  }

  void* data() const { return data_.get(); }
  size_t bytes() const { return bytes_; }

 private:
  struct Free {
    Device device;
    void operator()(void* data) const { oprt_memory_free_pinned(device.c(), data); }
  };
  std::unique_ptr<void, Free> data_{nullptr, Free{}};
  size_t bytes_;
};

class DeviceBuffer {
 public:
  explicit DeviceBuffer(size_t bytes, Device device = Device::cpu()) : device_(device), bytes_(bytes) {
    void* data = nullptr;
    check(oprt_memory_alloc(device.c(), bytes, &data));
    data_ = {data, Free{device, nullptr, nullptr}};
  }

  void* data() const { return data_.get(); }
  size_t bytes() const { return bytes_; }
  Device device() const { return device_; }

  void copy_from(const void* host, size_t bytes) {
    check_size(bytes);
    check(oprt_memory_copy(data(), device_.c(), host, Device::cpu().c(), bytes));
  }
  void copy_to(void* host, size_t bytes) const {
    check_size(bytes);
    check(oprt_memory_copy(host, Device::cpu().c(), data(), device_.c(), bytes));
  }
  void copy_from(const DeviceBuffer& other) {
    check_size(other.bytes());
    check(oprt_memory_copy(data(), device_.c(), other.data(), other.device().c(), other.bytes()));
  }
  void zero() { check(oprt_memory_zero(device_.c(), data(), bytes_)); }

  void copy_from(const PinnedBuffer& host, const Stream& stream) {
    check_size(host.bytes());
    check(oprt_memory_copy_async(data(), device_.c(), host.data(), Device::cpu().c(), host.bytes(), stream.c()));
  }
  void copy_to(PinnedBuffer& host, const Stream& stream) const {
    check_size(host.bytes());
    check(oprt_memory_copy_async(host.data(), Device::cpu().c(), data(), device_.c(), host.bytes(), stream.c()));
  }
  void copy_from(const DeviceBuffer& other, const Stream& stream) {
    check_size(other.bytes());
    check(oprt_memory_copy_async(data(), device_.c(), other.data(), other.device().c(), other.bytes(), stream.c()));
  }
  void zero(const Stream& stream) { check(oprt_memory_zero_async(device_.c(), data(), bytes_, stream.c())); }

  // For a buffer of a MemoryPool that a stream other than its own works on: its memory is given out again only after
  // that work.
  void also_used_on(const Stream& stream) {
    const Free& free = data_.get_deleter();
    if (free.pool) check(oprt_memory_pool_use(free.pool.get(), data(), stream.c()));
  }

 private:
  friend class MemoryPool;

  // A buffer of a pool keeps the pool and its stream alive, and goes back in the stream's order.
  struct Free {
    Device device;
    std::shared_ptr<oprt_memory_pool> pool;
    std::shared_ptr<const Stream> stream;
    void operator()(void* data) const {
      if (pool)
        oprt_memory_pool_free(pool.get(), data, stream->c());
      else
        oprt_memory_free(device.c(), data);
    }
  };

  DeviceBuffer(void* data, size_t bytes, Free free)
      : device_(free.device), bytes_(bytes), data_(data, std::move(free)) {}

  void check_size(size_t bytes) const {
    if (bytes > bytes_)
      throw Error(OPRT_ERR_INVALID_ARG, "DeviceBuffer: bytes: expected at most the buffer's " + std::to_string(bytes_) +
                                            ", got " + std::to_string(bytes));
  }

  Device device_;
  size_t bytes_;
  std::unique_ptr<void, Free> data_{nullptr, Free{}};
};

}  // namespace oprt
