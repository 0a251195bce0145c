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
//   local(held)               Local of a thread's elements, which it may exchange for what the map is better made of
//   gather(local, held, group, length)   Stat of the group's part; all of the group call it
//   combine(low, high)        Stat of two parts
//   map(local, stat)          a functor (x, weights) -> y, from the whole row's Stat
//
// In place is safe: a thread writes only elements that it alone reads, after it has read them.
#pragma once

#include "oprt/core/norm.h"
#include "oprt/device/launch.cuh"
#include "oprt/device/reduce.cuh"
#include "oprt/device/vector.cuh"

namespace oprt {

// A thread's elements of a row: kPieces pieces of kCount neighbours.
template <int kPieces_, int kCount_>
struct Held {
  static constexpr int kPieces = kPieces_, kCount = kCount_;
  float x[kPieces][kCount];
  int present[kPieces];  // elements of a piece that the row has; 0 or less: none

  // Adds term(x) of all elements present, in chains of at most 32 / kSlots and then a tree.
  template <class Term>
  __device__ __forceinline__ float sum(const Term& term) const {
    constexpr int kSlots = kCount > 4 ? kCount : 4;
    float sums[kSlots] = {};
#pragma unroll
    for (int p = 0; p < kPieces; ++p)
#pragma unroll
      for (int i = 0; i < kCount; ++i)
        if (i < present[p]) sums[(p * kCount + i) % kSlots] += term(x[p][i]);
#pragma unroll
    for (int width = kSlots / 2; width > 0; width /= 2)
#pragma unroll
      for (int i = 0; i < width; ++i) sums[i] += sums[i + width];
    return sums[0];
  }
};

// A vector along the row.
struct RowWeight {
  const void* data;  // null: absent
  int64_t stride;    // elements
  bool is_f32;       // else of the rows' type
  bool aligned;      // stride 1 from a 16-byte address

  RowWeight() = default;
  RowWeight(const Weight& weight, const void* data)
      : data(data),
        stride(weight.stride),
        is_f32(weight.dtype == OPRT_DTYPE_F32),
        aligned(weight.stride == 1 && is_aligned(data)) {}
};

template <int kCount, class T>
__device__ __forceinline__ void load_weight(const RowWeight& weight, int64_t begin, int present, float otherwise,
                                            float (&w)[kCount]) {
  const auto load = [&](const auto* data) {
    if constexpr (kCount > 1) {
      if (weight.aligned && present >= kCount) return load_piece(data + begin, w);
    }
    load_each(data + begin * weight.stride, weight.stride, present, otherwise, w);
  };
  if (!weight.data) {
#pragma unroll
    for (int i = 0; i < kCount; ++i) w[i] = otherwise;
  } else if (weight.is_f32) {
    load(static_cast<const float*>(weight.data));
  } else {
    load(static_cast<const T*>(weight.data));
  }
}

// What every kernel of the skeleton is given. Operands: the outputs, then the inputs.
template <class T, class Op>
struct RowPlan {
  static constexpr int kOutputs = Op::kInputs, kOperands = 2 * Op::kInputs;

  Nest<uint64_t, kOperands> rows;
  int64_t count;        // rows
  int64_t parts;        // of a row
  int64_t length;       // elements of a row
  int64_t part_length;  // of a part; the last may have fewer
  Divider<uint64_t> by_parts;
  T* data[kOperands];
  int64_t stride[kOperands];  // on the row's axis
  bool aligned[kOperands];    // every row at a 16-byte address, stride 1
  Op op;
};

// Where a thread stands: its row's first elements, and its part of the row.
template <class T, class Op, class Group>
struct RowPart {
  bool active;  // there is such a row
  T* data[RowPlan<T, Op>::kOperands];
  int64_t begin;   // the part's first element
  int64_t length;  // elements of the part
  int rank, size;

  __device__ RowPart(const RowPlan<T, Op>& plan, const Group& group, int64_t rows_block, int64_t part)
      : rank(group.rank()), size(group.size()) {
    const int64_t row = rows_block * group.rows() + group.row();
    active = row < plan.count;
    int64_t at[RowPlan<T, Op>::kOperands];
    plan.rows.offsets(static_cast<uint64_t>(active ? row : 0), at);
    for (int k = 0; k < RowPlan<T, Op>::kOperands; ++k) data[k] = plan.data[k] + at[k];
    begin = part * plan.part_length;
    length = plan.length - begin < plan.part_length ? plan.length - begin : plan.part_length;
  }

