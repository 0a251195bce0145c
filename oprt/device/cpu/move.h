// Moves bits from any strides to any strides; what copy is, and cast between equal dtypes.
//
//   path         when                                      how
//   contiguous   one axis, both strides 1                  memcpy; past the cache with streaming stores
//   rows         strides 1 (source: or 0) on the           the same on each row
//                innermost axis, at least kMinRow long
//   transpose    the source runs along another axis        tiles transposed in registers into a buffer, from which
//   whole
//                than the innermost                        cache lines of the output are written
//   strided      anything else                             element by element, tile by tile
#if defined(OPRT_DEVICE_CPU_MOVE_H) == defined(HWY_TARGET_TOGGLE)
#ifdef OPRT_DEVICE_CPU_MOVE_H
#undef OPRT_DEVICE_CPU_MOVE_H
#else
#define OPRT_DEVICE_CPU_MOVE_H
#endif

#include <cstring>

#include "oprt/core/parallel.h"
#include "oprt/device/cpu/paths.h"
#include "oprt/device/cpu/simd.h"
#include "oprt/device/cpu/tile.h"

HWY_BEFORE_NAMESPACE();
namespace oprt {
namespace HWY_NAMESPACE {

template <bool kStream, class T>
HWY_INLINE void move_span(T* to, const T* from, int64_t n) {
  const size_t bytes = static_cast<size_t>(n) * sizeof(T);
  if constexpr (kStream) {
    const hn::ScalableTag<uint8_t> d;
    const size_t step = hn::Lanes(d);
    uint8_t* t = reinterpret_cast<uint8_t*>(to);
    const uint8_t* f = reinterpret_cast<const uint8_t*>(from);
    size_t i = std::min<size_t>(bytes, to_line(t));
    std::memcpy(t, f, i);
    for (; i + 2 * step <= bytes; i += 2 * step) {
      const auto a = hn::LoadU(d, f + i);
      const auto b = hn::LoadU(d, f + i + step);
      hn::Stream(a, d, t + i);
      hn::Stream(b, d, t + i + step);
    }
    std::memcpy(t + i, f + i, bytes - i);
  } else {
    std::memcpy(to, from, bytes);
  }
}

template <bool kStream, class T>
void move_contiguous(const Loop& loop, T* to, const T* from) {
  parallel_for(loop.count, grain_of(sizeof(T)), [&](int64_t begin, int64_t end) {
    move_span<kStream>(to + begin, from + begin, end - begin);
    if (kStream) hwy::FlushStream();
  });
}

template <bool kStream, class T>
void move_rows(const Loop& loop, T* to, const T* from) {
  const Tiling tiling = row_tiles(loop);
  parallel_for(tiling.count(), 1, [&](int64_t begin, int64_t end) {
    RowInput<T> input;
    tiling.walk(begin, end, [&](const int64_t* at, int64_t rows, int64_t cols) {
      const Strided<T> target = tiling.tile(to, at, 0);
      const Strided<const T> source = tiling.tile(from, at, 1);
      const int64_t piece = source.col_stride ? cols : std::min(cols, kRepeated);
      for (int64_t r = 0; r < rows; ++r) {
        input.start(source.data + r * source.row_stride, cols, source.col_stride);
        for (int64_t c = 0; c < cols; c += piece)
          move_span<kStream>(target.data + r * target.row_stride + c, input.from(c), std::min(piece, cols - c));
      }
    });
    if (kStream) hwy::FlushStream();
  });
}

// The side of a transposed tile: four cache lines. Two take 1.7 to 2.2 times as long at 4096 x 4096, f32.
template <class T>
constexpr int64_t kMoveSide = 256 / sizeof(T);

template <bool kStream, class T>
void move_transpose(const Loop& loop, T* to, const T* from) {
  constexpr int64_t kElements = kMoveSide<T> * kMoveSide<T>;
  const Tiling tiling = gathered_tiles(loop, kMoveSide<T>, kElements);
  const uintptr_t row_bytes = tiling.row_stride(0) * sizeof(T);
  // A line that two tiles write in part must go through the cache, which puts it together.
  const bool past_cache = kStream && reinterpret_cast<uintptr_t>(to) % 64 == 0 && row_bytes % 64 == 0;
  // Squares are written to the output as they come, except where the lines of a column meet in few sets of the cache
  // and would push each other out (1024 x 1024 f32: 2.7 times as slow), and where lines go past it whole.
  const bool buffered = past_cache || row_bytes % 1024 == 0;
  parallel_for(tiling.count(), std::max<int64_t>(1, grain_of(sizeof(T)) / kElements), [&](int64_t begin, int64_t end) {
    TileBuffer<T, kMoveSide<T> * kMoveSide<T>> buffer;  // not kElements: g++ 12 fails on it in a lambda
    tiling.walk(begin, end, [&](const int64_t* at, int64_t rows, int64_t cols) {
      const Strided<T> target = tiling.tile(to, at, 0);
      const Strided<T> through = buffered ? Strided<T>{buffer.data, cols, 1} : target;
      copy_tile<T>(through, tiling.tile(from, at, 1), rows, cols);
      for (int64_t r = 0; buffered && r < rows; ++r) {
        T* row = target.data + r * target.row_stride;
        past_cache ? move_span<kStream>(row, buffer.data + r * cols, cols)
                   : move_span<false>(row, buffer.data + r * cols, cols);
      }
    });
    if (kStream) hwy::FlushStream();
  });
}

template <class T>
void move_strided(const Loop& loop, T* to, const T* from) {
  const Tiling tiling = gathered_tiles(loop);
  parallel_for(tiling.count(), grain_of(sizeof(T)) / kTileElements, [&](int64_t begin, int64_t end) {
    tiling.walk(begin, end, [&](const int64_t* at, int64_t rows, int64_t cols) {
      copy_tile<T>(tiling.tile(to, at, 0), tiling.tile(from, at, 1), rows, cols);
    });
  });
}

template <bool kStream, class T>
void move_on(MovePath path, const Loop& loop, T* to, const T* from) {
  switch (path) {
    case MovePath::kContiguous: return move_contiguous<kStream>(loop, to, from);
    case MovePath::kRows: return move_rows<kStream>(loop, to, from);
    case MovePath::kTranspose: return move_transpose<kStream>(loop, to, from);
    case MovePath::kStrided: return move_strided(loop, to, from);
  }
}

// The whole loop of elements of 2, 4 or 8 bytes, on the path that move_path gave for it; in place nothing is to do.
inline void move(MovePath path, const Loop& loop, const Call& call, int64_t element_bytes) {
  if (call.data[0] == call.data[1]) return;
  const auto as = [&](auto bits) {
    using T = decltype(bits);
    T* to = first<T>(call, loop, 0);
    const T* from = first<const T>(call, loop, 1);
    if (streams(loop, element_bytes))
      move_on<true>(path, loop, to, from);
    else
      move_on<false>(path, loop, to, from);
  };
  switch (element_bytes) {
    case 2: return as(uint16_t());
    case 4: return as(uint32_t());
    case 8: return as(uint64_t());
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace oprt
HWY_AFTER_NAMESPACE();

#endif
