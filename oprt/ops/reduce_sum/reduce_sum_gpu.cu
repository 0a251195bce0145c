// reduce_sum on the GPU: the row skeleton's ways of sharing a row (device/row_shape.h), with a sum at the end in place
// of a map. Rows too long for one block leave a partial sum of each part in the workspace, and a second launch adds
// those.
#include "oprt/device/norms.cuh"
#include "oprt/ops/reduce_sum/reduce_sum_plan.h"

namespace oprt {
namespace {

struct RowSum {
  static constexpr int kInputs = 1, kWeights = 0;
  static constexpr float kMissing = 0.0f;
  using Local = SumStat;
  using Stat = SumStat;

  template <class H, class Group>
  __device__ Local local(const H& held, Group&) const {
    return {held.sum([](float x) { return x; })};
  }
  template <class H, class Group>
  __device__ Stat gather(const Local& local, const H&, Group& group, float) const {
    return {group.reduce(local.sum, Sum())};
  }
  __device__ Stat combine(const Stat& low, const Stat& high) const { return {low.sum + high.sum}; }
};

template <class T>
using SumPlan = RowPlan<T, RowSum>;

template <class T, class H, int kRows = 1, class Group>
__device__ void sum_whole_rows(const SumPlan<T>& plan, Group& group) {
  using Part = RowPart<T, RowSum, Group, H::kPlain>;
  H held[kRows];
#pragma unroll
  for (int r = 0; r < kRows; ++r) load_row(plan, Part(plan, group, int64_t{blockIdx.x} * kRows + r, 0), held[r]);
#pragma unroll
  for (int r = 0; r < kRows; ++r) {
    const Part part(plan, group, int64_t{blockIdx.x} * kRows + r, 0);
    const float sum = group.reduce(plan.op.local(held[r], group).sum, Sum());
    if (part.active && group.rank() == 0) *part.data[0] = narrow<T>(sum);
  }
}

template <class T, class H, int kRows>
__global__ void __launch_bounds__(kWarpThreads, kWarpBlocks)
    sum_warp_rows(const __grid_constant__ SumPlan<T> plan, int lanes) {
  begin_kernel();
  Lanes group{lanes};
  sum_whole_rows<T, H, kRows>(plan, group);
}

template <class T, class Group, class H>
__global__ void __launch_bounds__(kRowThreads, kRowBlocks) sum_block_rows(const __grid_constant__ SumPlan<T> plan) {
  begin_kernel();
  Group group = GroupMaker<Group>::make();
  sum_whole_rows<T, H>(plan, group);
}

// The sums that row_part_stats left, one block (or column of blocks' warps) a row.
template <class T, class Group>
__global__ void __launch_bounds__(kRowThreads)
    sum_parts(const __grid_constant__ SumPlan<T> plan, const SumStat* stats) {
  begin_kernel();
  Group group = GroupMaker<Group>::make();
  const RowPart<T, RowSum, Group, false> part(plan, group, blockIdx.x, 0);
  const int64_t row = int64_t{blockIdx.x} * group.rows() + group.row();
  const SumStat total = whole_stat(plan, stats, part.active ? row : 0, group);
  if (part.active && group.rank() == 0) *part.data[0] = narrow<T>(total.sum);
}

// The plan's rows as (out, in), the order of the call and of the skeleton.
Rows out_first(const ReduceSumPlan& plan) {
  Rows rows = plan.rows;
  std::swap(rows.axis_stride[0], rows.axis_stride[1]);
  std::swap(rows.rows.offset[0], rows.rows.offset[1]);
  std::swap(rows.rows.strides[0], rows.rows.strides[1]);
  return rows;
}

RowShape shape(const ReduceSumPlan& plan) {
  // No clusters: a second launch over the few partial sums is cheaper than a cluster's start.
  return row_shape(plan.rows.length, size_of(plan.dtype), plan.rows.axis_stride[0] == 1, /*has_clusters=*/false);
}

// The paths that plain rows and others share, but for the split path's second launch.
template <bool kPlain, class T>
Status sum_contiguous_rows(const RowShape& s, const SumPlan<T>& plan, SumStat* stats, const Call& call) {
  constexpr int kCount = kPieceElements<T>;
  using Short = Held<kShortElements / kCount, kCount, kPlain>;
  using Long = Held<kRowElements / kCount, kCount, kPlain>;
  const int64_t blocks = plan.count * s.parts;
  if (s.path == RowPath::kSplit)
    return launch<row_part_stats<T, RowSum, Block, Long>>("reduce_sum", call, {blocks, s.threads}, plan, stats);
  if (s.path != RowPath::kWarp)
    return launch<sum_block_rows<T, Block, Long>>("reduce_sum", call, {blocks, s.threads}, plan);
  const int64_t rows = s.threads / s.lanes, each = blocks_for(plan.count, rows);
  if (!s.short_row) return launch<sum_warp_rows<T, Long, 1>>("reduce_sum", call, {each, s.threads}, plan, s.lanes);
  if constexpr (kPlain) {
    if (each > kShortBlocks || preparing_on != kNotPreparing) {
      const Status status = launch<sum_warp_rows<T, Short, kShortRows>>(
          "reduce_sum", call, {blocks_for(plan.count, rows * kShortRows), s.threads}, plan, s.lanes);
      if (preparing_on == kNotPreparing || !status.ok()) return status;
    }
  }
  return launch<sum_warp_rows<T, Short, 1>>("reduce_sum", call, {each, s.threads}, plan, s.lanes);
}

template <class T>
Status run_typed(const ReduceSumPlan& p, const Call& call) {
  using Tall = Held<kRowElements, 1>;
  const RowShape s = shape(p);
  const SumPlan<T> plan = row_plan<T>(out_first(p), s, call, RowSum{});
  SumStat* stats = part_stats<SumStat>(call);
  const int64_t column_blocks = blocks_for(plan.count, kLanes);
  switch (s.path) {
    case RowPath::kWarp:
    case RowPath::kBlock:
    case RowPath::kCluster:
    case RowPath::kSplit: {
      const bool preparing = preparing_on != kNotPreparing, plain = is_plain(plan, 1);
      if (plain || preparing) OPRT_TRY((sum_contiguous_rows<true>(s, plan, stats, call)));
      if (!plain || preparing) OPRT_TRY((sum_contiguous_rows<false>(s, plan, stats, call)));
      if (s.path != RowPath::kSplit) return {};
      const int64_t threads = std::min<int64_t>(kRowThreads, std::max<int64_t>(kLanes, power_of_two_from(s.parts)));
      return launch<sum_parts<T, Block>>("reduce_sum", call, {plan.count, static_cast<int>(threads)}, plan, stats);
    }
    case RowPath::kColumns:
      return launch<sum_block_rows<T, Column, Tall>>("reduce_sum", call, {column_blocks, s.threads}, plan);
    case RowPath::kSplitColumns: break;
  }
  OPRT_TRY((launch<row_part_stats<T, RowSum, Column, Tall>>("reduce_sum", call, {column_blocks * s.parts, s.threads},
                                                            plan, stats)));
  return launch<sum_parts<T, Column>>("reduce_sum", call, {column_blocks, s.threads}, plan, stats);
}

Status run(const ReduceSumPlan& plan, const Call& call) {
  return with_float(plan.dtype, [&](auto t) { return run_typed<decltype(t)>(plan, call); });
}

constexpr Kernel<ReduceSumPlan> kKernels[] = {{"reduce_sum_warp_rows", run},
                                              {"reduce_sum_block_row", run},
                                              {"reduce_sum_split_row", run},
                                              {"reduce_sum_columns", run},
                                              {"reduce_sum_split_columns", run}};

Status choose(const ReduceSumPlan& plan, const Call&, const Kernel<ReduceSumPlan>** kernel) {
  const int path = static_cast<int>(shape(plan).path);
  *kernel = &kKernels[path > static_cast<int>(RowPath::kCluster) ? path - 1 : path];
  return {};
}

size_t workspace(const ReduceSumPlan& plan) { return part_bytes<SumStat>(shape(plan), plan.rows.rows.count); }

}  // namespace

const Backend<ReduceSumPlan> reduce_sum_gpu = {kKernels, 5, choose, workspace};

}  // namespace oprt
