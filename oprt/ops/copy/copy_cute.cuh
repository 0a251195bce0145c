// dst[i] = src[i] for memory that is contiguous and aligned, written with CuTe: the rung beside elementwise_contiguous,
// to read and to measure. Built where CuTe's headers are (CMake's OPRT_CUTE), taken where the environment's OPRT_COPY
// is "cute".
//
// Work:     a block takes a tile of kCutePieces * threads pieces of 16 bytes; thread t its pieces t, t + threads, ...
// Traffic:  src and dst once; a thread's loads are all in flight before its first store.
// The tile that the end cuts is copied under a predicate, and by one block what is left of a last piece.
#pragma once

#include <cute/tensor.hpp>

#include "oprt/device/launch.cuh"

namespace oprt {

constexpr int kCuteThreads = 256, kCutePieces = 4;
constexpr int kCuteTile = kCuteThreads * kCutePieces;  // pieces

__global__ void __launch_bounds__(kCuteThreads) copy_cute_tiles(int64_t bytes, char* dst, const char* src) {
  begin_kernel();
  using Piece = cute::uint128_t;
  const int64_t pieces = bytes / int64_t{sizeof(Piece)};
  const auto tile_of = [&](auto* data) {
    const auto all = cute::make_tensor(cute::make_gmem_ptr(data), cute::make_shape(pieces));
    return cute::local_tile(all, cute::Shape<cute::Int<kCuteTile>>{}, cute::make_coord(int64_t{blockIdx.x}));
  };
  const auto from = tile_of(reinterpret_cast<const Piece*>(src));
  const auto to = tile_of(reinterpret_cast<Piece*>(dst));
  const auto copy = cute::make_tiled_copy(cute::Copy_Atom<cute::UniversalCopy<Piece>, Piece>{},
                                          cute::Layout<cute::Int<kCuteThreads>>{}, cute::Layout<cute::Int<1>>{});
  const auto thread = copy.get_thread_slice(threadIdx.x);
  const auto own_from = thread.partition_S(from);
  auto own_to = thread.partition_D(to);
  auto held = cute::make_fragment_like(own_to);
  const int64_t left = pieces - int64_t{blockIdx.x} * kCuteTile;
  if (left >= kCuteTile) {
    cute::copy(copy, own_from, held);
    cute::copy(copy, held, own_to);
    return;
  }
  const auto inside = [&](int i) { return threadIdx.x + int64_t{i} * kCuteThreads < left; };
  cute::copy_if(inside, own_from, held);
  cute::copy_if(inside, held, own_to);
  const int64_t at = pieces * int64_t{sizeof(Piece)} + threadIdx.x;
  if (at < bytes) dst[at] = src[at];
}

inline Status copy_cute(const Call& call, char* dst, const char* src, int64_t bytes) {
  const int64_t tiles = blocks_for(bytes / int64_t{sizeof(cute::uint128_t)} + 1, kCuteTile);  // one for what is left
  return launch<copy_cute_tiles>("copy", call, {tiles, kCuteThreads}, bytes, dst, src);
}

}  // namespace oprt
