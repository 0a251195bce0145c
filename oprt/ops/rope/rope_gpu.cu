// rope on the GPU.
//
// Work:     a thread takes one unit of one head of one token: the pairs whose elements fill 16 bytes (half-split: 16
//           bytes of each half), or as many of the elements that do not turn. All threads of a token read its position.
// Traffic:  in and out once; the tables' rows from cache but for the first head.
// Bad positions: the tables are not read; the token's heads become NaN, and its first thread counts it.
// In place is safe: a thread reads the elements that it alone writes, before it writes.
//
//   rope_rows       head_dim contiguous in both, and the units of 16 bytes
//   rope_strided    anything else: one pair a thread; the same bits
#include <cmath>

#include "oprt/device/launch.cuh"
#include "oprt/device/nest.h"
#include "oprt/device/vector.cuh"
#include "oprt/ops/rope/rope_plan.h"
#include "oprt/runtime/device_errors.h"

namespace oprt {
namespace {

constexpr int kThreads = 256;

template <class T, class Position, class U>
struct Turn {
  Nest<U, 3> tokens;          // out, in, positions
  Divider<U> of_head, heads;  // units of a head, heads of a token
  U count;                    // units in all
  int64_t turning;            // units of a head that turn; the others are moved
  int64_t pairs, head_dim;
  int64_t out_head, out_element, in_head, in_element;
  int64_t cos_row, cos_pair, sin_row, sin_pair;
  int64_t max_position;
  bool aligned;  // every unit of in and out at a 16-byte address
  T* out;
  const T* in;
  const float* cos;
  const float* sin;
  const Position* positions;
  unsigned long long* errors;
};

// kCount elements of a head, from `begin`; past `present` they are not there.
template <int kCount, class T>
__device__ __forceinline__ void load_unit(const T* head, int64_t begin, int64_t stride, int present, bool aligned,
                                          float (&x)[kCount]) {
  if constexpr (kCount == kPieceElements<T>) {
    if (aligned && present == kCount) return load_piece(head + begin, x);
  }
  load_each(head + begin * stride, stride, present, 0.0f, x);
}
template <int kCount, class T>
__device__ __forceinline__ void store_unit(T* head, int64_t begin, int64_t stride, int present, bool aligned,
                                           const float (&y)[kCount]) {
  if constexpr (kCount == kPieceElements<T>) {
    if (aligned && present == kCount) return store_piece(head + begin, y);
  }
  store_each(head + begin * stride, stride, present, y);
}

__device__ __forceinline__ int at_most(int64_t left, int count) {
  return static_cast<int>(left < count ? left : count);
}

// kCount: elements of a unit (of each half, half-split); 1 or 2 on the strided path.
template <class T, class Position, class U, int kCount, bool kHalves>
__global__ void __launch_bounds__(kThreads) rope_units(const __grid_constant__ Turn<T, Position, U> plan) {
  U unit = static_cast<U>(blockIdx.x) * kThreads + threadIdx.x;
  if (unit >= plan.count) return;
  U head = plan.of_head.divide(unit);
  const U token = plan.heads.divide(head);
  int64_t at[3];
  plan.tokens.offsets(token, at);
  const int64_t position = plan.positions[at[2]];
  const T* in = plan.in + at[1] + static_cast<int64_t>(head) * plan.in_head;
  T* out = plan.out + at[0] + static_cast<int64_t>(head) * plan.out_head;
  const bool bad = position < 0 || position >= plan.max_position;
  if (bad && unit == 0 && head == 0) atomicAdd(plan.errors, 1ull);

  if (static_cast<int64_t>(unit) >= plan.turning) {
    const int64_t begin = 2 * plan.pairs + (static_cast<int64_t>(unit) - plan.turning) * kCount;
    const int present = at_most(plan.head_dim - begin, kCount);
    float x[kCount];
    load_unit(in, begin, plan.in_element, present, plan.aligned, x);
#pragma unroll
    for (int i = 0; i < kCount; ++i) x[i] = bad ? NAN : x[i];
    store_unit(out, begin, plan.out_element, present, plan.aligned, x);
    return;
  }

  constexpr int kPairs = kHalves ? kCount : kCount / 2;
  const int64_t pair = static_cast<int64_t>(unit) * kPairs;
  const int present = at_most(plan.pairs - pair, kPairs);
  float cos[kPairs], sin[kPairs];
#pragma unroll
  for (int i = 0; i < kPairs; ++i) {
    const bool there = i < present && !bad;
    cos[i] = there ? plan.cos[position * plan.cos_row + (pair + i) * plan.cos_pair] : NAN;
    sin[i] = there ? plan.sin[position * plan.sin_row + (pair + i) * plan.sin_pair] : NAN;
  }
  if constexpr (kHalves) {
    float a[kCount], b[kCount], turned_a[kCount], turned_b[kCount];
    load_unit(in, pair, plan.in_element, present, plan.aligned, a);
    load_unit(in, plan.pairs + pair, plan.in_element, present, plan.aligned, b);
#pragma unroll
    for (int i = 0; i < kCount; ++i) {
      turned_a[i] = fmaf(-b[i], sin[i], a[i] * cos[i]);
      turned_b[i] = fmaf(a[i], sin[i], b[i] * cos[i]);
    }
    store_unit(out, pair, plan.out_element, present, plan.aligned, turned_a);
    store_unit(out, plan.pairs + pair, plan.out_element, present, plan.aligned, turned_b);
  } else {
    float x[kCount], y[kCount];
    load_unit(in, 2 * pair, plan.in_element, 2 * present, plan.aligned, x);
#pragma unroll
    for (int i = 0; i < kPairs; ++i) {
      y[2 * i] = fmaf(-x[2 * i + 1], sin[i], x[2 * i] * cos[i]);
      y[2 * i + 1] = fmaf(x[2 * i], sin[i], x[2 * i + 1] * cos[i]);
    }
    store_unit(out, 2 * pair, plan.out_element, 2 * present, plan.aligned, y);
  }
}

template <class T, class Position, int kCount, bool kHalves>
Status turn(const RopePlan& plan, const Call& call) {
  constexpr int kPairs = kHalves ? kCount : kCount / 2;
  const Loop tokens = loop_of(plan.tokens, {0, 1, 4});
  const int64_t turning = blocks_for(plan.pairs, kPairs);
  const int64_t of_head = turning + blocks_for(plan.head_dim - 2 * plan.pairs, kCount);
  const int64_t count = tokens.count * plan.heads * of_head;
  unsigned long long* errors = nullptr;
  OPRT_TRY(device_error_counter(call.device, &errors));
  return with_index_type(count, [&](auto u) {
    using U = decltype(u);
    Turn<T, Position, U> turn = {Nest<U, 3>(tokens, tokens.rank), Divider<U>(of_head), Divider<U>(plan.heads),
                                 static_cast<U>(count), turning};
    turn.pairs = plan.pairs;
    turn.head_dim = plan.head_dim;
    turn.out_head = plan.out_head;
    turn.out_element = plan.out_element;
    turn.in_head = plan.in_head;
    turn.in_element = plan.in_element;
    turn.cos_row = plan.cos_row;
    turn.cos_pair = plan.cos_pair;
    turn.sin_row = plan.sin_row;
    turn.sin_pair = plan.sin_pair;
    turn.max_position = plan.max_position;
    turn.out = first<T>(call, plan.tokens, 0);
    turn.in = first<const T>(call, plan.tokens, 1);
    turn.cos = static_cast<const float*>(call.data[2]);
    turn.sin = static_cast<const float*>(call.data[3]);
    turn.positions = first<const Position>(call, plan.tokens, 4);
    turn.errors = errors;
    // Units begin at multiples of 16 bytes from a head's first element, and so do the second half and what is moved.
    turn.aligned = rows_aligned(tokens, 0, turn.out, sizeof(T), tokens.rank) &&
                   rows_aligned(tokens, 1, turn.in, sizeof(T), tokens.rank) &&
                   plan.out_head * sizeof(T) % kPieceBytes == 0 && plan.in_head * sizeof(T) % kPieceBytes == 0 &&
                   plan.pairs * sizeof(T) % kPieceBytes == 0;
    return launch<rope_units<T, Position, U, kCount, kHalves>>("rope", call, {blocks_for(count, kThreads), kThreads},
                                                               turn);
  });
}

template <bool kRows>
Status run(const RopePlan& plan, const Call& call) {
  return with_float(plan.dtype, [&](auto t) {
    return with_index(plan.positions.dtype, [&](auto position) {
      using T = decltype(t);
      using Position = decltype(position);
      if (plan.mode == OPRT_ROPE_HALF) return turn<T, Position, kRows ? kPieceElements<T> : 1, true>(plan, call);
      return turn<T, Position, kRows ? kPieceElements<T> : 2, false>(plan, call);
    });
  });
}

constexpr Kernel<RopePlan> kKernels[] = {{"rope_rows", run<true>}, {"rope_strided", run<false>}};

Status choose(const RopePlan& plan, const Call&, const Kernel<RopePlan>** kernel) {
  *kernel = &kKernels[plan.out_element == 1 && plan.in_element == 1 ? 0 : 1];
  return {};
}

}  // namespace

const Backend<RopePlan> rope_gpu = {kKernels, 2, choose, nullptr};

}  // namespace oprt
