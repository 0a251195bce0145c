// What a backend does for api/device.h and api/memory.h. The C functions (device.cpp, memory.cpp) check the arguments
// and look the driver up; a driver is given only what is valid. cpu_driver.cpp is the CPU's; a GPU brings one more.
#pragma once

#include <string>

#include "oprt/api/memory.h"
#include "oprt/core/status.h"

// The opaque structs of the C API: each driver derives its own.
struct oprt_event {
  explicit oprt_event(oprt_device_t device) : device(device) {}
  virtual ~oprt_event() = default;
  virtual oprt::Status record(oprt_stream_t stream) = 0;
  virtual oprt::Status synchronize() = 0;
  virtual oprt::Status query(bool* done) = 0;
  virtual oprt::Status elapsed_since(oprt_event& start, float* milliseconds) = 0;  // start is of the same device

  const oprt_device_t device;
};

struct oprt_memory_pool {
  explicit oprt_memory_pool(oprt_device_t device) : device(device) {}
  virtual ~oprt_memory_pool() = default;
  virtual oprt::Status alloc(size_t bytes, oprt_stream_t stream, void** data) = 0;  // bytes > 0
  virtual oprt::Status free(void* data, oprt_stream_t stream) = 0;                  // data is not null
  virtual oprt::Status use(void* data, oprt_stream_t stream) = 0;
  virtual oprt::Status trim(uint64_t keep_bytes) = 0;
  virtual oprt::Status set_release_threshold(uint64_t bytes) = 0;
  virtual oprt_memory_pool_stats_t stats() = 0;  // struct_size is not set

  const oprt_device_t device;
};

namespace oprt {

class Driver {
 public:
  virtual ~Driver() = default;

  virtual int32_t device_count() = 0;
  virtual std::string why_none() { return ""; }                      // where there is no device: what is missing
  virtual Status info(int32_t index, oprt_device_info_t* info) = 0;  // all but struct_size
  virtual Status synchronize(int32_t index) = 0;

  virtual Status stream_create(int32_t index, oprt_stream_t* stream) = 0;
  virtual Status stream_destroy(int32_t index, oprt_stream_t stream) = 0;  // not null
  virtual Status stream_synchronize(int32_t index, oprt_stream_t stream) = 0;
  virtual Status stream_wait(int32_t index, oprt_stream_t stream, oprt_event& event) = 0;
  virtual Status event_create(int32_t index, oprt_event** event) = 0;

  virtual Status alloc(int32_t index, size_t bytes, void** data) = 0;  // bytes > 0
  virtual Status free(int32_t index, void* data) = 0;                  // not null
  virtual Status alloc_pinned(int32_t index, size_t bytes, void** data) = 0;
  virtual Status free_pinned(int32_t index, void* data) = 0;

  // bytes > 0. `wait`: return when it is done, in the order of the default stream; else in the order of `stream`.
  virtual Status copy(void* dst, oprt_device_t dst_device, const void* src, oprt_device_t src_device, size_t bytes,
                      oprt_stream_t stream, bool wait) = 0;
  virtual Status zero(int32_t index, void* data, size_t bytes, oprt_stream_t stream, bool wait) = 0;

  virtual Status pool_create(int32_t index, uint64_t limit_bytes, oprt_memory_pool** pool) = 0;
};

Driver& cpu_driver();
Driver& gpu_driver();  // this and the next only in builds with a GPU backend
Status take_gpu_errors(oprt_stream_t stream, int64_t* count);

// INVALID_ARG or NOT_SUPPORTED as api/device.h says; *driver is set where the device exists.
Status find_driver(const char* what, const char* argument, oprt_device_t device, Driver** driver);

}  // namespace oprt
