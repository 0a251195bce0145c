// Pieces of strided operands: a tile of rows x cols elements, small enough for the first-level cache, and a row.
#if defined(OPRT_DEVICE_CPU_TILE_H) == defined(HWY_TARGET_TOGGLE)
#ifdef OPRT_DEVICE_CPU_TILE_H
#undef OPRT_DEVICE_CPU_TILE_H
#else
#define OPRT_DEVICE_CPU_TILE_H
#endif

#include <algorithm>
#include <utility>

#include "oprt/device/cpu/paths.h"
#include "oprt/device/cpu/simd.h"

HWY_BEFORE_NAMESPACE();
namespace oprt {
namespace HWY_NAMESPACE {

// The side of a square that is transposed in registers: 16 bytes.
template <class T>
constexpr int kSquare = HWY_TARGET == HWY_SCALAR ? 1 : 16 / sizeof(T);

// to[r, c] = from[c, r] for a square. Interleaving the upper with the lower half of the rows turns the bits of an
// element's place (row, column) by one; after log2 N turns row and column have changed places. Packs, not loops: the
// rows stay in registers without relying on the unroller, which -O2 does not run.
template <class T, size_t... i>
HWY_INLINE void transpose_square(std::index_sequence<i...>, T* to, [[maybe_unused]] int64_t to_stride, const T* from,
                                 [[maybe_unused]] int64_t from_stride) {
#if HWY_TARGET == HWY_SCALAR
  *to = *from;
#else
  constexpr size_t N = sizeof...(i);
  using U = hwy::UnsignedFromSize<sizeof(T)>;
  const hn::FixedTag<U, N> d;
  using V = hn::Vec<decltype(d)>;
  V a[] = {hn::LoadU(d, reinterpret_cast<const U*>(from + i * from_stride))...};
  const auto turn = [&] {
    const V b[] = {(i % 2 ? hn::InterleaveUpper(d, a[i / 2], a[i / 2 + N / 2])
                          : hn::InterleaveLower(d, a[i / 2], a[i / 2 + N / 2]))...};
    ((a[i] = b[i]), ...);
  };
  turn();
  if constexpr (N > 2) turn();
  if constexpr (N > 4) turn();
  (hn::StoreU(a[i], d, reinterpret_cast<U*>(to + i * to_stride)), ...);
#endif
}

// Columns that a transpose asks for ahead of time, since no prefetcher follows strides of pages: 4096 x 4096 f32 takes
// 0.67 of the time it takes without.
constexpr int64_t kPrefetch = 32;

// to[r, c] = from[c * from_stride + r]
template <class T>
void transpose_tile(Strided<T> to, const T* from, int64_t from_stride, int64_t rows, int64_t cols) {
  constexpr int64_t N = kSquare<T>, kLine = 64 / sizeof(T);
  const int64_t whole_rows = rows - rows % N, whole_cols = cols - cols % N;
  const auto one_by_one = [&](int64_t r, int64_t c) { to.data[r * to.row_stride + c] = from[c * from_stride + r]; };
  for (int64_t c = 0; c < whole_cols; c += N) {
    for (int64_t ahead = c + kPrefetch; ahead < c + kPrefetch + N; ++ahead)
      for (int64_t r = 0; r < rows; r += kLine) hwy::Prefetch(from + ahead * from_stride + r);
    for (int64_t r = 0; r < whole_rows; r += N)
      transpose_square(std::make_index_sequence<N>(), to.data + r * to.row_stride + c, to.row_stride,
                       from + c * from_stride + r, from_stride);
  }
  for (int64_t c = 0; c < cols; ++c)
    for (int64_t r = c < whole_cols ? whole_rows : 0; r < rows; ++r) one_by_one(r, c);
}

// Whether the elements lie one behind the other.
template <class T>
bool is_dense(Strided<T> tile, int64_t rows, int64_t cols) {
  return (cols == 1 || tile.col_stride == 1) && (rows == 1 || tile.row_stride == cols);
}

// The first `cols` of n elements, repeated up to the last.
template <class T>
void repeat(T* data, int64_t cols, int64_t n) {
  for (int64_t done = cols; done < n; done *= 2) std::copy_n(data, std::min(done, n - done), data + done);
}

// to[r, c] = from[r, c]
template <class T>
void copy_tile(Strided<T> to, Strided<const T> from, int64_t rows, int64_t cols) {
  if (to.col_stride == 1 && from.row_stride == 1 && from.col_stride != 1)
    return transpose_tile(to, from.data, from.col_stride, rows, cols);
  if (from.row_stride == 0 && rows > 1 && is_dense(to, rows, cols)) {
    copy_tile(to, from, 1, cols);
    return repeat(to.data, cols, rows * cols);
  }
  for (int64_t r = 0; r < rows; ++r) {
    T* to_row = to.data + r * to.row_stride;
    const T* from_row = from.data + r * from.row_stride;
    if (to.col_stride == 1 && from.col_stride == 1)
      for (int64_t c = 0; c < cols; ++c) to_row[c] = from_row[c];
    else
      for (int64_t c = 0; c < cols; ++c) to_row[c * to.col_stride] = from_row[c * from.col_stride];
  }
}

template <class T, int64_t kElements>
struct TileBuffer {
  HWY_ALIGN T data[kElements];

  // A tile's elements one behind the other: where they are, if they lie so, else here.
  const T* gather(Strided<const T> tile, int64_t rows, int64_t cols) {
    if (is_dense(tile, rows, cols)) return tile.data;
    copy_tile<T>({data, cols, 1}, tile, rows, cols);
    return data;
  }
};

// One row of an input: in place where its stride is 1, else (stride 0) its one value, repeated.
constexpr int64_t kRepeated = 256;

template <class T>
struct RowInput {
  HWY_ALIGN T repeated[kRepeated];
  const T* at;
  int64_t stride;

  HWY_INLINE void start(const T* row, int64_t cols, int64_t col_stride) {
    at = row;
    stride = col_stride;
    if (stride != 0) return;
    std::fill_n(repeated, std::min(cols, kRepeated), *row);
    at = repeated;
  }
  // The elements from c on: kRepeated of them, or the rest of the row.
  HWY_INLINE const T* from(int64_t c) const { return at + c * stride; }
};

}  // namespace HWY_NAMESPACE
}  // namespace oprt
HWY_AFTER_NAMESPACE();

#endif
