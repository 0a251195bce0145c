// How a loop is walked on the CPU: which path it takes, pure functions of the loop, and the constants that tune it.
#pragma once

#include <algorithm>
#include <cstdint>

#include "oprt/core/call.h"
#include "oprt/core/loop.h"

namespace oprt {

// Shorter rows lose more to their start and tail than gathering costs.
constexpr int64_t kMinRow = 16;

// Stores go past the cache where the output has this many bytes, and rows this many elements: the first and last line
// of a row are written in part, which costs double there.
constexpr int64_t kStreamBytes = int64_t{8} << 20;
constexpr int64_t kMinStreamRow = 512;

inline bool streams(const Loop& loop, int64_t element_bytes) {
  return loop.count * element_bytes >= kStreamBytes && loop.shape[loop.rank - 1] >= kMinStreamRow;
}

// Elements a thread takes at least: 32 KiB of output. Below two of those the call stays on one thread.
constexpr int64_t grain_of(int64_t element_bytes) { return (int64_t{32} << 10) / element_bytes; }

enum class ElementwisePath { kContiguous, kRows, kStrided };

// The innermost axis is worth walking as vectors: the output has stride 1 on it, each input 1 or 0.
inline bool has_rows(const Loop& loop) {
  const int inner = loop.rank - 1;
  bool rows = loop.shape[inner] >= kMinRow && loop.strides[0][inner] == 1;
  for (int i = 1; i < loop.operands; ++i) rows = rows && (loop.strides[i][inner] == 0 || loop.strides[i][inner] == 1);
  return rows;
}

inline ElementwisePath elementwise_path(const Loop& loop) {
  if (is_contiguous(loop)) return ElementwisePath::kContiguous;
  return has_rows(loop) ? ElementwisePath::kRows : ElementwisePath::kStrided;
}

// A tile in memory: element (r, c) is data[r * row_stride + c * col_stride].
template <class T>
struct Strided {
  T* data;
  int64_t row_stride, col_stride;
};

// A loop cut into tiles: `cols` elements of the innermost axis by `rows` of another.
class Tiling {
 public:
  // row_axis -1: every tile is one row.
  Tiling(const Loop& loop, int row_axis, int64_t rows, int64_t cols) : loop_(loop), row_axis_(row_axis) {
    for (int d = 0; d < loop.rank; ++d) {
      step_[d] = d == loop.rank - 1 ? cols : d == row_axis ? rows : 1;
      tiles_[d] = (loop.shape[d] + step_[d] - 1) / step_[d];
      count_ *= tiles_[d];
    }
  }

  int64_t count() const { return count_; }
  int64_t row_stride(int operand) const { return row_axis_ < 0 ? 0 : loop_.strides[operand][row_axis_]; }
  int64_t col_stride(int operand) const { return loop_.strides[operand][loop_.rank - 1]; }

  // An operand's tile, from its first element in the loop and the offsets that walk gives.
  template <class T>
  Strided<T> tile(T* first, const int64_t* at, int operand) const {
    return {first + at[operand], row_stride(operand), col_stride(operand)};
  }

  // Calls body(at, rows, cols) for the tiles [begin, end): the offset of each operand from the loop's first element,
  // and the tile's size, smaller at the edges.
  template <class Body>
  void walk(int64_t begin, int64_t end, Body&& body) const {
    const int inner = loop_.rank - 1;
    int64_t index[OPRT_MAX_DIMS] = {}, at[kMaxOperands] = {};
    const auto move = [&](int d, int64_t tiles) {
      for (int k = 0; k < loop_.operands; ++k) at[k] += tiles * step_[d] * loop_.strides[k][d];
    };
    int64_t rest = begin;
    for (int d = inner; d >= 0; --d) {
      index[d] = rest % tiles_[d];
      rest /= tiles_[d];
      move(d, index[d]);
    }
    const auto size = [&](int d) { return std::min(step_[d], loop_.shape[d] - index[d] * step_[d]); };
    for (; begin < end; ++begin) {
      body(static_cast<const int64_t*>(at), row_axis_ < 0 ? 1 : size(row_axis_), size(inner));
      for (int d = inner; d >= 0; --d) {
        move(d, 1);
        if (++index[d] < tiles_[d]) break;
        move(d, -tiles_[d]);
        index[d] = 0;
      }
    }
  }

