// The elementwise skeleton: out[i] = f(in0[i], in1[i]) over any Loop. f takes and returns elements as they are in
// registers (device/vector.cuh) and is a pure function of them, so an element's bits are the same on every path. The
// paths are in device/nest.h.
//
// In place is safe on all of them: a thread loads what it needs of an element before it stores that element, and no
// other thread reads it.
#pragma once

#include "oprt/core/elementwise.h"
#include "oprt/device/functor.cuh"
#include "oprt/device/launch.cuh"
#include "oprt/device/nest.h"
#include "oprt/device/transpose.cuh"
#include "oprt/device/vector.cuh"

namespace oprt {

constexpr int kElementwiseThreads = 256;
// Of small calls, up to so many pieces: the multiprocessors share them more evenly. In place of 256, bf16 of 512 KB
// each: silu 1.40 us (1.47), gelu by tanh 1.67 (1.77); f32 from 64 MB on would be a fifth slower.
constexpr int kElementwiseFewThreads = 128;
constexpr int64_t kElementwiseFew = int64_t{1} << 16;
// Blocks that a multiprocessor must hold at once: all it can, with 32 registers a thread.
constexpr int kElementwiseBlocks = kMultiprocessorThreads / kElementwiseThreads;

// Elements of a piece: what fills 16 bytes of the output. Lanes that store two words each, at twice the distance, reach
// 82 % of a copy's speed.
template <class To>
constexpr int kWidth = kPieceElements<To>;

// Threads of the warps that `threads` of them fill.
__host__ __device__ constexpr int64_t warps_for(int64_t threads) { return (threads + kLanes - 1) / kLanes * kLanes; }

// A thread takes a piece of `pieces`, and kRest: of the elements after the last whole piece, each takes one, in a warp
// of their own: their latency is not added to another's. On an H200 two or four pieces a thread cost 3 and 5 % of a
// copy of 1 GB and up to a third of small calls; the code of a rest, where there is none, 0.05 us of 0.65.
template <bool kRest, class To, class From, int kInputs, class F>
__global__ void __launch_bounds__(kElementwiseThreads, kElementwiseBlocks)
    elementwise_contiguous(int64_t pieces, int rest, To* out, Sources<From, kInputs> in, F f) {
  begin_kernel();
  constexpr int kCount = kWidth<To>;
  const int64_t index = int64_t{blockIdx.x} * blockDim.x + threadIdx.x, begin = index * kCount;
  if (index < pieces) {
    compute_t<From> x[kInputs][kCount];
    compute_t<To> y[kCount];
    Words<From, kCount> words[kInputs];
#pragma unroll
    for (int k = 0; k < kInputs; ++k) words[k] = load_words<kCount>(in.of[k] + begin);
#pragma unroll
    for (int k = 0; k < kInputs; ++k) words[k].unpack_to(x[k]);
    apply(f, x, y);
    store_piece(out + begin, y);
  } else if constexpr (kRest) {
    const int64_t of_rest = index - warps_for(pieces), at = pieces * kCount + of_rest;
    if (of_rest < 0 || of_rest >= rest) return;
    compute_t<From> x[kInputs][1];
    compute_t<To> y[1];
#pragma unroll
    for (int k = 0; k < kInputs; ++k) x[k][0] = widen(in.of[k][at]);
    apply(f, x, y);
    out[at] = narrow<To>(y[0]);
  }
}

// A block takes kEach * threads elements; thread t its elements t, t + threads, ...: a warp's accesses are one run.
// For up to kUnalignedFew elements: less code than elementwise_rows, and 0.1 to 0.5 us faster at 1 MB, for 16 bits; at
// 16 MB up to 0.9 us slower.
constexpr int kUnalignedEach = 8;
constexpr int64_t kUnalignedFew = int64_t{1} << 20;

template <class To, class From, int kInputs, class F>
__global__ void __launch_bounds__(kElementwiseThreads, kElementwiseBlocks)
    elementwise_unaligned(int64_t count, To* out, Sources<From, kInputs> in, F f) {
  begin_kernel();
  const int64_t begin = int64_t{blockIdx.x} * kElementwiseThreads * kUnalignedEach + threadIdx.x;
  const int64_t left = (count - begin + kElementwiseThreads - 1) / kElementwiseThreads;
  const int present = static_cast<int>(left < kUnalignedEach ? left : kUnalignedEach);
  compute_t<From> x[kInputs][kUnalignedEach];
  compute_t<To> y[kUnalignedEach];
#pragma unroll
  for (int k = 0; k < kInputs; ++k) load_each(in.of[k] + begin, kElementwiseThreads, present, compute_t<From>{}, x[k]);
  apply(f, x, y);
  store_each(out + begin, kElementwiseThreads, present, y);
}

// What a thread of the other paths needs to find its pieces.
template <class U, int kOperands>
struct LoopPieces {
  U count;
  Divider<U> of_row;          // pieces of a row
  int64_t length;             // elements of a row
  int64_t stride[kOperands];  // on the innermost axis
  Nest<U, kOperands> nest;    // the axes outside the innermost
};

// Rows of out that are contiguous; a thread takes a piece of one. kWhole: of all operands every row begins at a 16-byte
// address and is whole pieces long. Else pieces are cut at out's 16-byte addresses, so that all are stored whole but a
// row's first and last; inputs that lie differently are read as windows of aligned words. In place both lie alike, and
// a thread reads no byte that another writes.
template <bool kWhole, class To, class From, int kInputs, class U, class F>
__global__ void __launch_bounds__(kElementwiseThreads, kElementwiseBlocks)
    elementwise_rows(const __grid_constant__ LoopPieces<U, kInputs + 1> pieces, To* out, Sources<From, kInputs> in,
                     F f) {
  begin_kernel();
  constexpr int kCount = kWidth<To>;
  U index = static_cast<U>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (index >= pieces.count) return;
  const U row = pieces.of_row.divide(index);
  int64_t at[kInputs + 1];
  pieces.nest.offsets(row, at);
  out += at[0];
  const int64_t begin = static_cast<int64_t>(index) * kCount - (kWhole ? 0 : skew_of(out));
  const int64_t left = pieces.length - begin;
  const bool whole = kWhole || (begin >= 0 && left >= kCount);
  Words<From, kCount> words[kInputs];
  compute_t<From> x[kInputs][kCount];
  compute_t<To> y[kCount];
#pragma unroll
  for (int k = 0; k < kInputs; ++k) {
    in.of[k] += at[k + 1];
    if (pieces.stride[k + 1] != 0 && whole)
      words[k] = kWhole ? load_words<kCount>(in.of[k] + begin)
                        : load_words_anywhere<kCount>(in.of[k] + begin, begin, left - kCount);
  }
#pragma unroll
  for (int k = 0; k < kInputs; ++k) {
    if (pieces.stride[k + 1] == 0) {  // one element stands for the whole row
      const auto value = widen(*in.of[k]);
#pragma unroll
      for (int i = 0; i < kCount; ++i) x[k][i] = value;
    } else if (whole) {
      words[k].unpack_to(x[k]);
    } else {
#pragma unroll
      for (int i = 0; i < kCount; ++i)
        x[k][i] = begin + i >= 0 && i < left ? widen(in.of[k][begin + i]) : compute_t<From>{};
    }
  }
  apply(f, x, y);
  if (whole) {
    store_piece(out + begin, y);
  } else {
#pragma unroll
    for (int i = 0; i < kCount; ++i)
      if (begin + i >= 0 && i < left) out[begin + i] = narrow<To>(y[i]);
  }
}

// Anything else: one element a thread.
template <class To, class From, int kInputs, class U, class F>
__global__ void __launch_bounds__(kElementwiseThreads, kElementwiseBlocks)
    elementwise_strided(const __grid_constant__ LoopPieces<U, kInputs + 1> pieces, To* out, Sources<From, kInputs> in,
                        F f) {
  begin_kernel();
  U index = static_cast<U>(blockIdx.x) * kElementwiseThreads + threadIdx.x;
  if (index >= pieces.count) return;
  const U row = pieces.of_row.divide(index);
  int64_t at[kInputs + 1];
  pieces.nest.offsets(row, at);
  compute_t<From> x[kInputs][1];
  compute_t<To> y[1];
#pragma unroll
  for (int k = 0; k < kInputs; ++k)
    x[k][0] = widen(in.of[k][at[k + 1] + static_cast<int64_t>(index) * pieces.stride[k + 1]]);
  apply(f, x, y);
  out[at[0] + static_cast<int64_t>(index) * pieces.stride[0]] = narrow<To>(y[0]);
}

inline LaunchShape elementwise_shape(int64_t pieces) {
  const int threads = pieces <= kElementwiseFew ? kElementwiseFewThreads : kElementwiseThreads;
  return {blocks_for(pieces, threads), threads};
}

// of_row: pieces of a row.
template <class U, int kOperands>
LoopPieces<U, kOperands> pieces_of(const Loop& loop, int64_t of_row) {
  const int inner = loop.rank - 1;
  const int64_t length = loop.shape[inner];
  LoopPieces<U, kOperands> pieces = {
      static_cast<U>(loop.count / length * of_row), Divider<U>(of_row), length, {}, Nest<U, kOperands>(loop, inner)};
  for (int k = 0; k < kOperands; ++k) pieces.stride[k] = loop.strides[k][inner];
  return pieces;
}

// f over the whole loop, on the path that loop_path gave for it. The pointers are the loop's first elements. kTiles:
// not where the caller has a kernel of its own for transposes.
template <bool kTiles = true, class To, class From, int kInputs, class F>
Status elementwise(const char* op, LoopPath path, const Loop& loop, const Call& call, To* out,
                   Sources<From, kInputs> in, const F& f) {
  constexpr int kCount = kWidth<To>, kOperands = kInputs + 1;
  if (path == LoopPath::kContiguous) {
    const int64_t whole = loop.count / kCount;
    const int rest = static_cast<int>(loop.count % kCount);
    if (rest == 0)
      return launch<elementwise_contiguous<false, To, From, kInputs, F>>(op, call, elementwise_shape(whole), whole, 0,
                                                                         out, in, f);
    return launch<elementwise_contiguous<true, To, From, kInputs, F>>(
        op, call, elementwise_shape(warps_for(whole) + rest), whole, rest, out, in, f);
  }
  // At create both kernels of this path are loaded.
  if (path == LoopPath::kUnaligned && (loop.count < kUnalignedFew || preparing_on != kNotPreparing)) {
    const Status status = launch<elementwise_unaligned<To, From, kInputs, F>>(
        op, call, {blocks_for(loop.count, kUnalignedEach * kElementwiseThreads), kElementwiseThreads}, loop.count, out,
        in, f);
    if (preparing_on == kNotPreparing || !status.ok()) return status;
  }
  if constexpr (kTiles && sizeof(To) == sizeof(From))
    if (path == LoopPath::kTranspose) return elementwise_turned(op, loop, call, out, in, f);
  const int64_t length = loop.shape[loop.rank - 1], rows = loop.count / length;
  if (path == LoopPath::kStrided)
    return with_index_type(loop.count, [&](auto u) {
      using U = decltype(u);
      return launch<elementwise_strided<To, From, kInputs, U, F>>(
          op, call, {blocks_for(loop.count, kElementwiseThreads), kElementwiseThreads},
          pieces_of<U, kOperands>(loop, length), out, in, f);
    });
  // Where a row of out begins between two 16-byte addresses, its pieces do as if it began at the lower one.
  const int outer = loop.rank - 1;
  const bool aligned = rows_aligned(loop, 0, out, sizeof(To), outer);
  bool whole = aligned && length % kCount == 0;
  for (int k = 0; k < kInputs; ++k)
    whole = whole && (loop.strides[k + 1][outer] == 0 || rows_aligned(loop, k + 1, in.of[k], sizeof(From), outer));
  const int64_t of_row = blocks_for(length + (aligned ? 0 : kPieceElements<To> - 1), kCount);
  return with_index_type(rows * of_row, [&](auto u) -> Status {
    using U = decltype(u);
    const LaunchShape shape = elementwise_shape(rows * of_row);
    const auto pieces = pieces_of<U, kOperands>(loop, of_row);
    if (whole || preparing_on != kNotPreparing)
      OPRT_TRY((launch<elementwise_rows<true, To, From, kInputs, U, F>>(op, call, shape, pieces, out, in, f)));
    if (whole && preparing_on == kNotPreparing) return {};
    return launch<elementwise_rows<false, To, From, kInputs, U, F>>(op, call, shape, pieces, out, in, f);
  });
}

// The same, for operands of one type: operand 0 of the call is the output, the inputs follow.
template <class T, int kInputs, class F>
Status elementwise(const char* op, LoopPath path, const Loop& loop, const Call& call, const F& f) {
  Sources<T, kInputs> in;
  for (int k = 0; k < kInputs; ++k) in.of[k] = first<const T>(call, loop, k + 1);
  return elementwise(op, path, loop, call, first<T>(call, loop, 0), in, f);
}

// The same, for a loop of plan_gated: operand 1 of the call holds gate and up.
template <class T, class F>
Status elementwise_gated(const char* op, LoopPath path, const Loop& loop, const Call& call, const F& f) {
  const T* in = static_cast<const T*>(call.data[1]);
  const Sources<T, 2> halves = {{in + loop.offset[1], in + loop.offset[2]}};
  return elementwise(op, path, loop, call, first<T>(call, loop, 0), halves, f);
}

// The path of a loop whose operands' first elements are these. Squares are of one size of element both ways.
inline LoopPath path_for(const Loop& loop, const void* const* data, int64_t out_bytes, int64_t in_bytes) {
  const LoopPath path = loop_path(loop, kPieceBytes / out_bytes, data);
  return path == LoopPath::kTranspose && in_bytes != out_bytes ? LoopPath::kStrided : path;
}

// Of operands of one type, each in its own memory, and of those of plan_gated.
inline LoopPath path_of(const ElementwisePlan& plan, const Call& call) {
  const void* data[kMaxOperands];
  for (int k = 0; k < plan.loop.operands; ++k)
    data[k] = static_cast<const char*>(call.data[k]) + plan.loop.offset[k] * size_of(plan.dtype);
  return path_for(plan.loop, data, size_of(plan.dtype), size_of(plan.dtype));
}
inline LoopPath gated_path_of(const ElementwisePlan& plan, const Call& call) {
  Call halves = call;
  halves.data[2] = call.data[1];
  return path_of(plan, halves);
}

}  // namespace oprt

