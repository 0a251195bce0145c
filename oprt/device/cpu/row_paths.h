// Which path of the row skeleton a plan takes: a pure function of the rows, and the constants that tune it.
#pragma once

#include <cstdint>

#include "oprt/core/loop.h"
#include "oprt/core/parallel.h"
#include "oprt/device/cpu/paths.h"

namespace oprt {

// A row's bits depend on its length, its dtype and whether its axis is contiguous, on nothing else: kRow adds along
// vectors, the two column paths give a row a lane of its own and add in the same order as each other.
enum class RowPath {
  kRow,             // the axis is contiguous and the row not short
  kColumns,         // neighbouring rows are neighbours in memory: vectors across them
  kGatheredColumns  // anything else: the same, with the lanes gathered one by one
};

// Up to this length a lane a row beats a vector a row, transposition included. (Zen 3, 1000 contiguous rows of f32,
// times PyTorch's speed: softmax of 16 1.8, on the row path 1.0; of 33 2.0 and 1.4; of 64 1.7, where the row path
// has 1.5 for 65; layernorm of 64 1.3, of 65 on the row path 1.0.) A sum has less to do between the ends of a row: of
// 16 1.25 and 0.9, of 32 1.05 and 1.1.
constexpr int64_t kShortRow = 96;
constexpr int64_t kShortSum = 16;

// With fewer neighbouring rows than this, gathering lanes from several runs of them fills the vectors better.
constexpr int64_t kMinColumns = 16;

// Elements of a row that are reduced at a time on the row path: 16 KiB of f32, half of a small L1.
constexpr int64_t kRowBlock = 4096;

// Rows that a column block holds, and positions on the axis that it holds of each: 256 bytes of f32 side by side are
// four cache lines a step, and 64 KiB in all stay in L2.
constexpr int64_t kColumns = 64;
constexpr int64_t kColumnBlock = 256;

// Rows of up to `short_row` elements are short. The first `along` operands decide whether the axis is contiguous, the
// first `across` whether rows are neighbours.
inline RowPath row_path(const Rows& rows, int along, int across, int64_t short_row) {
  const Loop& loop = rows.rows;
  const int inner = loop.rank - 1;
  bool contiguous = rows.length > short_row;
  bool neighbours = inner == 0 || (inner > 0 && loop.shape[inner] >= kMinColumns);
  for (int i = 0; i < along; ++i) contiguous = contiguous && rows.axis_stride[i] == 1;
  for (int i = 0; i < across; ++i) neighbours = neighbours && loop.strides[i][inner] == 1;
  return contiguous ? RowPath::kRow : neighbours ? RowPath::kColumns : RowPath::kGatheredColumns;
}

// Of an operator that maps rows to rows: the output and what the norm reads are operands 0 and 1. (What add_rmsnorm
// adds up before may lie as it likes, so that its bits are those of rmsnorm on the sum.)
inline RowPath map_path(const Rows& rows) { return row_path(rows, 2, rows.rows.operands, kShortRow); }

// Of a sum, whose output may lie as it likes: the input is operand 0.
inline RowPath sum_path(const Rows& rows) { return row_path(rows, 1, 1, kShortSum); }

constexpr int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }

// Whether rows are spread over the threads one after another, each in pieces: where they are too few to go round (more
// than a ninth of the threads' time lost) and long enough to pay for a barrier each. Changes no bits.
inline bool splits_rows(int64_t units, int64_t blocks) {
  if (blocks < 8) return false;
  const int64_t threads = parallel_threads();
  return threads > 1 && ceil_div(units, threads) * threads * 8 > units * 9;
}

}  // namespace oprt