 private:
  const Loop& loop_;
  int row_axis_;
  int64_t step_[OPRT_MAX_DIMS];
  int64_t tiles_[OPRT_MAX_DIMS];
  int64_t count_ = 1;
};

// Elements of a tile of rows that are walked in place, and of a tile that is gathered into a buffer: 32 and 4 KiB of
// f32, so that the buffers of three operands stay in the first-level cache.
constexpr int64_t kRowsTile = 8192;
constexpr int64_t kTileElements = 1024;
constexpr int64_t kTileSide = 32;  // of a transposed tile: whole cache lines both ways

inline Tiling row_tiles(const Loop& loop) {
  const int64_t cols = std::min(loop.shape[loop.rank - 1], kRowsTile);
  return Tiling(loop, loop.rank - 2, kRowsTile / cols, cols);
}

// The axis, not the innermost, that an input runs along with stride 1 while it does not so along the innermost: a tile
// of the two is a transpose. -1 where there is none.
inline int transposed_axis(const Loop& loop) {
  const int inner = loop.rank - 1;
  for (int i = 1; i < loop.operands; ++i)
    for (int d = 0; d < inner; ++d)
      if (loop.strides[0][inner] == 1 && loop.strides[i][d] == 1 && loop.strides[i][inner] != 1) return d;
  return -1;
}

// Tiles of at most `elements`: along the transposed axis if there is one, and then at most `side` long on it; else
// along the axis next to the innermost.
inline Tiling gathered_tiles(const Loop& loop, int64_t side = kTileSide, int64_t elements = kTileElements) {
  const int inner = loop.rank - 1, transposed = transposed_axis(loop);
  if (transposed < 0) {
    const int64_t cols = std::min(loop.shape[inner], kTileElements);
    return Tiling(loop, inner - 1, kTileElements / cols, cols);
  }
  const int64_t rows = std::min(loop.shape[transposed], side);
  const int64_t cols = std::min(loop.shape[inner], elements / rows);
  return Tiling(loop, transposed, elements / cols, cols);
}

enum class MovePath { kContiguous, kRows, kTranspose, kStrided };

inline MovePath move_path(const Loop& loop) {
  switch (elementwise_path(loop)) {
    case ElementwisePath::kContiguous: return MovePath::kContiguous;
    case ElementwisePath::kRows: return MovePath::kRows;
    case ElementwisePath::kStrided: break;
  }
  return transposed_axis(loop) < 0 ? MovePath::kStrided : MovePath::kTranspose;
}

}  // namespace oprt

// The CPU backend of an operator on the elementwise skeleton: the kernels <op>_contiguous, _rows and _strided, each of
// them <op>_run(plan, call, path) of the target that the machine has. For the end of an <op>_cpu.cpp, inside HWY_ONCE.
#define OPRT_ELEMENTWISE_BACKEND(op, Plan)                                                                    \
  HWY_EXPORT(op##_run);                                                                                       \
  template <ElementwisePath kPath>                                                                            \
  static Status op##_on(const Plan& plan, const Call& call) {                                                 \
    HWY_DYNAMIC_DISPATCH(op##_run)(plan, call, kPath);                                                        \
    return {};                                                                                                \
  }                                                                                                           \
  static constexpr Kernel<Plan> op##_kernels[] = {{#op "_contiguous", op##_on<ElementwisePath::kContiguous>}, \
                                                  {#op "_rows", op##_on<ElementwisePath::kRows>},             \
                                                  {#op "_strided", op##_on<ElementwisePath::kStrided>}};      \
  static Status op##_choose(const Plan& plan, const Call&, const Kernel<Plan>** kernel) {                     \
    *kernel = &op##_kernels[static_cast<int>(elementwise_path(plan.loop))];                                   \
    return {};                                                                                                \
  }                                                                                                           \
  const Backend<Plan> op##_cpu = {op##_kernels, 3, op##_choose, nullptr}
