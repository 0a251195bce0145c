// matmul_tiled: f32 arithmetic, one fused multiply-add after another along k. f32 factors; 16 bits where there are no
// tensor cores for them, widened on their way to shared memory.
//
// A block makes a tile of out, a warp a rectangle of it, 8 by 4 threads, and a thread kHigh by kWide sums in registers:
// a step along k is kHigh + kWide loads for kHigh * kWide multiplications. Tiles of a and b come through shared memory
// in kStages stages of kDepth steps, kept as f32 with lines innermost: while one is multiplied, the next kStages - 1
// are on their way.
//
// A block takes kBytes of dynamic shared memory.
#pragma once

#include <algorithm>

#include "oprt/device/async_copy.cuh"
#include "oprt/ops/matmul/matmul_matrices.cuh"

namespace oprt {

template <int kRows_, int kColumns_, int kDepth_, int kHigh_, int kWide_, int kStages_, int kBlocks_>
struct PlainTile {
  static constexpr int kRows = kRows_, kColumns = kColumns_, kDepth = kDepth_, kStages = kStages_;
  static constexpr int kHigh = kHigh_, kWide = kWide_;  // of a thread: fours, 8 and 4 threads apart
  static constexpr int kWarpRows = kLanes / 4 * kHigh, kWarpColumns = 4 * kWide;
  static constexpr int kWarpsAcross = kColumns / kWarpColumns;
  static constexpr int kWarps = kRows / kWarpRows * kWarpsAcross, kThreads = kWarps * kLanes;
  static constexpr int kBlocks = kBlocks_;  // at once on a multiprocessor
  // A pass of the epilogue: the rows that a thread has four neighbours of.
  using Sums = StagedSums<kLanes, kWarpColumns>;
  // 4 more floats a step: 8 steps of 4 lines, which a warp writes at once, lie in 32 different banks.
  static constexpr int kAPitch = kRows + 4, kBPitch = kColumns + 4;
  static constexpr int kStageFloats = kDepth * (kAPitch + kBPitch);
  static constexpr int kSumBytes = kWarps * Sums::kBytes;
  static constexpr int kBytes = std::max(kStages * kStageFloats * 4, kSumBytes);
};

__device__ __forceinline__ float of_four(const float4& four, int i) {
  return i == 0 ? four.x : i == 1 ? four.y : i == 2 ? four.z : four.w;
}

// Brings kLines lines by kDepth steps of a factor, tile[step][line], zeros outside. Whole words of four lines where
// they lie side by side, else single elements; threads that are neighbours take neighbours in memory.
template <int kLines, int kDepth, int kPitch, int kThreads, class T>
__device__ __forceinline__ void fetch_lines(float* tile, const T* from, int64_t lines, int64_t line_stride,
                                            int64_t steps, int64_t step_stride, bool aligned) {
  const int lines_left = static_cast<int>(min(lines, int64_t{kLines}));
  const int steps_left = static_cast<int>(min(steps, int64_t{kDepth}));
  constexpr int kRun = 8;  // steps that neighbouring threads take: a sector, and with 4 lines all banks
  if (sizeof(T) == 4 && aligned && step_stride != 1) {
    constexpr int kAcross = kLines / 4, kEach = kThreads / kAcross;
    static_assert(kThreads % kAcross == 0 && kDepth % kEach == 0);
    const int line = threadIdx.x % kAcross * 4, first = threadIdx.x / kAcross;
    const int present = max(min(lines_left - line, 4), 0) * 4;
    from += line + first * step_stride;
#pragma unroll
    for (int i = 0; i < kDepth / kEach; ++i) {
      const int step = first + i * kEach;
      copy_async<16>(tile + step * kPitch + line, from + i * kEach * step_stride, step < steps_left ? present : 0);
    }
    return;
  }
  static_assert(kThreads % kLines == 0 && kDepth % kRun == 0 && kRun % (kThreads / kLines) == 0);
  const bool along_steps = step_stride == 1;
  const int line = along_steps ? threadIdx.x / kRun : threadIdx.x % kLines;
  const int step = along_steps ? threadIdx.x % kRun : threadIdx.x / kLines;
  const int more_lines = along_steps ? kThreads / kRun : 0, more_steps = along_steps ? 0 : kThreads / kLines;
  const int64_t more = more_lines * line_stride + more_steps * step_stride;
#pragma unroll
  for (int run = 0; run < kDepth; run += kRun) {
    const T* at = from + line * line_stride + (run + step) * step_stride;
    float* to = tile + (run + step) * kPitch + line;
#pragma unroll
    for (int i = 0; i < kLines * kRun / kThreads; ++i) {
      const bool inside = line + i * more_lines < lines_left && run + step + i * more_steps < steps_left;
      if constexpr (sizeof(T) == 4)
        copy_async<4>(to, at, inside ? 4 : 0);
      else
        *to = inside ? widen(*at) : 0.0f;
      at += more;
      to += more_steps * kPitch + more_lines;
    }
  }
}

template <class T, class Tile>
__global__ void __launch_bounds__(Tile::kThreads, Tile::kBlocks)
    matmul_tiled(const __grid_constant__ Matrices<T> plan) {
  begin_kernel();
  constexpr int kStages = Tile::kStages, kDepth = Tile::kDepth, kHigh = Tile::kHigh, kWide = Tile::kWide;
  extern __shared__ uint4 shared[];
  float* const a_stages = reinterpret_cast<float*>(shared);
  float* const b_stages = a_stages + kStages * kDepth * Tile::kAPitch;

  const auto at = plan.tile(blockIdx.x);
  const int64_t row0 = at.row * Tile::kRows, column0 = at.column * Tile::kColumns;
  const int warp = threadIdx.x / kLanes, lane = threadIdx.x % kLanes;
  const int warp_row = warp / Tile::kWarpsAcross * Tile::kWarpRows;
  const int warp_column = warp % Tile::kWarpsAcross * Tile::kWarpColumns;
  const int y = lane / 4 * 4, x = lane % 4 * 4;

  const T* const a = at.a + row0 * plan.a_strides.row;
  const T* const b = at.b + column0 * plan.b_strides.column;
  const auto fetch = [&](int stage, int64_t step) {
    if (step < plan.k) {
      fetch_lines<Tile::kRows, kDepth, Tile::kAPitch, Tile::kThreads>(
          a_stages + stage * (kDepth * Tile::kAPitch), a + step * plan.a_strides.column, plan.m - row0,
          plan.a_strides.row, plan.k - step, plan.a_strides.column, plan.a_aligned);
      fetch_lines<Tile::kColumns, kDepth, Tile::kBPitch, Tile::kThreads>(
          b_stages + stage * (kDepth * Tile::kBPitch), b + step * plan.b_strides.row, plan.n - column0,
          plan.b_strides.column, plan.k - step, plan.b_strides.row, plan.b_aligned);
    }
    commit_copies();  // a group for every stage, also an empty one: waiting counts them
  };

  float sums[kHigh][kWide] = {};
  for (int stage = 0; stage < kStages - 1; ++stage) fetch(stage, int64_t{stage} * kDepth);
  int stage = 0;
  for (int64_t step0 = 0; step0 < plan.k; step0 += kDepth) {
    wait_for_copies<kStages - 2>();
    __syncthreads();  // this stage is there, and the one before it has been read: it may be written again
    fetch(stage == 0 ? kStages - 1 : stage - 1, step0 + (kStages - 1) * kDepth);
    const float* a_tile = a_stages + stage * (kDepth * Tile::kAPitch) + warp_row + y;
    const float* b_tile = b_stages + stage * (kDepth * Tile::kBPitch) + warp_column + x;
#pragma unroll
    for (int step = 0; step < kDepth; ++step) {
      float4 a_part[kHigh / 4], b_part[kWide / 4];
#pragma unroll
      for (int i = 0; i < kHigh / 4; ++i)
        a_part[i] = *reinterpret_cast<const float4*>(a_tile + step * Tile::kAPitch + i * kLanes);
#pragma unroll
      for (int j = 0; j < kWide / 4; ++j)
        b_part[j] = *reinterpret_cast<const float4*>(b_tile + step * Tile::kBPitch + j * 16);
#pragma unroll
      for (int i = 0; i < kHigh; ++i)
#pragma unroll
        for (int j = 0; j < kWide; ++j)
          sums[i][j] = fmaf(of_four(a_part[i / 4], i % 4), of_four(b_part[j / 4], j % 4), sums[i][j]);
    }
    stage = stage == kStages - 1 ? 0 : stage + 1;
  }
  wait_for_copies<0>();
  __syncthreads();  // the stages have been read, and may be overwritten with sums

  const typename Tile::Sums staged{reinterpret_cast<float*>(shared) + warp * (kLanes * Tile::kWarpColumns)};
#pragma unroll
  for (int part = 0; part < kHigh / 4; ++part) {
#pragma unroll
    for (int i = 0; i < 4; ++i)
#pragma unroll
      for (int j = 0; j < kWide; j += 4) {
        const float(&four)[kWide] = sums[part * 4 + i];
        *reinterpret_cast<float4*>(staged.at(y + i, x + j * 4)) =
            make_float4(four[j], four[j + 1], four[j + 2], four[j + 3]);
      }
    staged.finish(plan, at.out, row0 + warp_row + part * kLanes, column0 + warp_column);
  }
}

}  // namespace oprt
