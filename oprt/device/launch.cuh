// The one way to launch a kernel: on the device of the call's data, on its stream, with the launch's error read.
#pragma once

#include <atomic>

#include "oprt/core/call.h"
#include "oprt/core/prepare.h"
#include "oprt/device/gpu.h"
#include "oprt/device/occupancy.h"

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

// What is known of a kernel.
struct LoadedKernel {
  std::atomic<uint64_t> on{0};    // devices (of up to 64), a bit each
  std::atomic<int> shared{0};     // bytes of shared memory of a block, beside the dynamic
  std::atomic<int> registers{0};  // of a thread
};
template <auto kKernel>
LoadedKernel& loaded_kernel() {
  static LoadedKernel loaded;
  return loaded;
}

// Done at create, so that a first execute may be captured into a graph: loads the kernel on the current device, and
// lets it have all shared memory of a multiprocessor. Once per kernel and device.
inline Status load_kernel(const char* op, const void* kernel, LoadedKernel& loaded, int device) {
  const uint64_t bit = uint64_t{1} << (device % 64);
  if (loaded.on.load(std::memory_order_acquire) & bit) return {};
  cudaFuncAttributes attributes;
  OPRT_TRY(gpu_status(op, cudaFuncGetAttributes(&attributes, kernel)));
  const int shared = static_cast<int>(attributes.sharedSizeBytes);
  const int all = device_attribute<cudaDevAttrMaxSharedMemoryPerBlockOptin>(device);
  OPRT_TRY(gpu_status(op, cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, all - shared)));
  loaded.shared.store(shared, std::memory_order_relaxed);
  loaded.registers.store(attributes.numRegs, std::memory_order_relaxed);
  loaded.on.fetch_or(bit, std::memory_order_release);
  return {};
}

// Whether a kernel may be placed while the one before it on the stream still runs: compute capability 9.0 and up. It
// begins with begin_kernel(), so it touches no memory before the other has ended.
inline bool overlaps_kernels(int device) { return device_attribute<cudaDevAttrComputeCapabilityMajor>(device) >= 9; }

inline Multiprocessors multiprocessors(int device) {
  return {device_attribute<cudaDevAttrMultiProcessorCount>(device),
          device_attribute<cudaDevAttrMaxSharedMemoryPerMultiprocessor>(device),
          device_attribute<cudaDevAttrReservedSharedMemoryPerBlock>(device),
          device_attribute<cudaDevAttrMaxRegistersPerMultiprocessor>(device),
          device_attribute<cudaDevAttrMaxThreadsPerMultiProcessor>(device),
          device_attribute<cudaDevAttrMaxBlocksPerMultiprocessor>(device)};
}

// launch<kernel>(op, call, shape, arguments...): at create, loads; at execute, launches.
template <auto kKernel, class... Arguments>
Status launch(const char* op, const Call& call, const LaunchShape& shape, Arguments... arguments) {
  LoadedKernel& loaded = loaded_kernel<kKernel>();
  const DeviceScope scope(call.device);
  OPRT_TRY(gpu_status(op, scope.error()));
  if (preparing_on != kNotPreparing)
    return load_kernel(op, reinterpret_cast<const void*>(kKernel), loaded, call.device);

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
    if (shape.cluster == 1)
      config.dynamicSmemBytes = static_cast<size_t>(evenly_shared(
          shape.blocks, shape.shared, loaded.shared.load(std::memory_order_relaxed), multiprocessors(call.device)));
  }
  if (shape.cluster > 1) {
    cudaLaunchAttribute& cluster = attributes[config.numAttrs++];
    cluster.id = cudaLaunchAttributeClusterDimension;
    cluster.val.clusterDim = {static_cast<unsigned>(shape.cluster), 1, 1};
  }
  return gpu_status(op, cudaLaunchKernelEx(&config, kKernel, arguments...));
}

// The same where the device runs all blocks in `rounds` of as many as it holds at once, and *launched; else nothing.
template <auto kKernel, class... Arguments>
Status launch_few(int rounds, bool* launched, const char* op, const Call& call, const LaunchShape& shape,
                  Arguments... arguments) {
  const int registers = loaded_kernel<kKernel>().registers.load(std::memory_order_relaxed);
  *launched = preparing_on != kNotPreparing ||
              shape.blocks <= rounds * blocks_at_once(registers, shape.threads, multiprocessors(call.device));
  return *launched ? launch<kKernel>(op, call, shape, arguments...) : Status{};
}

// Blocks of `each` that cover `count`.
inline int64_t blocks_for(int64_t count, int64_t each) { return (count + each - 1) / each; }

}  // namespace oprt
