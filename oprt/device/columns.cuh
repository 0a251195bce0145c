// The row skeleton where the reduced axis is strided: rows lie beside each other, as the columns of a matrix do.
//
//   block    32 neighbouring columns, and of each a part of up to 512 elements; a longer column takes the blocks of a
//            cluster, or two launches: statistics of the parts, then the map
//   warp     of those columns the runs w, w + warps, w + 2 warps, ... of 8 elements, up to 4 of them
//   thread   kWide neighbouring columns and 8 / kWide elements of each run, so that kWide lanes down have the run
//
// kWide is kColumnWide where that many columns are a word in memory, else 1. What is added to what does not depend on
// it: a chain of the i-th elements of a warp's runs, then trees: over the 8 of them (by registers, then by lanes), over
// warps, over blocks.
//
// Traffic: each element is read once and held as f32. Two launches read it twice; the second begins with what the first
// read last, which L2 still has.
#pragma once

#include "oprt/device/row_pieces.cuh"

namespace oprt {

constexpr int kColumnRuns = kRowElements / kColumnRun;  // of a warp

// Blocks that a multiprocessor must hold at once: 64 registers a thread. softmax with one exponential an element, 64 MB
// read and written: bf16 67.3 us (3 blocks: 70.7, for registers spill; 1: 106.3), f32 49.6 (62.1; 64.9).
constexpr int kColumnBlocks = 2;

// Columns of a word: 16 bytes of f32, 8 of 16 bits. The same sums: 8 columns of bf16 72.1 us, which is shuffles; 2 of
// f32 51.1; by elements bf16 92.9, f32 54.4.
constexpr int kColumnWide = 4;

// kWide neighbours of different columns, as they lie in memory.
template <class T, int kWide>
struct Neighbours;

template <class T>
struct Neighbours<T, 1> {
  T element;

  Neighbours() = default;
  __device__ __forceinline__ explicit Neighbours(const float (&x)[1]) : element(narrow<T>(x[0])) {}
  __device__ __forceinline__ void load(const T* from) { element = *from; }
  __device__ __forceinline__ void store(T* to) const { *to = element; }
  __device__ __forceinline__ void unpack_to(float (&x)[1]) const { x[0] = widen(element); }
};

template <class T>
struct Neighbours<T, kColumnWide> {
  Words<T, kColumnWide> words;

  Neighbours() = default;
  __device__ __forceinline__ explicit Neighbours(const float (&x)[kColumnWide]) : words(pack_words<T>(x)) {}
  __device__ __forceinline__ void load(const T* from) { words = load_words<kColumnWide>(from); }
  __device__ __forceinline__ void store(T* to) const {
    const uint4& word = words.word[0];
    if constexpr (decltype(words)::kHalf)
      __stwb(reinterpret_cast<uint2*>(to), make_uint2(word.x, word.y));
    else
      store_word(to, word);
  }
  __device__ __forceinline__ void unpack_to(float (&x)[kColumnWide]) const { words.unpack_to(x); }
};

// A thread's elements of one column, for an Op: see Held. A chain for each of a run's elements.
template <int kWide>
struct ColumnHeld : Pieces<ColumnHeld<kWide>, kColumnRuns, kColumnRun / kWide, kColumnRun / kWide> {
  static constexpr int kPieces = kColumnRuns, kCount = kColumnRun / kWide;
  static constexpr bool kPlain = false, kSkips = false, kPairs = false;
  float x[kPieces][kCount];
  int left;  // elements of the part from the thread's first on
  int step;  // elements from a run of the warp to its next

