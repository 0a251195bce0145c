// Reductions over the threads that share a row. combine(a, b) is combine(b, a) to the last bit (no fused multiply-add
// that treats them differently), so every thread gets the same bits.
//
//   group     who calls           who takes part                                    the result is valid
//   LanesOf   all of a warp       `width` neighbouring lanes, a power of two        in every lane, its group's
//   Block     all of a block      all of it; warps are a power of two up to 16      in every thread
//   Cluster   all of a cluster    a value of each block, up to 8                    in every thread
//
// reduce is across_lanes, over the neighbouring lanes that share a row, and then the same over what their warps have:
// of_warps gives lane i the value of warp i of warps(), over and over. rank() and size() say which of a row's threads
// this one is. A group is made once in a kernel, before threads part.
#pragma once

#include <cooperative_groups.h>

#include <type_traits>

#include "oprt/device/gpu.h"
#include "oprt/device/row_shape.h"

namespace oprt {

constexpr int kMaxWarps = kRowThreads / kLanes;

struct Sum {
  __device__ float operator()(float low, float high) const { return low + high; }
};
struct Max {
  __device__ float operator()(float low, float high) const { return fmaxf(low, high); }
};

// Any plain struct of 4-byte members.
template <class S>
__device__ __forceinline__ S shuffle_xor(const S& value, int offset) {
  static_assert(sizeof(S) % sizeof(uint32_t) == 0);
  constexpr int kWords = sizeof(S) / sizeof(uint32_t);
  uint32_t words[kWords];
  memcpy(words, &value, sizeof(S));
#pragma unroll
  for (int i = 0; i < kWords; ++i) words[i] = __shfl_xor_sync(kAllLanes, words[i], offset, kLanes);
  S result;
  memcpy(&result, words, sizeof(S));
  return result;
}

// The largest value of a warp's lanes, by integers of the same order: one instruction in place of five exchanges.
__device__ __forceinline__ float largest_of_warp(float value) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
  const auto flip = [](int bits) { return bits ^ (bits >> 31 & 0x7FFFFFFF); };
  return __int_as_float(flip(__reduce_max_sync(kAllLanes, flip(__float_as_int(value)))));
#else
  for (int offset = 1; offset < kLanes; offset *= 2) value = fmaxf(value, shuffle_xor(value, offset));
  return value;
#endif
}

// kWidth: `width`, or 0 where only the launch knows.
template <int kWidth = 0, class S, class Combine>
__device__ __forceinline__ S reduce_lanes(S value, int width, const Combine& combine) {
  if constexpr (kWidth == kLanes && std::is_same_v<Combine, Max>) {
    return largest_of_warp(value);
  } else {
#pragma unroll
    for (int offset = 1; offset < kLanes; offset *= 2) {
      if (offset >= width) break;
      value = combine(value, shuffle_xor(value, offset));
    }
    return value;
  }
}

// kWidth: lanes of a row, or 0 where only the launch knows.
template <int kWidth>
struct LanesOf {
  int given;

  __device__ int width() const { return kWidth > 0 ? kWidth : given; }
  __device__ int rank() const { return threadIdx.x % width(); }
  __device__ int size() const { return width(); }
  __device__ int lanes() const { return width(); }              // of one warp that share a row
  __device__ int rows() const { return blockDim.x / width(); }  // of a block
  __device__ int row() const { return threadIdx.x / width(); }  // of the block's

  template <class S, class Combine>
  __device__ S across_lanes(const S& value, const Combine& combine) const {
    return reduce_lanes<kWidth>(value, width(), combine);
  }
  __device__ static constexpr int warps() { return 1; }
  template <class S>
  __device__ S of_warps(const S& value) {
    return value;
  }
  template <class S, class Combine>
  __device__ S reduce(const S& value, const Combine& combine) {
    return across_lanes(value, combine);
  }
  __device__ static void sync() { __syncwarp(); }
};
using Lanes = LanesOf<0>;

// Values of a block's threads in shared memory. Two halves take turns: between a read of one half and the next write to
// it every thread passes the barrier of the other, so each reduction needs one barrier alone.
template <int kBytes>
struct Exchange {
  alignas(16) unsigned char halves[2][kBytes];
};

// kThreads: of the block, or 0 where only the launch knows.
template <int kThreads>
struct BlockOf {
  using Shared = Exchange<kMaxWarps * 16>;
  Shared* shared;
  int half = 0;

  __device__ int rank() const { return threadIdx.x; }
  __device__ int size() const { return kThreads > 0 ? kThreads : blockDim.x; }
  __device__ int lanes() const { return kLanes; }
  __device__ int rows() const { return 1; }
  __device__ int row() const { return 0; }

  template <class S, class Combine>
  __device__ S across_lanes(const S& value, const Combine& combine) const {
    return reduce_lanes<kLanes>(value, kLanes, combine);
  }
  __device__ int warps() const { return size() / kLanes; }
  template <class S>
  __device__ S of_warps(const S& of_warp) {
    static_assert(sizeof(S) <= 16);
    S* const values = reinterpret_cast<S*>(shared->halves[half]);
    half ^= 1;
    if (threadIdx.x % kLanes == 0) values[threadIdx.x / kLanes] = of_warp;
    __syncthreads();  // every warp's value is there
    return values[threadIdx.x % kLanes & (warps() - 1)];
  }
  template <class S, class Combine>
  __device__ S reduce(const S& value, const Combine& combine) {
    return reduce_lanes(of_warps(across_lanes(value, combine)), warps(), combine);  // in every warp: no second barrier
  }
  __device__ static void sync() { __syncthreads(); }
};
using Block = BlockOf<0>;

// A value of every block of a cluster. A block's shared memory may be written from others only once it runs: start() is
// called first of all in the kernel and the reduction once. A block ends only when the others have written.
template <class S>
struct Cluster {
  S* of_blocks;  // shared memory, one for each block

  __device__ static int blocks() {
#if OPRT_CLUSTERS
    return cooperative_groups::this_cluster().num_blocks();
#else
    return 1;
#endif
  }

  __device__ static void start() {
#if OPRT_CLUSTERS
    cooperative_groups::this_cluster().barrier_arrive();
#endif
  }
  // value: of this block, the same in all of its threads.
  template <class Combine>
  __device__ S reduce(const S& value, const Combine& combine) const {
#if OPRT_CLUSTERS
    auto cluster = cooperative_groups::this_cluster();
    cluster.barrier_wait();  // all blocks run
    const unsigned count = cluster.num_blocks();
    if (threadIdx.x < count) *cluster.map_shared_rank(of_blocks + cluster.block_rank(), threadIdx.x) = value;
    cluster.sync();  // all values are here, and nobody writes here any more
    S total = of_blocks[0];
    for (unsigned block = 1; block < count; ++block) total = combine(total, of_blocks[block]);
    return total;
#else
    return value;
#endif
  }
};

}  // namespace oprt
