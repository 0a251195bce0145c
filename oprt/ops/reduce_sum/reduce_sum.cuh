// The kernels of reduce_sum: the row skeleton's ways of sharing a row (device/row_shape.h), with a sum at the end in
// place of a map. Long rows and columns that are enough to fill the device have a block each, which goes through their
// parts; fewer leave partial sums in the workspace, and a second launch adds those. The order of adding is the same.
#pragma once

#include "oprt/device/norms.cuh"

namespace oprt {

struct RowSum {
  static constexpr int kInputs = 1, kWeights = 0;
  static constexpr float kMissing = 0.0f;
  using Local = SumStat;
  using Stat = SumStat;

  template <class H, class Group>
  __device__ Local local(const H& held, Group&, int = 0) const {
    return {held.sum([](float x) { return x; })};
  }
  template <class H, class Group>
  __device__ Stat gather(const Local& local, const H&, Group& group, float) const {
    return {group.reduce(local.sum, Sum())};
  }
  __device__ Stat combine(const Stat& low, const Stat& high) const { return {low.sum + high.sum}; }
};

template <class T>
using SumPlan = RowPlan<T, RowSum>;

template <class T, bool kPlain>
using LongRow = Held<T, kRowElements / kPieceElements<T>, kPlain>;

// ---- contiguous rows ----

// Whole rows, kRows of them a thread.
template <class T, class H, int kRows = 1, class Group>
__device__ void sum_whole_rows(const SumPlan<T>& plan, Group& group) {
  static_assert(H::kPlain || kRows == 1);  // loose rows share their memory
  using Part = RowPart<T, RowSum, Group, H::kPlain>;
  H held[kRows];
#pragma unroll
  for (int r = 0; r < kRows; ++r)
    load_held_row(plan, Part(plan, group, int64_t{blockIdx.x} * kRows + r, 0), group, held[r]);
#pragma unroll
  for (int r = 0; r < kRows; ++r) {
    const Part part(plan, group, int64_t{blockIdx.x} * kRows + r, 0);
    const float sum = group.reduce(plan.op.local(held[r], group).sum, Sum());
    if (part.active && group.rank() == 0) *part.data[0] = narrow<T>(sum);
  }
}

template <class T, class H, int kRows>
__global__ void __launch_bounds__(kWarpThreads, kWarpBlocks)
    sum_warp_rows(const __grid_constant__ SumPlan<T> plan, int lanes) {
  begin_kernel(plan);
  Lanes group{lanes};
  sum_whole_rows<T, H, kRows>(plan, group);
}

template <class T, class H>
__global__ void __launch_bounds__(kRowThreads, kRowBlocks) sum_block_rows(const __grid_constant__ SumPlan<T> plan) {
  begin_kernel(plan);
  Block group = GroupMaker<Block>::make();
  sum_whole_rows<T, H>(plan, group);
}

constexpr int kMaxLongParts = kLanes;

// A row's parts, one after the other in one block. Of plain rows a part is loaded while the one before is added, and
// warps do not wait for each other between them.
template <class T, class H>
__global__ void __launch_bounds__(kRowThreads, kRowBlocks) sum_long_row(const __grid_constant__ SumPlan<T> plan) {
  begin_kernel(plan);
  using Part = RowPart<T, RowSum, Block, H::kPlain>;
  __shared__ float of_warps[kMaxLongParts][kMaxWarps], of_parts[kMaxLongParts];
  Block group = GroupMaker<Block>::make();
  const int parts = static_cast<int>(plan.parts), lane = threadIdx.x % kLanes, warp = threadIdx.x / kLanes;
  H held;
  load_held_row(plan, Part(plan, group, blockIdx.x, 0), group, held);
#pragma unroll 1
  for (int part = 0; part < parts; ++part) {
    const H here = held;
    if (part + 1 < parts) {
      if constexpr (!H::kPlain) group.sync();  // this part's words have been read
      load_held_row(plan, Part(plan, group, blockIdx.x, part + 1), group, held);
    }
    const float sum = group.across_lanes(plan.op.local(here, group).sum, Sum());
    if (lane == 0) of_warps[part][warp] = sum;
  }
  __syncthreads();  // every warp's sums are there
  for (int part = warp; part < parts; part += kMaxWarps) {
    const float sum = reduce_lanes(of_warps[part][lane % kMaxWarps], kMaxWarps, Sum());
    if (lane == 0) of_parts[part] = sum;
  }
  __syncthreads();  // every part's sum is there
  if (warp != 0) return;
  const float sum = reduce_lanes(lane < parts ? of_parts[lane] : 0.0f, kLanes, Sum());
  if (lane == 0) *Part(plan, group, blockIdx.x, 0).data[0] = narrow<T>(sum);
}

// The sums that row_part_stats left, one block a row.
template <class T>
__global__ void __launch_bounds__(kRowThreads)
    sum_row_parts(const __grid_constant__ SumPlan<T> plan, const SumStat* stats) {
  begin_kernel(plan);
  Block group = GroupMaker<Block>::make();
  const RowPart<T, RowSum, Block, false> row(plan, group, blockIdx.x, 0);
  const SumStat total = whole_stat(plan, stats, blockIdx.x, group);
  if (group.rank() == 0) *row.data[0] = narrow<T>(total.sum);
}

// ---- columns, see device/columns.cuh ----

// of_columns: sums of the tile's whole columns. The block's first threads call it, or all of it.
template <class T>
__device__ __forceinline__ void write_columns(const SumPlan<T>& plan, const SumStat* of_columns) {
  const int64_t column = int64_t{blockIdx.x} * kRowLanes + threadIdx.x;
  if (threadIdx.x >= kRowLanes || column >= plan.count) return;
  int64_t at[2];
  plan.rows.offsets(static_cast<uint64_t>(column), at);
  plan.data[0][at[0]] = narrow<T>(of_columns[threadIdx.x].sum);
}

// What the warp adds up of the lane's own column.
template <class T, int kWide>
__device__ __forceinline__ SumStat sum_of_warp(const SumPlan<T>& plan, int64_t part) {
  const ColumnTile<T, RowSum, kWide> tile(plan, blockIdx.x, part);
  ColumnHeld<kWide> held[kWide];
  tile.load(plan, held);
  return tile.stat(plan, held);
}

template <class T, int kWide>
__global__ void __launch_bounds__(kRowThreads, kColumnBlocks) sum_columns(const __grid_constant__ SumPlan<T> plan) {
  begin_kernel(plan);
  __shared__ ColumnExchange<SumStat> exchange;
  const SumStat own = sum_of_warp<T, kWide>(plan, 0);
  exchange.template gather<false>(own, ColumnLanes<kWide>::own(), combine_of(plan.op));
  write_columns(plan, exchange.of_columns);
}

constexpr int kMaxLongColumnParts = 8;

// The parts of a tile's columns, one after the other in one block of kMaxWarps. Warps are not waited for between parts.
template <class T, int kWide>
__global__ void __launch_bounds__(kRowThreads, kColumnBlocks)
    sum_long_columns(const __grid_constant__ SumPlan<T> plan) {
  begin_kernel(plan);
  __shared__ float of_warps[kMaxLongColumnParts][kRowLanes][kMaxWarps + 1];  // 1 more: columns in different banks
  __shared__ SumStat of_columns[kRowLanes];
  const int parts = static_cast<int>(plan.parts);
#pragma unroll 1
  for (int part = 0; part < parts; ++part)
    of_warps[part][ColumnLanes<kWide>::own()][threadIdx.x / kLanes] = sum_of_warp<T, kWide>(plan, part).sum;
  __syncthreads();  // every warp's sums are there
  const int column = threadIdx.x / kMaxWarps, warp = threadIdx.x % kMaxWarps;
  float sums[kMaxLongColumnParts];
#pragma unroll
  for (int part = 0; part < kMaxLongColumnParts; ++part)
    sums[part] = part < parts ? reduce_lanes(of_warps[part][column][warp], kMaxWarps, Sum()) : 0.0f;
#pragma unroll
  for (int apart = 1; apart < kMaxLongColumnParts; apart *= 2)  // neighbours first, as lanes are put together
#pragma unroll
    for (int part = 0; part < kMaxLongColumnParts; part += 2 * apart) sums[part] += sums[part + apart];
  if (warp == 0) of_columns[column] = {sums[0]};
  __syncthreads();  // every column's sum is there
  write_columns(plan, of_columns);
}

// The sums that column_part_stats left, one block a tile.
template <class T>
__global__ void __launch_bounds__(kRowThreads)
    sum_column_parts(const __grid_constant__ SumPlan<T> plan, const SumStat* stats) {
  begin_kernel(plan);
  __shared__ ColumnExchange<SumStat> exchange;
  gather_parts(plan, stats, blockIdx.x, threadIdx.x % kLanes, exchange);
  write_columns(plan, exchange.of_columns);
}

}  // namespace oprt