  __device__ void begin_pass() const {}
  __device__ __forceinline__ void piece(int p, float (&values)[kCount]) const {
#pragma unroll
    for (int i = 0; i < kCount; ++i) values[i] = x[p][i];
  }
  __device__ bool has(int p, int i) const { return p * step + i * kWide < left; }
};

template <class Op>
__device__ __forceinline__ auto combine_of(const Op& op) {
  return [&op](const typename Op::Stat& low, const typename Op::Stat& high) { return op.combine(low, high); };
}

// How a warp's lanes share its 32 columns; for an Op a group whose lanes have one column's runs.
template <int kWide>
struct ColumnLanes {
  static constexpr int kAcross = kLanes / kWide;

  __device__ static int across() { return threadIdx.x % kAcross; }
  __device__ static int down() { return threadIdx.x % kLanes / kAcross; }
  __device__ static int own() { return across() * kWide + down(); }  // a column of the thread's; each has one lane

  // From the far lanes to the near ones: the tree that ColumnHeld begins.
  template <class S, class Combine>
  __device__ S across_lanes(S value, const Combine& combine) const {
#pragma unroll
    for (int offset = kWide / 2; offset > 0; offset /= 2) value = combine(value, shuffle_xor(value, offset * kAcross));
    return value;
  }
  __device__ static constexpr int warps() { return 1; }
  template <class S>
  __device__ S of_warps(const S& value) const {
    return value;
  }
  template <class S, class Combine>
  __device__ S reduce(const S& value, const Combine& combine) const {
    return across_lanes(value, combine);
  }
};

// Statistics on their way between a block's warps and a cluster's blocks: at last, those of its whole columns.
template <class Stat>
struct ColumnExchange {
  Stat of_columns[kRowLanes];
  Stat of_warps[kRowLanes][kMaxWarps + 1];  // 1 more: columns in different banks
  Stat of_blocks[kRowLanes][kMaxClusterBlocks + 1];

  // Of a cluster: first of all in the kernel.
  __device__ static void start() { Cluster<Stat>::start(); }
  __device__ static int blocks() { return Cluster<Stat>::blocks(); }

  // stat: of the lane's own column, what the warp knows. All of a block, or of a cluster, call it; on return
  // of_columns may be read.
  template <bool kCluster, class Combine>
  __device__ void gather(const Stat& stat, int own, const Combine& combine) {
    const int warps = blockDim.x / kLanes;
    of_warps[own][threadIdx.x / kLanes] = stat;
    __syncthreads();  // every warp's statistics are there
    const int column = threadIdx.x / warps, warp = threadIdx.x % warps;
    const Stat total = reduce_lanes(of_warps[column][warp], warps, combine);
    if constexpr (kCluster) {
      gather_blocks(total, combine);
    } else if (warp == 0) {
      of_columns[column] = total;
    }
    __syncthreads();  // every column's statistics are there
  }

 private:
  // total: of column threadIdx.x / kMaxWarps, what the block knows.
  template <class Combine>
  __device__ void gather_blocks(const Stat& total, const Combine& combine) {
#if OPRT_CLUSTERS
    auto cluster = cooperative_groups::this_cluster();
    const int blocks = cluster.num_blocks(), to = threadIdx.x % kMaxWarps;
    cluster.barrier_wait();  // all blocks run: their shared memory may be written
    if (to < blocks) *cluster.map_shared_rank(&of_blocks[threadIdx.x / kMaxWarps][cluster.block_rank()], to) = total;
    cluster.sync();  // all values are here, and nobody writes here any more
    const int column = threadIdx.x / kMaxClusterBlocks, block = threadIdx.x % kMaxClusterBlocks;
    if (column >= kRowLanes) return;
    const Stat of_block = block < blocks ? of_blocks[column][block] : Stat::none();
    const Stat whole = reduce_lanes(of_block, kMaxClusterBlocks, combine);
    if (block == 0) of_columns[column] = whole;
#endif
  }
};

// Where a thread stands, and what it does there. `tile` counts 32 columns.
template <class T, class Op, int kWide>
struct ColumnTile {
  using Plan = RowPlan<T, Op>;
  using Stat = typename Op::Stat;
  using Elements = ColumnHeld<kWide>;
  static constexpr int kPieces = Elements::kPieces, kCount = Elements::kCount, kOutputs = Plan::kOutputs;

