// How matmul's CPU kernels lay out their work: which products run at once, what each needs of the workspace, and how
// the library is given its operands. Pure functions of the plan.
#pragma once

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdint>

#include "oprt/core/parallel.h"
#include "oprt/device/cpu/odometer.h"
#include "oprt/ops/matmul/matmul_library.h"
#include "oprt/ops/matmul/matmul_plan.h"

namespace oprt {

// Elements that a thread takes at least, where each costs `products` multiplications: about 10 us of scalar work.
inline int64_t grain_of_products(int64_t products) {
  return std::max<int64_t>(1, (int64_t{1} << 15) / std::max<int64_t>(1, products));
}

// Multiplications of one product, as the scale of its work.
inline double products_of(const MatmulPlan& plan) { return static_cast<double>(plan.m) * plan.n * plan.k; }

// The library keeps to one thread up to here: 64^3 takes it 7.7 us so, 10.9 us on two, and oneDNN would split k between
// them, which gives other bits for another number of threads.
constexpr double kAlone = 1 << 19;

// Products up to this many multiplications go to one thread each, larger ones to all threads together.
constexpr double kOneThread = 1 << 24;

// How many products are in the work at once, each with panels of its own.
inline int64_t slots(const MatmulPlan& plan) {
  const double each = products_of(plan);
  if (each > kOneThread) return 1;
  const double grains = each * plan.batch.count / (1 << 18);  // below two of them one thread is enough
  return std::max<int64_t>(1, std::min({int64_t{plan.threads}, plan.batch.count, static_cast<int64_t>(grains)}));
}

constexpr size_t kPanelAlignment = 64;  // bytes: whole vectors on every target

// Bytes for `floats` in each slot, wherever the workspace begins. More than can be had where that overflows.
inline size_t workspace_bytes(const MatmulPlan& plan, double floats) {
  if (floats == 0) return 0;
  const double bytes = floats * sizeof(float) * slots(plan) + kPanelAlignment;
  return bytes < 0x1p62 ? static_cast<size_t>(bytes) : SIZE_MAX;
}

// body(at, panels) for every product, at its place in the batch, with `floats` of the workspace; false once one fails.
template <class Body>
bool for_each_product(const MatmulPlan& plan, const Call& call, int64_t floats, Body&& body) {
  const int64_t workers = slots(plan), products = plan.batch.count;
  const uintptr_t address = reinterpret_cast<uintptr_t>(call.workspace);
  float* panels = reinterpret_cast<float*>((address + kPanelAlignment - 1) / kPanelAlignment * kPanelAlignment);
  std::atomic<bool> good{true};
  parallel_for(workers, 1, [&](int64_t begin, int64_t end) {
    for (int64_t slot = begin; slot < end; ++slot) {
      const int64_t last = products * (slot + 1) / workers;
      int64_t i = products * slot / workers;
      for (Odometer at(plan.batch, i); i < last; ++i, at.advance(1))
        if (!body(at, panels + slot * floats)) good = false;
    }
  });
  return good;
}

// matmul_tiled's tiles: rows of a, and columns of b on the target with the longest vectors (two of 512 bits).
constexpr int64_t kTileRows = 6;
constexpr int64_t kMostTileColumns = 32;

inline int64_t divide_up(int64_t x, int64_t by) { return (x + by - 1) / by; }

// Floats of both packed operands, padded to whole tiles.
inline double tiled_floats(const MatmulPlan& plan) {
  const double rows = divide_up(plan.m, kTileRows) * kTileRows;
  const double columns = divide_up(plan.n, kMostTileColumns) * kMostTileColumns;
  return std::ceil((rows + columns) * plan.k / 16) * 16;
}

// A matrix for the library: `rows` runs of `length` elements, `distance` apart.
struct LibraryOperand {
  bool turned;                 // the runs are the matrix's columns
  bool packed;                 // not as the library takes it: widened into a panel first
  int64_t rows, length;        // of the runs
  int64_t row_stride, stride;  // as they lie in the operand
  int64_t distance;            // as the library is told
};

inline LibraryOperand library_operand(const MatmulPlan& plan, int64_t rows, int64_t columns, MatrixStrides strides,
                                      bool may_turn) {
  LibraryOperand operand = {};
  operand.turned = may_turn && strides.column != 1 && columns != 1 && (strides.row == 1 || rows == 1);
  operand.rows = operand.turned ? columns : rows;
  operand.length = operand.turned ? rows : columns;
  operand.row_stride = operand.turned ? strides.column : strides.row;
  operand.stride = operand.turned ? strides.row : strides.column;
  const bool runs = operand.length == 1 || operand.stride == 1;
  const bool apart = operand.rows == 1 || operand.row_stride >= operand.length;
  operand.packed = plan.dtype != OPRT_DTYPE_F32 || !runs || !apart;
  operand.distance = operand.packed || operand.rows == 1 ? operand.length : operand.row_stride;
  return operand;
}

struct LibraryLayout {
  LibraryOperand a, b, out;
  int64_t b_at, out_at;  // where their panels begin, in floats
  double floats;         // of all three panels
  int64_t largest;       // length or distance that the library is told
};

inline LibraryLayout library_layout(const MatmulPlan& plan) {
  LibraryLayout layout = {};
  layout.a = library_operand(plan, plan.m, plan.k, plan.a, true);
  layout.b = library_operand(plan, plan.k, plan.n, plan.b, true);
  layout.out = library_operand(plan, plan.m, plan.n, plan.out, false);
  const auto floats = [](const LibraryOperand& operand) {  // whole cache lines
    return operand.packed ? std::ceil(static_cast<double>(operand.rows) * operand.length / 16) * 16 : 0.0;
  };
  const auto place = [](double at) { return static_cast<int64_t>(std::min(at, 0x1p62)); };
  layout.b_at = place(floats(layout.a));
  layout.out_at = place(floats(layout.a) + floats(layout.b));
  layout.floats = floats(layout.a) + floats(layout.b) + floats(layout.out);
  for (int64_t length : {plan.m, plan.n, plan.k, layout.a.distance, layout.b.distance, layout.out.distance})
    layout.largest = std::max(layout.largest, length);
  return layout;
}

}  // namespace oprt
