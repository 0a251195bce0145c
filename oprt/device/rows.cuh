// The row skeleton: statistics of a row, and a map of its elements by them. How rows are spread over threads is
// device/row_shape.h's table; whatever it says, a row's thread with rank r holds the row's (or part's) pieces
// r, r + size, r + 2 size, ..., in shared memory where rows are plain and many, else in registers.
//
// An Op is plain data for the kernel's arguments, with
//
//   kInputs          1, or 2: then the row is the rounded sum of two, which is also written, to a second output
//   kWeights         vectors along the row that the map takes: gamma, beta
//   kMissing         what stands in for elements past the end of a row
//   Local            what a thread keeps of its own elements
//   Stat             what is known of a part of a row; members of 4 bytes, 12 bytes at most; kLeast16 for map_shape
//   local(held, group, count)            Local of the `count` elements of the group's lanes of one warp
//   gather(local, held, group, length)   Stat of the group's part
//   combine(low, high)        Stat of two parts
//   map(local, stat)          a functor (x, weights) -> y, from the whole row's Stat
//
// All of a group call local and gather. In place is safe: a thread writes only elements that it alone reads, after it
// has read them. How pieces are loaded and stored is device/row_pieces.cuh.
#pragma once

#include "oprt/device/columns.cuh"

namespace oprt {

// Rows that a thread holds at once where a row has one piece for each. Rows of 128, bf16, against one at a time: 1.2 to
// 2.4 times as fast at 128 MB, at 1 MB 0.6 to 0.7 times: the code is longer.
constexpr int kShortRows = 4;
constexpr int64_t kShortBlocks = 1024;  // of sums, from which on they do

// Threads up to which plain rows are held in registers: the GPU has them all at once, and a call takes as long as its
// longest chain of latencies, which shared memory would lengthen (256 rows of 4096, bf16: 3.1 us to 2.85).
constexpr int64_t kFewThreads = int64_t{1} << 16;

// Blocks that a multiprocessor must hold at once: what bounds the registers of a thread.
//
//   kRowBlocks    of kRowThreads, rows in registers: 64, but 128 for 64 elements, or 32 beside their weights
//   kWarpBlocks   of kWarpThreads, the same: 80, but 128 where the weights are in registers too
//
// Rows in shared memory: 40, but 64 where a thread has 8 pieces (rmsnorm of 32,768 bf16 or 16,384 f32: 96 % of a copy's
// speed, with 40 registers 93), four rows, or two inputs in a warp (add_rmsnorm of 1024 bf16: 73 with 40, which spill);
// in clusters 40 (79 %, with 64 72).
constexpr int kRowBlocks = 2, kWarpBlocks = 6;
template <class H>
constexpr int kMapRowBlocks = H::kShared                                        ? (H::kPieces < 8 ? 3 : 2)
                              : H::kPieces * H::kCount >= (H::kPlain ? 32 : 64) ? 1
                                                                                : kRowBlocks;
template <class Op, class H, int kRows>
constexpr int kMapWarpBlocks = H::kShared  ? (kRows > 1 || Op::kInputs > 1 ? 8 : 12)
                               : H::kPlain ? 4
                                           : kWarpBlocks;

template <class Group>
struct GroupMaker {
  __device__ static Group make() {
    __shared__ typename Group::Shared shared;
    return Group{&shared};
  }
};

// ---- kernels: blockIdx.x -> rows (and part of a row), see RowShape ----

// What is left to do of a row that is held.
template <class T, class Op, class Part, class Group, class H>
__device__ __forceinline__ void map_held_row(const RowPlan<T, Op>& plan, const Part& part, Group& group, H& held) {
  const auto local = plan.op.local(held, group, part.template of_lanes<H>(group.lanes()));
  const auto stat = plan.op.gather(local, held, group, static_cast<float>(part.length));
  write_sum(plan, part, held);
  write_row(plan, part, local, stat, held);
}

// Whole rows in registers, kRows of them a thread: the warp and block paths.
template <class T, class Op, class Group, class H, int kRows = 1>
__device__ __forceinline__ void map_whole_rows(const RowPlan<T, Op>& plan, Group& group) {
  using Part = RowPart<T, Op, Group, H::kPlain>;
  H held[kRows];
#pragma unroll
  for (int r = 0; r < kRows; ++r) load_row(plan, Part(plan, group, int64_t{blockIdx.x} * kRows + r, 0), held[r]);
#pragma unroll
  for (int r = 0; r < kRows; ++r)
    map_held_row(plan, Part(plan, group, int64_t{blockIdx.x} * kRows + r, 0), group, held[r]);
}

// The same of plain rows in shared memory.
template <class T, class Op, class Group, class H, int kRows = 1>
__device__ __forceinline__ void map_shared_rows(const RowPlan<T, Op>& plan, Group& group) {
  using Part = RowPart<T, Op, Group, true>;
  extern __shared__ uint4 shared_words[];
  H held[kRows];
#pragma unroll
  for (int r = 0; r < kRows; ++r)
    begin_shared_row(plan, Part(plan, group, int64_t{blockIdx.x} * kRows + r, 0),
                     shared_words + r * Op::kInputs * H::kPieces * blockDim.x + threadIdx.x, held[r]);
  await_shared_words();
#pragma unroll
  for (int r = 0; r < kRows; ++r) {
    end_shared_row<T, Op>(held[r]);
    map_held_row(plan, Part(plan, group, int64_t{blockIdx.x} * kRows + r, 0), group, held[r]);
  }
}

// A plain row in registers whose weights, of type G, are loaded with it: for few rows, which wait for every load.
template <class G, class T, class Op, class Group, class H>
__device__ __forceinline__ void map_row_and_weights(const RowPlan<T, Op>& plan, Group& group) {
  const RowPart<T, Op, Group, true> part(plan, group, blockIdx.x, 0);
  H held;
  load_row(plan, part, held);
  WeightWords<G, Op, H::kCount, H::kPieces> weights;
  weights.load(plan, part, 0);
  const auto local = plan.op.local(held, group, part.template of_lanes<H>(group.lanes()));
  const auto stat = plan.op.gather(local, held, group, static_cast<float>(part.length));
  write_sum(plan, part, held);
  write_plain_pieces<G, H::kPieces>(plan, part, held, plan.op.map(local, stat), 0, weights);
}
template <class T, class Op, class Group, class H>
__device__ __forceinline__ void map_few_rows(const RowPlan<T, Op>& plan, Group& group) {
  if constexpr (Op::kWeights > 0 && sizeof(T) < sizeof(float))
    if (plan.op.weights[0].is_f32) return map_row_and_weights<float, T, Op, Group, H>(plan, group);
  map_row_and_weights<T, T, Op, Group, H>(plan, group);
}

template <class T, class Op, class H, int kRows>
__global__ void __launch_bounds__(kWarpThreads, kMapWarpBlocks<Op, H, kRows>)
    map_warp_rows(const __grid_constant__ RowPlan<T, Op> plan, int lanes) {
  begin_kernel();
  LanesOf<H::kPieces * H::kCount == kShortElements ? 0 : kLanes> group{lanes};
  if constexpr (H::kShared)
    map_shared_rows<T, Op, decltype(group), H, kRows>(plan, group);
  else if constexpr (H::kPlain)
    map_few_rows<T, Op, decltype(group), H>(plan, group);
  else
    map_whole_rows<T, Op, decltype(group), H, kRows>(plan, group);
}

template <class T, class Op, class Group, class H>
__global__ void __launch_bounds__(kRowThreads, kMapRowBlocks<H>)
    map_block_rows(const __grid_constant__ RowPlan<T, Op> plan) {
  begin_kernel();
  Group group = GroupMaker<Group>::make();
  if constexpr (H::kShared)
    map_shared_rows<T, Op, Group, H>(plan, group);
  else if constexpr (H::kPlain)
    map_few_rows<T, Op, Group, H>(plan, group);
  else
    map_whole_rows<T, Op, Group, H>(plan, group);
}

// One row, a part of it in each block of a cluster. Half the threads with twice the elements each were 5 to 8 % slower.
template <class T, class Op, class H>
__global__ void __launch_bounds__(kRowThreads, H::kShared  ? 3
                                               : H::kPlain ? 1
                                                           : kRowBlocks)
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
  if constexpr (H::kShared) {
    extern __shared__ uint4 shared_words[];
    begin_shared_row(plan, part, shared_words + threadIdx.x, held);
    await_shared_words();
    end_shared_row<T, Op>(held);
  } else {
    load_row(plan, part, held);
  }
  const auto local = plan.op.local(held, group, part.template of_lanes<H>(group.lanes()));
  const auto own = plan.op.gather(local, held, group, static_cast<float>(part.length));
  write_sum(plan, part, held);
  const auto stat = cluster.reduce(own, [&](const auto& low, const auto& high) { return plan.op.combine(low, high); });
  write_row(plan, part, local, stat, held);
}

