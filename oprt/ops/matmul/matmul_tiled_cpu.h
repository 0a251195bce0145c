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

constexpr int64_t kDepth = 256;                 // steps of k between two visits to the sums in L1
constexpr int64_t kBlockPanels = 16;            // panels of a in a block, at most
constexpr int64_t kProductsOfThread = 1 << 19;  // at least: about 10 us at 50 products a ns

HWY_INLINE int64_t tile_columns() { return 2 * static_cast<int64_t>(lanes()); }

// One row of a tile in registers.
struct TileRow {
  VecF32 left, right;

  HWY_INLINE explicit TileRow(const float* sums)
      : left(hn::LoadU(F32(), sums)), right(hn::LoadU(F32(), sums + lanes())) {}

  HWY_INLINE void add(float x, VecF32 b0, VecF32 b1) {
    left = hn::MulAdd(hn::Set(F32(), x), b0, left);
    right = hn::MulAdd(hn::Set(F32(), x), b1, right);
  }

  HWY_INLINE void store_to(float* sums) const {
    hn::StoreU(left, F32(), sums);
    hn::StoreU(right, F32(), sums + lanes());
  }
};

// sums[r, c] += sum_k a[k, r] b[k, c]               r in [0, kTileRows), c in [0, tile_columns()), k in [0, depth)
//
// Six named rows, not an array: g++ keeps an array of vectors in memory, which costs five sixths of the speed.
HWY_INLINE void add_tile(const float* a, const float* b, int64_t depth, float* sums) {
  static_assert(kTileRows == 6);
  const int64_t n = tile_columns();
  TileRow r0(sums), r1(sums + n), r2(sums + 2 * n), r3(sums + 3 * n), r4(sums + 4 * n), r5(sums + 5 * n);
  for (int64_t k = 0; k < depth; ++k, a += kTileRows, b += n) {
    const auto b0 = hn::LoadU(F32(), b), b1 = hn::LoadU(F32(), b + lanes());
    r0.add(a[0], b0, b1);
    r1.add(a[1], b0, b1);
    r2.add(a[2], b0, b1);
    r3.add(a[3], b0, b1);
    r4.add(a[4], b0, b1);
    r5.add(a[5], b0, b1);
  }
  r0.store_to(sums);
  r1.store_to(sums + n);
  r2.store_to(sums + 2 * n);
  r3.store_to(sums + 3 * n);
  r4.store_to(sums + 4 * n);
  r5.store_to(sums + 5 * n);
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

  const int64_t grain = std::max<int64_t>(1, kProductsOfThread / (plan.k * block * kTileRows * columns));
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
