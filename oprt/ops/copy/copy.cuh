// dst[b, k, i] = src[b, i, k]: a transpose of two axes, dst contiguous along i and src along k, over any other axes b.
//
// Tiles as the elementwise skeleton's (device/transpose.cuh), without a functor: a piece is moved as it is. Kept apart,
// for on an H200 4096 x 4096 of bf16 take 18.3 us, and 19.1 by the skeleton's path; f32 8192 x 8192 134 and 142.
#pragma once

#include "oprt/device/launch.cuh"
#include "oprt/device/nest.h"
#include "oprt/device/transpose.cuh"
#include "oprt/device/vector.cuh"

namespace oprt {

constexpr int kTransposeThreads = kTilePiecesK * kTilePiecesI;

struct TransposePlan {
  Nest<uint64_t, 2> batch;  // dst, src
  Divider<uint64_t> tiles_i, tiles_k;
  int64_t length_i, length_k;
  int64_t dst_k, src_i;  // strides, elements
};

template <class T>
__device__ __forceinline__ uint4 load_raw(const T* from, int64_t present) {
  constexpr int kEach = kPieceElements<T>;
  if (present >= kEach) return *reinterpret_cast<const uint4*>(from);
  T x[kEach];
  load_each(from, 1, static_cast<int>(present < kEach ? present : kEach), T{}, x);
  return pack<T>(x);
}

template <class T>
__device__ __forceinline__ void store_raw(T* to, const uint4& piece, int64_t present) {
  constexpr int kEach = kPieceElements<T>;
  if (present >= kEach) {
    store_word(to, piece);
    return;
  }
  T x[kEach];
  unpack<T>(piece, x);
  store_each(to, 1, static_cast<int>(present < kEach ? present : kEach), x);
}

template <class T>
__global__ void __launch_bounds__(kTransposeThreads)
    transpose_tiles(const __grid_constant__ TransposePlan plan, T* dst, const T* src) {
  begin_kernel();
  constexpr int kEach = kPieceElements<T>, kRowsK = kTilePiecesK * kEach;
  __shared__ uint4 tile[kRowsK * kTilePiecesI];
  const auto slot = [](int k, int q) { return k * kTilePiecesI + (q ^ k / kEach % kTilePiecesK); };

  uint64_t rest = blockIdx.x;
  uint64_t outer = plan.tiles_i.divide(rest);
  const int64_t tile_i = static_cast<int64_t>(rest) * kTilePiecesI * kEach;
  const uint64_t batch = plan.tiles_k.divide(outer);
  const int64_t tile_k = static_cast<int64_t>(outer) * kRowsK;
  int64_t at[2];
  plan.batch.offsets(batch, at);

  {
    const int p = threadIdx.x % kTilePiecesK, q = threadIdx.x / kTilePiecesK;
    const int64_t i = tile_i + q * kEach, k = tile_k + p * kEach;
    uint4 square[kEach];
#pragma unroll
    for (int r = 0; r < kEach; ++r)
      square[r] = load_raw(src + at[1] + (i + r) * plan.src_i + k, i + r < plan.length_i ? plan.length_k - k : 0);
#pragma unroll
    for (int c = 0; c < kEach; ++c) tile[slot(p * kEach + c, q)] = square_column<T>(square, c);
  }
  __syncthreads();  // the tile is whole
  {
    const int q = threadIdx.x % kTilePiecesI;
    const int64_t i = tile_i + q * kEach;
#pragma unroll
    for (int r = 0; r < kEach; ++r) {
      const int row = threadIdx.x / kTilePiecesI + r * kTilePiecesK;
      const int64_t k = tile_k + row;
      store_raw(dst + at[0] + k * plan.dst_k + i, tile[slot(row, q)], k < plan.length_k ? plan.length_i - i : 0);
    }
  }
}

// The same where rows do not all begin at 16-byte addresses: a tile of 64 by 64 single elements, neighbours beside
// neighbours both ways. A thread's loads are all under way before the first is stored.
constexpr int kElementThreads = 256, kElementTile = 64;

template <class T>
__global__ void __launch_bounds__(kElementThreads)
    transpose_elements(const __grid_constant__ TransposePlan plan, T* dst, const T* src) {
  begin_kernel();
  constexpr int kEach = kElementTile * kElementTile / kElementThreads, kRowsAtOnce = kElementThreads / kElementTile;
  __shared__ T tile[kElementTile][kElementTile + 4 / sizeof(T) + (sizeof(T) == 8)];  // columns of words in turn
  uint64_t rest = blockIdx.x;
  uint64_t outer = plan.tiles_i.divide(rest);
  const uint64_t batch = plan.tiles_k.divide(outer);
  const int64_t tile_i = static_cast<int64_t>(rest) * kElementTile, tile_k = static_cast<int64_t>(outer) * kElementTile;
  int64_t at[2];
  plan.batch.offsets(batch, at);
  const int across = threadIdx.x % kElementTile, down = threadIdx.x / kElementTile;
  T x[kEach];
#pragma unroll
  for (int r = 0; r < kEach; ++r) {
    const int64_t i = tile_i + down + r * kRowsAtOnce, k = tile_k + across;
    x[r] = i < plan.length_i && k < plan.length_k ? src[at[1] + i * plan.src_i + k] : T{};
  }
#pragma unroll
  for (int r = 0; r < kEach; ++r) tile[down + r * kRowsAtOnce][across] = x[r];
  __syncthreads();  // the tile is whole
#pragma unroll
  for (int r = 0; r < kEach; ++r) {
    const int row = down + r * kRowsAtOnce;
    const int64_t k = tile_k + row, i = tile_i + across;
    if (k < plan.length_k && i < plan.length_i) dst[at[0] + k * plan.dst_k + i] = tile[across][row];
  }
}

// Bytes between which a transpose is placed only when the kernel before it has ended: bf16 of 1024 x 1024 in 3.1 us
// instead of 3.7, of 2048 x 2048 in 6.5 instead of 8.1; 512 x 512 and 4096 x 4096 are faster overlapping (2.3
// to 2.6, 19.1 to 19.6).
constexpr int64_t kApartFrom = int64_t{1} << 20, kApartTo = int64_t{16} << 20;

template <class T>
Status transpose(const char* op, const Loop& loop, const Call& call) {
  constexpr int kEach = kPieceElements<T>;
  const int inner = loop.rank - 1, k = turned_axis(loop);
  T* dst = first<T>(call, loop, 0);
  const T* src = first<const T>(call, loop, 1);
  Loop batch = loop;
  batch.rank = 0;
  int64_t batches = 1;
  bool dst_aligned = is_aligned(dst), src_aligned = is_aligned(src);
  for (int d = 0; d < loop.rank; ++d) {
    const auto whole = [&](int operand) { return loop.strides[operand][d] % kEach == 0; };
    dst_aligned = dst_aligned && (d == inner || whole(0));
    src_aligned = src_aligned && (d == k || whole(1));
    if (d == inner || d == k) continue;
    batch.shape[batch.rank] = loop.shape[d];
    for (int operand = 0; operand < 2; ++operand) batch.strides[operand][batch.rank] = loop.strides[operand][d];
    batches *= loop.shape[d];
    ++batch.rank;
  }
  const bool preparing = preparing_on != kNotPreparing, aligned = dst_aligned && src_aligned;
  const auto plan_for = [&](int64_t tile_i, int64_t tile_k) {
    return TransposePlan{Nest<uint64_t, 2>(batch, batch.rank),
                         Divider<uint64_t>(blocks_for(loop.shape[inner], tile_i)),
                         Divider<uint64_t>(blocks_for(loop.shape[k], tile_k)),
                         loop.shape[inner],
                         loop.shape[k],
                         loop.strides[0][k],
                         loop.strides[1][inner]};
  };
  const auto tiles = [&](const TransposePlan& plan) {
    return static_cast<int64_t>(plan.tiles_i.divisor * plan.tiles_k.divisor) * batches;
  };
  if (aligned || preparing) {
    const TransposePlan plan = plan_for(kTilePiecesI * kEach, kTilePiecesK * kEach);
    LaunchShape grid = {tiles(plan), kTransposeThreads};
    const int64_t bytes = loop.count * static_cast<int64_t>(sizeof(T));
    grid.overlaps = bytes <= kApartFrom || bytes >= kApartTo;
    OPRT_TRY((launch<transpose_tiles<T>>(op, call, grid, plan, dst, src)));
  }
  if (aligned && !preparing) return {};
  const TransposePlan plan = plan_for(kElementTile, kElementTile);
  return launch<transpose_elements<T>>(op, call, {tiles(plan), kElementThreads}, plan, dst, src);
}

}  // namespace oprt
