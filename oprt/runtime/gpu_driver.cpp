// The GPU behind the face of api/device.h and api/memory.h, on the vendor's runtime library; and where memory lives,
// for core/backend.h.
#include <atomic>
#include <cstdio>
#include <memory>
#include <string>

#include "oprt/core/backend.h"
#include "oprt/core/text.h"
#include "oprt/device/gpu.h"
#include "oprt/runtime/driver.h"
#include "oprt/runtime/gpu_capture.h"
#include "oprt/runtime/gpu_pool.h"

namespace oprt {
namespace {

struct Devices {
  int count = 0;
  std::string why_none;
};

// Asked once: devices do not come and go within a process.
const Devices& devices() {
  static const Devices found = [] {
    Devices d;
    const cudaError_t error = cudaGetDeviceCount(&d.count);
    if (error == cudaSuccess && d.count > 0) return d;
    cudaGetLastError();
    d.count = 0;
    d.why_none = error == cudaSuccess ? "the driver sees no device" : cudaGetErrorString(error);
    return d;
  }();
  return found;
}

cudaStream_t native(oprt_stream_t stream) { return static_cast<cudaStream_t>(stream); }

// Runs a sequence of runtime calls with a device current; the first that fails ends it. A capture that goes on lives
// through them.
template <class Body>
Status on_device(const char* what, int32_t index, Body&& body) {
  const DeviceScope scope(index);
  OPRT_TRY(gpu_status(what, scope.error()));
  const OutsideCapture outside;
  return gpu_status(what, body());
}

class GpuEvent final : public oprt_event {
 public:
  using oprt_event::oprt_event;
  ~GpuEvent() override {
    if (event_) cudaEventDestroy(event_);
  }

  Status create() {
    return on_device("event_create", device.index, [&] { return cudaEventCreate(&event_); });
  }

  Status record(oprt_stream_t stream) override {
    OPRT_TRY(on_device("event_record", device.index, [&] { return cudaEventRecord(event_, native(stream)); }));
    recorded_ = true;
    return {};
  }

  Status synchronize() override { return gpu_status("event_synchronize", cudaEventSynchronize(event_)); }

  Status query(bool* done) override {
    const cudaError_t error = cudaEventQuery(event_);
    *done = error == cudaSuccess;
    if (error != cudaErrorNotReady) return gpu_status("event_query", error);
    cudaGetLastError();
    return {};
  }

  Status elapsed_since(oprt_event& start, float* milliseconds) override {
    const auto& begin = static_cast<GpuEvent&>(start);
    if (!begin.recorded_ || !recorded_)
      return invalid("event_elapsed", begin.recorded_ ? "end" : "start", "an event that was recorded",
                     "one that never was");
    return gpu_status("event_elapsed", cudaEventElapsedTime(milliseconds, begin.event_, event_));
  }

  cudaError_t hold(oprt_stream_t stream) const { return cudaStreamWaitEvent(native(stream), event_, 0); }

 private:
  cudaEvent_t event_ = nullptr;
  std::atomic<bool> recorded_{false};
};

class GpuDriver final : public Driver {
 public:
  int32_t device_count() override { return devices().count; }
  std::string why_none() override { return devices().why_none; }

  Status info(int32_t index, oprt_device_info_t* info) override {
    return on_device("get_device_info", index, [&] {
      size_t free = 0, total = 0;
      cudaError_t error = cudaMemGetInfo(&free, &total);
      info->free_bytes = free;
      info->total_bytes = total;
      const auto read = [&](int32_t* value, cudaDeviceAttr attribute) {
        if (error == cudaSuccess) error = cudaDeviceGetAttribute(value, attribute, index);
      };
      read(&info->compute_major, cudaDevAttrComputeCapabilityMajor);
      read(&info->compute_minor, cudaDevAttrComputeCapabilityMinor);
      read(&info->multiprocessors, cudaDevAttrMultiProcessorCount);
      cudaDeviceProp properties;  // for the name, the one thing that no attribute tells
      if (error == cudaSuccess) error = cudaGetDeviceProperties(&properties, index);
      if (error == cudaSuccess) std::snprintf(info->name, sizeof(info->name), "%.127s", properties.name);
      return error;
    });
  }

  Status synchronize(int32_t index) override {
    return on_device("device_synchronize", index, [] { return cudaDeviceSynchronize(); });
  }

