// embedding on the GPU: rows of the table, moved as integers of the elements' size.
//
// Work:     the lanes of a row, a power of two of them, take one or two pieces each, neighbours beside neighbours; all
//           of a row's threads read its id, from cache but for the first.
// Traffic:  the ids and each row picked once, out once.
// Bad ids:  memory outside the table is never read. The row of out becomes NaN (0 for integers), and the row's first
//           thread counts it.
//
//   embedding_rows       the table's rows and out's are contiguous. Where not all begin at 16 bytes and are whole
//                        pieces long, pieces are cut at out's 16-byte addresses, and read as windows of aligned words
//   embedding_strided    anything else: single elements, neighbours beside neighbours
#include <type_traits>

#include "oprt/device/launch.cuh"
#include "oprt/device/nest.h"
#include "oprt/device/vector.cuh"
#include "oprt/ops/embedding/embedding_plan.h"
#include "oprt/runtime/device_errors.h"

namespace oprt {
namespace {

constexpr int kThreads = 256, kPieces = 2;  // without lanes

// Pieces that a lane takes, by the pieces of all rows. bf16 on an H200, us:
//
//   rows of             1     2     4
//   64 of 4096        1.38  1.40  1.42
//   1024 of 4096      6.53  6.12  6.76
//   8192 of 768       10.3  8.07  8.08
//   65536 of 128      10.5  8.74  9.35
//   8192 of 4096      41.1  34.5  35.3
constexpr int kLaneThreads = 128, kLaneBits = 7;
constexpr int pieces_each(int64_t pieces) { return pieces < 1 << 16 ? 1 : 2; }

template <class T, class Id, class U>
struct Lookup {
  const Id* ids;
  const T* table;
  T* out;
  U count;                           // pieces (elements) in all; of lanes: rows
  Divider<U> of_row;                 // pieces (elements) of a row; of lanes: blocks
  int64_t table_row, rows, width;    // of the table
  int64_t table_column, out_column;  // strides, elements
  unsigned long long* errors;
  T bad;
  Nest<U, 2> lookups;  // out's rows, ids
};

template <class T, class Id, class U>
__global__ void __launch_bounds__(kThreads) embedding_elements(const __grid_constant__ Lookup<T, Id, U> plan) {
  begin_kernel(plan);
  U column = static_cast<U>(blockIdx.x) * kThreads + threadIdx.x;
  if (column >= plan.count) return;
  const U row = plan.of_row.divide(column);
  int64_t at[2];
  plan.lookups.offsets(row, at);
  const int64_t id = plan.ids[at[1]];
  T x = plan.bad;
  if (id >= 0 && id < plan.rows)
    x = plan.table[id * plan.table_row + static_cast<int64_t>(column) * plan.table_column];
  else if (column == 0)
    atomicAdd(plan.errors, 1ull);
  plan.out[at[0] + static_cast<int64_t>(column) * plan.out_column] = x;
}

// Rows of whole pieces at 16-byte addresses; 2^lane_bits threads a row.
template <int kEach, class T, class Id, class U>
__global__ void __launch_bounds__(kLaneThreads)
    embedding_lanes(const __grid_constant__ Lookup<T, Id, U> plan, int lane_bits) {
  begin_kernel(plan);
  constexpr int kCount = kPieceElements<T>;
  U part = blockIdx.x;
  const U rows = plan.of_row.divide(part), lanes = U{1} << lane_bits;
  const U row = rows * (kLaneThreads >> lane_bits) + (threadIdx.x >> lane_bits);
  if (row >= plan.count) return;
  int64_t at[2];
  plan.lookups.offsets(row, at);
  const int64_t id = plan.ids[at[1]];
  const int64_t begin = static_cast<int64_t>(part * kEach * lanes + (threadIdx.x & (lanes - 1))) * kCount;
  const bool bad = id < 0 || id >= plan.rows;
  if (bad && begin == 0) atomicAdd(plan.errors, 1ull);
  uint4 words[kEach];
#pragma unroll
  for (int p = 0; p < kEach; ++p) {
    T filling[kCount];
#pragma unroll
    for (int i = 0; i < kCount; ++i) filling[i] = plan.bad;
    const int64_t column = begin + static_cast<int64_t>(p * lanes) * kCount;
    words[p] = pack<T>(filling);
    if (!bad && column < plan.width)
      words[p] = *reinterpret_cast<const uint4*>(plan.table + id * plan.table_row + column);
  }
#pragma unroll
  for (int p = 0; p < kEach; ++p) {
    const int64_t column = begin + static_cast<int64_t>(p * lanes) * kCount;
    if (column < plan.width) store_word(plan.out + at[0] + column, words[p]);
  }
}

// Rows that begin anywhere. The ids and the pieces of all are under way while the first's are.
template <class T, class Id, class U>
__global__ void __launch_bounds__(kThreads) embedding_windows(const __grid_constant__ Lookup<T, Id, U> plan) {
  begin_kernel(plan);
  constexpr int kCount = kPieceElements<T>;
  U piece[kPieces];
  T* out[kPieces];
  int64_t id[kPieces], begin[kPieces], left[kPieces];
  bool there[kPieces];
#pragma unroll
  for (int p = 0; p < kPieces; ++p) {
    piece[p] = (static_cast<U>(blockIdx.x) * kPieces + p) * kThreads + threadIdx.x;
    there[p] = piece[p] < plan.count;
    if (!there[p]) continue;
    int64_t at[2];
    plan.lookups.offsets(plan.of_row.divide(piece[p]), at);
    id[p] = plan.ids[at[1]];
    out[p] = plan.out + at[0];
    begin[p] = static_cast<int64_t>(piece[p]) * kCount - skew_of(out[p]);
    left[p] = plan.width - begin[p];
  }
  Words<T, kCount> words[kPieces];
#pragma unroll
  for (int p = 0; p < kPieces; ++p) {
    if (!there[p]) continue;
    const T* from = plan.table + id[p] * plan.table_row + begin[p];
    const bool bad = id[p] < 0 || id[p] >= plan.rows;
    if (bad && piece[p] == 0) atomicAdd(plan.errors, 1ull);
    if (!bad && begin[p] >= 0 && left[p] >= kCount) {
      words[p] = load_words_anywhere<kCount>(from, begin[p], left[p] - kCount);
      continue;
    }
    T x[kCount];
#pragma unroll
    for (int i = 0; i < kCount; ++i) x[i] = !bad && begin[p] + i >= 0 && i < left[p] ? from[i] : plan.bad;
    words[p] = pack_words<T>(x);
  }
#pragma unroll
  for (int p = 0; p < kPieces; ++p) {
    if (!there[p]) continue;
    if (begin[p] >= 0 && left[p] >= kCount) {
      store_word(out[p] + begin[p], words[p].word[0]);
      continue;
    }
    T x[kCount];
    words[p].unpack_to(x);
#pragma unroll
    for (int i = 0; i < kCount; ++i)
      if (begin[p] + i >= 0 && i < left[p]) out[p][begin[p] + i] = x[i];
  }
}

// What a row of a bad id is filled with.
template <class T>
T bad_element(oprt_dtype_t dtype) {
  switch (dtype) {
    case OPRT_DTYPE_F16: return static_cast<T>(0x7E00);
    case OPRT_DTYPE_BF16: return static_cast<T>(0x7FC0);
    case OPRT_DTYPE_F32: return static_cast<T>(0x7FC00000);
    default: return 0;
  }
}

template <int kEach, class T, class Id, class U>
Status look_up_by_lanes(const Call& call, Lookup<T, Id, U> lookup, int64_t rows, int64_t pieces) {
  int lane_bits = 0;
  while (lane_bits < kLaneBits && int64_t{kEach} << lane_bits < pieces) ++lane_bits;
  const int64_t of_row = blocks_for(pieces, int64_t{kEach} << lane_bits);
  lookup.count = static_cast<U>(rows);
  lookup.of_row = Divider<U>(of_row);
  return launch<embedding_lanes<kEach, T, Id, U>>(
      "embedding", call, {blocks_for(rows, kLaneThreads >> lane_bits) * of_row, kLaneThreads}, lookup, lane_bits);
}

template <class T, class Id, bool kRows>
Status look_up(const EmbeddingPlan& plan, const Call& call) {
  constexpr int kCount = kPieceElements<T>;
  const Loop lookups = loop_of(plan.lookups, {0, 2});
  T* out = first<T>(call, plan.lookups, 0);
  const T* table = static_cast<const T*>(call.data[1]);
  // Where a row of out begins between two 16-byte addresses, its pieces do as if it began at the lower one.
  const bool aligned = rows_aligned(lookups, 0, out, sizeof(T), lookups.rank);
  const bool whole = aligned && is_aligned(table) && plan.table_row % kCount == 0 && plan.width % kCount == 0;
  const int64_t of_row = kRows ? blocks_for(plan.width + (aligned ? 0 : kCount - 1), kCount) : plan.width;
  const int64_t whole_of_row = blocks_for(plan.width, kCount);
  const int64_t count = lookups.count * of_row;
  unsigned long long* errors = nullptr;
  OPRT_TRY(device_error_counter(call.device, &errors));
  return with_index_type(count, [&](auto u) -> Status {
    using U = decltype(u);
    const Lookup<T, Id, U> lookup = {first<const Id>(call, plan.lookups, 2),
                                     table,
                                     out,
                                     static_cast<U>(count),
                                     Divider<U>(of_row),
                                     plan.table_row,
                                     plan.rows,
                                     plan.width,
                                     plan.table_column,
                                     plan.out_column,
                                     errors,
                                     bad_element<T>(plan.dtype),
                                     Nest<U, 2>(lookups, lookups.rank)};
    if constexpr (kRows) {
      const bool preparing = preparing_on != kNotPreparing;  // both kernels are loaded
      if (whole || preparing) {
        const auto by_lanes = [&](auto each) {
          return look_up_by_lanes<each>(call, lookup, lookups.count, whole_of_row);
        };
        OPRT_TRY(pieces_each(lookups.count * whole_of_row) == 1 ? by_lanes(std::integral_constant<int, 1>{})
                                                                : by_lanes(std::integral_constant<int, 2>{}));
      }
      if (whole && !preparing) return {};
      return launch<embedding_windows<T, Id, U>>("embedding", call, {blocks_for(count, kPieces * kThreads), kThreads},
                                                 lookup);
    } else {
      return launch<embedding_elements<T, Id, U>>("embedding", call, {blocks_for(count, kThreads), kThreads}, lookup);
    }
  });
}

template <bool kRows>
Status run(const EmbeddingPlan& plan, const Call& call) {
  return with_index(plan.ids.dtype, [&](auto id) {
    using Id = decltype(id);
    switch (size_of(plan.dtype)) {
      case 2: return look_up<uint16_t, Id, kRows>(plan, call);
      case 4: return look_up<uint32_t, Id, kRows>(plan, call);
      default: return look_up<uint64_t, Id, kRows>(plan, call);
    }
  });
}

constexpr Kernel<EmbeddingPlan> kKernels[] = {{"embedding_rows", run<true>}, {"embedding_strided", run<false>}};

Status choose(const EmbeddingPlan& plan, const Call&, const Kernel<EmbeddingPlan>** kernel) {
  const bool rows = plan.table_column == 1 && plan.out_column == 1 && plan.width * size_of(plan.dtype) >= kPieceBytes;
  *kernel = &kKernels[rows ? 0 : 1];
  return {};
}

}  // namespace

const Backend<EmbeddingPlan> embedding_gpu = {kKernels, 2, choose, nullptr};

}  // namespace oprt
