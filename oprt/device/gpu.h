// What differs between GPU vendors: the runtime's header and names, lanes of a warp, masks. Everything else under
// device/, the .cu files and the driver is one source. C++17.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include <cstdint>
#include <cstring>
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
// A word of each 64 bytes of a kernel's argument, the first 256 of them, in one: the first look at any is a miss.
template <class Argument>
__device__ __forceinline__ uint32_t looked_at(const Argument& argument) {
  constexpr int kLine = 64, kMost = 256;
  uint32_t all = 0;
#pragma unroll
  for (int at = 0; at + 4 <= static_cast<int>(sizeof(Argument)) && at < kMost; at += kLine) {
    uint32_t word;
    memcpy(&word, reinterpret_cast<const char*>(&argument) + at, sizeof word);
    all ^= word;
  }
  return all;
}

// The first statement of every kernel. Kernels of one stream overlap at their ends (launch.cuh): the next may be placed
// as soon as every block of this one runs, and waits here until this one has ended and its writes are visible.
// Meanwhile the arguments named come: that they decide whether it waits twice keeps the compiler from asking for them
// later. Sums, lookups and rows of a warp name theirs. Times with them named, of those without, on an H200:
//
//   reduce_sum, 16 to 4096 rows      .87 to .98      transpose, 512 x 512             .96
//   rows of a warp, up to 128        .94 to .96      transpose, 1024 x 1024           1.05
//   embedding, 64 ids                .96             softmax, f32 1024 x 4096         1.03 to 1.07
//   copy, silu                       .99 to 1.01     softmax, bf16 1024 x 16384       1.05
//                                                    add_rmsnorm, bf16 16 x 4096      1.10 to 1.13
template <class... Arguments>
__device__ __forceinline__ void begin_kernel(const Arguments&... arguments) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.launch_dependents;");
  if constexpr (sizeof...(Arguments) == 0) {
    asm volatile("griddepcontrol.wait;" ::: "memory");
  } else {
    const uint32_t looked = (... ^ looked_at(arguments));
    asm volatile(
        "{ .reg .pred again; setp.eq.u32 again, %0, 0x9E3779B9;\n"
        "@again griddepcontrol.wait; griddepcontrol.wait; }" ::"r"(looked)
        : "memory");
  }
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
