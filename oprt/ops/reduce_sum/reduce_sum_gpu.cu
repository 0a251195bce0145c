// reduce_sum on the GPU: which kernels take a sum, and their launches.
#include "oprt/ops/reduce_sum/reduce_sum.cuh"
#include "oprt/ops/reduce_sum/reduce_sum_plan.h"

namespace oprt {
namespace {

constexpr const char* kName = "reduce_sum";

// Blocks from which on long rows and columns have one each, about what an H200 has multiprocessors. Against two
// launches: rows of bf16, 8192 x 32768 120.6 us for 130.3, 256 x 131072 17.2 for 18.6, 1 x 131072 4.9 for 2.4; columns
// of 4096, 256 blocks (bf16) 20.0 us for 22.8, 128 blocks (f32) 18.5 for 19.1. A cluster a row: 129.7, 19.8 and 2.3 us.
constexpr int64_t kBlocksAlone = 128;

// Short rows that a thread sums at once, of more blocks than these. Rows of 128, bf16, against one at a time: 1.2
// to 2.4 times as fast at 128 MB, at 1 MB 0.6 to 0.7 times: the code is longer.
constexpr int kShortRows = 4;
constexpr int64_t kShortBlocks = 1024;

// Rows that a warp holds at once where they fill at most half of what it can hold. 524288 rows of 512, bf16: 127.3 us;
// with 1 row 158.5, with 4 rows 150.8.
constexpr int kHalfRows = 2;

enum class SumPath { kWarpRows, kBlockRow, kLongRow, kSplitRow, kColumns, kLongColumns, kSplitColumns };

RowShape shape(const ReduceSumPlan& plan) {
  return row_shape(plan.rows.length, size_of(plan.dtype), plan.rows.axis_stride[0] == 1, /*has_clusters=*/false);
}

SumPath path(const ReduceSumPlan& plan) {
  const RowShape s = shape(plan);
  const int64_t rows = plan.rows.rows.count;
  switch (s.path) {
    case RowPath::kWarp: return SumPath::kWarpRows;
    case RowPath::kBlock: return SumPath::kBlockRow;
    case RowPath::kColumns: return SumPath::kColumns;
    case RowPath::kSplitColumns:
      return s.parts <= kMaxLongColumnParts && blocks_for(rows, kRowLanes) >= kBlocksAlone ? SumPath::kLongColumns
                                                                                           : SumPath::kSplitColumns;
    default: break;
  }
  return s.parts <= kMaxLongParts && rows >= kBlocksAlone ? SumPath::kLongRow : SumPath::kSplitRow;
}

// The plan's rows as (out, in), the order of the call and of the skeleton.
Rows out_first(const ReduceSumPlan& plan) {
  Rows rows = plan.rows;
  std::swap(rows.axis_stride[0], rows.axis_stride[1]);
  std::swap(rows.rows.offset[0], rows.rows.offset[1]);
  std::swap(rows.rows.strides[0], rows.rows.strides[1]);
  return rows;
}

// Blocks of so many groups of threads that share a row; loose rows take shared memory.
template <class H>
LaunchShape sum_grid(int64_t blocks, int threads, int groups) {
  const int words = groups > 1 ? groups * row_words<H>(1, threads / groups) : kHeldAtOnce<H> * threads + 1;
  return {blocks, threads, 1, H::kPlain ? 0 : words * kPieceBytes};
}

template <class T, class H, int kRows>
Status sum_lanes(const RowShape& s, const SumPlan<T>& plan, const Call& call) {
  const int groups = s.threads / s.lanes;
  const LaunchShape grid = sum_grid<H>(blocks_for(plan.count, groups * kRows), s.threads, groups);
  return launch<sum_warp_rows<T, H, kRows>>(kName, call, grid, plan, s.lanes);
}

template <bool kPlain, class T>
Status sum_warps(const RowShape& s, const SumPlan<T>& plan, const Call& call) {
  constexpr int kCount = kPieceElements<T>;
  using Short = Held<T, kShortElements / kCount, kPlain>;
  using Half = Held<T, kRowElements / kCount / 2, kPlain>;
  constexpr int kRowsOfHalf = kPlain ? kHalfRows : 1;
  const bool is_short = s.elements == kShortElements, half = plan.length <= kLanes * kRowElements / 2;
  if (!is_short && !half) return sum_lanes<T, LongRow<T, kPlain>, 1>(s, plan, call);
  if (!is_short) return sum_lanes<T, Half, kRowsOfHalf>(s, plan, call);
  if constexpr (kPlain) {
    if (plan.count > kShortBlocks * (s.threads / s.lanes)) return sum_lanes<T, Short, kShortRows>(s, plan, call);
  }
  return sum_lanes<T, Short, 1>(s, plan, call);
}

template <bool kPlain, class T>
Status sum_contiguous_rows(SumPath path, const RowShape& s, const SumPlan<T>& plan, SumStat* stats, const Call& call) {
  using H = LongRow<T, kPlain>;
  const LaunchShape rows = sum_grid<H>(plan.count, s.threads, 1);
  if (path == SumPath::kWarpRows) return sum_warps<kPlain>(s, plan, call);
  if (path == SumPath::kBlockRow) return launch<sum_block_rows<T, H>>(kName, call, rows, plan);
  if (path == SumPath::kLongRow) return launch<sum_long_row<T, H>>(kName, call, rows, plan);
  const LaunchShape parts = sum_grid<H>(plan.count * s.parts, s.threads, 1);
  OPRT_TRY((launch<row_part_stats<T, RowSum, Block, H>>(kName, call, parts, plan, stats)));
  const int64_t threads = std::min<int64_t>(kRowThreads, std::max<int64_t>(kLanes, power_of_two_from(s.parts)));
  return launch<sum_row_parts<T>>(kName, call, {plan.count, static_cast<int>(threads)}, plan, stats);
}

template <int kWide, class T>
Status sum_strided_rows(SumPath path, const RowShape& s, const SumPlan<T>& plan, SumStat* stats, const Call& call) {
  const LaunchShape tiles = {blocks_for(plan.count, kRowLanes), s.threads};
  if (path == SumPath::kColumns) return launch<sum_columns<T, kWide>>(kName, call, tiles, plan);
  if (path == SumPath::kLongColumns) return launch<sum_long_columns<T, kWide>>(kName, call, tiles, plan);
  const LaunchShape parts = {tiles.blocks * s.parts, s.threads};
  OPRT_TRY((launch<column_part_stats<T, RowSum, kWide>>(kName, call, parts, plan, stats)));
  return launch<sum_column_parts<T>>(kName, call, tiles, plan, stats);
}

template <class T>
Status run_typed(const ReduceSumPlan& p, const Call& call) {
  const RowShape s = shape(p);
  const SumPath by = path(p);
  const Rows rows = out_first(p);
  const SumPlan<T> plan = row_plan<T>(rows, s, call, RowSum{});
  SumStat* stats = part_stats<SumStat>(call);
  const bool preparing = preparing_on != kNotPreparing;
  if (rows.axis_stride[1] == 1) {
    const bool plain = is_plain(plan, 1);
    if (plain || preparing) OPRT_TRY((sum_contiguous_rows<true>(by, s, plan, stats, call)));
    if (!plain || preparing) OPRT_TRY((sum_contiguous_rows<false>(by, s, plan, stats, call)));
  } else {
    const bool words = has_column_words(rows.rows, plan, 1);
    if (words || preparing) OPRT_TRY((sum_strided_rows<kColumnWide>(by, s, plan, stats, call)));
    if (!words || preparing) OPRT_TRY((sum_strided_rows<1>(by, s, plan, stats, call)));
  }
  return {};
}

Status run(const ReduceSumPlan& plan, const Call& call) {
  return with_float(plan.dtype, [&](auto t) { return run_typed<decltype(t)>(plan, call); });
}

constexpr Kernel<ReduceSumPlan> kKernels[] = {{"reduce_sum_warp_rows", run},    {"reduce_sum_block_row", run},
                                              {"reduce_sum_long_row", run},     {"reduce_sum_split_row", run},
                                              {"reduce_sum_columns", run},      {"reduce_sum_long_columns", run},
                                              {"reduce_sum_split_columns", run}};

Status choose(const ReduceSumPlan& plan, const Call&, const Kernel<ReduceSumPlan>** kernel) {
  *kernel = &kKernels[static_cast<int>(path(plan))];
  return {};
}

size_t workspace(const ReduceSumPlan& plan) {
  const SumPath by = path(plan);
  const bool split = by == SumPath::kSplitRow || by == SumPath::kSplitColumns;
  return split ? part_bytes<SumStat>(shape(plan), plan.rows.rows.count) : 0;
}

}  // namespace

const Backend<ReduceSumPlan> reduce_sum_gpu = {kKernels, 7, choose, workspace};

}  // namespace oprt
