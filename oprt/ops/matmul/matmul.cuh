// out[b] = act(a[b] b[b] + bias) over a batch: the kernels that need no library. Sums are f32, rounded once.
//
//   matmul_naive          one thread an element of out, k innermost
//   matmul_tiled          a block a tile of 64 by 64, through shared memory; a thread 4 by 4 of it in registers
//   matmul_tensor_cores   16 bits: the same tile by mma.sync, a warp 32 by 32 of it
//
// a is m by k and b is k by n, anywhere: any strides, also 0 and negative.
#pragma once

#include "oprt/device/activations.cuh"
#include "oprt/device/launch.cuh"
#include "oprt/device/nest.h"
#include "oprt/device/vector.cuh"
#include "oprt/ops/matmul/matmul_plan.h"

namespace oprt {

constexpr int kTile = 64;  // of out, both ways
constexpr int kNaiveThreads = 256;
constexpr int kTiledThreads = 256, kTiledDepth = 16, kPerThread = 4;
constexpr int kTensorThreads = 128, kTensorDepth = 32;

template <class T>
struct Matrices {
  Nest<uint64_t, 3> batch;         // out, a, b
  Divider<uint64_t> across, down;  // tiles (naive: elements) along n, and along m
  int64_t m, n, k;
  MatrixStrides out_strides, a_strides, b_strides, bias_strides;
  oprt_activation_t activation;
  T* out;
  const T* a;
  const T* b;
  const T* bias;  // null: none

  // The tile of a block, or the element of a thread; the pointers are moved to its batch.
  struct Place {
    int64_t row, column;  // in tiles
    T* out;
    const T* a;
    const T* b;
  };
  __device__ Place place(uint64_t index) const {
    const uint64_t down_index = across.divide(index);
    uint64_t row = down_index;
    const uint64_t in_batch = down.divide(row);
    int64_t at[3];
    batch.offsets(in_batch, at);
    return {static_cast<int64_t>(row), static_cast<int64_t>(index), out + at[0], a + at[1], b + at[2]};
  }

