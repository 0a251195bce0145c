// rope on the CPU. Threads share the heads of all tokens; a token's cosines and sines are laid out once for its heads.
// Positions are checked before the first element is written. In place is safe: a pair is read whole, then written.
//
//   rope_rows       head_dim contiguous in both: whole vectors of pairs
//   rope_strided    anything else, one pair at a time; the same bits
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "oprt/ops/rope/rope_cpu.cpp"
#include <hwy/foreach_target.h>

#include <algorithm>

#include "oprt/core/parallel.h"
#include "oprt/device/cpu/indices.h"
#include "oprt/device/cpu/odometer.h"
#include "oprt/device/cpu/paths.h"
#include "oprt/device/cpu/simd.h"
#include "oprt/ops/rope/rope_plan.h"

HWY_BEFORE_NAMESPACE();
namespace oprt {
namespace HWY_NAMESPACE {

constexpr int64_t kPairs = 256;  // of a head at a time: their cosines and sines take 4 KiB of stack at most

// The factors of pairs [begin, begin + count) at one position, as the vector loops read them.
struct Factors {
  HWY_ALIGN float cos_buffer[2 * kPairs];
  HWY_ALIGN float sin_buffer[2 * kPairs];
  const float* cos;
  const float* sin;

  // Half-split: one factor a pair, in place where the table's rows are contiguous.
  void by_pair(const RopePlan& plan, const float* cosines, const float* sines, int64_t count) {
    cos = plan.cos_pair == 1 ? cosines : cos_buffer;
    sin = plan.sin_pair == 1 ? sines : sin_buffer;
    if (cos == cos_buffer)
      for (int64_t i = 0; i < count; ++i) cos_buffer[i] = cosines[i * plan.cos_pair];
    if (sin == sin_buffer)
      for (int64_t i = 0; i < count; ++i) sin_buffer[i] = sines[i * plan.sin_pair];
  }