  T* data[Plan::kOperands];  // the thread's first element
  int64_t row;               // its first column
  int64_t begin;             // its first element's place in the column
  int left, step;            // see ColumnHeld
  int of_warp;               // elements of a column that the warp has

  __device__ ColumnTile(const Plan& plan, int64_t tile, int64_t part) {
    using Lanes = ColumnLanes<kWide>;
    const int in_part = static_cast<int>(threadIdx.x) / kLanes * kColumnRun;
    row = tile * kRowLanes + Lanes::across() * kWide;
    begin = part * plan.part_length;
    const int length =
        static_cast<int>(plan.length - begin < plan.part_length ? plan.length - begin : plan.part_length);
    step = static_cast<int>(blockDim.x) / kLanes * kColumnRun;
    of_warp = 0;
#pragma unroll
    for (int p = 0; p < kPieces; ++p) of_warp += min(max(length - in_part - p * step, 0), kColumnRun);
    begin += in_part + Lanes::down();
    left = row < plan.count ? length - in_part - Lanes::down() : 0;
    int64_t at[Plan::kOperands];
    plan.rows.offsets(static_cast<uint64_t>(row < plan.count ? row : 0), at);
#pragma unroll
    for (int k = 0; k < Plan::kOperands; ++k) data[k] = plan.data[k] + at[k] + begin * plan.stride[k];
  }

  // Elements from the thread's first to element i of its p-th run.
  __device__ int down_to(int p, int i) const { return p * step + i * kWide; }
  __device__ bool has(int p, int i) const { return down_to(p, i) < left; }

  __device__ __forceinline__ void load(const Plan& plan, Elements (&held)[kWide]) const {
    float missing[kWide];
#pragma unroll
    for (int c = 0; c < kWide; ++c) missing[c] = Op::kMissing;
    const Neighbours<T, kWide> none(missing);
    Neighbours<T, kWide> words[Op::kInputs][kPieces][kCount];
#pragma unroll
    for (int k = 0; k < Op::kInputs; ++k)
#pragma unroll
      for (int p = 0; p < kPieces; ++p)
#pragma unroll
        for (int i = 0; i < kCount; ++i) {
          words[k][p][i] = none;
          if (has(p, i)) words[k][p][i].load(data[kOutputs + k] + down_to(p, i) * plan.stride[kOutputs + k]);
        }
#pragma unroll
    for (int c = 0; c < kWide; ++c) held[c].left = left, held[c].step = step;
#pragma unroll
    for (int p = 0; p < kPieces; ++p)
#pragma unroll
      for (int i = 0; i < kCount; ++i) {
        float x[Op::kInputs][kWide];
#pragma unroll
        for (int k = 0; k < Op::kInputs; ++k) words[k][p][i].unpack_to(x[k]);
#pragma unroll
        for (int c = 0; c < kWide; ++c)
          held[c].x[p][i] = Op::kInputs == 2 ? widen(narrow<T>(x[0][c] + x[Op::kInputs - 1][c])) : x[0][c];
      }
  }

  // What the warp knows of the lane's own column.
  __device__ __forceinline__ Stat stat(const Plan& plan, Elements (&held)[kWide]) const {
    ColumnLanes<kWide> lanes;
    Stat own;
#pragma unroll
    for (int c = 0; c < kWide; ++c) {
      const auto local = plan.op.local(held[c], lanes, of_warp);
      const Stat stat = plan.op.gather(local, held[c], lanes, static_cast<float>(of_warp));
      if (c == 0 || c == lanes.down()) own = stat;
    }
    return own;
  }

