// The row skeleton, part one: sums and maxima of a row, and operators on rows whose axis is contiguous. (Part two,
// columns.h: any other axis.)
//
// An operator on rows is a struct Op with
//
//   kOut, kIn                     which operands the rows are written to and read from
//   Stat                          what a row is reduced to: a few vectors
//   Stat block(lanes, n, x)       the statistics of n elements at x (f32 or the storage type)
//   Stat combine(a, b)            those of two neighbouring stretches
//   map(stat)                     a functor: out = functor(x, weights...), lane by lane, pure
//   kKept                         rows up to this length leave something better than x for the map (softmax: the
//                                 exponentials); 0 for never. Then also
//   Stat keep(lanes, n, x, kept)  block() of the whole row, which fills kept[0, n)
//   map_kept(stat)                the functor on what was kept
//   prepare(...)                  called before any of a row is read (add_rmsnorm adds there); see NoPreparation
//   weights()                     gamma and beta where it has them: an array of Weights
//
// `lanes` says what the lanes of a vector are: AlongRow, or AcrossRows where each lane is a row of its own.
#if defined(OPRT_DEVICE_CPU_ROWS_H) == defined(HWY_TARGET_TOGGLE)
#ifdef OPRT_DEVICE_CPU_ROWS_H
#undef OPRT_DEVICE_CPU_ROWS_H
#else
#define OPRT_DEVICE_CPU_ROWS_H
#endif

#include <algorithm>
#include <array>
#include <limits>
#include <tuple>
#include <utility>

#include "oprt/core/call.h"
#include "oprt/core/norm.h"
#include "oprt/core/parallel.h"
#include "oprt/device/cpu/elementwise.h"
#include "oprt/device/cpu/odometer.h"
#include "oprt/device/cpu/row_paths.h"
#include "oprt/device/cpu/simd.h"

HWY_BEFORE_NAMESPACE();
namespace oprt {
namespace HWY_NAMESPACE {

// ---- what lanes are ----

// Neighbouring elements of one row: the row's value is the lanes' together, in every lane.
struct AlongRow {
  static VecF32 sum(VecF32 v) { return hn::SumOfLanes(F32(), v); }
  static VecF32 max(VecF32 v) { return hn::MaxOfLanes(F32(), v); }
  static int64_t length(int64_t elements) { return elements; }  // of a row that has so many elements in a span
};

// One row each.
struct AcrossRows {
  static VecF32 sum(VecF32 v) { return v; }
  static VecF32 max(VecF32 v) { return v; }
  static int64_t length(int64_t elements) { return elements / static_cast<int64_t>(lanes()); }
};

// ---- pairwise reduction ----

// Values pushed one by one and combined as the leaves of a balanced binary tree. The tree over 2^k of them is a node of
// the tree over all, so pieces of 2^k may be reduced apart (on several threads) with the same result.
template <class Value, class Combine>
class PairwiseTree {
 public:
  explicit PairwiseTree(Combine combine) : combine_(combine) {}

  void push(Value v) {
    int level = 0;
    for (uint64_t carry = pushed_++; carry & 1; carry >>= 1) v = combine_(pending_[level++], v);
    pending_[level] = v;
  }

  // At least one was pushed.
  Value total() const {
    int level = __builtin_ctzll(pushed_);
    Value v = pending_[level];
    for (++level; pushed_ >> level; ++level)
      if (pushed_ >> level & 1) v = combine_(pending_[level], v);
    return v;
  }

