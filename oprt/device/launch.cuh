// The one way to launch a kernel: on the device of the call's data, on its stream, with the launch's error read.
#pragma once

#include <atomic>

#include "oprt/core/call.h"
#include "oprt/core/prepare.h"
#include "oprt/device/gpu.h"

namespace oprt {

struct LaunchShape {
  int64_t blocks;        // along x, the only axis that carries data-sized counts
  int threads;           // of a block
  int cluster = 1;       // blocks of a cluster
  int shared = 0;        // bytes of dynamic shared memory of a block
  bool overlaps = true;  // where the device can: may be placed while the kernel before it ends
};

// An attribute of a device (of up to 64), asked for once.
template <cudaDeviceAttr kAttribute>
int device_attribute(int device) {
  static std::atomic<int> known[64];  // the value and 1 more; 0: not asked yet
  std::atomic<int>& here = known[device % 64];
  int value = here.load(std::memory_order_relaxed);
  if (value == 0) {
    if (cudaDeviceGetAttribute(&value, kAttribute, device) != cudaSuccess) cudaGetLastError();
    here.store(++value, std::memory_order_relaxed);
  }
  return value - 1;
}

// Done at create, so that a first execute may be captured into a graph: loads the kernel on the current device, and
// lets it have all shared memory of a multiprocessor where it takes dynamic one. Once per kernel and device (of up to
// 64).
inline Status load_kernel(const char* op, const void* kernel, std::atomic<uint64_t>& loaded, int device, bool shared) {
  const uint64_t bit = uint64_t{1} << (device % 64);
  if (loaded.load(std::memory_order_acquire) & bit) return {};
  cudaFuncAttributes attributes;
  OPRT_TRY(gpu_status(op, cudaFuncGetAttributes(&attributes, kernel)));
  if (shared) {
    const int all = device_attribute<cudaDevAttrMaxSharedMemoryPerBlockOptin>(device);
    OPRT_TRY(gpu_status(op, cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                                 all - static_cast<int>(attributes.sharedSizeBytes))));
  }
  loaded.fetch_or(bit, std::memory_order_release);
  return {};
}

// Whether a kernel may be placed while the one before it on the stream still runs: compute capability 9.0 and up. It
// begins with begin_kernel(), so it touches no memory before the other has ended.
inline bool overlaps_kernels(int device) { return device_attribute<cudaDevAttrComputeCapabilityMajor>(device) >= 9; }

// launch<kernel>(op, call, shape, arguments...): at create, loads; at execute, launches.
template <auto kKernel, class... Arguments>
Status launch(const char* op, const Call& call, const LaunchShape& shape, Arguments... arguments) {
  static std::atomic<uint64_t> loaded{0};
  const DeviceScope scope(call.device);
  OPRT_TRY(gpu_status(op, scope.error()));
  if (preparing_on != kNotPreparing)
    return load_kernel(op, reinterpret_cast<const void*>(kKernel), loaded, call.device, shape.shared > 0);

  if (shape.blocks > INT32_MAX)
    return fail(OPRT_ERR_NOT_SUPPORTED, op, "a grid of " + std::to_string(shape.blocks) + " blocks is too large");
  cudaLaunchConfig_t config = {};
  config.gridDim = dim3(static_cast<unsigned>(shape.blocks));
  config.blockDim = dim3(static_cast<unsigned>(shape.threads));
  config.dynamicSmemBytes = static_cast<size_t>(shape.shared);
  config.stream = static_cast<cudaStream_t>(call.stream);
  cudaLaunchAttribute attributes[2] = {};
  config.attrs = attributes;
  if (shape.overlaps && overlaps_kernels(call.device)) {
    cudaLaunchAttribute& overlap = attributes[config.numAttrs++];
    overlap.id = cudaLaunchAttributeProgrammaticStreamSerialization;
    overlap.val.programmaticStreamSerializationAllowed = 1;
  }
  if (shape.cluster > 1) {
    cudaLaunchAttribute& cluster = attributes[config.numAttrs++];
    cluster.id = cudaLaunchAttributeClusterDimension;
    cluster.val.clusterDim = {static_cast<unsigned>(shape.cluster), 1, 1};
  }
  return gpu_status(op, cudaLaunchKernelEx(&config, kKernel, arguments...));
}

// Blocks of `each` that cover `count`.
inline int64_t blocks_for(int64_t count, int64_t each) { return (count + each - 1) / each; }

}  // namespace oprt