// Statistics of one part of a row, to stats[part * rows + row].
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
  const auto local = plan.op.local(held, group, part.template of_lanes<H>(group.lanes()));
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
__global__ void __launch_bounds__(kRowThreads, kRowBlocks)
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
  write_row(plan, part, plan.op.local(held, group, part.template of_lanes<H>(group.lanes())), stat, held);
}

// ---- the host's side ----

inline bool has_clusters(int device) { return device_attribute<cudaDevAttrClusterLaunch>(device) != 0; }

// The shape of a plan's rows; the first `operands` of them decide whether the axis is contiguous.
template <class Stat>
RowShape shape_of(const Rows& rows, int operands, int64_t element_bytes, int device) {
  bool contiguous = true;
  for (int k = 0; k < operands; ++k) contiguous = contiguous && rows.axis_stride[k] == 1;
  return map_shape(rows.length, element_bytes, contiguous, has_clusters(device), Stat::kLeast16);
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

template <class T, int kElements, bool kPlain>
using InRegisters = Held<kElements / kPieceElements<T>, kPieceElements<T>, kPlain>;
template <class T, int kElements>
using InShared = HeldShared<T, kElements / kPieceElements<T>, kPieceElements<T>>;

// Rows in registers: few plain ones, or any.
template <bool kPlain, class T, class Op>
Status map_in_registers(const char* name, const RowShape& shape, const RowPlan<T, Op>& plan, const Call& call) {
  if (shape.path == RowPath::kWarp) {
    const LaunchShape grid = {blocks_for(plan.count, shape.threads / shape.lanes), shape.threads};
    if (shape.elements == kShortElements)
      return launch<map_warp_rows<T, Op, InRegisters<T, kShortElements, kPlain>, 1>>(name, call, grid, plan,
                                                                                     shape.lanes);
    constexpr int kElements = kPlain && sizeof(T) > 2 ? 24 : kRowElements;  // f32 rows have no more here
    return launch<map_warp_rows<T, Op, InRegisters<T, kElements, kPlain>, 1>>(name, call, grid, plan, shape.lanes);
  }
  const LaunchShape grid = {plan.count * shape.parts, shape.threads, static_cast<int>(shape.parts)};
  if (shape.path == RowPath::kCluster)
    return launch<map_cluster_row<T, Op, InRegisters<T, kRowElements, kPlain>>>(name, call, grid, plan);
  if (shape.elements == 32)
    return launch<map_block_rows<T, Op, Block, InRegisters<T, 32, kPlain>>>(name, call, grid, plan);
  if constexpr (!kPlain) {
    if constexpr (sizeof(T) == 2)
      if (shape.elements == 64)
        return launch<map_block_rows<T, Op, Block, InRegisters<T, 64, false>>>(name, call, grid, plan);
  }
  return launch<map_block_rows<T, Op, Block, InRegisters<T, 16, kPlain>>>(name, call, grid, plan);
}

// Plain rows in shared memory.
template <class T, class Op>
Status map_in_shared(const char* name, const RowShape& shape, const RowPlan<T, Op>& plan, const Call& call) {
  const int rows = shape.elements == kShortElements ? kShortRows : 1;  // a thread's
  const int bytes = rows * Op::kInputs * shape.threads * shape.elements * static_cast<int>(sizeof(T));
  if (shape.path == RowPath::kWarp) {
    const LaunchShape grid = {blocks_for(plan.count, shape.threads / shape.lanes * rows), shape.threads, 1, bytes};
    if (shape.elements == kShortElements)
      return launch<map_warp_rows<T, Op, InShared<T, kShortElements>, kShortRows>>(name, call, grid, plan, shape.lanes);
    if (shape.elements == 24)
      return launch<map_warp_rows<T, Op, InShared<T, 24>, 1>>(name, call, grid, plan, shape.lanes);
    if constexpr (sizeof(T) == 2)
      if (shape.elements == 32)
        return launch<map_warp_rows<T, Op, InShared<T, 32>, 1>>(name, call, grid, plan, shape.lanes);
    return launch<map_warp_rows<T, Op, InShared<T, 16>, 1>>(name, call, grid, plan, shape.lanes);
  }
  const LaunchShape grid = {plan.count * shape.parts, shape.threads, static_cast<int>(shape.parts), bytes};
  if (shape.path == RowPath::kCluster) return launch<map_cluster_row<T, Op, InShared<T, 32>>>(name, call, grid, plan);
  if constexpr (sizeof(T) == 2)
    if (shape.elements == 64) return launch<map_block_rows<T, Op, Block, InShared<T, 64>>>(name, call, grid, plan);
  if (shape.elements == 32) return launch<map_block_rows<T, Op, Block, InShared<T, 32>>>(name, call, grid, plan);
  return launch<map_block_rows<T, Op, Block, InShared<T, 16>>>(name, call, grid, plan);
}

// The warp, block and cluster paths. At create every kernel that a call may take is loaded.
template <class T, class Op>
Status map_contiguous_rows(const char* name, const RowShape& shape, const RowPlan<T, Op>& plan, const Call& call) {
  const bool preparing = preparing_on != kNotPreparing, plain = is_plain(plan, RowPlan<T, Op>::kOperands);
  const int64_t threads = shape.path == RowPath::kWarp ? shape.lanes : shape.parts * shape.threads;  // of a row
  const bool few = shape.elements <= 32 && plan.count * threads <= kFewThreads;
  if (plain || preparing)
    OPRT_TRY(few ? map_in_registers<true>(name, shape, plan, call) : map_in_shared(name, shape, plan, call));
  if (!plain || preparing) return map_in_registers<false>(name, shape, plan, call);
  return {};
}

// Op over all rows, in one or two launches.
template <class T, class Op>
Status map_rows(const char* name, const Rows& rows, const Call& call, const Op& op) {
  constexpr int kCount = kPieceElements<T>;
  using Long = Held<kRowElements / kCount, kCount>;
  const RowShape shape = shape_of<typename Op::Stat>(rows, RowPlan<T, Op>::kOperands, sizeof(T), call.device);
  const RowPlan<T, Op> plan = row_plan<T>(rows, shape, call, op);
  auto* stats = part_stats<typename Op::Stat>(call);
  switch (shape.path) {
    case RowPath::kWarp:
    case RowPath::kBlock:
    case RowPath::kCluster: return map_contiguous_rows(name, shape, plan, call);
    case RowPath::kSplit:
      OPRT_TRY((launch<row_part_stats<T, Op, Block, Long>>(name, call, {plan.count * shape.parts, shape.threads}, plan,
                                                           stats)));
      return launch<map_row_parts<T, Op, Block, Long>>(name, call, {plan.count * shape.parts, shape.threads}, plan,
                                                       stats);
    case RowPath::kColumns:
    case RowPath::kClusterColumns:
    case RowPath::kSplitColumns: break;
  }
  return map_all_columns(name, rows.rows, shape, plan, stats, call);
}

}  // namespace oprt