 private:
  static constexpr int kLevels = 40;  // 2^40 blocks of a row exceed any memory
  Combine combine_;
  uint64_t pushed_ = 0;
  Value pending_[kLevels];
};

// block(b) for each b in [0, blocks), combined pairwise. Split: pieces on several threads, the same bits.
template <class Value, class Block, class Combine>
Value reduce_blocks(int64_t blocks, bool split, const Block& block, Combine combine) {
  const auto reduce = [&](int64_t begin, int64_t end) {
    if (end - begin == 1) return block(begin);
    PairwiseTree<Value, Combine> tree(combine);
    for (int64_t b = begin; b < end; ++b) tree.push(block(b));
    return tree.total();
  };
  if (!split) return reduce(0, blocks);
  constexpr int64_t kMaxPieces = 128;
  int64_t piece = 1;
  while (piece * kMaxPieces < blocks) piece *= 2;
  const int64_t pieces = ceil_div(blocks, piece);
  Value partial[kMaxPieces];
  parallel_for(pieces, 1, [&](int64_t begin, int64_t end) {
    for (int64_t p = begin; p < end; ++p) partial[p] = reduce(p * piece, std::min((p + 1) * piece, blocks));
  });
  PairwiseTree<Value, Combine> tree(combine);
  for (int64_t p = 0; p < pieces; ++p) tree.push(partial[p]);
  return tree.total();
}

// ---- one span ----

constexpr int64_t kChainAdds = 32;  // the most additions an accumulator takes

// step(accumulator, x...) over n elements in ascending order, in four accumulators that begin as `start` (an addition
// takes 3 or 4 cycles), merged at the end. Lanes past the last element keep what they had.
template <class Step, class Merge, class... In>
HWY_INLINE VecF32 fold_span(int64_t n, VecF32 start, Step&& step, const Merge& merge, const In*... in) {
  const int64_t size = static_cast<int64_t>(lanes());
  VecF32 a = start, b = start, c = start, d = start;
  int64_t i = 0;
  for (; i + 4 * size <= n; i += 4 * size) {
    a = step(a, load_f32(in + i)...);
    b = step(b, load_f32(in + i + size)...);
    c = step(c, load_f32(in + i + 2 * size)...);
    d = step(d, load_f32(in + i + 3 * size)...);
  }
  if (i + size <= n) a = step(a, load_f32(in + i)...), i += size;
  if (i + size <= n) b = step(b, load_f32(in + i)...), i += size;
  if (i + size <= n) c = step(c, load_f32(in + i)...), i += size;
  if (i < n) d = hn::IfThenElse(hn::FirstN(F32(), n - i), step(d, load_f32_n(in + i, n - i)...), d);
  return merge(merge(a, b), merge(c, d));
}

struct Plus {
  VecF32 operator()(VecF32 a, VecF32 b) const { return hn::Add(a, b); }
};
struct Larger {
  VecF32 operator()(VecF32 a, VecF32 b) const { return hn::Max(a, b); }  // may lose a NaN
};

// The sum that step(accumulator, x...) adds up, over n elements: chains of kChainAdds, then pairwise.
template <class Step, class... In>
HWY_INLINE VecF32 sum_span(AlongRow, int64_t n, Step&& step, const In*... in) {
  const int64_t group = 4 * kChainAdds * static_cast<int64_t>(lanes());
  PairwiseTree<VecF32, Plus> tree{Plus()};
  for (int64_t i = 0;; i += group) {
    const VecF32 sum = fold_span(std::min(group, n - i), hn::Zero(F32()), step, Plus(), in + i...);
    if (n <= group) return sum;
    tree.push(sum);
    if (n - i <= group) return tree.total();
  }
}

// Of whole vectors, in a single chain: there are other strips to keep the adders busy, and those that are added without
// a stage (reduce_sum) have a register each.
template <class Step, class... In>
HWY_INLINE VecF32 sum_span(AcrossRows, int64_t n, Step&& step, const In*... in) {
  const int64_t size = static_cast<int64_t>(lanes()), group = kChainAdds * size;
  PairwiseTree<VecF32, Plus> tree{Plus()};
  int64_t i = 0;
  do {
    VecF32 sum = hn::Zero(F32());
    for (const int64_t end = std::min(n, i + group); i < end; i += size) sum = step(sum, load_f32(in + i)...);
    tree.push(sum);
  } while (i < n);
  return tree.total();
}

// The largest of n elements in each lane; -inf where n is 0, anything where one is NaN.
template <class T>
HWY_INLINE VecF32 max_span(int64_t n, const T* x) {
  return fold_span(n, hn::Set(F32(), -std::numeric_limits<float>::infinity()), Larger(), Larger(), x);
}

// ---- weights ----

// gamma or beta as f32, whatever its dtype and stride: read in place where it is f32 with stride 1, else widened into a
// buffer, block by block. Absent: `neutral` everywhere.
class Weights {
 public:
  Weights(const Weight& weight, const void* data, const float& neutral)
      : data_(data ? data : &neutral),
        dtype_(data ? weight.dtype : OPRT_DTYPE_F32),
        stride_(data ? weight.stride : 0),
        in_place_(dtype_ == OPRT_DTYPE_F32 && stride_ == 1) {}

