// matmul_tiled: both operands packed into panels of the workspace, widened to f32, then tiles of out in registers.
//
// Tile:     kTileRows x 2 vectors of sums; a step of k loads two vectors of b and spreads six elements of a: 12
//           multiply-adds for 8 loads.
// Work:     a task is one panel of b's columns against a block of a's panels, kDepth steps of k at a time: the piece of
//           b (16 KiB on AVX2) stays in L1 while the block's pieces of a (96 KiB) come from L2.
// Traffic:  a and b once to pack; packed b once for each block, packed a once for each panel of b; out once.
// Order:    one chain of multiply-adds over k for each element, whatever the shape and the number of threads.
#if defined(OPRT_OPS_MATMUL_TILED_CPU_H) == defined(HWY_TARGET_TOGGLE)
#ifdef OPRT_OPS_MATMUL_TILED_CPU_H
#undef OPRT_OPS_MATMUL_TILED_CPU_H
#else
#define OPRT_OPS_MATMUL_TILED_CPU_H
#endif

#include "oprt/ops/matmul/matmul_layout_cpu.h"
#include "oprt/ops/matmul/matmul_panels_cpu.h"

HWY_BEFORE_NAMESPACE();
namespace oprt {
namespace HWY_NAMESPACE {

constexpr int64_t kDepth = 256;       // steps of k between two visits to the sums in L1
constexpr int64_t kBlockPanels = 16;  // panels of a in a block, at most

HWY_INLINE int64_t tile_columns() { return 2 * static_cast<int64_t>(lanes()); }

// sums[r, c] += sum_k a[k, r] b[k, c]               r in [0, kTileRows), c in [0, tile_columns()), k in [0, depth)
HWY_INLINE void add_tile(const float* a, const float* b, int64_t depth, float* sums) {
  const F32 d;
  const size_t n = lanes();
  VecF32 s[kTileRows][2];
  for (int r = 0; r < kTileRows; ++r) {
    s[r][0] = hn::LoadU(d, sums + 2 * r * n);
    s[r][1] = hn::LoadU(d, sums + 2 * r * n + n);
  }
  for (int64_t k = 0; k < depth; ++k, a += kTileRows, b += 2 * n) {
    const auto b0 = hn::LoadU(d, b), b1 = hn::LoadU(d, b + n);
    for (int r = 0; r < kTileRows; ++r) {
      const auto x = hn::Set(d, a[r]);
      s[r][0] = hn::MulAdd(x, b0, s[r][0]);
      s[r][1] = hn::MulAdd(x, b1, s[r][1]);
    }
  }
  for (int r = 0; r < kTileRows; ++r) {
    hn::StoreU(s[r][0], d, sums + 2 * r * n);
    hn::StoreU(s[r][1], d, sums + 2 * r * n + n);
  }
}

// to[k, line] = from[line, k], line in [0, width), zero from `lines` on; k in [0, depth).
template <class T>
void pack_panel(const T* from, int64_t line_stride, int64_t k_stride, int64_t lines, int64_t width, int64_t depth,
                float* to) {
  if (lines < width) std::fill_n(to, depth * width, 0.0f);
  if (line_stride == 1 || k_stride != 1) {
    for (int64_t k = 0; k < depth; ++k) widen_run(from + k * k_stride, line_stride, lines, to + k * width);
    return;
  }
  constexpr int64_t kRun = 32;  // each line is read a cache line or two at a time, whole vectors
  HWY_ALIGN float runs[kMostTileColumns][kRun];
  for (int64_t k = 0; k < depth; k += kRun) {
    const int64_t n = std::min(kRun, depth - k);
    for (int64_t line = 0; line < lines; ++line) widen_run(from + line * line_stride + k, 1, n, runs[line]);
    for (int64_t i = 0; i < n; ++i)
      for (int64_t line = 0; line < lines; ++line) to[(k + i) * width + line] = runs[line][i];
  }
}

template <class T>
void pack(const T* from, int64_t line_stride, int64_t k_stride, int64_t lines, int64_t width, int64_t depth,
          float* panels) {
  parallel_for(divide_up(lines, width), grain_of_products(depth * width), [&](int64_t begin, int64_t end) {
    for (int64_t p = begin; p < end; ++p)
      pack_panel(from + p * width * line_stride, line_stride, k_stride, std::min(width, lines - p * width), width,
                 depth, panels + p * width * depth);
  });
}

template <class T>
void tiled_product(const MatmulPlan& plan, const Call& call, const Odometer& at, float* panels) {
  const int64_t columns = tile_columns();
  const int64_t a_panels = divide_up(plan.m, kTileRows), b_panels = divide_up(plan.n, columns);
  const int64_t blocks = divide_up(a_panels, kBlockPanels), block = divide_up(a_panels, blocks);
  float* const packed_a = panels;
  float* const packed_b = panels + a_panels * kTileRows * plan.k;
  pack(a_of<T>(plan, call, at), plan.a.row, plan.a.column, plan.m, kTileRows, plan.k, packed_a);
  pack(b_of<T>(plan, call, at), plan.b.column, plan.b.row, plan.n, columns, plan.k, packed_b);

  const int64_t grain = grain_of_products(plan.k * block * kTileRows / 4 * columns);
  parallel_for(blocks * b_panels, grain, [&](int64_t begin, int64_t end) {
    HWY_ALIGN float sums[kBlockPanels * kTileRows * kMostTileColumns];
    for (int64_t task = begin; task < end; ++task) {
      const int64_t first_panel = task / b_panels * block, last_panel = std::min(first_panel + block, a_panels);
      const int64_t column = task % b_panels * columns;
      const float* b = packed_b + column * plan.k;
      std::fill_n(sums, (last_panel - first_panel) * kTileRows * columns, 0.0f);
      for (int64_t k = 0; k < plan.k; k += kDepth)
        for (int64_t p = first_panel; p < last_panel; ++p)
          add_tile(packed_a + (p * plan.k + k) * kTileRows, b + k * columns, std::min(kDepth, plan.k - k),
                   sums + (p - first_panel) * kTileRows * columns);
      for (int64_t row = first_panel * kTileRows; row < std::min(last_panel * kTileRows, plan.m); ++row)
        finish(plan, sums + (row - first_panel * kTileRows) * columns, std::min(columns, plan.n - column),
               Target<T>(plan, call, at, row, column));
    }
  });
}

}  // namespace HWY_NAMESPACE
}  // namespace oprt
HWY_AFTER_NAMESPACE();

#endif
