// The row skeleton: statistics of a row, and a map of its elements by them. How rows are spread over threads is
// device/row_shape.h's table; whatever it says, a row's thread with rank r holds the row's (or part's) pieces
// r, r + size, r + 2 size, ... in registers.
//
// An Op is plain data for the kernel's arguments, with
//
//   kInputs          1, or 2: then the row is the rounded sum of two, which is also written, to a second output
//   kWeights         vectors along the row that the map takes: gamma, beta
//   kMissing         what stands in for elements past the end of a row
//   Local            what a thread keeps of its own elements
//   Stat             what is known of a part of a row; members of 4 bytes, 12 bytes at most
//   local(held, group)        Local of a thread's elements, which it may exchange for what the map is better made of
//   gather(local, held, group, length)   Stat of the group's part
//   combine(low, high)        Stat of two parts
//   map(local, stat)          a functor (x, weights) -> y, from the whole row's Stat
//
// All of a group call local and gather. In place is safe: a thread writes only elements that it alone reads, after it
// has read them. How pieces are loaded and stored is device/row_pieces.cuh.
#pragma once

#include "oprt/device/row_pieces.cuh"

namespace oprt {

// Rows that a thread holds at once where a row takes few of its registers, and blocks from which on it does. Rows of
// 128, bf16, against one at a time: 1.2 to 2.4 times as fast at 128 MB, at 1 MB 0.6 to 0.7 times: the code is longer.
constexpr int kShortRows = 4;
constexpr int64_t kShortBlocks = 1024;

// Blocks of kRowThreads, and of kWarpThreads, that a multiprocessor must hold at once: 64 and 80 registers a thread.
constexpr int kRowBlocks = 2, kWarpBlocks = 6;

template <class Group>
struct GroupMaker {
  __device__ static Group make() {
    __shared__ typename Group::Shared shared;
    return Group{&shared};
  }
};

// ---- kernels: blockIdx.x -> rows (and part of a row), see RowShape ----

// Whole rows, kRows of them a thread: the warp, block and columns paths.
template <class T, class Op, class Group, class H, int kRows = 1>
__device__ __forceinline__ void map_whole_rows(const RowPlan<T, Op>& plan, Group& group) {
  using Part = RowPart<T, Op, Group, H::kPlain>;
  H held[kRows];
#pragma unroll
  for (int r = 0; r < kRows; ++r) load_row(plan, Part(plan, group, int64_t{blockIdx.x} * kRows + r, 0), held[r]);
#pragma unroll
  for (int r = 0; r < kRows; ++r) {
    const Part part(plan, group, int64_t{blockIdx.x} * kRows + r, 0);
    const auto local = plan.op.local(held[r], group);
    const auto stat = plan.op.gather(local, held[r], group, static_cast<float>(part.length));
    write_sum(plan, part, held[r]);
    write_row(plan, part, local, stat, held[r]);
  }
}

template <class T, class Op, class H, int kRows>
__global__ void __launch_bounds__(kWarpThreads, kWarpBlocks)
    map_warp_rows(const __grid_constant__ RowPlan<T, Op> plan, int lanes) {
  begin_kernel();
  Lanes group{lanes};
  map_whole_rows<T, Op, Lanes, H, kRows>(plan, group);
}

template <class T, class Op, class Group, class H>
__global__ void __launch_bounds__(kRowThreads, kRowBlocks) map_block_rows(const __grid_constant__ RowPlan<T, Op> plan) {
  begin_kernel();
  Group group = GroupMaker<Group>::make();
  map_whole_rows<T, Op, Group, H>(plan, group);
}

// One row, a part of it in each block of a cluster. Half the threads with twice the elements each were 5 to 8 % slower.
template <class T, class Op, class H>
__global__ void __launch_bounds__(kRowThreads, kRowBlocks)
    map_cluster_row(const __grid_constant__ RowPlan<T, Op> plan) {
  begin_kernel();
  __shared__ typename Op::Stat of_blocks[kMaxClusterBlocks];
  const Cluster<typename Op::Stat> cluster{of_blocks};
  cluster.start();
  using Group = BlockOf<kRowThreads>;
  Group group = GroupMaker<Group>::make();
  const int blocks = cluster.blocks();
  const RowPart<T, Op, Group, H::kPlain> part(plan, group, blockIdx.x / blocks, blockIdx.x % blocks);
  H held;
  load_row(plan, part, held);
  const auto local = plan.op.local(held, group);
  const auto own = plan.op.gather(local, held, group, static_cast<float>(part.length));
  write_sum(plan, part, held);
  const auto stat = cluster.reduce(own, [&](const auto& low, const auto& high) { return plan.op.combine(low, high); });
  write_row(plan, part, local, stat, held);
}

// Statistics of one part of a row, or of a column of rows, to stats[part * rows + row].
template <class T, class Op, class Group, class H>
__global__ void __launch_bounds__(kRowThreads, kRowBlocks)
    row_part_stats(const __grid_constant__ RowPlan<T, Op> plan, typename Op::Stat* stats) {
  begin_kernel();
  Group group = GroupMaker<Group>::make();
  uint64_t part_index = blockIdx.x;
  const int64_t rows_block = static_cast<int64_t>(plan.by_parts.divide(part_index));
  const RowPart<T, Op, Group, H::kPlain> part(plan, group, rows_block, static_cast<int64_t>(part_index));
  H held;
  load_row(plan, part, held);
  const auto local = plan.op.local(held, group);
  const auto stat = plan.op.gather(local, held, group, static_cast<float>(part.length));
  if (part.active && group.rank() == 0)
    stats[static_cast<int64_t>(part_index) * plan.count + rows_block * group.rows() + group.row()] = stat;
}

// The statistics of all parts of a row. A chain takes at most 32 parts, then chains are combined.
template <class T, class Op, class Group>
__device__ __forceinline__ typename Op::Stat whole_stat(const RowPlan<T, Op>& plan, const typename Op::Stat* stats,
                                                        int64_t row, Group& group) {
  using Stat = typename Op::Stat;
  const auto combine = [&](const Stat& low, const Stat& high) { return plan.op.combine(low, high); };
  Stat total = Stat::none();
  for (int64_t part = group.rank(); part < plan.parts;) {
    Stat chain = Stat::none();
    for (int i = 0; i < kRowElements && part < plan.parts; ++i, part += group.size())
      chain = combine(chain, stats[part * plan.count + row]);
    total = combine(total, chain);
  }
  return group.reduce(total, combine);
}

// The map of one part, after row_part_stats on the same stream.
template <class T, class Op, class Group, class H>
__global__ void __launch_bounds__(kRowThreads, H::kCount > 1 ? kRowBlocks : 1)  // columns: many addresses
    map_row_parts(const __grid_constant__ RowPlan<T, Op> plan, const typename Op::Stat* stats) {
  begin_kernel();
  Group group = GroupMaker<Group>::make();
  uint64_t part_index = blockIdx.x;
  const int64_t rows_block = static_cast<int64_t>(plan.by_parts.divide(part_index));
  const RowPart<T, Op, Group, H::kPlain> part(plan, group, rows_block, static_cast<int64_t>(part_index));
  H held;
  load_row(plan, part, held);
  const int64_t row = rows_block * group.rows() + group.row();
  const auto stat = whole_stat(plan, stats, part.active ? row : 0, group);
  write_sum(plan, part, held);
  write_row(plan, part, plan.op.local(held, group), stat, held);
}

// ---- the host's side ----

inline bool has_clusters(int device) { return device_attribute<cudaDevAttrClusterLaunch>(device) != 0; }

// The shape of a plan's rows; the first `operands` of them decide whether the axis is contiguous.
inline RowShape shape_of(const Rows& rows, int operands, int64_t element_bytes, int device) {
  bool contiguous = true;
  for (int k = 0; k < operands; ++k) contiguous = contiguous && rows.axis_stride[k] == 1;
  return row_shape(rows.length, element_bytes, contiguous, has_clusters(device));
}

constexpr size_t kStatAlignment = 16;

// Bytes of workspace for statistics of parts, from any address.
template <class Stat>
size_t part_bytes(const RowShape& shape, int64_t rows) {
  if (shape.path != RowPath::kSplit && shape.path != RowPath::kSplitColumns) return 0;
  return static_cast<size_t>(shape.parts) * static_cast<size_t>(rows) * sizeof(Stat) + kStatAlignment;
}

template <class Stat>
Stat* part_stats(const Call& call) {
  const uintptr_t at = reinterpret_cast<uintptr_t>(call.workspace);
  return reinterpret_cast<Stat*>((at + kStatAlignment - 1) / kStatAlignment * kStatAlignment);
}

// The rows of a plan with the given shape. operands: which of the call's data are the outputs, then the inputs.
template <class T, class Op>
RowPlan<T, Op> row_plan(const Rows& rows, const RowShape& shape, const Call& call, const Op& op) {
  constexpr int kOperands = RowPlan<T, Op>::kOperands;
  RowPlan<T, Op> plan = {{},
                         {},
                         rows.rows.count,
                         rows.length,
                         shape.part_length,
                         op,
                         shape.parts,
                         Divider<uint64_t>(shape.parts),
                         {},
                         {},
                         Nest<uint64_t, kOperands>(rows.rows, rows.rows.rank)};
  for (int k = 0; k < kOperands; ++k) {
    plan.data[k] = first<T>(call, rows.rows, k);
    plan.row_stride[k] = rows.rows.rank == 1 ? rows.rows.strides[k][0] : 0;
    plan.stride[k] = rows.axis_stride[k];
    plan.aligned[k] = rows.axis_stride[k] == 1 && rows_aligned(rows.rows, k, plan.data[k], sizeof(T), rows.rows.rank);
  }
  return plan;
}

// Whether the first `operands` of a plan, and its weights, make plain rows.
template <class T, class Op>
bool is_plain(const RowPlan<T, Op>& plan, int operands) {
  bool plain = plan.rows.rank <= 1 && plan.length % kPieceElements<T> == 0;
  for (int k = RowPlan<T, Op>::kOperands - operands; k < RowPlan<T, Op>::kOperands; ++k)
    plain = plain && plan.aligned[k];
  if constexpr (Op::kWeights > 0)
    for (const RowWeight& weight : plan.op.weights)
      plain = plain && weight.data && weight.aligned && weight.is_f32 == plan.op.weights[0].is_f32;
  return plain;
}

// The paths that plain rows and others share.
template <bool kPlain, class T, class Op>
Status map_contiguous_rows(const char* name, const RowShape& shape, const RowPlan<T, Op>& plan, const Call& call) {
  constexpr int kCount = kPieceElements<T>;
  using Short = Held<kShortElements / kCount, kCount, kPlain>;
  using Long = Held<kRowElements / kCount, kCount, kPlain>;
  const int64_t blocks = plan.count * shape.parts;
  if (shape.path == RowPath::kWarp) {
    const int64_t rows = shape.threads / shape.lanes, each = blocks_for(plan.count, rows);
    if (!shape.short_row)
      return launch<map_warp_rows<T, Op, Long, 1>>(name, call, {each, shape.threads}, plan, shape.lanes);
    if constexpr (kPlain) {
      if (each > kShortBlocks || preparing_on != kNotPreparing) {
        const Status status = launch<map_warp_rows<T, Op, Short, kShortRows>>(
            name, call, {blocks_for(plan.count, rows * kShortRows), shape.threads}, plan, shape.lanes);
        if (preparing_on == kNotPreparing || !status.ok()) return status;
      }
    }
    return launch<map_warp_rows<T, Op, Short, 1>>(name, call, {each, shape.threads}, plan, shape.lanes);
  }
  if (shape.path == RowPath::kBlock)
    return launch<map_block_rows<T, Op, Block, Long>>(name, call, {blocks, shape.threads}, plan);
  return launch<map_cluster_row<T, Op, Long>>(name, call, {blocks, shape.threads, static_cast<int>(shape.parts)}, plan);
}

// Op over all rows, in one or two launches.
template <class T, class Op>
Status map_rows(const char* name, const Rows& rows, const Call& call, const Op& op) {
  constexpr int kCount = kPieceElements<T>;
  using Long = Held<kRowElements / kCount, kCount>;
  using Tall = Held<kRowElements, 1>;
  const RowShape shape = shape_of(rows, RowPlan<T, Op>::kOperands, sizeof(T), call.device);
  const RowPlan<T, Op> plan = row_plan<T>(rows, shape, call, op);
  auto* stats = part_stats<typename Op::Stat>(call);
  const int64_t columns = blocks_for(plan.count, kLanes) * shape.parts;
  switch (shape.path) {
    case RowPath::kWarp:
    case RowPath::kBlock:
    case RowPath::kCluster: {
      const bool preparing = preparing_on != kNotPreparing, plain = is_plain(plan, RowPlan<T, Op>::kOperands);
      if (plain || preparing) OPRT_TRY((map_contiguous_rows<true>(name, shape, plan, call)));
      if (!plain || preparing) OPRT_TRY((map_contiguous_rows<false>(name, shape, plan, call)));
      return {};
    }
    case RowPath::kSplit:
      OPRT_TRY((launch<row_part_stats<T, Op, Block, Long>>(name, call, {plan.count * shape.parts, shape.threads}, plan,
                                                           stats)));
      return launch<map_row_parts<T, Op, Block, Long>>(name, call, {plan.count * shape.parts, shape.threads}, plan,
                                                       stats);
    case RowPath::kColumns:
      return launch<map_block_rows<T, Op, Column, Tall>>(name, call, {columns, shape.threads}, plan);
    case RowPath::kSplitColumns: break;
  }
  OPRT_TRY((launch<row_part_stats<T, Op, Column, Tall>>(name, call, {columns, shape.threads}, plan, stats)));
  return launch<map_row_parts<T, Op, Column, Tall>>(name, call, {columns, shape.threads}, plan, stats);
}

}  // namespace oprt

