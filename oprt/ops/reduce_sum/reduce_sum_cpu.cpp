// reduce_sum on the CPU. Along a contiguous axis the lanes are neighbouring elements, else neighbouring rows; a row
// that is long and almost alone is added in pieces by all threads.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "oprt/ops/reduce_sum/reduce_sum_cpu.cpp"
#include <hwy/foreach_target.h>

#include "oprt/device/cpu/columns.h"
#include "oprt/ops/reduce_sum/reduce_sum_plan.h"

HWY_BEFORE_NAMESPACE();
namespace oprt {
namespace HWY_NAMESPACE {

constexpr int kIn = 0, kOut = 1;  // the order of the plan's rows

// sums[c] to the output of each row.
template <class T>
void store_sums(const Columns& columns, const Loop& loop, const float* sums, T* out) {
  if (!columns.unit) {
    for (int64_t c = 0; c < columns.count; ++c) out[columns.offset[kOut][c]] = narrow<T>(sums[c]);
    return;
  }
  T* const y = out + columns.offset[kOut][0];
  const int64_t stride = loop.strides[kOut][loop.rank - 1];  // of a transposed output not 1
  for (int64_t c = 0; c < columns.count; ++c) y[c * stride] = narrow<T>(sums[c]);
}

template <class T>
void sum_rows(const Rows& rows, const T* in, T* out) {
  const Loop& loop = rows.rows;
  const int64_t n = rows.length, blocks = ceil_div(n, kRowBlock);
  const bool split = splits_rows(loop.count, blocks);
  parallel_for(loop.count, split ? loop.count : row_grain<T>(n), [&](int64_t begin, int64_t end) {
    Odometer at(loop, begin);
    for (int64_t r = begin; r < end; ++r, at.advance(1)) {
      const T* const x = in + at.at[kIn];
      const auto sum_of = [&](int64_t b) {
        return sum_span(AlongRow(), std::min(kRowBlock, n - b * kRowBlock), Plus(), x + b * kRowBlock);
      };
      const VecF32 sum = AlongRow::sum(reduce_blocks<VecF32>(blocks, split, sum_of, Plus()));
      out[at.at[kOut]] = narrow<T>(hn::GetLane(sum));
    }
  });
}

using Sums = StripStats<VecF32>;

struct PlusStrips {
  Sums operator()(Sums a, const Sums& b) const {
    for (int64_t s = 0; s < kStrips; ++s) a.strip[s] = hn::Add(a.strip[s], b.strip[s]);
    return a;
  }
};

// Positions ahead that are asked for, since no prefetcher follows strides of pages (1024 x 1024 f32: 0.75 of the time).
constexpr int64_t kPositionsAhead = 16;

// Positions [0, n) of kColumns neighbouring rows, straight from memory: a register for each strip, and the order of
// sum_span on staged ones.
template <class T>
Sums sum_whole_columns(const T* x, int64_t stride, int64_t n) {
  constexpr int64_t kLine = 64 / sizeof(T);
  PairwiseTree<Sums, PlusStrips> tree{PlusStrips()};
  for (int64_t i = 0; i < n;) {
    Sums sums;
    for (VecF32& sum : sums.strip) sum = hn::Zero(F32());
    for (const int64_t end = std::min(n, i + kChainAdds); i < end; ++i) {
      for (int64_t c = 0; c < kColumns; c += kLine) hwy::Prefetch(x + (i + kPositionsAhead) * stride + c);
      for (int64_t s = 0; s < kStrips; ++s)
        sums.strip[s] = hn::Add(sums.strip[s], load_f32(x + i * stride + s * static_cast<int64_t>(lanes())));
    }
    tree.push(sums);
  }
  return tree.total();
}

// The same of one strip, `width` rows wide: four chains at a time, since an addition takes 3 or 4 cycles. (100000 x 4
// along the long axis on one thread: 75 us, lanes gathered into a stage 690.)
template <class T>
VecF32 sum_strip(const T* x, int64_t stride, int64_t n, int64_t width) {
  const bool whole = width == static_cast<int64_t>(lanes());
  const auto at = [&](int64_t i) { return whole ? load_f32(x + i * stride) : load_f32_n(x + i * stride, width); };
  PairwiseTree<VecF32, Plus> tree{Plus()};
  int64_t i = 0;
  for (; i + 4 * kChainAdds <= n; i += 4 * kChainAdds) {
    VecF32 a = hn::Zero(F32()), b = a, c = a, d = a;
    for (int64_t j = i; j < i + kChainAdds; ++j) {
      a = hn::Add(a, at(j));
      b = hn::Add(b, at(j + kChainAdds));
      c = hn::Add(c, at(j + 2 * kChainAdds));
      d = hn::Add(d, at(j + 3 * kChainAdds));
    }
    for (const VecF32& chain : {a, b, c, d}) tree.push(chain);
  }
  while (i < n) {
    VecF32 chain = hn::Zero(F32());
    for (const int64_t end = std::min(n, i + kChainAdds); i < end; ++i) chain = hn::Add(chain, at(i));
    tree.push(chain);
  }
  return tree.total();
}

template <class T>
void sum_columns(const Rows& rows, const T* in, T* out, bool unit) {
  const Loop& loop = rows.rows;
  const int64_t n = rows.length, stride = rows.axis_stride[kIn], size = static_cast<int64_t>(lanes());
  const int64_t blocks = std::max<int64_t>(1, ceil_div(n, kColumnBlock));  // an empty axis is one block of nothing
  const bool split = splits_rows(ceil_div(loop.count, kColumns), blocks);
  const int64_t grain = ceil_div(row_grain<T>(n), kColumns) * kColumns;
  parallel_for(loop.count, split ? loop.count : grain, [&](int64_t begin, int64_t end) {
    Odometer at(loop, begin);
    for (int64_t r = begin; r < end;) {
      const Columns columns(at, end - r, unit);
      r += columns.count;
      const auto sums_of = [&](int64_t b) {
        const int64_t positions = std::min(kColumnBlock, n - b * kColumnBlock);
        const T* const x = in + b * kColumnBlock * stride;
        Sums sums = {};
        if (unit && n > 0) {
          const T* const first = x + columns.offset[kIn][0];
          if (columns.count == kColumns) return sum_whole_columns(first, stride, positions);
          for (int64_t s = 0; s < columns.strips(); ++s)
            sums.strip[s] = sum_strip(first + s * size, stride, positions, std::min(size, columns.count - s * size));
          return sums;
        }
        HWY_ALIGN float stage[kStage];
        load_columns(columns, columns.offset[kIn], x, stride, positions, stage);
        for (int64_t s = 0; s < columns.strips(); ++s)
          sums.strip[s] = sum_span(AcrossRows(), positions * size, Plus(), stage + s * positions * size);
        return sums;
      };
      const Sums sums = reduce_blocks<Sums>(blocks, split, sums_of, PlusStrips());
      HWY_ALIGN float values[kColumns];
      for (int64_t s = 0; s < columns.strips(); ++s) hn::Store(sums.strip[s], F32(), values + s * size);
      store_sums(columns, loop, values, out);
    }
  });
}

void reduce_sum_run(const ReduceSumPlan& plan, const Call& call) {
  const RowPath path = sum_path(plan.rows);
  with_float(plan.dtype, [&](auto t) {
    using T = decltype(t);
    T* const out = static_cast<T*>(call.data[0]) + plan.rows.rows.offset[kOut];
    const T* const in = static_cast<const T*>(call.data[1]) + plan.rows.rows.offset[kIn];
    if (path == RowPath::kRow)
      sum_rows(plan.rows, in, out);
    else
      sum_columns(plan.rows, in, out, path == RowPath::kColumns);
  });
}

}  // namespace HWY_NAMESPACE
}  // namespace oprt
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace oprt {
namespace {

HWY_EXPORT(reduce_sum_run);

Status run(const ReduceSumPlan& plan, const Call& call) {
  HWY_DYNAMIC_DISPATCH(reduce_sum_run)(plan, call);
  return {};
}

constexpr Kernel<ReduceSumPlan> kKernels[] = {
    {"reduce_sum_row", run}, {"reduce_sum_columns", run}, {"reduce_sum_gathered_columns", run}};

Status choose(const ReduceSumPlan& plan, const Call&, const Kernel<ReduceSumPlan>** kernel) {
  *kernel = &kKernels[static_cast<int>(sum_path(plan.rows))];
  return {};
}

}  // namespace

const Backend<ReduceSumPlan> reduce_sum_cpu = {kKernels, 3, choose, nullptr};

}  // namespace oprt
#endif
