// The row skeleton, part two: operators on rows along any axis, contiguous or not. Each lane is a row of its own, so
// nothing is added across lanes. Up to kColumns rows are taken together: kColumnBlock positions of each are moved to a
// stage in f32, one strip for each vector of rows, and Op (rows.h) works on the strips.
//
//   stage[strip][position][lane]      strips in [0, kStrips), lane = row - strip * lanes()
#if defined(OPRT_DEVICE_CPU_COLUMNS_H) == defined(HWY_TARGET_TOGGLE)
#ifdef OPRT_DEVICE_CPU_COLUMNS_H
#undef OPRT_DEVICE_CPU_COLUMNS_H
#else
#define OPRT_DEVICE_CPU_COLUMNS_H
#endif

#include "oprt/device/cpu/odometer.h"
#include "oprt/device/cpu/rows.h"

HWY_BEFORE_NAMESPACE();
namespace oprt {
namespace HWY_NAMESPACE {

constexpr int64_t kStage = kColumns * kColumnBlock;
constexpr int64_t kStrips = kColumns / static_cast<int64_t>(hn::MaxLanes(F32()));
constexpr int64_t kTile = 32;  // positions that are gathered at a time: a few cache lines of each row

// Rows taken together.
struct Columns {
  bool unit;                               // neighbours in memory in every operand: only offset[...][0] is set
  int64_t count;                           // 1 to kColumns
  int64_t offset[kMaxOperands][kColumns];  // elements, of each row in each operand

  // The next ones, at most `limit`.
  Columns(Odometer& at, int64_t limit, bool unit) : unit(unit), count(std::min(limit, kColumns)) {
    if (unit) {
      count = std::min(count, at.left_in_row());
      for (int k = 0; k < at.loop.operands; ++k) offset[k][0] = at.at[k];
      at.advance(count);
      return;
    }
    for (int64_t c = 0, run; c < count; c += run, at.advance(run)) {
      run = std::min(count - c, at.left_in_row());
      for (int k = 0; k < at.loop.operands; ++k) {
        const int64_t stride = at.loop.rank ? at.loop.strides[k][at.loop.rank - 1] : 0;
        for (int64_t i = 0; i < run; ++i) offset[k][c + i] = at.at[k] + i * stride;
      }
    }
  }

