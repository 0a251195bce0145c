// matmul_tensor_cores: 16-bit factors by mma.sync, sums in f32.
//
// A block makes a tile of out, its warps a rectangle of that each. Tiles of a and b come through shared memory in
// kStages stages of kDepth steps along k: while one is multiplied, the next kStages - 1 are on their way.
//
// Every tile shape adds the same products in the same order, 16 steps at a time: an element's bits do not depend on it.
//
// Needs compute capability 8.0. A block takes kBytes of dynamic shared memory.
#pragma once

#include <algorithm>

#include "oprt/device/async_copy.cuh"
#include "oprt/ops/matmul/matmul_matrices.cuh"
#include "oprt/ops/matmul/matmul_mma.cuh"

namespace oprt {

template <int kRows_, int kColumns_, int kDepth_, int kWarpRows_, int kWarpColumns_, int kStages_>
struct TensorTile {
  static constexpr int kRows = kRows_, kColumns = kColumns_, kDepth = kDepth_, kStages = kStages_;
  static constexpr int kWarpRows = kWarpRows_, kWarpColumns = kWarpColumns_;
  static constexpr int kWarpsAcross = kColumns / kWarpColumns;
  static constexpr int kWarps = kRows / kWarpRows * kWarpsAcross, kThreads = kWarps * kLanes;
  using Sums = StagedSums<kWarpRows, kWarpColumns>;
  static constexpr int kSumBytes = kWarps * Sums::kBytes;
  static constexpr int kBytes = std::max(kStages * (kRows + kColumns) * kDepth * 2, kSumBytes);
};

// kASteps: a's steps are neighbours in its tile, else its rows; kBSteps: b's steps, else its columns.
template <class T, class Tile, bool kASteps, bool kBSteps>
__global__ void __launch_bounds__(Tile::kThreads) matmul_tensor_cores(const __grid_constant__ Matrices<T> plan) {
  begin_kernel();
  using ATile = SharedTile<Tile::kRows, Tile::kDepth, kASteps>;
  using BTile = SharedTile<Tile::kColumns, Tile::kDepth, kBSteps>;
  constexpr int kStages = Tile::kStages;
  extern __shared__ uint4 shared[];
  uint4* const a_stages = shared;
  uint4* const b_stages = shared + kStages * ATile::kWords;

  const auto at = plan.tile(blockIdx.x);
  const int64_t row0 = at.row * Tile::kRows, column0 = at.column * Tile::kColumns;
  const int warp = threadIdx.x / kLanes, lane = threadIdx.x % kLanes;
  const int warp_row = warp / Tile::kWarpsAcross * Tile::kWarpRows;
  const int warp_column = warp % Tile::kWarpsAcross * Tile::kWarpColumns;

  const Lines<T> a{at.a, row0, plan.m, plan.k, plan.a_strides.row, plan.a_strides.column, plan.a_aligned};
  const Lines<T> b{at.b, column0, plan.n, plan.k, plan.b_strides.column, plan.b_strides.row, plan.b_aligned};
  const auto fetch = [&](int stage, int64_t step) {
    if (step < plan.k) {
      ATile::template fetch<Tile::kThreads>(a_stages + stage * ATile::kWords, a, step);
      BTile::template fetch<Tile::kThreads>(b_stages + stage * BTile::kWords, b, step);
    }
    commit_copies();  // a group for every stage, also an empty one: waiting counts them
  };

  constexpr int kHigh = Tile::kWarpRows / 16, kWide = Tile::kWarpColumns / 16;
  float sums[kHigh][2 * kWide][4] = {};
  for (int stage = 0; stage < kStages - 1; ++stage) fetch(stage, int64_t{stage} * Tile::kDepth);
  int stage = 0;
  for (int64_t step0 = 0; step0 < plan.k; step0 += Tile::kDepth) {
    wait_for_copies<kStages - 2>();
    __syncthreads();  // this stage is there, and the one before it has been read: it may be written again
    fetch(stage == 0 ? kStages - 1 : stage - 1, step0 + (kStages - 1) * Tile::kDepth);
    const uint4* a_tile = a_stages + stage * ATile::kWords;
    const uint4* b_tile = b_stages + stage * BTile::kWords;
#pragma unroll
    for (int step = 0; step < Tile::kDepth; step += 16) {
      Fragment a_part[kHigh], b_part[kWide];
#pragma unroll
      for (int i = 0; i < kHigh; ++i) a_part[i] = ATile::fragment(a_tile, warp_row + i * 16, step, lane);
#pragma unroll
      for (int j = 0; j < kWide; ++j) b_part[j] = BTile::fragment(b_tile, warp_column + j * 16, step, lane);
#pragma unroll
      for (int i = 0; i < kHigh; ++i)
#pragma unroll
        for (int j = 0; j < kWide; ++j) {
          multiply_add<T>(sums[i][2 * j], a_part[i], b_part[j], 0);
          multiply_add<T>(sums[i][2 * j + 1], a_part[i], b_part[j], 1);
        }
    }
    stage = stage == kStages - 1 ? 0 : stage + 1;
  }
  wait_for_copies<0>();
  __syncthreads();  // the stages have been read, and may be overwritten with sums

  const typename Tile::Sums staged{reinterpret_cast<float*>(shared) + warp * (Tile::kWarpRows * Tile::kWarpColumns)};
#pragma unroll
  for (int i = 0; i < kHigh; ++i)
#pragma unroll
    for (int j = 0; j < 2 * kWide; ++j)
#pragma unroll
      for (int half = 0; half < 2; ++half)
        *reinterpret_cast<float2*>(staged.at(i * 16 + half * 8 + lane / 4, j * 8 + lane % 4 * 2)) =
            make_float2(sums[i][j][2 * half], sums[i][j][2 * half + 1]);
  staged.finish(plan, at.out, row0 + warp_row, column0 + warp_column);
}

}  // namespace oprt
