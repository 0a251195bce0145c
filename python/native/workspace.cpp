#include "workspace.h"

#include "error.h"

namespace oprt::python {
namespace {

constexpr int kMostGpus = 64;

// Made by the first call that needs one, and kept. Guarded by the GIL.
oprt_memory_pool_t pool_of(oprt_device_t device) {
  static oprt_memory_pool_t pools[kMostGpus];
  oprt_memory_pool_t& pool = pools[device.index % kMostGpus];
  if (!pool) check(oprt_memory_pool_create(device, 0, &pool));
  return pool;
}

}  // namespace

Workspace::Workspace(size_t size, oprt_device_t device) : size_(size), device_(device) {
  if (size) check(oprt_memory_alloc(device, size, &data_));
}

Workspace::Workspace(size_t size, oprt_device_t device, oprt_stream_t stream)
    : size_(size), device_(device), stream_(stream) {
  if (!size) return;
  if (device.backend != OPRT_BACKEND_CPU) pool_ = pool_of(device);
  check(pool_ ? oprt_memory_pool_alloc(pool_, size, stream, &data_) : oprt_memory_alloc(device, size, &data_));
}

Workspace::~Workspace() {
  if (pool_)
    oprt_memory_pool_free(pool_, data_, stream_);
  else if (data_)
    oprt_memory_free(device_, data_);
}

}  // namespace oprt::python
