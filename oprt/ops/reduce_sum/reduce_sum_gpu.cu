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
  __device__ Local local(const H& held, Group&, int = 0) const {
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

constexpr int64_t kPieceBlocks = 128;  // of sum_column_pieces, at least: fewer leave multiprocessors without work

// Rows whose elements lie beside each other's, a piece of them a lane: 16-byte loads in place of single elements. Each
// row's additions are those of row_part_stats over columns, in the same order: four chains a thread, then the warps.
// stats: null where the parts are whole rows.
template <class T>
__global__ void __launch_bounds__(kRowThreads, kRowBlocks)
    sum_column_pieces(const __grid_constant__ SumPlan<T> plan, SumStat* stats) {
  begin_kernel();
  constexpr int kCount = kPieceElements<T>, kRows = kLanes * kCount, kChains = 4, kAtOnce = 8;
  __shared__ float of_warps[kMaxWarps][kLanes][kCount + 1];  // 1 more: lanes in different banks
  uint64_t part = blockIdx.x;
  const int64_t first_row = static_cast<int64_t>(plan.by_parts.divide(part)) * kRows;
  const int lane = threadIdx.x % kLanes, warp = threadIdx.x / kLanes, warps = blockDim.x / kLanes;
  const int64_t row = first_row + lane * kCount, begin = static_cast<int64_t>(part) * plan.part_length;
  const int64_t left = row < plan.count ? plan.length - begin : 0;
  const int length = static_cast<int>(left < plan.part_length ? left : plan.part_length);
  int64_t at[2];
  plan.rows.offsets(static_cast<uint64_t>(row < plan.count ? row : 0), at);
  const T* const from = plan.data[1] + at[1] + begin * plan.stride[1];

  float sums[kChains][kCount] = {};
#pragma unroll 1
  for (int p = 0; p < kRowElements; p += kAtOnce) {
    Words<T, kCount> words[kAtOnce];
#pragma unroll
    for (int q = 0; q < kAtOnce; ++q) {
      const int element = warp + (p + q) * warps;
      if (element < length) words[q] = load_words<kCount>(from + element * plan.stride[1]);
    }
#pragma unroll
    for (int q = 0; q < kAtOnce; ++q) {
      if (warp + (p + q) * warps >= length) continue;
      float x[kCount];
      words[q].unpack_to(x);
#pragma unroll
      for (int i = 0; i < kCount; ++i) sums[q % kChains][i] += x[i];
    }
  }
#pragma unroll
  for (int i = 0; i < kCount; ++i) of_warps[warp][lane][i] = (sums[0][i] + sums[2][i]) + (sums[1][i] + sums[3][i]);
  __syncthreads();  // every warp's sums are there
  for (int column = threadIdx.x; column < kRows && first_row + column < plan.count; column += blockDim.x) {
    float total = of_warps[0][column / kCount][column % kCount];
    for (int other = 1; other < warps; ++other) total += of_warps[other][column / kCount][column % kCount];
    if (stats) {
      stats[static_cast<int64_t>(part) * plan.count + first_row + column] = {total};
    } else {
      plan.rows.offsets(static_cast<uint64_t>(first_row + column), at);
      plan.data[0][at[0]] = narrow<T>(total);
    }
  }
}

// Whether pieces of neighbouring rows lie whole at 16-byte addresses, for every element of the rows.
template <class T>
bool has_column_pieces(const Loop& rows, const SumPlan<T>& plan) {
  constexpr int kCount = kPieceElements<T>;
  const int inner = rows.rank - 1;
  return inner >= 0 && rows.strides[1][inner] == 1 && rows.shape[inner] % kCount == 0 && plan.stride[1] % kCount == 0 &&
         rows_aligned(rows, 1, plan.data[1], sizeof(T), inner);
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
  const Rows rows = out_first(p);
  const SumPlan<T> plan = row_plan<T>(rows, s, call, RowSum{});
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
    case RowPath::kSplitColumns: break;
  }
  const bool preparing = preparing_on != kNotPreparing, split = s.path == RowPath::kSplitColumns;
  const int64_t piece_blocks = blocks_for(plan.count, kLanes * kPieceElements<T>) * s.parts;
  const bool pieces = piece_blocks >= kPieceBlocks && has_column_pieces(rows.rows, plan);
  if (pieces || preparing)
    OPRT_TRY(
        (launch<sum_column_pieces<T>>("reduce_sum", call, {piece_blocks, s.threads}, plan, split ? stats : nullptr)));
  if ((!pieces || preparing) && !split)
    OPRT_TRY((launch<sum_block_rows<T, Column, Tall>>("reduce_sum", call, {column_blocks, s.threads}, plan)));
  if ((!pieces || preparing) && split)
    OPRT_TRY((launch<row_part_stats<T, RowSum, Column, Tall>>("reduce_sum", call, {column_blocks * s.parts, s.threads},
                                                              plan, stats)));
  return split ? launch<sum_parts<T, Column>>("reduce_sum", call, {column_blocks, s.threads}, plan, stats) : Status{};
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
