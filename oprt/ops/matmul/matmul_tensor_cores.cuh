// matmul_tensor_cores: 16-bit factors by mma.sync, sums in f32.
//
// A block makes a tile of out, its warps a rectangle of that each. Tiles of a and b come through shared memory in
// kStages stages of kDepth steps along k: while one is multiplied, the next kStages - 1 are on their way. Fragments are
// read 16 steps before they are multiplied.
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
  static_assert(kDepth % 32 == 0);  // an even number of steps: fragments change places
  static constexpr int kWarpsAcross = kColumns / kWarpColumns;
  static constexpr int kWarps = kRows / kWarpRows * kWarpsAcross, kThreads = kWarps * kLanes;
  using Sums = StagedSums<kWarpRows, kWarpColumns>;
  static constexpr int kSumBytes = kWarps * Sums::kBytes;
  static constexpr int kBytes = std::max(kStages * (kRows + kColumns) * kDepth * 2, kSumBytes);
};

// kASteps: a's steps are neighbours in its tile, else its rows; kBSteps: b's steps, else its columns. kAligned: in
// both, neighbours are side by side in memory too, and runs of them are whole words of 16 bytes.
template <class T, class Tile, bool kASteps, bool kBSteps, bool kAligned>
__global__ void __launch_bounds__(Tile::kThreads) matmul_tensor_cores(const __grid_constant__ Matrices<T> plan) {
  begin_kernel();
  using ATile = SharedTile<Tile::kRows, Tile::kDepth, kASteps, true>;
  using BTile = SharedTile<Tile::kColumns, Tile::kDepth, kBSteps, false>;
  constexpr int kStages = Tile::kStages;
  extern __shared__ uint4 shared[];
  uint4* const a_stages = shared;
  uint4* const b_stages = shared + kStages * ATile::kWords;

  const auto at = plan.tile(blockIdx.x);
  const int64_t row0 = at.row * Tile::kRows, column0 = at.column * Tile::kColumns;
  const int warp = threadIdx.x / kLanes, lane = threadIdx.x % kLanes;
  const int warp_row = warp / Tile::kWarpsAcross * Tile::kWarpRows;
  const int warp_column = warp % Tile::kWarpsAcross * Tile::kWarpColumns;

  const Lines<T> a{at.a, row0, plan.m, plan.k, plan.a_strides.row, plan.a_strides.column};
  const Lines<T> b{at.b, column0, plan.n, plan.k, plan.b_strides.column, plan.b_strides.row};
  typename ATile::template Feeder<T, Tile::kThreads, kAligned> a_feeder(a_stages, a);
  typename BTile::template Feeder<T, Tile::kThreads, kAligned> b_feeder(b_stages, b);
  const auto feed = [&](int stage, int64_t step) {
    if (step < plan.k) {
      a_feeder.feed(stage, step);
      b_feeder.feed(stage, step);
    }
    commit_copies();  // a group for every stage, also an empty one: waiting counts them
  };

  constexpr int kHigh = Tile::kWarpRows / 16, kWide = Tile::kWarpColumns / 16;
  const typename ATile::template Reader<kHigh> a_reader(a_stages, warp_row, lane);
  const typename BTile::template Reader<kWide> b_reader(b_stages, warp_column, lane);
  Fragment a_parts[2][kHigh], b_parts[2][kWide];  // of a step, and of the one after it
  float sums[kHigh][2 * kWide][4] = {};
  const auto read = [&](int stage, int step) {
    a_reader.read(stage, step, a_parts[step / 16 % 2]);
    b_reader.read(stage, step, b_parts[step / 16 % 2]);
  };
  const auto multiply = [&](int step) {
#pragma unroll
    for (int i = 0; i < kHigh; ++i)
#pragma unroll
      for (int j = 0; j < 2 * kWide; ++j)
        multiply_add<T>(sums[i][j], a_parts[step / 16 % 2][i], b_parts[step / 16 % 2][j / 2], j % 2);
  };
  for (int stage = 0; stage < kStages; ++stage) feed(stage, int64_t{stage} * Tile::kDepth);
  wait_for_copies<kStages - 1>();
  __syncthreads();
  if (plan.k > 0) read(0, 0);
  int stage = 0;
  for (int64_t step0 = 0; step0 < plan.k; step0 += Tile::kDepth) {
#pragma unroll
    for (int step = 0; step < Tile::kDepth - 16; step += 16) {
      read(stage, step + 16);
      multiply(step);
    }
    wait_for_copies<kStages - 2>();
    __syncthreads();  // the next stage is there, and this one has been read: it may be written again
    const int next = stage == kStages - 1 ? 0 : stage + 1;
    const auto read_next = [&] {
      if (step0 + Tile::kDepth < plan.k) read(next, 0);
    };
    const int64_t later = step0 + kStages * Tile::kDepth;
    if constexpr (kAligned) {
      read_next();
      feed(stage, later);
      multiply(Tile::kDepth - 16);
    } else {  // words need registers on their way, those of fragments
      multiply(Tile::kDepth - 16);
      feed(stage, later);
      read_next();
    }
    stage = next;
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
