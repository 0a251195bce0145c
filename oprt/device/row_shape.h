// How rows are spread over threads: a pure function of the row's length, the element size, whether the axis is
// contiguous, and the device's abilities. Never of addresses or of how many rows there are, so that a row's bits are
// the same in every batch (numerics). C++17, no vendor's header.
#pragma once

#include <algorithm>
#include <cstdint>

namespace oprt {

//   path       axis         row length            a row is                            read
//   warp       contiguous   up to 1024            1 to 32 lanes of a warp             once
//   block      contiguous   up to 16,384          one block of 64 to 512 threads      once
//   cluster    contiguous   up to 131,072         2, 4 or 8 blocks of a cluster       once
//   split      contiguous   more                  parts of up to 16,384, a block      twice: a launch for each part's
//                                                 each                                statistics, a second one to map
//   columns    strided      up to 512             one lane of each of a block's       once
//                                                 warps, rows beside rows
//   split_columns           more                  parts of up to 512                  twice
enum class RowPath { kWarp, kBlock, kCluster, kSplit, kColumns, kSplitColumns };

constexpr int kRowElements = 32;      // that a thread keeps in registers, at most: no chain of additions is longer
constexpr int kShortElements = 8;     // the same where 32 lanes of it hold the row: less to unroll for short rows
constexpr int kRowThreads = 512;      // of a block, at most
constexpr int kWarpThreads = 128;     // of a block of the warp path
constexpr int kRowClusterBlocks = 8;  // at most
constexpr int kRowLanes = 32;         // neighbouring rows of a block of the columns paths, and lanes of a row at most

struct RowShape {
  RowPath path;
  bool short_row;       // warp: kShortElements a thread rather than kRowElements
  int threads;          // of a block
  int lanes;            // warp: that share a row
  int64_t parts;        // blocks that share a row
  int64_t part_length;  // elements; the last part may be shorter
};

constexpr int64_t power_of_two_from(int64_t n) {
  int64_t power = 1;
  while (power < n) power *= 2;
  return power;
}

constexpr int64_t divide_up(int64_t n, int64_t by) { return (n + by - 1) / by; }

inline RowShape row_shape(int64_t length, int64_t element_bytes, bool contiguous, bool has_clusters) {
  const int64_t per_thread = divide_up(length, kRowElements);
  if (!contiguous) {
    constexpr int64_t kPart = int64_t{kRowElements} * (kRowThreads / kRowLanes);
    const int64_t parts = std::max<int64_t>(1, divide_up(length, kPart));
    const int64_t warps = parts > 1 ? kRowThreads / kRowLanes : std::max<int64_t>(1, power_of_two_from(per_thread));
    return {parts > 1 ? RowPath::kSplitColumns : RowPath::kColumns,
            false,
            static_cast<int>(warps * kRowLanes),
            1,
            parts,
            divide_up(length, parts)};
  }
  if (length <= int64_t{kRowLanes} * kRowElements) {
    const bool is_short = length <= int64_t{kRowLanes} * kShortElements;
    const int64_t lanes = is_short ? power_of_two_from(divide_up(length, kShortElements)) : kRowLanes;
    return {RowPath::kWarp, is_short, kWarpThreads, static_cast<int>(lanes), 1, length};
  }
  constexpr int64_t kPart = int64_t{kRowElements} * kRowThreads;
  if (length <= kPart)
    return {RowPath::kBlock, false, static_cast<int>(std::max<int64_t>(64, power_of_two_from(per_thread))), 1, 1,
            length};
  const int64_t piece = 16 / element_bytes;
  const auto part_length = [&](int64_t parts) { return divide_up(divide_up(length, parts), piece) * piece; };
  if (has_clusters && length <= kPart * kRowClusterBlocks) {
    const int64_t blocks = power_of_two_from(divide_up(length, kPart));
    return {RowPath::kCluster, false, kRowThreads, 1, blocks, part_length(blocks)};
  }
  const int64_t least = divide_up(length, kPart);
  return {RowPath::kSplit, false, kRowThreads, 1, divide_up(length, part_length(least)), part_length(least)};
}

}  // namespace oprt