  // Interleaved: one factor an element, so that out = in cos + (in with neighbours swapped) (-sin, sin).
  void by_element(const RopePlan& plan, const float* cosines, const float* sines, int64_t count) {
    cos = cos_buffer;
    sin = sin_buffer;
    for (int64_t i = 0; i < count; ++i) {
      cos_buffer[2 * i] = cos_buffer[2 * i + 1] = cosines[i * plan.cos_pair];
      sin_buffer[2 * i + 1] = sines[i * plan.sin_pair];
      sin_buffer[2 * i] = -sin_buffer[2 * i + 1];
    }
  }
};

// `count` pairs of one head: x0 and x1 are the halves' elements, in and out.
template <class T>
HWY_INLINE void turn_halves(const Factors& factors, const T* x0, const T* x1, T* y0, T* y1, int64_t count) {
  const F32 d;
  const int64_t step = static_cast<int64_t>(lanes());
  const auto first_of = [](VecF32 a, VecF32 b, VecF32 c, VecF32 s) { return hn::NegMulAdd(b, s, hn::Mul(a, c)); };
  const auto second_of = [](VecF32 a, VecF32 b, VecF32 c, VecF32 s) { return hn::MulAdd(a, s, hn::Mul(b, c)); };
  int64_t i = 0;
  for (; i + step <= count; i += step) {
    const auto a = load_f32(x0 + i), b = load_f32(x1 + i);
    const auto c = hn::LoadU(d, factors.cos + i), s = hn::LoadU(d, factors.sin + i);
    store(first_of(a, b, c, s), y0 + i);
    store(second_of(a, b, c, s), y1 + i);
  }
  if (i == count) return;
  const size_t n = static_cast<size_t>(count - i);
  const auto a = load_f32_n(x0 + i, n), b = load_f32_n(x1 + i, n);
  const auto c = load_f32_n(factors.cos + i, n), s = load_f32_n(factors.sin + i, n);
  store_n(first_of(a, b, c, s), y0 + i, n);
  store_n(second_of(a, b, c, s), y1 + i, n);
}

// `count` elements, an even number: whole pairs.
template <class T>
HWY_INLINE void turn_neighbours(const Factors& factors, const T* x, T* y, int64_t count) {
  const F32 d;
  const int64_t step = static_cast<int64_t>(lanes());
  const auto turned = [&](VecF32 v, VecF32 c, VecF32 s) {
    return hn::MulAdd(hn::Reverse2(F32(), v), s, hn::Mul(v, c));
  };
  int64_t i = 0;
  for (; i + step <= count; i += step)
    store(turned(load_f32(x + i), hn::LoadU(d, factors.cos + i), hn::LoadU(d, factors.sin + i)), y + i);
  if (i == count) return;
  const size_t n = static_cast<size_t>(count - i);
  store_n(turned(load_f32_n(x + i, n), load_f32_n(factors.cos + i, n), load_f32_n(factors.sin + i, n)), y + i, n);
}

// body(in, out, cosines, sines, heads) for runs of heads of one token; the pointers are at the first head and pair.
template <class T, class Index, class Body>
void for_each_token(const RopePlan& plan, const Call& call, Body&& body) {
  T* out = first<T>(call, plan.tokens, 0);
  const T* in = first<const T>(call, plan.tokens, 1);
  const float* cosines = static_cast<const float*>(call.data[2]);
  const float* sines = static_cast<const float*>(call.data[3]);
  const Index* positions = first<const Index>(call, plan.tokens, 4);
  const int64_t grain = std::max<int64_t>(1, grain_of(sizeof(T)) / plan.head_dim);
  parallel_for(plan.tokens.count * plan.heads, grain, [&](int64_t begin, int64_t end) {
    Odometer at(plan.tokens, begin / plan.heads);
    for (int64_t head = begin % plan.heads; begin < end; head = 0) {
      const int64_t heads = std::min(plan.heads - head, end - begin);
      const int64_t position = positions[at.at[4]];
      body(in + at.at[1] + head * plan.in_head, out + at.at[0] + head * plan.out_head,
           cosines + position * plan.cos_row, sines + position * plan.sin_row, heads);
      at.advance(1);
      begin += heads;
    }
  });
}

template <class T, class Index>
void strided(const RopePlan& plan, const Call& call) {
  const bool halves = plan.mode == OPRT_ROPE_HALF;
  for_each_token<T, Index>(plan, call,
                           [&](const T* in, T* out, const float* cosines, const float* sines, int64_t heads) {
                             for (int64_t head = 0; head < heads; ++head, in += plan.in_head, out += plan.out_head) {
                               for (int64_t i = 0; i < plan.pairs; ++i) {
                                 const int64_t j0 = halves ? i : 2 * i, j1 = halves ? i + plan.pairs : 2 * i + 1;
                                 const float a = widen(in[j0 * plan.in_element]), b = widen(in[j1 * plan.in_element]);
                                 const float c = cosines[i * plan.cos_pair], s = sines[i * plan.sin_pair];
                                 out[j0 * plan.out_element] = narrow<T>(mul_add(b, -s, a * c));
                                 out[j1 * plan.out_element] = narrow<T>(mul_add(a, s, b * c));
                               }
                               for (int64_t j = 2 * plan.pairs; j < plan.head_dim; ++j)
                                 out[j * plan.out_element] = in[j * plan.in_element];
                             }
                           });
}

template <class T, class Index>
void rows(const RopePlan& plan, const Call& call) {
  const bool halves = plan.mode == OPRT_ROPE_HALF;
  if (!halves && lanes() == 1) return strided<T, Index>(plan, call);  // the portable target: no neighbour to swap with
  for_each_token<T, Index>(
      plan, call, [&](const T* in, T* out, const float* cosines, const float* sines, int64_t heads) {
        Factors factors;
        for (int64_t i = 0; i < plan.pairs; i += kPairs) {
          const int64_t count = std::min(kPairs, plan.pairs - i);
          if (halves)
            factors.by_pair(plan, cosines + i * plan.cos_pair, sines + i * plan.sin_pair, count);
          else
            factors.by_element(plan, cosines + i * plan.cos_pair, sines + i * plan.sin_pair, count);
          for (int64_t head = 0; head < heads; ++head) {
            const T* x = in + head * plan.in_head;
            T* y = out + head * plan.out_head;
            if (halves)
              turn_halves(factors, x + i, x + plan.pairs + i, y + i, y + plan.pairs + i, count);
            else
              turn_neighbours(factors, x + 2 * i, y + 2 * i, 2 * count);
          }
        }
        const int64_t turned = 2 * plan.pairs;
        if (turned == plan.head_dim || in == out) return;
        for (int64_t head = 0; head < heads; ++head)
          std::copy(in + head * plan.in_head + turned, in + head * plan.in_head + plan.head_dim,
                    out + head * plan.out_head + turned);
      });
}

template <class F>
void with_types(const RopePlan& plan, F&& f) {
  with_float(plan.dtype, [&](auto t) { with_index(plan.positions.dtype, [&](auto index) { f(t, index); }); });
}

void rows_run(const RopePlan& plan, const Call& call) {
  with_types(plan, [&](auto t, auto index) { rows<decltype(t), decltype(index)>(plan, call); });
}

void strided_run(const RopePlan& plan, const Call& call) {
  with_types(plan, [&](auto t, auto index) { strided<decltype(t), decltype(index)>(plan, call); });
}

}  // namespace HWY_NAMESPACE
}  // namespace oprt
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace oprt {
namespace {

HWY_EXPORT(rows_run);
HWY_EXPORT(strided_run);

Status check_positions(const RopePlan& plan, const Call& call) {
  return with_index(plan.positions.dtype, [&](auto index) {
    return check_inside("rope", "positions", plan.positions, static_cast<const decltype(index)*>(call.data[4]),
                        plan.max_position);
  });
}

Status run_rows(const RopePlan& plan, const Call& call) {
  OPRT_TRY(check_positions(plan, call));
  HWY_DYNAMIC_DISPATCH(rows_run)(plan, call);
  return {};
}

Status run_strided(const RopePlan& plan, const Call& call) {
  OPRT_TRY(check_positions(plan, call));
  HWY_DYNAMIC_DISPATCH(strided_run)(plan, call);
  return {};
}

constexpr Kernel<RopePlan> kKernels[] = {{"rope_rows", run_rows}, {"rope_strided", run_strided}};

Status choose(const RopePlan& plan, const Call&, const Kernel<RopePlan>** kernel) {
  *kernel = &kKernels[plan.out_element == 1 && plan.in_element == 1 ? 0 : 1];
  return {};
}

}  // namespace

const Backend<RopePlan> rope_cpu = {kKernels, 2, choose, nullptr};

}  // namespace oprt
#endif