  int64_t strips() const { return ceil_div(count, static_cast<int64_t>(lanes())); }
};

// Whole strips of rows whose axis has stride 1, on vectors of eight lanes: four positions of eight rows at a time, the
// first four rows in one block of the vectors and the others in the next. Returns the positions done, a multiple of
// four. (Rows of 16 f32 against PyTorch, from a lane at a time to this: softmax from 1.0 to 1.8 times as fast, the sum
// from 0.65 to 1.25.)
#if HWY_TARGET == HWY_AVX2

// Half a vector from each of two places.
HWY_INLINE VecF32 load_halves(const float* low, const float* high) {
  const hn::Half<F32> d;
  return hn::Combine(F32(), hn::LoadU(d, high), hn::LoadU(d, low));
}

template <class T>
HWY_INLINE VecF32 load_halves(const T* low, const T* high) {
  const hn::Half<U16> d;
  const auto bits = [&](const T* p) { return hn::LoadU(d, reinterpret_cast<const uint16_t*>(p)); };
  return widen_bits(hn::Combine(U16(), bits(high), bits(low)), T());
}

// Four vectors, each of four-lane blocks: lane i of block b in vector j changes places with lane j of block b in vector
// i.
HWY_INLINE void transpose_blocks(VecF32* v) {
  const F32 d;
  const hn::Repartition<double, F32> pairs;
  const auto low01 = hn::BitCast(pairs, hn::InterleaveLower(d, v[0], v[1]));
  const auto low23 = hn::BitCast(pairs, hn::InterleaveLower(d, v[2], v[3]));
  const auto high01 = hn::BitCast(pairs, hn::InterleaveUpper(d, v[0], v[1]));
  const auto high23 = hn::BitCast(pairs, hn::InterleaveUpper(d, v[2], v[3]));
  v[0] = hn::BitCast(d, hn::InterleaveLower(pairs, low01, low23));
  v[1] = hn::BitCast(d, hn::InterleaveUpper(pairs, low01, low23));
  v[2] = hn::BitCast(d, hn::InterleaveLower(pairs, high01, high23));
  v[3] = hn::BitCast(d, hn::InterleaveUpper(pairs, high01, high23));
}

template <class T>
int64_t load_transposed(const T* p, const int64_t* row, int64_t n, float* strip) {
  int64_t i = 0;
  for (; i + 4 <= n; i += 4) {
    VecF32 v[4];
    for (int j = 0; j < 4; ++j) v[j] = load_halves(p + row[j] + i, p + row[j + 4] + i);
    transpose_blocks(v);
    for (int j = 0; j < 4; ++j) hn::Store(v[j], F32(), strip + (i + j) * 8);
  }
  return i;
}

template <class T>
int64_t store_transposed(const float* strip, T* p, const int64_t* row, int64_t n) {
  HWY_ALIGN T lane[8];
  int64_t i = 0;
  for (; i + 4 <= n; i += 4) {
    VecF32 v[4];
    for (int j = 0; j < 4; ++j) v[j] = hn::Load(F32(), strip + (i + j) * 8);
    transpose_blocks(v);
    for (int j = 0; j < 4; ++j) {
      store(v[j], lane);
      std::memcpy(p + row[j] + i, lane, 4 * sizeof(T));
      std::memcpy(p + row[j + 4] + i, lane + 4, 4 * sizeof(T));
    }
  }
  return i;
}

#else

template <class T>
int64_t load_transposed(const T*, const int64_t*, int64_t, float*) {
  return 0;
}

template <class T>
int64_t store_transposed(const float*, T*, const int64_t*, int64_t) {
  return 0;
}

#endif

// Positions [0, n) from p on of each row to the stage, n <= kColumnBlock. Lanes without a row are 0.
template <class T>
HWY_NOINLINE void load_columns(const Columns& columns, const int64_t* offset, const T* p, int64_t axis_stride,
                               int64_t n, float* stage) {
  const int64_t size = static_cast<int64_t>(lanes()), whole = columns.count / size, rest = columns.count % size;
  if (columns.unit) {
    for (int64_t i = 0; i < n; ++i) {
      const T* x = p + offset[0] + i * axis_stride;
      for (int64_t s = 0; s < whole; ++s) hn::Store(load_f32(x + s * size), F32(), stage + (s * n + i) * size);
      if (rest) hn::Store(load_f32_n(x + whole * size, rest), F32(), stage + (whole * n + i) * size);
    }
    return;
  }
  HWY_ALIGN T tile[kTile * kMaxLanes] = {};
  for (int64_t s = 0; s < columns.strips(); ++s) {
    const int64_t width = s < whole ? size : rest;
    const int64_t* const row = offset + s * size;
    float* const strip = stage + s * n * size;
    if (width < size) std::fill(tile, tile + kTile * size, T{});
    int64_t begin = 0;
    if (axis_stride == 1 && width == size) begin = load_transposed(p, row, n, strip);
    for (; begin < n; begin += kTile) {
      const int64_t positions = std::min(kTile, n - begin);
      for (int64_t lane = 0; lane < width; ++lane) {
        const T* x = p + row[lane] + begin * axis_stride;
        for (int64_t i = 0; i < positions; ++i) tile[i * size + lane] = x[i * axis_stride];
      }
      for (int64_t i = 0; i < positions; ++i) hn::Store(load_f32(tile + i * size), F32(), strip + (begin + i) * size);
    }
  }
}

// The way back.
template <class T>
HWY_NOINLINE void store_columns(const Columns& columns, const int64_t* offset, const float* stage, T* p,
                                int64_t axis_stride, int64_t n) {
  const int64_t size = static_cast<int64_t>(lanes()), whole = columns.count / size, rest = columns.count % size;
  if (columns.unit) {
    for (int64_t i = 0; i < n; ++i) {
      T* y = p + offset[0] + i * axis_stride;
      for (int64_t s = 0; s < whole; ++s) store(hn::Load(F32(), stage + (s * n + i) * size), y + s * size);
      if (rest) store_n(hn::Load(F32(), stage + (whole * n + i) * size), y + whole * size, rest);
    }
    return;
  }
  HWY_ALIGN T tile[kTile * kMaxLanes];
  for (int64_t s = 0; s < columns.strips(); ++s) {
    const int64_t width = s < whole ? size : rest;
    const int64_t* const row = offset + s * size;
    const float* const strip = stage + s * n * size;
    int64_t begin = 0;
    if (axis_stride == 1 && width == size) begin = store_transposed(strip, p, row, n);
    for (; begin < n; begin += kTile) {
      const int64_t positions = std::min(kTile, n - begin);
      for (int64_t i = 0; i < positions; ++i) store(hn::Load(F32(), strip + (begin + i) * size), tile + i * size);
      for (int64_t lane = 0; lane < width; ++lane) {
        T* y = p + row[lane] + begin * axis_stride;
        for (int64_t i = 0; i < positions; ++i) y[i * axis_stride] = tile[i * size + lane];
      }
    }
  }
}

// One Stat for each strip.
template <class Stat>
struct StripStats {
  Stat strip[kStrips];
};

// f over one strip of the stage, in place; position i has the i-th weights.
template <class F, class... Weight>
HWY_NOINLINE void map_strip(F f, int64_t positions, float* strip, const Weight*... weights) {
  const int64_t size = static_cast<int64_t>(lanes());
  for (int64_t i = 0; i < positions; ++i)
    hn::Store(f(hn::Load(F32(), strip + i * size), hn::Set(F32(), weights[i])...), F32(), strip + i * size);
}

template <class T, class Op>
void map_columns(const Op& op, const Rows& rows, const Call& call, bool unit) {
  using Stat = typename Op::Stat;
  using Stats = StripStats<Stat>;
  const Loop& loop = rows.rows;
  T* const out = first<T>(call, loop, Op::kOut);
  const T* const in = first<const T>(call, loop, Op::kIn);
  const int64_t out_stride = rows.axis_stride[Op::kOut], in_stride = rows.axis_stride[Op::kIn];
  const int64_t n = rows.length, blocks = ceil_div(n, kColumnBlock), size = static_cast<int64_t>(lanes());
  const bool split = splits_rows(ceil_div(loop.count, kColumns), blocks);

  const auto combine = [&op](Stats a, const Stats& b) {
    for (int64_t s = 0; s < kStrips; ++s) a.strip[s] = op.combine(a.strip[s], b.strip[s]);
    return a;
  };
  const int64_t grain = ceil_div(row_grain<T>(n), kColumns) * kColumns;
  parallel_for(loop.count, split ? loop.count : grain, [&](int64_t begin, int64_t end) {
    HWY_ALIGN float whole[kStage];
    auto weights = op.weights();
    Odometer at(loop, begin);
    for (int64_t r = begin; r < end;) {
      const Columns columns(at, end - r, unit);
      const int64_t strips = columns.strips();
      r += columns.count;

      const auto positions_of = [&](int64_t b) { return std::min(kColumnBlock, n - b * kColumnBlock); };
      const auto load = [&](int64_t b, float* stage) {
        const T* x = in + b * kColumnBlock * in_stride;
        load_columns(columns, columns.offset[Op::kIn], x, in_stride, positions_of(b), stage);
      };
      const auto map_block = [&](int64_t b, float* stage, auto& own_weights, const auto& functor_of) {
        const int64_t from = b * kColumnBlock, positions = positions_of(b);
        std::apply(
            [&](auto&... w) {
              for (int64_t s = 0; s < strips; ++s)
                map_strip(functor_of(s), positions, stage + s * positions * size, w.at(from, positions)...);
            },
            own_weights);
        store_columns(columns, columns.offset[Op::kOut], stage, out + from * out_stride, out_stride, positions);
      };

      if constexpr (Op::kKept > 0) {
        if (blocks == 1) {
          load(0, whole);
          map_block(0, whole, weights, [&](int64_t s) {
            float* const strip = whole + s * n * size;
            return op.map_kept(op.keep(AcrossRows(), n * size, static_cast<const float*>(strip), strip));
          });
          continue;
        }
      }

      const auto stats_of = [&](int64_t b, float* stage) {
        const int64_t positions = positions_of(b);
        op.prepare_columns(columns, b * kColumnBlock, positions);
        load(b, stage);
        Stats stats = {};
        for (int64_t s = 0; s < strips; ++s) {
          const float* const strip = stage + s * positions * size;
          stats.strip[s] = op.block(AcrossRows(), positions * size, strip);
        }
        return stats;
      };
      Stats stats;
      const auto functor_of = [&](int64_t s) { return op.map(stats.strip[s]); };
      if (!split) {
        stats = reduce_blocks<Stats>(blocks, false, [&](int64_t b) { return stats_of(b, whole); }, combine);
        for (int64_t b = 0; b < blocks; ++b) {
          if (blocks > 1) load(b, whole);  // else it is there still
          map_block(b, whole, weights, functor_of);
        }
        continue;
      }
      const auto stats_apart = [&](int64_t b) {
        HWY_ALIGN float stage[kStage];
        return stats_of(b, stage);
      };
      stats = reduce_blocks<Stats>(blocks, true, stats_apart, combine);
      parallel_for(blocks, 1, [&](int64_t b, int64_t last) {
        HWY_ALIGN float stage[kStage];
        auto own_weights = op.weights();
        for (; b < last; ++b) {
          load(b, stage);
          map_block(b, stage, own_weights, functor_of);
        }
      });
    }
  });
}

// Whichever path the rows take.
template <class T, class Op>
void map_any_rows(const Op& op, const Rows& rows, const Call& call) {
  const RowPath path = map_path(rows);
  if (path != RowPath::kRow) return map_columns<T>(op, rows, call, path == RowPath::kColumns);
  map_rows<T>(op, rows, call, rows.rows.count * rows.length * static_cast<int64_t>(sizeof(T)) >= kStreamBytes);
}

}  // namespace HWY_NAMESPACE
}  // namespace oprt
HWY_AFTER_NAMESPACE();

#endif
