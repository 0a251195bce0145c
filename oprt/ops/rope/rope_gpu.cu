// rope on the GPU.
//
// Work:     a thread takes one unit of one head of one token: the pairs whose elements fill 16 bytes (half-split: 16
//           bytes of each half), or as many of the elements that do not turn. All threads of a token read its position.
// Traffic:  in and out once; the tables' rows from cache but for the first head.
// Bad positions: the tables are not read; the token's heads become NaN, and its first thread counts it.
// In place is safe: a thread reads the elements that it alone writes, before it writes.
//
//   rope_rows       head_dim contiguous in both, and the units of 16 bytes; where everything is whole, of one or
//                   two heads at once
//   rope_strided    anything else: one pair a thread; the same bits
#include <cmath>

#include "oprt/device/launch.cuh"
#include "oprt/device/nest.h"
#include "oprt/device/vector.cuh"
#include "oprt/ops/rope/rope_plan.h"
#include "oprt/runtime/device_errors.h"

namespace oprt {
namespace {

// 8192 x 32 x 128 on an H200: 95 to 96 % of a copy; with 64 bytes of loads a thread 93 to 96 %, with 16 81 %. Blocks of
// 256 take 2 to 10 % longer, and 20 % at 64 x 32 x 128.
constexpr int kThreads = 128;
template <bool kHalves>
constexpr int kHeadsEach = kHalves ? 1 : 2;  // 32 bytes of a thread's loads under way

// What a kernel looks at first lies first, as do the few axes that tokens mostly have.
template <class T, class Position, class U>
struct Turn {
  U count;                    // units in all
  Divider<U> of_head, heads;  // units of a head, heads of a token
  const Position* positions;
  const T* in;
  T* out;
  int64_t in_head, out_head, pairs;
  const float* cos;
  const float* sin;
  int64_t cos_row, sin_row, max_position;
  unsigned long long* errors;
  Nest<U, 3> tokens;  // out, in, positions
  int64_t turning;    // units of a head that turn; the others are moved
  int64_t head_dim, out_element, in_element, cos_pair, sin_pair;
  bool aligned;  // every unit of in and out at a 16-byte address

  explicit Turn(const Loop& loop) : tokens(loop, loop.rank) {}
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
  begin_kernel();
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

// Heads all of whose elements turn, in whole units at 16-byte addresses, and tables that lie so too. A thread takes the
// same unit of some heads of a token: it loads their words, then the table's once.
template <class T, class Position, class U, bool kHalves>
__global__ void __launch_bounds__(kThreads)
    rope_heads(const __grid_constant__ Turn<T, Position, U> plan, int heads, int heads_apart) {
  begin_kernel();
  constexpr int kCount = kPieceElements<T>, kPairs = kHalves ? kCount : kCount / 2, kWords = kHalves ? 2 : 1;
  U unit = static_cast<U>(blockIdx.x) * kThreads + threadIdx.x;
  if (unit >= plan.count) return;
  U first_head = plan.of_head.divide(unit);
  const U token = plan.heads.divide(first_head);
  int64_t at[3];
  plan.tokens.offsets(token, at);
  const int64_t position = plan.positions[at[2]], pair = static_cast<int64_t>(unit) * kPairs;
  const int64_t begin = kHalves ? pair : 2 * pair;
  const T* in = plan.in + at[1] + begin;
  T* out = plan.out + at[0] + begin;
  const auto head = [&](int h) { return static_cast<int>(first_head) + h * heads_apart; };
  Words<T, kCount> words[kHeadsEach<kHalves>][kWords];
#pragma unroll
  for (int h = 0; h < kHeadsEach<kHalves>; ++h)
    if (head(h) < heads)
#pragma unroll
      for (int w = 0; w < kWords; ++w) words[h][w] = load_words<kCount>(in + head(h) * plan.in_head + w * plan.pairs);

  const bool bad = position < 0 || position >= plan.max_position;
  if (bad && unit == 0 && first_head == 0) atomicAdd(plan.errors, 1ull);
  float cos[kPairs], sin[kPairs];
#pragma unroll
  for (int i = 0; i < kPairs; ++i) cos[i] = sin[i] = NAN;
  if (!bad) {
    const float* cos_from = plan.cos + position * plan.cos_row + pair;
    const float* sin_from = plan.sin + position * plan.sin_row + pair;
    if constexpr (kPairs % kPieceElements<float> == 0) {
      load_words_constant<kPairs>(cos_from).unpack_to(cos);
      load_words_constant<kPairs>(sin_from).unpack_to(sin);
    } else {
      static_assert(kPairs == 2);
      const float2 two_cos = __ldg(reinterpret_cast<const float2*>(cos_from));
      const float2 two_sin = __ldg(reinterpret_cast<const float2*>(sin_from));
      cos[0] = two_cos.x;
      cos[1] = two_cos.y;
      sin[0] = two_sin.x;
      sin[1] = two_sin.y;
    }
  }
#pragma unroll
  for (int h = 0; h < kHeadsEach<kHalves>; ++h) {
    if (head(h) >= heads) continue;
    T* to = out + head(h) * plan.out_head;
    float x[kWords][kCount], y[kWords][kCount];
#pragma unroll
    for (int w = 0; w < kWords; ++w) words[h][w].unpack_to(x[w]);
#pragma unroll
    for (int i = 0; i < kPairs; ++i) {
      const float a = kHalves ? x[0][i] : x[0][2 * i], b = kHalves ? x[kWords - 1][i] : x[0][2 * i + 1];
      (kHalves ? y[0][i] : y[0][2 * i]) = fmaf(-b, sin[i], a * cos[i]);
      (kHalves ? y[kWords - 1][i] : y[0][2 * i + 1]) = fmaf(a, sin[i], b * cos[i]);
    }
#pragma unroll
    for (int w = 0; w < kWords; ++w) store_piece(to + w * plan.pairs, y[w]);
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
    Turn<T, Position, U> turn(tokens);
    turn.of_head = Divider<U>(of_head);
    turn.heads = Divider<U>(plan.heads);
    turn.count = static_cast<U>(count);
    turn.turning = turning;
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
    if constexpr (kCount == kPieceElements<T>) {
      const auto whole_rows = [](const float* table, int64_t row, int64_t pair) {
        return is_aligned(table) && row * sizeof(float) % kPieceBytes == 0 && pair == 1;
      };
      const bool preparing = preparing_on != kNotPreparing;
      const bool whole = turn.aligned && plan.head_dim == 2 * plan.pairs && plan.pairs % kPairs == 0 &&
                         plan.heads <= INT32_MAX && whole_rows(turn.cos, plan.cos_row, plan.cos_pair) &&
                         whole_rows(turn.sin, plan.sin_row, plan.sin_pair);
      if (whole || preparing) {
        Turn<T, Position, U> heads = turn;
        const int64_t apart = blocks_for(plan.heads, kHeadsEach<kHalves>);
        heads.heads = Divider<U>(apart);
        heads.count = static_cast<U>(tokens.count * apart * of_head);
        OPRT_TRY((launch<rope_heads<T, Position, U, kHalves>>(
            "rope", call, {blocks_for(tokens.count * apart * of_head, kThreads), kThreads}, heads,
            static_cast<int>(plan.heads), static_cast<int>(apart))));
      }
      if (whole && !preparing) return Status{};
    }
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
