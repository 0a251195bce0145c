// What differs between GPU vendors: the runtime's header and names, lanes of a warp, masks. Everything else under
// device/, the .cu files and the driver is one source. C++17.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include <cstdint>
#include <string>

#include "oprt/core/status.h"

namespace oprt {

constexpr int kLanes = 32;  // threads of a warp
using LaneMask = uint32_t;  // a bit for each
constexpr LaneMask kAllLanes = ~LaneMask{0};

// Blocks of one kernel that see each other's shared memory: compute capability 9.0 and up. In a kernel, whether the
// code being compiled may use them.
constexpr int kMaxClusterBlocks = 8;
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
#define OPRT_CLUSTERS 1
#else
#define OPRT_CLUSTERS 0
#endif

// Threads that a multiprocessor holds at once.
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ == 750
constexpr int kMultiprocessorThreads = 1024;
#elif defined(__CUDA_ARCH__) && (__CUDA_ARCH__ == 860 || __CUDA_ARCH__ == 890 || __CUDA_ARCH__ >= 1200)
constexpr int kMultiprocessorThreads = 1536;
#else
constexpr int kMultiprocessorThreads = 2048;
#endif

#ifdef __CUDACC__
// The first statement of every kernel. Kernels of one stream overlap at their ends (launch.cuh): the next may be placed
// as soon as every block of this one runs, and waits here until this one has ended and its writes are visible.
__device__ __forceinline__ void begin_kernel() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.launch_dependents;");
  asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}
#endif

// A failed runtime call as a status; `what` is the operator or function it was made for. Nothing stays pending.
inline Status gpu_status(const char* what, cudaError_t error) {
  if (error == cudaSuccess) return {};
  cudaGetLastError();
  return fail(error == cudaErrorMemoryAllocation ? OPRT_ERR_OUT_OF_MEMORY : OPRT_ERR_RUNTIME, what,
              std::string(cudaGetErrorString(error)) + " (" + cudaGetErrorName(error) + ")");
}

// Makes a device current and the caller's current again.
class DeviceScope {
 public:
  explicit DeviceScope(int device) {
    error_ = cudaGetDevice(&before_);
    if (error_ != cudaSuccess || before_ == device) return;
    error_ = cudaSetDevice(device);
    changed_ = error_ == cudaSuccess;
  }
  ~DeviceScope() {
    if (changed_) cudaSetDevice(before_);
  }
  DeviceScope(const DeviceScope&) = delete;

  cudaError_t error() const { return error_; }

 private:
  int before_ = 0;
  bool changed_ = false;
  cudaError_t error_ = cudaSuccess;
};

}  // namespace oprt
