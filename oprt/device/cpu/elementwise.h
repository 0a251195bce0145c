// The elementwise skeleton: out[i] = f(in0[i], in1[i], ...) over any Loop. f takes and returns f32 vectors; it is a
// pure function of its lanes, so an element's bits are the same on every path.
//
//   path         when                                        how
//   contiguous   one axis, all strides 1                     whole vectors; past the cache with streaming stores
//   rows         the innermost axis has strides 1 (inputs:   the same on each row; a stride-0 input is one value,
//                or 0) and at least kMinRow elements         repeated in a buffer
//   strided      anything else                               tiles; an operand whose elements do not follow each other
//                                                            there is gathered into a buffer (the output: scattered)
#if defined(OPRT_DEVICE_CPU_ELEMENTWISE_H) == defined(HWY_TARGET_TOGGLE)
#ifdef OPRT_DEVICE_CPU_ELEMENTWISE_H
#undef OPRT_DEVICE_CPU_ELEMENTWISE_H
#else
#define OPRT_DEVICE_CPU_ELEMENTWISE_H
#endif

#include <tuple>
#include <utility>

#include "oprt/core/elementwise.h"
#include "oprt/core/parallel.h"
#include "oprt/device/cpu/paths.h"
#include "oprt/device/cpu/simd.h"
#include "oprt/device/cpu/tile.h"

HWY_BEFORE_NAMESPACE();
namespace oprt {
namespace HWY_NAMESPACE {

// f over the elements [i, end) of unit-stride operands, a vector at a time.
template <class F, class Out, class... In>
HWY_INLINE void elementwise_few(int64_t i, int64_t end, F& f, Out* out, const In*... in) {
  const int64_t step = static_cast<int64_t>(lanes());
  for (; i + step <= end; i += step) store(f(load_f32(in + i)...), out + i);
  if (i < end) store_n(f(load_f32_n(in + i, end - i)...), out + i, end - i);
}

// The same over n elements, four vectors at a time. kStream: the output does not fit the cache, and whole lines of it
// go past it (see to_line).
template <bool kStream, class F, class Out, class... In>
HWY_INLINE void elementwise_span(int64_t n, F& f, Out* out, const In*... in) {
  const int64_t step = static_cast<int64_t>(lanes());
  int64_t i = 0;
  if constexpr (kStream) {
    i = std::min(n, to_line(out));
    elementwise_few(0, i, f, out, in...);
    for (; i + 4 * step <= n; i += 4 * step) {
      stream(f(load_f32(in + i)...), out + i);
      stream(f(load_f32(in + i + step)...), out + i + step);
      stream(f(load_f32(in + i + 2 * step)...), out + i + 2 * step);
      stream(f(load_f32(in + i + 3 * step)...), out + i + 3 * step);
    }
  } else {
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
  }
  elementwise_few(i, n, f, out, in...);
}

template <bool kStream, class F, class Out, class... In>
void elementwise_contiguous(const Loop& loop, const F& f, Out* out, const In*... in) {
  parallel_for(loop.count, grain_of(sizeof(Out)), [&](int64_t begin, int64_t end) {
    elementwise_span<kStream>(end - begin, f, out + begin, in + begin...);
    if (kStream) hwy::FlushStream();
  });
}

template <bool kStream, class F, class Out, class... In, size_t... k>
void elementwise_rows(std::index_sequence<k...>, const Loop& loop, const F& f, Out* out, const In*... in) {
  const Tiling tiling = row_tiles(loop);
  const bool repeats = (... || (tiling.col_stride(k + 1) == 0));
  parallel_for(tiling.count(), 1, [&](int64_t begin, int64_t end) {
    std::tuple<RowInput<In>...> inputs;
    tiling.walk(begin, end, [&](const int64_t* at, int64_t rows, int64_t cols) {
      const int64_t piece = repeats ? std::min(cols, kRepeated) : cols;
      for (int64_t r = 0; r < rows; ++r) {
        (std::get<k>(inputs).start(in + at[k + 1] + r * tiling.row_stride(k + 1), cols, tiling.col_stride(k + 1)), ...);
        Out* row = out + at[0] + r * tiling.row_stride(0);
        for (int64_t c = 0; c < cols; c += piece)
          elementwise_span<kStream>(std::min(piece, cols - c), f, row + c, std::get<k>(inputs).from(c)...);
      }
    });
    if (kStream) hwy::FlushStream();
  });
}

template <class F, class Out, class... In, size_t... k>
void elementwise_strided(std::index_sequence<k...>, const Loop& loop, const F& f, Out* out, const In*... in) {
  const Tiling tiling = gathered_tiles(loop);
  parallel_for(tiling.count(), grain_of(sizeof(Out)) / kTileElements, [&](int64_t begin, int64_t end) {
    std::tuple<TileBuffer<In, kTileElements>...> from;
    TileBuffer<Out, kTileElements> to;
    tiling.walk(begin, end, [&](const int64_t* at, int64_t rows, int64_t cols) {
      const Strided<Out> target = tiling.tile(out, at, 0);
      const bool in_place = is_dense(target, rows, cols);
      elementwise_span<false>(rows * cols, f, in_place ? target.data : to.data,
                              std::get<k>(from).gather(tiling.tile(in, at, k + 1), rows, cols)...);
      if (!in_place) copy_tile<Out>(target, {to.data, cols, 1}, rows, cols);
    });
  });
}

// f over the whole loop, on the path that elementwise_path gave for it. The pointers are the loop's first elements.
template <class F, class Out, class... In>
void elementwise(ElementwisePath path, const Loop& loop, const F& f, Out* out, const In*... in) {
  const std::index_sequence_for<In...> inputs;
  const bool stream = streams(loop, sizeof(Out));
  switch (path) {
    case ElementwisePath::kContiguous:
      return stream ? elementwise_contiguous<true>(loop, f, out, in...)
                    : elementwise_contiguous<false>(loop, f, out, in...);
    case ElementwisePath::kRows:
      return stream ? elementwise_rows<true>(inputs, loop, f, out, in...)
                    : elementwise_rows<false>(inputs, loop, f, out, in...);
    case ElementwisePath::kStrided: return elementwise_strided(inputs, loop, f, out, in...);
  }
}

// The same, for operands of one type: operand 0 of the call is the output, the inputs follow.
template <class T, int kInputs, class F>
void elementwise(ElementwisePath path, const Loop& loop, const Call& call, const F& f) {
  [&]<size_t... k>(std::index_sequence<k...>) {
    elementwise(path, loop, f, first<T>(call, loop, 0), first<const T>(call, loop, k + 1)...);
  }(std::make_index_sequence<kInputs>());
}

// The same, for a loop of plan_gated: operand 1 of the call holds gate and up.
template <class T, class F>
void elementwise_gated(ElementwisePath path, const Loop& loop, const Call& call, const F& f) {
  const T* in = static_cast<const T*>(call.data[1]);
  elementwise(path, loop, f, first<T>(call, loop, 0), in + loop.offset[1], in + loop.offset[2]);
}

}  // namespace HWY_NAMESPACE
}  // namespace oprt
HWY_AFTER_NAMESPACE();

#endif