  // of_columns: statistics of the tile's whole columns.
  __device__ __forceinline__ void write(const Plan& plan, const Elements (&held)[kWide], const Stat* of_columns) const {
    constexpr int kWeights = Op::kWeights, kSlots = kWeights > 0 ? kWeights : 1;
    using Map = decltype(plan.op.map(of_columns[0]));
    Map maps[kWide];
#pragma unroll
    for (int c = 0; c < kWide; ++c) maps[c] = plan.op.map(of_columns[ColumnLanes<kWide>::across() * kWide + c]);
#pragma unroll
    for (int p = 0; p < kPieces; ++p)
#pragma unroll
      for (int i = 0; i < kCount; ++i) {
        if (!has(p, i)) continue;
        float weights[kSlots][1], y[kWide];
        if constexpr (kWeights > 0)
#pragma unroll
          for (int k = 0; k < kWeights; ++k)
            load_weight<T>(plan.op.weights[k], k, begin + down_to(p, i), plan.length, weights[k]);
        if constexpr (Op::kInputs == 2) {
#pragma unroll
          for (int c = 0; c < kWide; ++c) y[c] = held[c].x[p][i];
          Neighbours<T, kWide>(y).store(data[1] + down_to(p, i) * plan.stride[1]);
        }
#pragma unroll
        for (int c = 0; c < kWide; ++c) {
          const float x[1] = {held[c].x[p][i]};
          float of_column[1];
          apply_map<Map, kWeights>(maps[c], x, weights, of_column);
          y[c] = of_column[0];
        }
        Neighbours<T, kWide>(y).store(data[0] + down_to(p, i) * plan.stride[0]);
      }
  }
};

// ---- kernels: blockIdx.x -> a tile, and a part of it ----

// Whole columns, in one block or in a cluster of them.
template <class T, class Op, int kWide, bool kCluster>
__global__ void __launch_bounds__(kRowThreads, kColumnBlocks) map_columns(const __grid_constant__ RowPlan<T, Op> plan) {
  begin_kernel();
  using Stat = typename Op::Stat;
  __shared__ ColumnExchange<Stat> exchange;
  if constexpr (kCluster) exchange.start();
  const int blocks = kCluster ? exchange.blocks() : 1;
  const ColumnTile<T, Op, kWide> tile(plan, blockIdx.x / blocks, blockIdx.x % blocks);
  ColumnHeld<kWide> held[kWide];
  tile.load(plan, held);
  const Stat own = tile.stat(plan, held);
  exchange.template gather<kCluster>(own, ColumnLanes<kWide>::own(), combine_of(plan.op));
  tile.write(plan, held, exchange.of_columns);
}

// Statistics of one part of each column, to stats[part * columns + column].
template <class T, class Op, int kWide>
__global__ void __launch_bounds__(kRowThreads, kColumnBlocks)
    column_part_stats(const __grid_constant__ RowPlan<T, Op> plan, typename Op::Stat* stats) {
  begin_kernel();
  using Stat = typename Op::Stat;
  __shared__ ColumnExchange<Stat> exchange;
  uint64_t part = blockIdx.x;
  const int64_t tile_index = static_cast<int64_t>(plan.by_parts.divide(part));
  const ColumnTile<T, Op, kWide> tile(plan, tile_index, static_cast<int64_t>(part));
  ColumnHeld<kWide> held[kWide];
  tile.load(plan, held);
  const Stat own = tile.stat(plan, held);
  exchange.template gather<false>(own, ColumnLanes<kWide>::own(), combine_of(plan.op));
  const int64_t column = tile_index * kRowLanes + threadIdx.x;
  if (threadIdx.x < kRowLanes && column < plan.count)
    stats[static_cast<int64_t>(part) * plan.count + column] = exchange.of_columns[threadIdx.x];
}

// A tile's statistics of all parts, put together in the block: a warp has every so many parts, a chain at most 32 of
// them.
template <class T, class Op>
__device__ __forceinline__ void gather_parts(const RowPlan<T, Op>& plan, const typename Op::Stat* stats, int64_t tile,
                                             int own, ColumnExchange<typename Op::Stat>& exchange) {
  using Stat = typename Op::Stat;
  const auto combine = combine_of(plan.op);
  const int64_t column = tile * kRowLanes + own;
  Stat total = Stat::none();
  for (int64_t part = threadIdx.x / kLanes; part < plan.parts && column < plan.count;) {
    Stat chain = Stat::none();
    for (int i = 0; i < kRowElements && part < plan.parts; ++i, part += blockDim.x / kLanes)
      chain = combine(chain, stats[part * plan.count + column]);
    total = combine(total, chain);
  }
  exchange.template gather<false>(total, own, combine);
}

// The map of one part, after column_part_stats on the same stream; the parts that were read last come first.
template <class T, class Op, int kWide>
__global__ void __launch_bounds__(kRowThreads, kColumnBlocks)
    map_column_parts(const __grid_constant__ RowPlan<T, Op> plan, const typename Op::Stat* stats) {
  begin_kernel();
  __shared__ ColumnExchange<typename Op::Stat> exchange;
  uint64_t part = gridDim.x - 1 - blockIdx.x;
  const int64_t tile_index = static_cast<int64_t>(plan.by_parts.divide(part));
  const ColumnTile<T, Op, kWide> tile(plan, tile_index, static_cast<int64_t>(part));
  ColumnHeld<kWide> held[kWide];
  tile.load(plan, held);
  gather_parts(plan, stats, tile_index, ColumnLanes<kWide>::own(), exchange);
  tile.write(plan, held, exchange.of_columns);
}

// ---- the host's side ----

// Whether kColumnWide neighbours of different rows are a word of their own in the operands from `first` on, for every
// element of the rows.
template <class T, class Op>
bool has_column_words(const Loop& rows, const RowPlan<T, Op>& plan, int first) {
  const int inner = rows.rank - 1;
  bool words = inner >= 0 && rows.shape[inner] % kColumnWide == 0;
  for (int k = first; words && k < RowPlan<T, Op>::kOperands; ++k) {
    words = rows.strides[k][inner] == 1 && plan.stride[k] % kColumnWide == 0 &&
            reinterpret_cast<uintptr_t>(plan.data[k]) % (kColumnWide * sizeof(T)) == 0;
    for (int d = 0; d < inner; ++d) words = words && rows.strides[k][d] % kColumnWide == 0;
  }
  return words;
}

template <int kWide, class T, class Op>
Status map_columns_by(const char* name, const RowShape& shape, const RowPlan<T, Op>& plan, typename Op::Stat* stats,
                      const Call& call) {
  LaunchShape grid = {blocks_for(plan.count, kRowLanes) * shape.parts, shape.threads};
  if (shape.path == RowPath::kColumns) return launch<map_columns<T, Op, kWide, false>>(name, call, grid, plan);
  if (shape.path == RowPath::kClusterColumns) {
    grid.cluster = static_cast<int>(shape.parts);
    return launch<map_columns<T, Op, kWide, true>>(name, call, grid, plan);
  }
  OPRT_TRY((launch<column_part_stats<T, Op, kWide>>(name, call, grid, plan, stats)));
  return launch<map_column_parts<T, Op, kWide>>(name, call, grid, plan, stats);
}

// Op over rows along a strided axis.
template <class T, class Op>
Status map_all_columns(const char* name, const Loop& rows, const RowShape& shape, const RowPlan<T, Op>& plan,
                       typename Op::Stat* stats, const Call& call) {
  const bool preparing = preparing_on != kNotPreparing, wide = has_column_words(rows, plan, 0);
  if (wide || preparing) OPRT_TRY(map_columns_by<kColumnWide>(name, shape, plan, stats, call));
  if (!wide || preparing) OPRT_TRY(map_columns_by<1>(name, shape, plan, stats, call));
  return {};
}

}  // namespace oprt