  // Not ordered with the default stream, as a framework's own streams are not.
  Status stream_create(int32_t index, oprt_stream_t* stream) override {
    return on_device("stream_create", index, [&] {
      return cudaStreamCreateWithFlags(reinterpret_cast<cudaStream_t*>(stream), cudaStreamNonBlocking);
    });
  }

  Status stream_destroy(int32_t index, oprt_stream_t stream) override {
    return on_device("stream_destroy", index, [&] { return cudaStreamDestroy(native(stream)); });
  }

  Status stream_synchronize(int32_t index, oprt_stream_t stream) override {
    return on_device("stream_synchronize", index, [&] { return cudaStreamSynchronize(native(stream)); });
  }

  Status stream_wait(int32_t index, oprt_stream_t stream, oprt_event& event) override {
    if (event.device.backend != OPRT_GPU_BACKEND) return event.synchronize();
    return on_device("stream_wait_event", index, [&] { return static_cast<GpuEvent&>(event).hold(stream); });
  }

  Status event_create(int32_t index, oprt_event** event) override {
    auto made = std::make_unique<GpuEvent>(oprt_device_t{OPRT_GPU_BACKEND, index});
    OPRT_TRY(made->create());
    *event = made.release();
    return {};
  }

  Status alloc(int32_t index, size_t bytes, void** data) override {
    return on_device("memory_alloc", index, [&] { return cudaMalloc(data, bytes); });
  }

  Status free(int32_t index, void* data) override {
    return on_device("memory_free", index, [&] { return cudaFree(data); });
  }

  Status alloc_pinned(int32_t index, size_t bytes, void** data) override {
    return on_device("memory_alloc_pinned", index, [&] { return cudaHostAlloc(data, bytes, cudaHostAllocPortable); });
  }

  // The device is waited for: a copy that still reads the block must not see its next owner's bytes.
  Status free_pinned(int32_t index, void* data) override {
    return on_device("memory_free_pinned", index, [&] {
      const cudaError_t error = cudaDeviceSynchronize();
      return error == cudaSuccess ? cudaFreeHost(data) : error;
    });
  }

  Status copy(void* dst, oprt_device_t dst_device, const void* src, oprt_device_t src_device, size_t bytes,
              oprt_stream_t stream, bool wait) override {
    const char* what = wait ? "memory_copy" : "memory_copy_async";
    const bool to_gpu = dst_device.backend == OPRT_GPU_BACKEND, from_gpu = src_device.backend == OPRT_GPU_BACKEND;
    const bool two_gpus = to_gpu && from_gpu && dst_device.index != src_device.index;
    if (two_gpus && wait) OPRT_TRY(on_device(what, src_device.index, [] { return cudaStreamSynchronize(nullptr); }));
    return on_device(what, to_gpu ? dst_device.index : src_device.index, [&] {
      cudaError_t error = two_gpus
                              ? cudaMemcpyPeerAsync(dst, dst_device.index, src, src_device.index, bytes, native(stream))
                              : cudaMemcpyAsync(dst, src, bytes, cudaMemcpyDefault, native(stream));
      if (error == cudaSuccess && wait) error = cudaStreamSynchronize(native(stream));
      return error;
    });
  }

  Status zero(int32_t index, void* data, size_t bytes, oprt_stream_t stream, bool wait) override {
    return on_device(wait ? "memory_zero" : "memory_zero_async", index, [&] {
      cudaError_t error = cudaMemsetAsync(data, 0, bytes, native(stream));
      if (error == cudaSuccess && wait) error = cudaStreamSynchronize(native(stream));
      return error;
    });
  }

  Status pool_create(int32_t index, uint64_t limit_bytes, oprt_memory_pool** pool) override {
    return make_gpu_pool({OPRT_GPU_BACKEND, index}, limit_bytes, pool);
  }
};

}  // namespace

Driver& gpu_driver() {
  static GpuDriver driver;
  return driver;
}

Place place_of(const void* pointer) {
  if (devices().count == 0) return {OPRT_BACKEND_CPU, 0};
  cudaPointerAttributes attributes = {};
  if (cudaPointerGetAttributes(&attributes, pointer) != cudaSuccess) {
    cudaGetLastError();
    return {OPRT_BACKEND_CPU, 0};
  }
  const bool on_gpu = attributes.type == cudaMemoryTypeDevice || attributes.type == cudaMemoryTypeManaged;
  return on_gpu ? Place{OPRT_GPU_BACKEND, attributes.device} : Place{OPRT_BACKEND_CPU, 0};
}

}  // namespace oprt
