// The elementwise skeleton: out[i] = f(in0[i], in1[i]) over any Loop. f takes and returns elements as they are in
// registers (device/vector.cuh) and is a pure function of them, so an element's bits are the same on every path. The
// paths are in device/nest.h.
//
// In place is safe on all of them: a thread loads what it needs of an element before it stores that element, and no
// other thread reads it.
#pragma once

#include <algorithm>

#include "oprt/core/elementwise.h"
#include "oprt/device/launch.cuh"
#include "oprt/device/nest.h"
#include "oprt/device/vector.cuh"

namespace oprt {

constexpr int kElementwiseThreads = 256;

// Pieces that a thread loads before it uses the first: bytes in flight are what a memory-bound kernel lives on.
// Not yet measured against other values.
template <int kInputs>
constexpr int kPiecesInFlight = kInputs == 1 ? 2 : 1;

template <class To, class From>
constexpr int kWidth = kPieceElements<std::conditional_t<(sizeof(To) < sizeof(From)), To, From>>;

template <class T, int kInputs>
struct Sources {
  const T* of[kInputs];
};

// f of kInputs arrays' elements.
template <int kCount, class Y, class X, int kInputs, class F>
__device__ __forceinline__ void apply(const F& f, const X (&x)[kInputs][kCount], Y (&y)[kCount]) {
#pragma unroll
  for (int i = 0; i < kCount; ++i) {
    if constexpr (kInputs == 1)
      y[i] = f(x[0][i]);
    else
      y[i] = f(x[0][i], x[1][i]);
  }
}

// A block takes a tile of kPiecesInFlight * threads pieces; thread t its pieces t, t + threads, ...
template <class To, class From, int kInputs, class F>
__global__ void __launch_bounds__(kElementwiseThreads)
    elementwise_contiguous(int64_t count, To* out, Sources<From, kInputs> in, F f) {
  constexpr int kCount = kWidth<To, From>, kPieces = kPiecesInFlight<kInputs>;
  const int64_t tile = int64_t{blockIdx.x} * kElementwiseThreads * kPieces;
  compute_t<From> x[kPieces][kInputs][kCount];
  int present[kPieces];
#pragma unroll
  for (int p = 0; p < kPieces; ++p) {
    const int64_t begin = (tile + p * kElementwiseThreads + threadIdx.x) * kCount;
    const int64_t left = count - begin;
    present[p] = static_cast<int>(left < kCount ? left : kCount);
#pragma unroll
    for (int k = 0; k < kInputs; ++k) {
      if (present[p] == kCount)
        load_piece(in.of[k] + begin, x[p][k]);
      else
        load_each(in.of[k] + begin, 1, present[p], compute_t<From>{}, x[p][k]);
    }
  }
#pragma unroll
  for (int p = 0; p < kPieces; ++p) {
    const int64_t begin = (tile + p * kElementwiseThreads + threadIdx.x) * kCount;
    compute_t<To> y[kCount];
    apply(f, x[p], y);
    if (present[p] == kCount)
      store_piece(out + begin, y);
    else
      store_each(out + begin, 1, present[p], y);
  }
}

// A block takes kEach * threads elements; thread t its elements t, t + threads, ...: a warp's accesses are one run.
constexpr int kUnalignedEach = 8;

template <class To, class From, int kInputs, class F>
__global__ void __launch_bounds__(kElementwiseThreads)
    elementwise_unaligned(int64_t count, To* out, Sources<From, kInputs> in, F f) {
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

// What a thread of the rows and strided paths needs to find its piece of kCount elements.
template <class U, int kOperands>
struct Pieces {
  Nest<U, kOperands> nest;  // the axes outside the innermost
  Divider<U> of_row;        // pieces of a row
  U count;
  int64_t length;             // elements of a row
  int64_t stride[kOperands];  // on the innermost axis
  bool aligned[kOperands];    // every row at a 16-byte address, and stride 1
};

template <class To, class From, int kInputs, int kCount, class U, class F>
__global__ void __launch_bounds__(kElementwiseThreads)
    elementwise_pieces(const __grid_constant__ Pieces<U, kInputs + 1> pieces, To* out, Sources<From, kInputs> in, F f) {
  U piece = static_cast<U>(blockIdx.x) * kElementwiseThreads + threadIdx.x;
  if (piece >= pieces.count) return;
  const U row = pieces.of_row.divide(piece);
  int64_t at[kInputs + 1];
  pieces.nest.offsets(row, at);
  const int64_t begin = static_cast<int64_t>(piece) * kCount, left = pieces.length - begin;
  const int present = static_cast<int>(left < kCount ? left : kCount);
  compute_t<From> x[kInputs][kCount];
  compute_t<To> y[kCount];
#pragma unroll
  for (int k = 0; k < kInputs; ++k) {
    const int64_t stride = pieces.stride[k + 1];
    const From* from = in.of[k] + at[k + 1] + begin * stride;
    if constexpr (kCount > 1) {
      if (pieces.aligned[k + 1] && present == kCount) {
        load_piece(from, x[k]);
        continue;
      }
    }
    load_each(from, stride, present, compute_t<From>{}, x[k]);
  }
  apply(f, x, y);
  To* to = out + at[0] + begin * pieces.stride[0];
  if constexpr (kCount > 1) {
    if (pieces.aligned[0] && present == kCount) return store_piece(to, y);
  }
  store_each(to, pieces.stride[0], present, y);
}

template <int kCount, class To, class From, int kInputs, class F>
Status launch_pieces(const char* op, const Loop& loop, const Call& call, To* out, Sources<From, kInputs> in,
                     const F& f) {
  const int inner = loop.rank - 1;
  const int64_t of_row = blocks_for(loop.shape[inner], kCount), count = loop.count / loop.shape[inner] * of_row;
  return with_index_type(count, [&](auto u) {
    using U = decltype(u);
    Pieces<U, kInputs + 1> pieces = {Nest<U, kInputs + 1>(loop, inner), Divider<U>(of_row), static_cast<U>(count),
                                     loop.shape[inner]};
    for (int k = 0; k <= kInputs; ++k) {
      const void* first = k == 0 ? static_cast<const void*>(out) : in.of[k == 0 ? 0 : k - 1];
      pieces.stride[k] = loop.strides[k][inner];
      pieces.aligned[k] =
          pieces.stride[k] == 1 && rows_aligned(loop, k, first, k == 0 ? sizeof(To) : sizeof(From), inner);
    }
    return launch<elementwise_pieces<To, From, kInputs, kCount, U, F>>(
        op, call, {blocks_for(count, kElementwiseThreads), kElementwiseThreads}, pieces, out, in, f);
  });
}

// f over the whole loop, on the path that loop_path gave for it. The pointers are the loop's first elements.
template <class To, class From, int kInputs, class F>
Status elementwise(const char* op, LoopPath path, const Loop& loop, const Call& call, To* out,
                   Sources<From, kInputs> in, const F& f) {
  constexpr int kCount = kWidth<To, From>;
  switch (path) {
    case LoopPath::kContiguous:
      return launch<elementwise_contiguous<To, From, kInputs, F>>(
          op, call,
          {blocks_for(loop.count, kCount * kPiecesInFlight<kInputs> * kElementwiseThreads), kElementwiseThreads},
          loop.count, out, in, f);
    case LoopPath::kUnaligned:
      return launch<elementwise_unaligned<To, From, kInputs, F>>(
          op, call, {blocks_for(loop.count, kUnalignedEach * kElementwiseThreads), kElementwiseThreads}, loop.count,
          out, in, f);
    case LoopPath::kRows: return launch_pieces<kCount>(op, loop, call, out, in, f);
    case LoopPath::kStrided: break;
  }
  return launch_pieces<1>(op, loop, call, out, in, f);
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

// The path of a loop whose operands' first elements are these.
inline LoopPath path_for(const Loop& loop, const void* const* data, int64_t out_bytes, int64_t in_bytes) {
  return loop_path(loop, kPieceBytes / std::min(out_bytes, in_bytes), data);
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

// The GPU backend of an operator on the elementwise skeleton: the kernels <op>_contiguous, _unaligned, _rows and
// _strided, each of them <op>_run(plan, call, path); `path_of_call` says which a call takes. For the end of an
// <op>_gpu.cu.
#define OPRT_ELEMENTWISE_GPU_BACKEND(op, Plan, path_of_call)                                           \
  template <LoopPath kPath>                                                                            \
  static Status op##_on(const Plan& plan, const Call& call) {                                          \
    return op##_run(plan, call, kPath);                                                                \
  }                                                                                                    \
  static constexpr Kernel<Plan> op##_kernels[] = {{#op "_contiguous", op##_on<LoopPath::kContiguous>}, \
                                                  {#op "_unaligned", op##_on<LoopPath::kUnaligned>},   \
                                                  {#op "_rows", op##_on<LoopPath::kRows>},             \
                                                  {#op "_strided", op##_on<LoopPath::kStrided>}};      \
  static Status op##_choose(const Plan& plan, const Call& call, const Kernel<Plan>** kernel) {         \
    *kernel = &op##_kernels[static_cast<int>(path_of_call(plan, call))];                               \
    return {};                                                                                         \
  }                                                                                                    \
  const Backend<Plan> op##_gpu = {op##_kernels, 4, op##_choose, nullptr}
