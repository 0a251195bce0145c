// The row skeleton: statistics of a row, and a map of its elements by them. How rows are spread over threads is
// device/row_shape.h's table; whatever it says, a row's thread with rank r holds the row's (or part's) pieces
// r, r + size, r + 2 size, ..., in registers, or in shared memory where rows are plain and many.
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
//   map(stat)                 a functor (x, weights) -> y, from the whole row's Stat
//
// All of a group call local and gather. In place is safe: a row's threads (a part's, where it has some) write to it
// when all of it has been read. How pieces are loaded and stored is device/row_pieces.cuh.
#pragma once

#include "oprt/device/columns.cuh"

namespace oprt {

// Plain rows are held in registers where the GPU has them all at once: a call then takes as long as its longest chain
// of latencies, which shared memory would lengthen. What registers hold is less, so that a second round of blocks loses
// more than that. Us on an H200, registers and shared memory:
//
//   softmax, f32 4096 x 768       7.26  8.44      rmsnorm, f32 4096 x 768, 1.3 rounds       8.25  7.75
//   rmsnorm, bf16 512 x 4096      3.61  3.82      layernorm, bf16 4096 x 768, 1.9           5.95  5.36
//   layernorm, bf16 512 x 4096    4.28  4.84      layernorm, bf16 1024 x 4096, 1.9          7.53  6.66
//
// Two inputs of f32 take so much shared memory that few are at once there as well: add_rmsnorm, 256 x 16384, 1.9
// rounds, 19.8 and 22.1.
template <class T, class Op>
constexpr int kRoundsInRegisters = Op::kInputs * sizeof(T) == 8 ? 2 : 1;

// Blocks that a multiprocessor must hold at once: what bounds the registers of a thread.
//
//   kMapRowBlocks     of kRowThreads
//   kMapWarpBlocks    of kWarpThreads
//
// Few plain rows in registers have 128 registers, for their weights are there too, or 64 for 16 elements of a block.
// Others have 40, for what is under way in shared memory counts, but 64 where those spill: 8 pieces of a block's thread
// (rmsnorm of 32,768 bf16: 96 % of a copy's speed, with 40 93), and in warps loose rows or two inputs (add_rmsnorm of
// 1024 bf16: 73 with 40). Where two inputs of a row are 128 KB there is one block in any case.
constexpr int kRowBlocks = 2, kWarpBlocks = 4;
template <class Op, class H>
constexpr int kMapRowBlocks = H::kPlain && !H::kShared         ? (H::kPieces * H::kCount >= 32 ? 1 : kRowBlocks)
                              : H::kPieces * Op::kInputs >= 16 ? 1
                              : H::kPieces >= 8                ? kRowBlocks
                                                               : 3;
template <class Op, class H>
constexpr int kMapWarpBlocks = H::kPlain && !H::kShared        ? kWarpBlocks
                               : !H::kPlain || Op::kInputs > 1 ? 2 * kWarpBlocks
                                                               : 3 * kWarpBlocks;

// Words of dynamic shared memory for the group's row.
template <class Op, class H, class Group>
__device__ __forceinline__ uint4* shared_row(const Group& group) {
  extern __shared__ uint4 shared_words[];
  return shared_words + group.row() * row_words<H>(Op::kInputs, group.size());
}

template <class Group>
struct GroupMaker {
  __device__ static Group make() {
    __shared__ typename Group::Shared shared;
    return Group{&shared};
  }
};

// ---- kernels: blockIdx.x -> rows (and part of a row), see RowShape ----

// Loads a row into registers, a loose one by way of its shared memory, so many pieces of each thread at a time: 32 KB
// of a block.
constexpr int kPiecesAtOnce = 4;
template <class H>
constexpr int kHeldAtOnce = H::kPieces < kPiecesAtOnce ? H::kPieces : kPiecesAtOnce;
template <class T, class Op, class Part, class Group, class H>
__device__ __forceinline__ void load_held_row(const RowPlan<T, Op>& plan, const Part& part, const Group& group,
                                              H& held) {
  if constexpr (H::kPlain) {
    load_row(plan, part, held);
  } else {
    LooseRow row = {shared_row<Op, H>(group), 0};
    load_loose_row<kHeldAtOnce<H>>(plan, part, group, row, held);
  }
}

// What is left to do of a row that is held.
template <class T, class Op, class Part, class Group, class H>
__device__ __forceinline__ void map_held_row(const RowPlan<T, Op>& plan, const Part& part, Group& group, LooseRow& row,
                                             const H& held) {
  const auto local = plan.op.local(held, group, part.template of_lanes<H>(group.lanes()));
  const auto stat = plan.op.gather(local, held, group, static_cast<float>(part.length));
  write_sum(plan, part, group, row, held);
  write_row(plan, part, row, stat, held);
}

// Loose rows: the warp and block paths.
template <class T, class Op, class Group, class H>
__device__ __forceinline__ void map_loose_row(const RowPlan<T, Op>& plan, Group& group) {
  const RowPart<T, Op, Group, false> part(plan, group, blockIdx.x, 0);
  LooseRow row = {shared_row<Op, H>(group), 0};
  H held;
  load_loose_row<H::kPieces>(plan, part, group, row, held);
  map_held_row(plan, part, group, row, held);
}

// A plain row in shared memory: the same paths.
template <class T, class Op, class Group, class H>
__device__ __forceinline__ void map_shared_row(const RowPlan<T, Op>& plan, Group& group) {
  const RowPart<T, Op, Group, true> part(plan, group, blockIdx.x, 0);
  LooseRow row = {shared_row<Op, H>(group), 0};
  H held;
  load_shared_row(plan, part, row.words, held);
  map_held_row(plan, part, group, row, held);
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
  LooseRow none = {};
  write_sum(plan, part, group, none, held);
  write_plain_pieces<G, H::kPieces>(plan, part, held, plan.op.map(stat), 0, weights);
}
template <class T, class Op, class Group, class H>
__device__ __forceinline__ void map_few_rows(const RowPlan<T, Op>& plan, Group& group) {
  if constexpr (Op::kWeights > 0 && sizeof(T) < sizeof(float))
    if (plan.op.weights[0].is_f32) return map_row_and_weights<float, T, Op, Group, H>(plan, group);
  map_row_and_weights<T, T, Op, Group, H>(plan, group);
}

// kWidth: lanes of a row, or 0: they are `lanes`.
template <class T, class Op, class H, int kWidth>
__global__ void __launch_bounds__(kWarpThreads, kMapWarpBlocks<Op, H>)
    map_warp_rows(const __grid_constant__ RowPlan<T, Op> plan, int lanes) {
  begin_kernel(plan);
  LanesOf<kWidth> group{lanes};
  if constexpr (!H::kPlain)
    map_loose_row<T, Op, decltype(group), H>(plan, group);
  else if constexpr (H::kShared)
    map_shared_row<T, Op, decltype(group), H>(plan, group);
  else
    map_few_rows<T, Op, decltype(group), H>(plan, group);
}

template <class T, class Op, class H>
__global__ void __launch_bounds__(kRowThreads, kMapRowBlocks<Op, H>)
    map_block_rows(const __grid_constant__ RowPlan<T, Op> plan) {
  begin_kernel();
  Block group = GroupMaker<Block>::make();
  if constexpr (!H::kPlain)
    map_loose_row<T, Op, Block, H>(plan, group);
  else if constexpr (H::kShared)
    map_shared_row<T, Op, Block, H>(plan, group);
  else
    map_few_rows<T, Op, Block, H>(plan, group);
}

// One row, a part of it in each block of a cluster. Half the threads with twice the elements each were 5 to 8 % slower,
// twice the elements 2 to 9 % faster, but 40 % slower where there is one row. A ring of words, by which clusters that
// stay load their next row meanwhile: from 20 % slower to 8 % faster.
template <class T, class Op, class H>
__global__ void __launch_bounds__(kRowThreads, H::kPieces* Op::kInputs >= 16 ? 1
                                               : H::kShared                  ? 3
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
  LooseRow row = {shared_row<Op, H>(group), 0};
  H held;
  if constexpr (H::kShared) {
    load_shared_row(plan, part, row.words, held);
  } else {
    load_loose_row<H::kPieces>(plan, part, group, row, held);
  }
  const auto local = plan.op.local(held, group, part.template of_lanes<H>(group.lanes()));
  const auto own = plan.op.gather(local, held, group, static_cast<float>(part.length));
  write_sum(plan, part, group, row, held);
  write_row(plan, part, row, cluster.reduce(own, combine_of(plan.op)), held);
}

// Statistics of one part of a row, to stats[part * rows + row].
template <class T, class Op, class Group, class H>
__global__ void __launch_bounds__(kRowThreads, kRowBlocks)
    row_part_stats(const __grid_constant__ RowPlan<T, Op> plan, typename Op::Stat* stats) {
  begin_kernel(plan);
  Group group = GroupMaker<Group>::make();
  uint64_t part_index = blockIdx.x;
  const int64_t rows_block = static_cast<int64_t>(plan.by_parts.divide(part_index));
  const RowPart<T, Op, Group, H::kPlain> part(plan, group, rows_block, static_cast<int64_t>(part_index));
  H held;
  load_held_row(plan, part, group, held);
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
  LooseRow row = {shared_row<Op, H>(group), 0};
  H held;
  load_loose_row<H::kPieces>(plan, part, group, row, held);
  const int64_t index = rows_block * group.rows() + group.row();
  const auto stat = whole_stat(plan, stats, part.active ? index : 0, group);
  write_sum(plan, part, group, row, held);
  write_row(plan, part, row, stat, held);
}

// ---- the host's side ----

inline RowDevice row_device(int device) {
  return {device_attribute<cudaDevAttrClusterLaunch>(device) != 0,
          device_attribute<cudaDevAttrMaxSharedMemoryPerBlockOptin>(device)};
}

// The shape of a plan's rows; the first `operands` of them decide whether the axis is contiguous.
template <class Stat>
RowShape shape_of(const Rows& rows, int operands, int64_t element_bytes, int device) {
  bool contiguous = true;
  for (int k = 0; k < operands; ++k) contiguous = contiguous && rows.axis_stride[k] == 1;
  return map_shape(rows.length, element_bytes, contiguous, row_device(device), Stat::kLeast16);
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
                         false,
                         Nest<uint64_t, kOperands>(rows.rows, rows.rows.rank)};
  for (int k = 0; k < kOperands; ++k) {
    plan.data[k] = first<T>(call, rows.rows, k);
    plan.row_stride[k] = rows.rows.rank == 1 ? rows.rows.strides[k][0] : 0;
    plan.stride[k] = rows.axis_stride[k];
    plan.aligned[k] = rows.axis_stride[k] == 1 && rows_aligned(rows.rows, k, plan.data[k], sizeof(T), rows.rows.rank);
  }
  if constexpr (Op::kInputs == 2) plan.alike = rows_alike(rows.rows, 2, plan.data[2], 3, plan.data[3], sizeof(T));
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

template <class T, int kElements>
using InRegisters = Held<T, kElements / kPieceElements<T>, true>;
template <class T, int kElements>
using InShared = HeldShared<T, kElements / kPieceElements<T>>;
template <class T, int kElements>
using Loose = Held<T, kElements / kPieceElements<T>, false>;
template <class T, class Op>
constexpr int kLeastElements = sizeof(T) == 2 ? Op::Stat::kLeast16 : 16;  // of a thread of a block, see map_shape

// launched: where given, only if rows are few.
template <class H, class T, class Op>
Status launch_warp_rows(const char* name, const RowShape& shape, const RowPlan<T, Op>& plan, const Call& call,
                        const LaunchShape& grid, bool* launched = nullptr) {
  const auto by = [&](auto width) {
    constexpr auto kKernel = map_warp_rows<T, Op, H, width>;
    constexpr int kRounds = kRoundsInRegisters<T, Op>;
    return launched ? launch_few<kKernel>(kRounds, launched, name, call, grid, plan, shape.lanes)
                    : launch<kKernel>(name, call, grid, plan, shape.lanes);
  };
  if constexpr (H::kPieces == kShortPieces)
    if (shape.lanes < kLanes) return by(std::integral_constant<int, 0>{});
  return by(std::integral_constant<int, kLanes>{});
}

// Plain rows in registers, with their weights: where they are few, which *launched says.
template <class T, class Op>
Status map_in_registers(const char* name, const RowShape& shape, const RowPlan<T, Op>& plan, const Call& call,
                        bool* launched) {
  if (shape.path == RowPath::kWarp) {
    const LaunchShape grid = {blocks_for(plan.count, shape.threads / shape.lanes), shape.threads};
    constexpr int kShort = kShortPieces * kPieceElements<T>, kMost = sizeof(T) > 2 ? 24 : kRowElements;
    if (shape.elements == kShort)
      return launch_warp_rows<InRegisters<T, kShort>>(name, shape, plan, call, grid, launched);
    return launch_warp_rows<InRegisters<T, kMost>>(name, shape, plan, call, grid, launched);
  }
  const LaunchShape grid = {plan.count, shape.threads};
  const auto block_rows = [&](auto held) {
    return launch_few<map_block_rows<T, Op, decltype(held)>>(kRoundsInRegisters<T, Op>, launched, name, call, grid,
                                                             plan);
  };
  return shape.elements == 32 ? block_rows(InRegisters<T, 32>{}) : block_rows(InRegisters<T, kLeastElements<T, Op>>{});
}

// Rows by way of shared memory: How is InShared or Loose.
template <template <class, int> class How, class T, class Op>
Status map_in_shared(const char* name, const RowShape& shape, const RowPlan<T, Op>& plan, const Call& call) {
  const int sharing = shape.path == RowPath::kWarp ? shape.lanes : shape.threads;
  const auto grid = [&](auto held) -> LaunchShape {
    using H = decltype(held);
    const int rows = shape.threads / sharing;  // of a block
    return {blocks_for(plan.count, rows) * shape.parts, shape.threads, static_cast<int>(shape.parts),
            rows * row_words<H>(Op::kInputs, sharing) * kPieceBytes};
  };
  const auto warp_rows = [&](auto held) {
    return launch_warp_rows<decltype(held)>(name, shape, plan, call, grid(held));
  };
  const auto block_rows = [&](auto held) {
    return launch<map_block_rows<T, Op, decltype(held)>>(name, call, grid(held), plan);
  };
  if (shape.path == RowPath::kCluster) {
    using H = How<T, kRowElements>;
    return launch<map_cluster_row<T, Op, H>>(name, call, grid(H{}), plan);
  }
  if (shape.path == RowPath::kWarp) {
    if (shape.elements == 24) return warp_rows(How<T, 24>{});
    if (shape.elements == 16) return warp_rows(How<T, 16>{});
    constexpr int kRest = sizeof(T) == 2 ? 32 : 8;
    return warp_rows(How<T, kRest>{});
  }
  if constexpr (sizeof(T) == 2)
    if (shape.elements == 64) return block_rows(How<T, 64>{});
  if (shape.elements == 32) return block_rows(How<T, 32>{});
  return block_rows(How<T, kLeastElements<T, Op>>{});
}

// Rows of the warp, block and cluster paths. At create every kernel that a call may take is loaded.
template <class T, class Op>
Status map_contiguous_rows(const char* name, const RowShape& shape, const RowPlan<T, Op>& plan, const Call& call) {
  const bool preparing = preparing_on != kNotPreparing, plain = is_plain(plan, RowPlan<T, Op>::kOperands);
  if (plain || preparing) {
    bool launched = false;
    if (shape.path != RowPath::kCluster && shape.elements <= kRowElements)
      OPRT_TRY(map_in_registers(name, shape, plan, call, &launched));
    if (!launched || preparing) OPRT_TRY(map_in_shared<InShared>(name, shape, plan, call));
  }
  if (!plain || preparing) return map_in_shared<Loose>(name, shape, plan, call);
  return {};
}

// Op over all rows, in one or two launches.
template <class T, class Op>
Status map_rows(const char* name, const Rows& rows, const Call& call, const Op& op) {
  const RowShape shape = shape_of<typename Op::Stat>(rows, RowPlan<T, Op>::kOperands, sizeof(T), call.device);
  const RowPlan<T, Op> plan = row_plan<T>(rows, shape, call, op);
  auto* stats = part_stats<typename Op::Stat>(call);
  switch (shape.path) {
    case RowPath::kWarp:
    case RowPath::kBlock:
    case RowPath::kCluster: return map_contiguous_rows(name, shape, plan, call);
    case RowPath::kSplit: {
      using Long = Loose<T, kSplitBytes / kRowThreads / static_cast<int>(sizeof(T))>;
      const LaunchShape grid = {plan.count * shape.parts, shape.threads, 1,
                                row_words<Long>(Op::kInputs, kRowThreads) * kPieceBytes};
      OPRT_TRY((launch<row_part_stats<T, Op, Block, Long>>(name, call, grid, plan, stats)));
      return launch<map_row_parts<T, Op, Block, Long>>(name, call, grid, plan, stats);
    }
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
