// The elementwise skeleton: out[i] = f(in0[i], in1[i], ...) over any Loop. f takes and returns f32 vectors; it is a pure
// function of its lanes, so an element's bits are the same on every path.
//
//   path         when                                        how
//   contiguous   one axis, all strides 1                     whole vectors; past the cache with streaming stores
//   rows         the innermost axis has strides 1 (inputs:   the same on each row; a stride-0 input is one value
//                or 0) and at least kMinRow elements
//   strided      anything else                               blocks gathered into the stack, computed, scattered
#if defined(OPRT_DEVICE_CPU_ELEMENTWISE_H) == defined(HWY_TARGET_TOGGLE)
#ifdef OPRT_DEVICE_CPU_ELEMENTWISE_H
#undef OPRT_DEVICE_CPU_ELEMENTWISE_H
#else
#define OPRT_DEVICE_CPU_ELEMENTWISE_H
#endif

#include "oprt/core/call.h"
#include "oprt/core/parallel.h"
#include "oprt/device/cpu/paths.h"
#include "oprt/device/cpu/simd.h"

HWY_BEFORE_NAMESPACE();
namespace oprt {
namespace HWY_NAMESPACE {

// f over n elements of unit-stride operands. kStream: the output does not fit the cache.
template <bool kStream, class T, class F, class... In>
HWY_INLINE void elementwise_span(int64_t n, F& f, T* out, const In*... in) {
  const int64_t step = static_cast<int64_t>(lanes());
  int64_t i = 0;
  if (kStream) {
    // Up to the first whole vector of the output; out is a multiple of sizeof(T), so this ends.
    const size_t vector = lanes() * sizeof(T);
    const size_t past = reinterpret_cast<uintptr_t>(out) % vector;
    const int64_t head = past ? static_cast<int64_t>((vector - past) / sizeof(T)) : 0;
    if (head && head <= n) {
      store_n(f(load_f32_n(in, head)...), out, head);
      i = head;
    }
    for (; i + 4 * step <= n; i += 4 * step) {
      stream(f(load_f32(in + i)...), out + i);
      stream(f(load_f32(in + i + step)...), out + i + step);
      stream(f(load_f32(in + i + 2 * step)...), out + i + 2 * step);
      stream(f(load_f32(in + i + 3 * step)...), out + i + 3 * step);
    }
  }
  for (; i + 4 * step <= n; i += 4 * step) {
    const auto a = f(load_f32(in + i)...);
    const auto b = f(load_f32(in + i + step)...);
    const auto c = f(load_f32(in + i + 2 * step)...);
    const auto d = f(load_f32(in + i + 3 * step)...);
    store(a, out + i);
    store(b, out + i + step);
    store(c, out + i + 2 * step);
    store(d, out + i + 3 * step);
  }
  for (; i + step <= n; i += step) store(f(load_f32(in + i)...), out + i);
  if (i < n) store_n(f(load_f32_n(in + i, n - i)...), out + i, n - i);
}

// One row of a Loop's innermost axis from each input: unit stride in place, one repeated value filled into a buffer.
constexpr int64_t kBlock = 512;  // elements a buffer holds: three f32 buffers stay in L1

template <class T>
HWY_INLINE const T* fill_block(T* buffer, T value, int64_t n) {
  for (int64_t i = 0; i < n; ++i) buffer[i] = value;
  return buffer;
}

// A place in a Loop, counted in elements of the flattened index, with one element offset per operand.
struct Odometer {
  const Loop& loop;
  int64_t index[OPRT_MAX_DIMS];
  int64_t at[kMaxOperands];

  Odometer(const Loop& loop, int64_t flat) : loop(loop), index{}, at{} {
    for (int d = loop.rank - 1; d >= 0; --d) {
      index[d] = flat % loop.shape[d];
      flat /= loop.shape[d];
      for (int k = 0; k < loop.operands; ++k) at[k] += index[d] * loop.strides[k][d];
    }
  }

  int64_t left_in_row() const { return loop.rank ? loop.shape[loop.rank - 1] - index[loop.rank - 1] : 1; }

