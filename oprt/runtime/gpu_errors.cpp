// The device's side of oprt_take_device_errors.
#include <atomic>
#include <mutex>

#include "oprt/api/device.h"
#include "oprt/core/text.h"
#include "oprt/device/gpu.h"
#include "oprt/runtime/device_errors.h"
#include "oprt/runtime/driver.h"
#include "oprt/runtime/gpu_capture.h"

namespace oprt {
namespace {

constexpr int kMostDevices = 64;

struct Counter {
  std::atomic<unsigned long long*> data{nullptr};
  unsigned long long taken = 0;  // of the count, reported already
};

Counter counters[kMostDevices];
std::mutex mutex;  // guards `taken`, and the making of a counter

Status take(oprt_stream_t stream, int64_t* count) {
  cudaStreamCaptureStatus capturing = cudaStreamCaptureStatusNone;
  const auto native = static_cast<cudaStream_t>(stream);
  OPRT_TRY(gpu_status("take_device_errors", cudaStreamIsCapturing(native, &capturing)));
  if (capturing != cudaStreamCaptureStatusNone)
    return fail(OPRT_ERR_NOT_SUPPORTED, "take_device_errors", "stream", "a stream that is not being captured",
                "one that is: it cannot be waited for");
  int device = 0;
  OPRT_TRY(gpu_status("take_device_errors", native ? cudaStreamGetDevice(native, &device) : cudaGetDevice(&device)));
  const DeviceScope scope(device);
  OPRT_TRY(gpu_status("take_device_errors", cudaStreamSynchronize(native)));
  std::lock_guard lock(mutex);
  Counter& counter = counters[device % kMostDevices];
  unsigned long long total = 0;
  if (const void* data = counter.data.load())
    OPRT_TRY(gpu_status("take_device_errors", cudaMemcpy(&total, data, sizeof(total), cudaMemcpyDeviceToHost)));
  *count = static_cast<int64_t>(total - counter.taken);
  counter.taken = total;
  return {};
}

}  // namespace

Status device_error_counter(int device, unsigned long long** counter) {
  Counter& own = counters[device % kMostDevices];
  *counter = own.data.load(std::memory_order_acquire);
  if (*counter) return {};
  std::lock_guard lock(mutex);
  *counter = own.data.load();
  if (*counter) return {};
  const DeviceScope scope(device);
  const OutsideCapture outside;
  OPRT_TRY(gpu_status("device_errors", scope.error()));
  void* data = nullptr;
  OPRT_TRY(gpu_status("device_errors", cudaMalloc(&data, sizeof(**counter))));
  OPRT_TRY(gpu_status("device_errors", cudaMemset(data, 0, sizeof(**counter))));
  *counter = static_cast<unsigned long long*>(data);
  own.data.store(*counter, std::memory_order_release);
  return {};
}

Status take_gpu_errors(oprt_stream_t stream, int64_t* count) {
  return gpu_driver().device_count() ? take(stream, count) : Status{};
}

}  // namespace oprt
