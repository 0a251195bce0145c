// oprt::Device: a place where tensors live and operators run.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "oprt/api/device.h"
#include "oprt/runtime/error.h"

namespace oprt {

struct ComputeCapability {
  int major, minor;  // 0.0 for the CPU
};

class Device {
 public:
  Device() = default;  // the CPU

  // Throws where there is no such device.
  explicit Device(oprt_backend_t backend, int index = 0) : device_{backend, index} { info(); }

  static Device cpu() { return {}; }

  // Every device of this build and machine: the CPU, then the GPUs.
  static std::vector<Device> all() {
    std::vector<Device> devices = {cpu()};
    for (const oprt_backend_t backend : {OPRT_BACKEND_NVIDIA, OPRT_BACKEND_METAX}) {
      int32_t count = 0;
      check(oprt_device_count(backend, &count));
      for (int32_t i = 0; i < count; ++i) devices.push_back(Device(backend, i));
    }
    return devices;
  }

  oprt_backend_t backend() const { return device_.backend; }
  int index() const { return device_.index; }
  bool is_cpu() const { return device_.backend == OPRT_BACKEND_CPU; }

  std::string name() const { return info().name; }
  uint64_t total_memory() const { return info().total_bytes; }  // bytes
  uint64_t free_memory() const { return info().free_bytes; }
  ComputeCapability compute_capability() const { return {info().compute_major, info().compute_minor}; }
  int multiprocessors() const { return info().multiprocessors; }

  // Waits for everything submitted to it.
  void synchronize() const { check(oprt_device_synchronize(device_)); }

  // For C functions.
  oprt_device_t c() const { return device_; }

  friend bool operator==(Device a, Device b) {
    return a.device_.backend == b.device_.backend && a.device_.index == b.device_.index;
  }

 private:
  oprt_device_info_t info() const {
    oprt_device_info_t info = {};
    info.struct_size = sizeof(info);
    check(oprt_get_device_info(device_, &info));
    return info;
  }

  oprt_device_t device_ = {OPRT_BACKEND_CPU, 0};
};

}  // namespace oprt