  // Moves on by n <= left_in_row() elements.
  void advance(int64_t n) {
    int d = loop.rank - 1;
    if (d < 0) return;
    index[d] += n;
    for (int k = 0; k < loop.operands; ++k) at[k] += n * loop.strides[k][d];
    while (index[d] == loop.shape[d] && d > 0) {
      for (int k = 0; k < loop.operands; ++k) at[k] += loop.strides[k][d - 1] - loop.shape[d] * loop.strides[k][d];
      index[d] = 0;
      ++index[--d];
    }
  }
};

// The general path: blocks of kBlock logical elements, gathered operand by operand.
template <class T, class F, class... In>
void elementwise_strided(const Loop& loop, int64_t begin, int64_t end, F& f, T* out, const In*... in) {
  constexpr int kInputs = sizeof...(In);
  struct Buffers {
    HWY_ALIGN T in[kInputs][kBlock];
    HWY_ALIGN T out[kBlock];
  } buffers;
  const T* const from[kInputs] = {in...};
  Odometer at(loop, begin);
  const int inner = loop.rank - 1;
  for (int64_t done = begin; done < end;) {
    const int64_t n = end - done < kBlock ? end - done : kBlock;
    Odometer gather = at;
    for (int64_t filled = 0; filled < n;) {
      const int64_t left = gather.left_in_row();
      const int64_t run = left < n - filled ? left : n - filled;
      for (int k = 0; k < kInputs; ++k) {
        const int64_t stride = inner < 0 ? 0 : loop.strides[k + 1][inner];
        const T* source = from[k] + gather.at[k + 1];
        for (int64_t i = 0; i < run; ++i) buffers.in[k][filled + i] = source[i * stride];
      }
      filled += run;
      gather.advance(run);
    }
    [&]<size_t... k>(std::index_sequence<k...>) {
      elementwise_span<false>(n, f, buffers.out, static_cast<const T*>(buffers.in[k])...);
    }(std::make_index_sequence<kInputs>());
    for (int64_t written = 0; written < n;) {
      const int64_t left = at.left_in_row();
      const int64_t run = left < n - written ? left : n - written;
      const int64_t stride = inner < 0 ? 0 : loop.strides[0][inner];
      T* to = out + at.at[0];
      for (int64_t i = 0; i < run; ++i) to[i * stride] = buffers.out[written + i];
      written += run;
      at.advance(run);
    }
    done += n;
  }
}

// The row path: outer axes by odometer, the innermost in whole vectors.
template <bool kStream, class T, class F, class... In>
void elementwise_rows(const Loop& loop, int64_t begin, int64_t end, F& f, T* out, const In*... in) {
  constexpr int kInputs = sizeof...(In);
  const int inner = loop.rank - 1;
  HWY_ALIGN T repeated[kInputs][kBlock];
  Odometer at(loop, begin);
  while (begin < end) {
    const int64_t left = at.left_in_row();
    int64_t n = left < end - begin ? left : end - begin;
    bool any_repeated = false;
    for (int k = 0; k < kInputs; ++k) any_repeated = any_repeated || loop.strides[k + 1][inner] == 0;
    if (any_repeated && n > kBlock) n = kBlock;
    int k = -1;
    const auto row = [&](const T* p) {
      ++k;
      const T* source = p + at.at[k + 1];
      return loop.strides[k + 1][inner] == 0 ? fill_block(repeated[k], *source, n) : source;
    };
    const T* rows[kInputs] = {row(in)...};
    [&]<size_t... j>(std::index_sequence<j...>) {
      elementwise_span<kStream>(n, f, out + at.at[0], rows[j]...);
    }(std::make_index_sequence<kInputs>());
    at.advance(n);
    begin += n;
  }
}

// f over the whole loop. Operand 0 of the call is the output, the inputs follow.
template <class T, int kInputs, class F>
void elementwise(const Loop& loop, const Call& call, F f) {
  T* out = first<T>(call, loop, 0);
  [&]<size_t... k>(std::index_sequence<k...>) {
    const ElementwisePath path = elementwise_path(loop);
    const bool past_cache = loop.count * static_cast<int64_t>(sizeof(T)) >= kStreamBytes;
    parallel_for(loop.count, grain_of(sizeof(T)), [&](int64_t begin, int64_t end) {
      if (path == ElementwisePath::kContiguous) {
        if (past_cache)
          elementwise_span<true>(end - begin, f, out + begin, first<const T>(call, loop, k + 1) + begin...);
        else
          elementwise_span<false>(end - begin, f, out + begin, first<const T>(call, loop, k + 1) + begin...);
      } else if (path == ElementwisePath::kRows) {
        if (past_cache && loop.shape[loop.rank - 1] >= kBlock)
          elementwise_rows<true>(loop, begin, end, f, out, first<const T>(call, loop, k + 1)...);
        else
          elementwise_rows<false>(loop, begin, end, f, out, first<const T>(call, loop, k + 1)...);
      } else {
        elementwise_strided(loop, begin, end, f, out, first<const T>(call, loop, k + 1)...);
      }
      if (past_cache) hwy::FlushStream();
    });
  }(std::make_index_sequence<kInputs>());
}

}  // namespace HWY_NAMESPACE
}  // namespace oprt
HWY_AFTER_NAMESPACE();

#endif