  // Those of positions [begin, begin + n), n <= kRowBlock, until the next call.
  const float* at(int64_t begin, int64_t n) {
    if (in_place_) return static_cast<const float*>(data_) + begin;
    if (begin != held_begin_ || n > held_) {
      with_float(dtype_, [&](auto t) { widen_block(static_cast<const decltype(t)*>(data_) + begin * stride_, n); });
      held_begin_ = begin;
      held_ = n;
    }
    return buffer_;
  }

 private:
  template <class T>
  void widen_block(const T* from, int64_t n) {
    const auto same = [](VecF32 v) { return v; };
    if (stride_ == 1) return elementwise_span<false>(n, same, buffer_, from);
    for (int64_t i = 0; i < n; ++i) buffer_[i] = widen(from[i * stride_]);
  }

  const void* data_;
  oprt_dtype_t dtype_;
  int64_t stride_;
  bool in_place_;
  int64_t held_begin_ = 0, held_ = 0;
  HWY_ALIGN float buffer_[kRowBlock];
};

constexpr float kOne = 1.0f, kZero = 0.0f;  // what absent weights are

// For operators that need nothing before their rows are read.
struct NoPreparation {
  void prepare_row(const int64_t*, int64_t, int64_t) const {}
  template <class Columns>
  void prepare_columns(const Columns&, int64_t, int64_t) const {}
};

// ---- rows along a contiguous axis ----

// Rows that a thread takes at least: grain_of elements.
template <class T>
int64_t row_grain(int64_t length) {
  return std::max<int64_t>(1, grain_of(sizeof(T)) / std::max<int64_t>(1, length));
}

// f over a span. Out of line, as Op::block is: rows call it from several places, and each copy is long.
template <class F, class Out, class... In>
HWY_NOINLINE void map_span(bool stream, int64_t n, F f, Out* out, const In*... in) {
  if (stream)
    elementwise_span<true>(n, f, out, in...);
  else
    elementwise_span<false>(n, f, out, in...);
}

// stream: the output does not fit the cache.
template <class T, class Op>
void map_rows(const Op& op, const Rows& rows, const Call& call, bool stream) {
  using Stat = typename Op::Stat;
  const Loop& loop = rows.rows;
  T* const out = first<T>(call, loop, Op::kOut);
  const T* const in = first<const T>(call, loop, Op::kIn);
  const int64_t n = rows.length, blocks = ceil_div(n, kRowBlock);
  const auto block_size = [n](int64_t b) { return std::min(kRowBlock, n - b * kRowBlock); };
  const bool keeps = n <= Op::kKept;
  const bool split = !keeps && splits_rows(loop.count, blocks);

  parallel_for(loop.count, split ? loop.count : row_grain<T>(n), [&](int64_t begin, int64_t end) {
    auto weights = op.weights();
    HWY_ALIGN float kept[Op::kKept + kMaxLanes];
    Odometer at(loop, begin);
    for (int64_t r = begin; r < end; ++r, at.advance(1)) {
      T* const y = out + at.at[Op::kOut];
      const T* const x = in + at.at[Op::kIn];
      if constexpr (Op::kKept > 0) {
        if (keeps) {
          map_span(stream, n, op.map_kept(op.keep(AlongRow(), n, x, kept)), y, static_cast<const float*>(kept));
          continue;
        }
      }
      const auto stat_of = [&](int64_t b) {
        op.prepare_row(at.at, b * kRowBlock, block_size(b));
        return op.block(AlongRow(), block_size(b), x + b * kRowBlock);
      };
      const Stat stat = reduce_blocks<Stat>(blocks, split, stat_of, [&](Stat a, Stat b) { return op.combine(a, b); });
      const auto map_blocks = [&](int64_t b, int64_t last, auto& own_weights) {
        for (; b < last; ++b) {
          const int64_t from = b * kRowBlock, size = block_size(b);
          std::apply([&](auto&... w) { map_span(stream, size, op.map(stat), y + from, x + from, w.at(from, size)...); },
                     own_weights);
        }
      };
      if (!split) {
        map_blocks(0, blocks, weights);
        continue;
      }
      parallel_for(blocks, 1, [&](int64_t b, int64_t last) {
        auto own_weights = op.weights();
        map_blocks(b, last, own_weights);
        if (stream) hwy::FlushStream();
      });
    }
    if (stream) hwy::FlushStream();
  });
}

}  // namespace HWY_NAMESPACE
}  // namespace oprt
HWY_AFTER_NAMESPACE();

#endif