  // Element of the row at which a thread's piece begins, and how many of it there are.
  template <int kCount>
  __device__ int64_t piece(int p, int* present) const {
    const int64_t in_part = static_cast<int64_t>(rank + p * size) * kCount, left = active ? length - in_part : 0;
    *present = static_cast<int>(left < kCount ? left : kCount);
    return begin + in_part;
  }
};

template <class T, class Op, class Group, class H>
__device__ __forceinline__ void load_row(const RowPlan<T, Op>& plan, const RowPart<T, Op, Group>& part, H& held) {
  constexpr int kCount = H::kCount, kFirst = RowPlan<T, Op>::kOutputs;
  float more[Op::kInputs == 2 ? H::kPieces : 1][kCount];
#pragma unroll
  for (int p = 0; p < H::kPieces; ++p) {
    const int64_t at = part.template piece<kCount>(p, &held.present[p]);
#pragma unroll
    for (int k = 0; k < Op::kInputs; ++k) {
      float(&x)[kCount] = k == 0 ? held.x[p] : more[Op::kInputs == 2 ? p : 0];
      const int64_t stride = plan.stride[kFirst + k];
      const T* from = part.data[kFirst + k] + at * stride;
      if (kCount > 1 && plan.aligned[kFirst + k] && held.present[p] == kCount) {
        if constexpr (kCount > 1) load_piece(from, x);
      } else {
        load_each(from, stride, held.present[p], Op::kMissing, x);
      }
    }
  }
  if constexpr (Op::kInputs == 2) {
#pragma unroll
    for (int p = 0; p < H::kPieces; ++p)
#pragma unroll
      for (int i = 0; i < kCount; ++i) held.x[p][i] = widen(narrow<T>(held.x[p][i] + more[p][i]));
  }
}

// Writes operand k from `piece(p, y)`, which fills a piece.
template <class T, class Op, class Group, class H, class Piece>
__device__ __forceinline__ void store_row(const RowPlan<T, Op>& plan, const RowPart<T, Op, Group>& part, const H& held,
                                          int k, const Piece& piece) {
  constexpr int kCount = H::kCount;
#pragma unroll
  for (int p = 0; p < H::kPieces; ++p) {
    int present;
    const int64_t at = part.template piece<kCount>(p, &present);
    if (present <= 0) continue;
    float y[kCount];
    piece(p, at, present, y);
    T* to = part.data[k] + at * plan.stride[k];
    if (kCount > 1 && plan.aligned[k] && present == kCount) {
      if constexpr (kCount > 1) store_piece(to, y);
    } else {
      store_each(to, plan.stride[k], present, y);
    }
  }
}

// The map of what a thread holds, by the whole row's statistics.
template <class T, class Op, class Group, class H>
__device__ __forceinline__ void write_row(const RowPlan<T, Op>& plan, const RowPart<T, Op, Group>& part,
                                          const typename Op::Local& local, const typename Op::Stat& stat,
                                          const H& held) {
  constexpr int kCount = H::kCount;
  const auto map = plan.op.map(local, stat);
  store_row(plan, part, held, 0, [&](int p, int64_t at, int present, float(&y)[kCount]) {
    float weights[Op::kWeights > 0 ? Op::kWeights : 1][kCount];
    if constexpr (Op::kWeights > 0) {
#pragma unroll
      for (int k = 0; k < Op::kWeights; ++k)
        load_weight<kCount, T>(plan.op.weights[k], at, present, k == 0 ? 1.0f : 0.0f, weights[k]);
    }
#pragma unroll
    for (int i = 0; i < kCount; ++i) {
      if constexpr (Op::kWeights == 0)
        y[i] = map(held.x[p][i]);
      else if constexpr (Op::kWeights == 1)
        y[i] = map(held.x[p][i], weights[0][i]);
      else
        y[i] = map(held.x[p][i], weights[0][i], weights[1][i]);
    }
  });
}

// The second output of an Op with two inputs: their rounded sum.
template <class T, class Op, class Group, class H>
__device__ __forceinline__ void write_sum(const RowPlan<T, Op>& plan, const RowPart<T, Op, Group>& part,
                                          const H& held) {
  if constexpr (Op::kInputs == 2)
    store_row(plan, part, held, 1, [&](int p, int64_t, int, float(&y)[H::kCount]) {
#pragma unroll
      for (int i = 0; i < H::kCount; ++i) y[i] = held.x[p][i];
    });
}

template <class Group>
struct GroupMaker {
  __device__ static Group make() {
    __shared__ typename Group::Shared shared;
    return Group{&shared};
  }
};

// ---- kernels: blockIdx.x -> rows (and part of a row), see RowShape ----

// Whole rows: the warp, block and columns paths.
template <class T, class Op, class Group, class H>
__device__ __forceinline__ void map_whole_rows(const RowPlan<T, Op>& plan, Group& group) {
  const RowPart<T, Op, Group> part(plan, group, blockIdx.x, 0);
  H held;
  load_row(plan, part, held);
  write_sum(plan, part, held);
  const auto local = plan.op.local(held);
  const auto stat = plan.op.gather(local, held, group, static_cast<float>(part.length));
  write_row(plan, part, local, stat, held);
}

template <class T, class Op, class H>
__global__ void __launch_bounds__(kWarpThreads) map_warp_rows(const __grid_constant__ RowPlan<T, Op> plan, int lanes) {
  Lanes group{lanes};
  map_whole_rows<T, Op, Lanes, H>(plan, group);
}

template <class T, class Op, class Group, class H>
__global__ void __launch_bounds__(kRowThreads) map_block_rows(const __grid_constant__ RowPlan<T, Op> plan) {
  Group group = GroupMaker<Group>::make();
  map_whole_rows<T, Op, Group, H>(plan, group);
}

// One row, a part of it in each block of a cluster.
template <class T, class Op, class H>
__global__ void __launch_bounds__(kRowThreads) map_cluster_row(const __grid_constant__ RowPlan<T, Op> plan) {
  __shared__ typename Op::Stat of_blocks[kMaxClusterBlocks];
  const Cluster<typename Op::Stat> cluster{of_blocks};
  cluster.start();
  Block group = GroupMaker<Block>::make();
  const int blocks = cluster.blocks();
  const RowPart<T, Op, Block> part(plan, group, blockIdx.x / blocks, blockIdx.x % blocks);
  H held;
  load_row(plan, part, held);
  write_sum(plan, part, held);
  const auto local = plan.op.local(held);
  const auto own = plan.op.gather(local, held, group, static_cast<float>(part.length));
  const auto stat = cluster.reduce(own, [&](const auto& low, const auto& high) { return plan.op.combine(low, high); });
  write_row(plan, part, local, stat, held);
}

// Statistics of one part of a row, or of a column of rows, to stats[part * rows + row].
template <class T, class Op, class Group, class H>
__global__ void __launch_bounds__(kRowThreads)
    row_part_stats(const __grid_constant__ RowPlan<T, Op> plan, typename Op::Stat* stats) {
  Group group = GroupMaker<Group>::make();
  uint64_t part_index = blockIdx.x;
  const int64_t rows_block = static_cast<int64_t>(plan.by_parts.divide(part_index));
  const RowPart<T, Op, Group> part(plan, group, rows_block, static_cast<int64_t>(part_index));
  H held;
  load_row(plan, part, held);
  const auto local = plan.op.local(held);
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
__global__ void __launch_bounds__(kRowThreads)
    map_row_parts(const __grid_constant__ RowPlan<T, Op> plan, const typename Op::Stat* stats) {
  Group group = GroupMaker<Group>::make();
  uint64_t part_index = blockIdx.x;
  const int64_t rows_block = static_cast<int64_t>(plan.by_parts.divide(part_index));
  const RowPart<T, Op, Group> part(plan, group, rows_block, static_cast<int64_t>(part_index));
  H held;
  load_row(plan, part, held);
  write_sum(plan, part, held);
  const int64_t row = rows_block * group.rows() + group.row();
  const auto stat = whole_stat(plan, stats, part.active ? row : 0, group);
  write_row(plan, part, plan.op.local(held), stat, held);
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
  RowPlan<T, Op> plan = {Nest<uint64_t, kOperands>(rows.rows, rows.rows.rank),
                         rows.rows.count,
                         shape.parts,
                         rows.length,
                         shape.part_length,
                         Divider<uint64_t>(shape.parts),
                         {},
                         {},
                         {},
                         op};
  for (int k = 0; k < kOperands; ++k) {
    plan.data[k] = first<T>(call, rows.rows, k);
    plan.stride[k] = rows.axis_stride[k];
    plan.aligned[k] = rows.axis_stride[k] == 1 && rows_aligned(rows.rows, k, plan.data[k], sizeof(T), rows.rows.rank);
  }
  return plan;
}

// Op over all rows, in one or two launches.
template <class T, class Op>
Status map_rows(const char* name, const Rows& rows, const Call& call, const Op& op) {
  constexpr int kCount = kPieceElements<T>;
  using Short = Held<kShortElements / kCount, kCount>;
  using Long = Held<kRowElements / kCount, kCount>;
  using Tall = Held<kRowElements, 1>;
  const RowShape shape = shape_of(rows, RowPlan<T, Op>::kOperands, sizeof(T), call.device);
  const RowPlan<T, Op> plan = row_plan<T>(rows, shape, call, op);
  auto* stats = part_stats<typename Op::Stat>(call);
  const int64_t columns = blocks_for(plan.count, kLanes) * shape.parts;
  switch (shape.path) {
    case RowPath::kWarp: {
      const LaunchShape launched = {blocks_for(plan.count, shape.threads / shape.lanes), shape.threads};
      return shape.short_row ? launch<map_warp_rows<T, Op, Short>>(name, call, launched, plan, shape.lanes)
                             : launch<map_warp_rows<T, Op, Long>>(name, call, launched, plan, shape.lanes);
    }
    case RowPath::kBlock:
      return launch<map_block_rows<T, Op, Block, Long>>(name, call, {plan.count, shape.threads}, plan);
    case RowPath::kCluster:
      return launch<map_cluster_row<T, Op, Long>>(
          name, call, {plan.count * shape.parts, shape.threads, static_cast<int>(shape.parts)}, plan);
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