// The GPU backend of an operator on the row skeleton: a kernel name for each path, all of them <op>_run(plan, call);
// plan.rows has kOperands operands, and Stat is the Op's. For the end of an <op>_gpu.cu.
#define OPRT_ROWS_GPU_BACKEND(op, Plan, kOperands, Stat)                                                             \
  static constexpr Kernel<Plan> op##_kernels[] = {{#op "_warp_rows", op##_run},   {#op "_block_row", op##_run},      \
                                                  {#op "_cluster_row", op##_run}, {#op "_split_row", op##_run},      \
                                                  {#op "_columns", op##_run},     {#op "_split_columns", op##_run}}; \
  static RowShape op##_shape(const Plan& plan, int device) {                                                         \
    return shape_of(plan.rows, kOperands, size_of(plan.dtype), device);                                              \
  }                                                                                                                  \
  static Status op##_choose(const Plan& plan, const Call& call, const Kernel<Plan>** kernel) {                       \
    *kernel = &op##_kernels[static_cast<int>(op##_shape(plan, call.device).path)];                                   \
    return {};                                                                                                       \
  }                                                                                                                  \
  static size_t op##_workspace(const Plan& plan) {                                                                   \
    return part_bytes<Stat>(op##_shape(plan, preparing_on), plan.rows.rows.count);                                   \
  }                                                                                                                  \
  const Backend<Plan> op##_gpu = {op##_kernels, 6, op##_choose, op##_workspace}