// The GPU backend of an operator on the elementwise skeleton: the kernels <op>_contiguous, _unaligned, _rows,
// _transpose and _strided, each of them <op>_run(plan, call, path); `path_of_call` says which a call takes. For the end
// of an <op>_gpu.cu.
#define OPRT_ELEMENTWISE_GPU_BACKEND(op, Plan, path_of_call)                                           \
  template <LoopPath kPath>                                                                            \
  static Status op##_on(const Plan& plan, const Call& call) {                                          \
    return op##_run(plan, call, kPath);                                                                \
  }                                                                                                    \
  static constexpr Kernel<Plan> op##_kernels[] = {{#op "_contiguous", op##_on<LoopPath::kContiguous>}, \
                                                  {#op "_unaligned", op##_on<LoopPath::kUnaligned>},   \
                                                  {#op "_rows", op##_on<LoopPath::kRows>},             \
                                                  {#op "_transpose", op##_on<LoopPath::kTranspose>},   \
                                                  {#op "_strided", op##_on<LoopPath::kStrided>}};      \
  static Status op##_choose(const Plan& plan, const Call& call, const Kernel<Plan>** kernel) {         \
    *kernel = &op##_kernels[static_cast<int>(path_of_call(plan, call))];                               \
    return {};                                                                                         \
  }                                                                                                    \
  const Backend<Plan> op##_gpu = {op##_kernels, 5, op##_choose, nullptr}
