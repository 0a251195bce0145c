// Copies from global to shared memory that need no register and that no thread waits for: compute capability 8.0 and
// up. Elsewhere they are plain loads and stores, done when the call returns.
//
// A thread's copies belong to the group that it commits next. wait_for_copies<n>() returns when all its groups but the
// n newest have landed; other threads see them after the block's next barrier.
#pragma once

#include "oprt/device/gpu.h"

namespace oprt {

// Where a generic address of shared memory lies in it, as ldmatrix and cp.async take it.
__device__ __forceinline__ unsigned shared_address(const void* shared) {
  return static_cast<unsigned>(__cvta_generic_to_shared(shared));
}

// A word of kBytes (16, or 4): its first `present` bytes as they lie at `from`, the rest zero. Both at a multiple of
// kBytes; nothing is read where none are present.
template <int kBytes>
__device__ __forceinline__ void copy_async(void* shared, const void* from, int present) {
  static_assert(kBytes == 4 || kBytes == 16);
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
  const unsigned to = shared_address(shared);
  if constexpr (kBytes == 16)
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(to), "l"(from), "r"(present) : "memory");
  else
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4, %2;" ::"r"(to), "l"(from), "r"(present) : "memory");
#else
  uint32_t parts[kBytes / 4] = {};
  if (present == kBytes)
    for (int i = 0; i < kBytes / 4; ++i) parts[i] = static_cast<const uint32_t*>(from)[i];
  else
    for (int i = 0; i < present; ++i) parts[i / 4] |= uint32_t{static_cast<const uint8_t*>(from)[i]} << i % 4 * 8;
  for (int i = 0; i < kBytes / 4; ++i) static_cast<uint32_t*>(shared)[i] = parts[i];
#endif
}

// The same of 16 bytes that are all there.
__device__ __forceinline__ void copy_word_async(void* shared, const void* from) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
  const unsigned to = shared_address(shared);
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(to), "l"(from) : "memory");
#else
  *static_cast<uint4*>(shared) = *static_cast<const uint4*>(from);
#endif
}

__device__ __forceinline__ void commit_copies() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
  asm volatile("cp.async.commit_group;" ::: "memory");
#endif
}

template <int kNewest>
__device__ __forceinline__ void wait_for_copies() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
  asm volatile("cp.async.wait_group %0;" ::"n"(kNewest) : "memory");
#endif
}

}  // namespace oprt
