// embedding on the GPU: rows of the table, moved as integers of the elements' size.
//
// Work:     a thread takes two pieces of rows of out, or one element; a row's threads all read its id, from cache but
// for
//           the first.
// Traffic:  the ids and each row picked once, out once.
// Bad ids:  memory outside the table is never read. The row of out becomes NaN (0 for integers), and the row's first
//           thread counts it.
//
//   embedding_rows       the table's rows and out's are whole pieces of 16 bytes at 16-byte addresses
//   embedding_strided    anything else: single elements, neighbours beside neighbours
#include "oprt/device/launch.cuh"
#include "oprt/device/nest.h"
#include "oprt/device/vector.cuh"
#include "oprt/ops/embedding/embedding_plan.h"
#include "oprt/runtime/device_errors.h"

namespace oprt {
namespace {

constexpr int kThreads = 256, kPieces = 2;

template <class T, class Id, class U>
struct Lookup {
  Nest<U, 2> lookups;   // out's rows, ids
  Divider<U> of_row;    // pieces (elements) of a row
  U count;              // in all
  int64_t rows, width;  // of the table
  int64_t table_row, table_column, out_column;
  T bad;
  T* out;
  const T* table;
  const Id* ids;
  unsigned long long* errors;
};

template <class T, class Id, class U>
__global__ void __launch_bounds__(kThreads) embedding_elements(const __grid_constant__ Lookup<T, Id, U> plan) {
  begin_kernel();
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

// The id and the piece of the second are under way while the first's are.
template <class T, class Id, class U>
__global__ void __launch_bounds__(kThreads) embedding_whole_pieces(const __grid_constant__ Lookup<T, Id, U> plan) {
  begin_kernel();
  constexpr int kCount = kPieceElements<T>;
  U piece[kPieces];
  int64_t at[kPieces][2], id[kPieces];
  bool there[kPieces];
#pragma unroll
  for (int p = 0; p < kPieces; ++p) {
    piece[p] = (static_cast<U>(blockIdx.x) * kPieces + p) * kThreads + threadIdx.x;
    there[p] = piece[p] < plan.count;
    if (!there[p]) continue;
    plan.lookups.offsets(plan.of_row.divide(piece[p]), at[p]);
    id[p] = plan.ids[at[p][1]];
  }
  Words<T, kCount> words[kPieces];
#pragma unroll
  for (int p = 0; p < kPieces; ++p) {
    if (!there[p]) continue;
    if (id[p] < 0 || id[p] >= plan.rows) {
      if (piece[p] == 0) atomicAdd(plan.errors, 1ull);
      T bad[kCount];
#pragma unroll
      for (int i = 0; i < kCount; ++i) bad[i] = plan.bad;
      words[p] = pack_words<T>(bad);
    } else {
      words[p] = load_words<kCount>(plan.table + id[p] * plan.table_row + static_cast<int64_t>(piece[p]) * kCount);
    }
  }
#pragma unroll
  for (int p = 0; p < kPieces; ++p)
    if (there[p]) store_word(plan.out + at[p][0] + static_cast<int64_t>(piece[p]) * kCount, words[p].word[0]);
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

template <class T, class Id, bool kRows>
Status look_up(const EmbeddingPlan& plan, const Call& call) {
  const Loop lookups = loop_of(plan.lookups, {0, 2});
  const int64_t of_row = kRows ? plan.width / kPieceElements<T> : plan.width, count = lookups.count * of_row;
  unsigned long long* errors = nullptr;
  OPRT_TRY(device_error_counter(call.device, &errors));
  return with_index_type(count, [&](auto u) {
    using U = decltype(u);
    Lookup<T, Id, U> lookup = {Nest<U, 2>(lookups, lookups.rank),
                               Divider<U>(of_row),
                               static_cast<U>(count),
                               plan.rows,
                               plan.width,
                               plan.table_row,
                               plan.table_column,
                               plan.out_column};
    lookup.bad = bad_element<T>(plan.dtype);
    lookup.out = first<T>(call, plan.lookups, 0);
    lookup.table = static_cast<const T*>(call.data[1]);
    lookup.ids = first<const Id>(call, plan.lookups, 2);
    lookup.errors = errors;
    if constexpr (kRows)
      return launch<embedding_whole_pieces<T, Id, U>>("embedding", call,
                                                      {blocks_for(count, kPieces * kThreads), kThreads}, lookup);
    else
      return launch<embedding_elements<T, Id, U>>("embedding", call, {blocks_for(count, kThreads), kThreads}, lookup);
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

Status choose(const EmbeddingPlan& plan, const Call& call, const Kernel<EmbeddingPlan>** kernel) {
  const int64_t bytes = size_of(plan.dtype);
  const char* out = static_cast<const char*>(call.data[0]) + plan.lookups.offset[0] * bytes;
  const bool whole = plan.table_column == 1 && plan.out_column == 1 && plan.width * bytes % kPieceBytes == 0 &&
                     is_aligned(call.data[1]) && plan.table_row * bytes % kPieceBytes == 0 &&
                     rows_aligned(plan.lookups, 0, out, bytes, plan.lookups.rank);
  *kernel = &kKernels[whole ? 0 : 1];
  return {};
}

}  // namespace

const Backend<EmbeddingPlan> embedding_gpu = {kKernels, 2, choose, nullptr};

}  // namespace oprt
