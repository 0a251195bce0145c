// The elementwise skeleton's path for operands whose axes lie in different orders: out[b, k, i] = f(in[b, i, k], ...),
// out contiguous along i, a turned input along k, over any other axes b. An input may also lie straight, as out does.
//
// Work:     a block takes a tile of kTilePiecesI pieces along i by kPiecesK along k; of a turned input, thread (p, q)
// loads
//           the square at piece p along k and piece q along i, and computes and stores pieces of kEach rows of out.
// Traffic:  every operand once, 16 bytes at a time; 8 lanes read 128 bytes of a row of a turned input.
// Why so:   squares are transposed in registers, so that shared memory too is read and written 16 bytes at a time. Its
//           pieces are swizzled: the 8 threads of an access lie in 8 different groups of 4 banks, both ways.
// In place is safe: a block stores after all its loads, and of what lies as out does it reads its own tile alone.
#pragma once

#include <algorithm>

#include "oprt/device/functor.cuh"
#include "oprt/device/launch.cuh"
#include "oprt/device/nest.h"
#include "oprt/device/vector.cuh"

namespace oprt {

constexpr int kTilePiecesK = 8, kTilePiecesI = 16;  // 8 by 8: 3 % faster at 512 x 512, and a third slower where odd

template <int kOperands>
struct Tiles {
  int64_t length_i, length_k;
  Divider<uint32_t> of_i, of_k;
  int32_t aligned;  // every row of every operand begins at a 16-byte address
  struct {
    int64_t i, k;
  } stride[kOperands];
  Nest<uint32_t, kOperands> batch;
};

// Column `c` of a square whose rows are in[]: one piece of the transpose.
template <class T>
__device__ __forceinline__ uint4 square_column(const uint4 (&in)[kPieceElements<T>], int c) {
  uint32_t parts[4];
  const auto part = [&](int row, int w) {
    return w == 0 ? in[row].x : w == 1 ? in[row].y : w == 2 ? in[row].z : in[row].w;
  };
#pragma unroll
  for (int j = 0; j < 4; ++j) {
    if constexpr (sizeof(T) == 2)
      parts[j] = __byte_perm(part(2 * j, c / 2), part(2 * j + 1, c / 2), c % 2 ? 0x7632 : 0x5410);
    else if constexpr (sizeof(T) == 4)
      parts[j] = part(j, c);
    else
      parts[j] = part(j / 2, 2 * c + j % 2);
  }
  return make_uint4(parts[0], parts[1], parts[2], parts[3]);
}

// Pieces of lines that lie `apart` from each other, the first at `from`. Of a line, `before` elements ahead of its
// piece may be read too, and `left` from the piece's first; zeros past those, and in lines past `present`.
template <class T>
__device__ __forceinline__ void load_lines(const T* from, int64_t apart, int64_t present, int64_t before, int64_t left,
                                           uint4 (&pieces)[kPieceElements<T>]) {
  constexpr int kEach = kPieceElements<T>;
  if (present >= kEach && before >= kEach && left >= 2 * kEach) {  // windows of the words around them, all under way
    uint4 around[kEach][2];
#pragma unroll
    for (int r = 0; r < kEach; ++r) {
      const T* at = from + r * apart;
      const uint4* words = reinterpret_cast<const uint4*>(at - skew_of(at));
      around[r][0] = words[0];
      around[r][1] = words[1];
    }
#pragma unroll
    for (int r = 0; r < kEach; ++r) {
      uint4 piece[1];
      window(around[r], skew_of(from + r * apart) * static_cast<unsigned>(sizeof(T)), piece);
      pieces[r] = piece[0];
    }
    return;
  }
  const int there = static_cast<int>(left < kEach ? left : kEach);
#pragma unroll
  for (int r = 0; r < kEach; ++r) {
    compute_t<T> x[kEach];
    load_each(from + r * apart, 1, r < present ? there : 0, compute_t<T>{}, x);
    pieces[r] = pack<T>(x);
  }
}

template <class To, class From, int kInputs, class F>
__global__ void __launch_bounds__(kTilePiecesK* kTilePiecesI)
    elementwise_transpose(const __grid_constant__ Tiles<kInputs + 1> tiles, To* out, Sources<From, kInputs> in, F f) {
  static_assert(sizeof(To) == sizeof(From));
  begin_kernel();
  constexpr int kEach = kPieceElements<To>, kRows = kTilePiecesK * kEach, kLength = kTilePiecesI * kEach;
  __shared__ uint4 tile[kInputs][kRows * kTilePiecesI];
  const auto slot = [](int row, int q) { return (row * kTilePiecesI + q) ^ (row / kEach % kTilePiecesK); };

  uint32_t rest = blockIdx.x;
  uint32_t outer = tiles.of_i.divide(rest);
  const uint32_t batch = tiles.of_k.divide(outer);
  const int64_t tile_i = int64_t{rest} * kLength, tile_k = int64_t{outer} * kRows;
  if (tiles.batch.rank > 0) {
    int64_t at[kInputs + 1];
    tiles.batch.offsets(batch, at);
    out += at[0];
#pragma unroll
    for (int j = 0; j < kInputs; ++j) in.of[j] += at[j + 1];
  }
  const int64_t left_i = tiles.length_i - tile_i, left_k = tiles.length_k - tile_k;
  const bool whole = tiles.aligned && left_i >= kLength && left_k >= kRows;
  const auto turned = [&](int j) { return is_turned(tiles.stride[j + 1].i); };
  const int p = threadIdx.x % kTilePiecesK, q_of_square = threadIdx.x / kTilePiecesK;
  const int q = threadIdx.x % kTilePiecesI, first_row = threadIdx.x / kTilePiecesI;

  // Of a turned input the square's rows, of a straight one what this thread computes with.
  uint4 pieces[kInputs][kEach];
#pragma unroll
  for (int j = 0; j < kInputs; ++j) {
    const int64_t stride_i = tiles.stride[j + 1].i, stride_k = tiles.stride[j + 1].k;
    const From* from = in.of[j] + tile_i * stride_i + tile_k * stride_k;
    if (stride_i == 0) {  // one element stands for a row
#pragma unroll
      for (int r = 0; r < kEach; ++r) {
        const int row = first_row + r * kTilePiecesK;
        const compute_t<From> value = row < left_k ? widen(from[row * stride_k]) : compute_t<From>{};
        compute_t<From> x[kEach];
#pragma unroll
        for (int i = 0; i < kEach; ++i) x[i] = value;
        pieces[j][r] = pack<From>(x);
      }
      continue;
    }
    from += turned(j) ? q_of_square * kEach * stride_i + p * kEach : first_row * stride_k + q * kEach;
    const int64_t apart = turned(j) ? stride_i : kTilePiecesK * stride_k;
    if (whole) {
#pragma unroll
      for (int r = 0; r < kEach; ++r) pieces[j][r] = *reinterpret_cast<const uint4*>(from + r * apart);
    } else if (turned(j)) {
      load_lines(from, apart, left_i - q_of_square * kEach, tile_k + p * kEach, left_k - p * kEach, pieces[j]);
    } else {
      const int64_t rows = (left_k - first_row + kTilePiecesK - 1) / kTilePiecesK;
      load_lines(from, apart, rows, q * kEach, (left_i < kLength ? left_i : kLength) - q * kEach, pieces[j]);
    }
  }
#pragma unroll
  for (int j = 0; j < kInputs; ++j)
    if (turned(j))
#pragma unroll
      for (int c = 0; c < kEach; ++c) tile[j][slot(p * kEach + c, q_of_square)] = square_column<From>(pieces[j], c);
  __syncthreads();  // the tiles are whole
  out += tile_k * tiles.stride[0].k + tile_i;
#pragma unroll
  for (int r = 0; r < kEach; ++r) {
    const int row = first_row + r * kTilePiecesK;
    compute_t<From> x[kInputs][kEach];
    compute_t<To> y[kEach];
#pragma unroll
    for (int j = 0; j < kInputs; ++j) unpack<From>(turned(j) ? tile[j][slot(row, q)] : pieces[j][r], x[j]);
    apply(f, x, y);
    const uint4 piece = pack<To>(y);
    if (whole)
      store_word(out + row * tiles.stride[0].k + q * kEach, piece);
    else
      tile[0][slot(row, q)] = piece;
  }
  if (whole) return;

  // Rows of the tile that begin or end between 16-byte addresses: whole words of out are windows of the tile's, what is
  // left at both ends goes element by element.
  __syncthreads();  // the results are in the tile
#pragma unroll 1
  for (int row = first_row; row < kRows && row < left_k; row += kTilePiecesK) {
    To* to = out + row * tiles.stride[0].k;
    const int length = static_cast<int>(left_i < kLength ? left_i : kLength);
    const int skew = skew_of(to), before = skew == 0 ? 0 : kEach - skew;
    const int head = before < length ? before : length, tail = head + (length - head) / kEach * kEach;
    if (head + (q + 1) * kEach <= tail) {
      const uint4 around[2] = {tile[0][slot(row, q)], tile[0][slot(row, q + 1 < kTilePiecesI ? q + 1 : q)]};
      uint4 piece[1];
      window(around, head * static_cast<unsigned>(sizeof(To)), piece);
      store_word(to + head + q * kEach, piece[0]);
    }
    for (int e = q; e < head + length - tail; e += kTilePiecesI) {
      const int at = e < head ? e : tail + e - head;
      to[at] = reinterpret_cast<const To*>(&tile[0][slot(row, at / kEach)])[at % kEach];
    }
  }
}

// f over a loop that has a turned_axis.
template <class To, class From, int kInputs, class F>
Status elementwise_turned(const char* op, const Loop& loop, const Call& call, To* out, Sources<From, kInputs> in,
                          const F& f) {
  constexpr int kEach = kPieceElements<To>, kOperands = kInputs + 1;
  const int inner = loop.rank - 1, k = turned_axis(loop);
  Loop batch = loop;
  batch.rank = 0;
  int64_t batches = 1;
  for (int d = 0; d < inner; ++d) {
    if (d == k) continue;
    batch.shape[batch.rank] = std::min<int64_t>(loop.shape[d], INT32_MAX);
    batches *= loop.shape[d];
    for (int j = 0; j < kOperands; ++j) batch.strides[j][batch.rank] = loop.strides[j][d];
    ++batch.rank;
  }
  // Lines of stride 1 all begin at 16 bytes where every other stride is whole pieces.
  bool aligned = true;
  for (int j = 0; j < kOperands; ++j) {
    const int64_t* stride = loop.strides[j];
    if (stride[inner] == 0) continue;  // one element stands for a line
    const int line = is_turned(stride[inner]) ? k : inner;
    aligned = aligned && is_aligned(j == 0 ? static_cast<const void*>(out) : in.of[j - 1]);
    for (int d = 0; d < loop.rank; ++d) aligned = aligned && (d == line || stride[d] % kEach == 0);
  }
  const auto few = [](int64_t count) { return std::min<int64_t>(count, INT32_MAX); };  // launch refuses more
  const int64_t of_i = few(blocks_for(loop.shape[inner], kTilePiecesI * kEach));
  const int64_t of_k = few(blocks_for(loop.shape[k], kTilePiecesK * kEach));
  Tiles<kOperands> tiles = {loop.shape[inner],
                            loop.shape[k],
                            Divider<uint32_t>(of_i),
                            Divider<uint32_t>(of_k),
                            aligned,
                            {},
                            Nest<uint32_t, kOperands>(batch, batch.rank)};
  for (int j = 0; j < kOperands; ++j) tiles.stride[j] = {loop.strides[j][inner], loop.strides[j][k]};
  return launch<elementwise_transpose<To, From, kInputs, F>>(
      op, call, {of_i * of_k * batches, kTilePiecesK * kTilePiecesI}, tiles, out, in, f);
}

}  // namespace oprt