  __device__ void finish(T* to, int64_t row, int64_t column, float sum) const {
    if (bias) sum += widen(bias[row * bias_strides.row + column * bias_strides.column]);
    switch (activation) {
      case OPRT_ACTIVATION_NONE: break;
      case OPRT_ACTIVATION_RELU: sum = Relu()(sum); break;
      case OPRT_ACTIVATION_GELU_ERF: sum = GeluErf<float>()(sum); break;
      case OPRT_ACTIVATION_GELU_TANH: sum = GeluTanh<float>()(sum); break;
      case OPRT_ACTIVATION_SILU: sum = Silu<float>()(sum); break;
    }
    to[row * out_strides.row + column * out_strides.column] = narrow<T>(sum);
  }
};

template <class T>
__global__ void __launch_bounds__(kNaiveThreads)
    matmul_naive(const __grid_constant__ Matrices<T> plan, uint64_t count) {
  begin_kernel();
  const uint64_t index = uint64_t{blockIdx.x} * kNaiveThreads + threadIdx.x;
  if (index >= count) return;
  const auto at = plan.place(index);
  const T* a = at.a + at.row * plan.a_strides.row;
  const T* b = at.b + at.column * plan.b_strides.column;
  float sum = 0.0f;
  for (int64_t k = 0; k < plan.k; ++k)
    sum = fmaf(widen(a[k * plan.a_strides.column]), widen(b[k * plan.b_strides.row]), sum);
  plan.finish(at.out, at.row, at.column, sum);
}

// Copies a tile of kTile lines by kDepth steps of a matrix to shared memory, tile(line, step), zeros outside. Threads
// that are neighbours take neighbours in memory: steps where those have stride 1, else lines.
template <int kThreads, int kDepth, class T, class Tile>
__device__ __forceinline__ void fill_tile(const T* from, int64_t line0, int64_t lines, int64_t line_stride,
                                          int64_t step0, int64_t steps, int64_t step_stride, const Tile& tile) {
  static_assert(kTile * kDepth % kThreads == 0);
#pragma unroll
  for (int i = 0; i < kTile * kDepth / kThreads; ++i) {
    const int at = i * kThreads + threadIdx.x;
    const int line = step_stride == 1 ? at / kDepth : at % kTile;
    const int step = step_stride == 1 ? at % kDepth : at / kTile;
    const bool inside = line0 + line < lines && step0 + step < steps;
    tile(line, step) = inside ? from[(line0 + line) * line_stride + (step0 + step) * step_stride] : T{};
  }
}

template <class T>
__global__ void __launch_bounds__(kTiledThreads) matmul_tiled(const __grid_constant__ Matrices<T> plan) {
  begin_kernel();
  __shared__ T a_tile[kTiledDepth][kTile + 1], b_tile[kTiledDepth][kTile + 1];
  const auto at = plan.place(blockIdx.x);
  const int64_t row0 = at.row * kTile, column0 = at.column * kTile;
  // Thread (y, x) has rows y, y + 16, ... and columns x, x + 16, ...: neighbours in a warp read neighbours in shared
  // memory.
  constexpr int kSide = kTile / kPerThread;
  const int x = threadIdx.x % kSide, y = threadIdx.x / kSide;
  float sums[kPerThread][kPerThread] = {};
  for (int64_t k = 0; k < plan.k; k += kTiledDepth) {
    fill_tile<kTiledThreads, kTiledDepth>(at.a, row0, plan.m, plan.a_strides.row, k, plan.k, plan.a_strides.column,
                                          [&](int line, int step) -> T& { return a_tile[step][line]; });
    fill_tile<kTiledThreads, kTiledDepth>(at.b, column0, plan.n, plan.b_strides.column, k, plan.k, plan.b_strides.row,
                                          [&](int line, int step) -> T& { return b_tile[step][line]; });
    __syncthreads();  // the tiles are there
#pragma unroll
    for (int step = 0; step < kTiledDepth; ++step) {
      float a[kPerThread], b[kPerThread];
#pragma unroll
      for (int i = 0; i < kPerThread; ++i) {
        a[i] = widen(a_tile[step][y + i * kSide]);
        b[i] = widen(b_tile[step][x + i * kSide]);
      }
#pragma unroll
      for (int i = 0; i < kPerThread; ++i)
#pragma unroll
        for (int j = 0; j < kPerThread; ++j) sums[i][j] = fmaf(a[i], b[j], sums[i][j]);
    }
    __syncthreads();  // they have been read, and may be written again
  }
#pragma unroll
  for (int i = 0; i < kPerThread; ++i)
#pragma unroll
    for (int j = 0; j < kPerThread; ++j) {
      const int64_t row = row0 + y + i * kSide, column = column0 + x + j * kSide;
      if (row < plan.m && column < plan.n) plan.finish(at.out, row, column, sums[i][j]);
    }
}

// d += a b for a 16 by 16, b 16 by 8, d 16 by 8, spread over a warp as PTX says: lane = 4 g + t holds of a the pairs
// (g, 2t), (g + 8, 2t), (g, 2t + 8), (g + 8, 2t + 8), of b the pairs of column g at 2t and 2t + 8, and of d (g, 2t),
// (g, 2t + 1), (g + 8, 2t), (g + 8, 2t + 1).
__device__ __forceinline__ void multiply_add(float (&d)[4], const uint32_t (&a)[4], const uint32_t (&b)[2], f16) {
#if __CUDA_ARCH__ >= 800
  asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
      "{%0, %1, %2, %3};"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
#endif
}
__device__ __forceinline__ void multiply_add(float (&d)[4], const uint32_t (&a)[4], const uint32_t (&b)[2], bf16) {
#if __CUDA_ARCH__ >= 800
  asm("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
      "{%0, %1, %2, %3};"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
#endif
}

// Both tiles lie in shared memory with k innermost, so a lane's pairs are words. Rows are 20 words long: the 8 rows and
// 4 words that a warp reads at once lie in 32 different banks.
template <class T>
__global__ void __launch_bounds__(kTensorThreads) matmul_tensor_cores(const __grid_constant__ Matrices<T> plan) {
  begin_kernel();
  constexpr int kPitch = kTensorDepth + 8;
  __shared__ __align__(16) T a_tile[kTile][kPitch];
  __shared__ __align__(16) T b_tile[kTile][kPitch];
  const auto at = plan.place(blockIdx.x);
  const int64_t row0 = at.row * kTile, column0 = at.column * kTile;
  const int warp = threadIdx.x / kLanes, lane = threadIdx.x % kLanes, g = lane / 4, t = lane % 4;
  const int warp_row = warp / 2 * 32, warp_column = warp % 2 * 32;
  float sums[2][4][4] = {};
  const auto pair = [](const T& first) { return *reinterpret_cast<const uint32_t*>(&first); };
  for (int64_t k = 0; k < plan.k; k += kTensorDepth) {
    fill_tile<kTensorThreads, kTensorDepth>(at.a, row0, plan.m, plan.a_strides.row, k, plan.k, plan.a_strides.column,
                                            [&](int line, int step) -> T& { return a_tile[line][step]; });
    fill_tile<kTensorThreads, kTensorDepth>(at.b, column0, plan.n, plan.b_strides.column, k, plan.k, plan.b_strides.row,
                                            [&](int line, int step) -> T& { return b_tile[line][step]; });
    __syncthreads();  // the tiles are there
#pragma unroll
    for (int step = 0; step < kTensorDepth; step += 16) {
      uint32_t a[2][4], b[4][2];
#pragma unroll
      for (int i = 0; i < 2; ++i)
#pragma unroll
        for (int part = 0; part < 4; ++part)
          a[i][part] = pair(a_tile[warp_row + i * 16 + g + part % 2 * 8][step + 2 * t + part / 2 * 8]);
#pragma unroll
      for (int j = 0; j < 4; ++j)
#pragma unroll
        for (int part = 0; part < 2; ++part)
          b[j][part] = pair(b_tile[warp_column + j * 8 + g][step + 2 * t + part * 8]);
#pragma unroll
      for (int i = 0; i < 2; ++i)
#pragma unroll
        for (int j = 0; j < 4; ++j) multiply_add(sums[i][j], a[i], b[j], T{});
    }
    __syncthreads();  // they have been read, and may be written again
  }
#pragma unroll
  for (int i = 0; i < 2; ++i)
#pragma unroll
    for (int j = 0; j < 4; ++j)
#pragma unroll
      for (int part = 0; part < 4; ++part) {
        const int64_t row = row0 + warp_row + i * 16 + g + part / 2 * 8;
        const int64_t column = column0 + warp_column + j * 8 + 2 * t + part % 2;
        if (row < plan.m && column < plan.n) plan.finish(at.out, row, column, sums[i][j][part]);
      }
}

// The bias and the activation of sums that the library left, [batch, m, n] in f32.
template <class T>
__global__ void __launch_bounds__(kNaiveThreads)
    matmul_finish(const __grid_constant__ Matrices<T> plan, uint64_t count, const float* sums) {
  begin_kernel();
  const uint64_t index = uint64_t{blockIdx.x} * kNaiveThreads + threadIdx.x;
  if (index >= count) return;
  const auto at = plan.place(index);
  plan.finish(at.out, at.row, at.column, sums[index]);
}

}  // namespace oprt
