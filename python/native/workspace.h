// Scratch memory of one call or one prepared operator, where its data lives.
#pragma once

#include <cstddef>

#include "oprt/api/memory.h"

namespace oprt::python {

class Workspace {
 public:
  // For many calls, on any streams. On a GPU its end waits for them.
  Workspace(size_t size, oprt_device_t device);
  // For one call, in the order of its stream: on a GPU from a pool that keeps what is given back.
  Workspace(size_t size, oprt_device_t device, oprt_stream_t stream);
  ~Workspace();
  Workspace(const Workspace&) = delete;

  void* data() const { return data_; }
  size_t size() const { return size_; }

 private:
  size_t size_;
  oprt_device_t device_;
  oprt_stream_t stream_ = nullptr;
  oprt_memory_pool_t pool_ = nullptr;
  void* data_ = nullptr;
};

}  // namespace oprt::python