// The GPU backend of an operator on the row skeleton: a kernel name for each path, all of them <op>_run(plan, call);
// plan.rows has kOperands operands, and Stat is the Op's. For the end of an <op>_gpu.cu.
#define OPRT_ROWS_GPU_BACKEND(op, Plan, kOperands, Stat)                                                               \
  static constexpr Kernel<Plan> op##_kernels[] = {{#op "_warp_rows", op##_run},    {#op "_block_row", op##_run},       \
                                                  {#op "_cluster_row", op##_run},  {#op "_split_row", op##_run},       \
                                                  {#op "_columns", op##_run},      {#op "_cluster_columns", op##_run}, \
                                                  {#op "_split_columns", op##_run}};                                   \
  static RowShape op##_shape(const Plan& plan, int device) {                                                           \
    return shape_of<Stat>(plan.rows, kOperands, size_of(plan.dtype), device);                                          \
  }                                                                                                                    \
  static Status op##_choose(const Plan& plan, const Call& call, const Kernel<Plan>** kernel) {                         \
    *kernel = &op##_kernels[static_cast<int>(op##_shape(plan, call.device).path)];                                     \
    return {};                                                                                                         \
  }                                                                                                                    \
  static size_t op##_workspace(const Plan& plan) {                                                                     \
    return part_bytes<Stat>(op##_shape(plan, preparing_on), plan.rows.rows.count);                                     \
  }                                                                                                                    \
  const Backend<Plan> op##_gpu = {op##_kernels, 7, op##_choose, op##_workspace}
