// How rows are spread over threads: a pure function of the row's length, the element size, whether the axis is
// contiguous, and the device's abilities. Never of addresses or of how many rows there are, so that a row's bits are
// the same in every batch (numerics). C++17, no vendor's header.
#pragma once

#include <algorithm>
#include <cstdint>

#include "oprt/device/nest.h"

namespace oprt {

//   path       axis         row length            a row is                            read
//   warp       contiguous   up to 1024            1 to 32 lanes of a warp             once
//   block      contiguous   up to 16,384          one block of 64 to 512 threads      once
//   cluster    contiguous   see map_shape         2, 4 or 8 blocks of a cluster       once
//   split      contiguous   more                  parts of up to 16,384, a block      twice: a launch for each part's
//                                                 each                                statistics, a second one to map
//   columns    strided      up to 512             one block's warps, which have 32    once
//                                                 rows beside each other
//   cluster_columns         up to 4096            2 to 8 blocks of a cluster          once
//   split_columns           more                  parts of up to 512                  twice
enum class RowPath { kWarp, kBlock, kCluster, kSplit, kColumns, kClusterColumns, kSplitColumns };

constexpr int kRowElements = 32;      // of a thread, but for map_shape's 64; no chain of additions is longer
constexpr int kShortElements = 8;     // the same where 32 lanes of it hold the row: less to unroll for short rows
constexpr int kShortPieces = 2;       // map_shape: 16-byte pieces of a lane, until 32 lanes do not hold the row
constexpr int kRowThreads = 512;      // of a block, at most
constexpr int kWarpThreads = 128;     // of a block of the warp path
constexpr int kRowClusterBlocks = 8;  // at most
constexpr int kRowLanes = 32;         // neighbouring rows of a block of the columns paths, and lanes of a row at most
constexpr int kColumnRun = 8;         // columns: neighbouring elements that a warp has together

struct RowShape {
  RowPath path;
  int threads;          // of a block
  int lanes;            // warp: that share a row
  int64_t parts;        // blocks that share a row
  int64_t part_length;  // elements; the last part may be shorter
  int elements;         // that a thread holds, at most; strided: kRowElements
};

constexpr int64_t power_of_two_from(int64_t n) {
  int64_t power = 1;
  while (power < n) power *= 2;
  return power;
}

constexpr int64_t divide_up(int64_t n, int64_t by) { return (n + by - 1) / by; }

// Elements of each of `parts` parts of a row, which begin at pieces.
constexpr int64_t part_of(int64_t length, int64_t parts, int64_t element_bytes) {
  const int64_t piece = kPieceBytes / element_bytes;
  return divide_up(divide_up(length, parts), piece) * piece;
}

// Parts of up to `most` elements.
inline RowShape split_shape(int64_t length, int64_t most, int64_t element_bytes) {
  const int64_t part = part_of(length, divide_up(length, most), element_bytes);
  return {RowPath::kSplit, kRowThreads, 1, divide_up(length, part), part, static_cast<int>(most / kRowThreads)};
}

inline RowShape row_shape(int64_t length, int64_t element_bytes, bool contiguous, bool has_clusters) {
  const int64_t per_thread = divide_up(length, kRowElements);
  if (!contiguous) {
    constexpr int64_t kPart = int64_t{kRowElements} * (kRowThreads / kRowLanes);
    const int64_t parts = std::max<int64_t>(1, divide_up(length, kPart));
    const int64_t warps = parts > 1 ? kRowThreads / kRowLanes : std::max<int64_t>(1, power_of_two_from(per_thread));
    return {parts == 1                                   ? RowPath::kColumns
            : has_clusters && parts <= kRowClusterBlocks ? RowPath::kClusterColumns
                                                         : RowPath::kSplitColumns,
            static_cast<int>(warps * kRowLanes),
            1,
            parts,
            divide_up(length, parts),
            kRowElements};
  }
  if (length <= int64_t{kRowLanes} * kRowElements) {
    const bool is_short = length <= int64_t{kRowLanes} * kShortElements;
    const int64_t lanes = is_short ? power_of_two_from(divide_up(length, kShortElements)) : kRowLanes;
    return {RowPath::kWarp, kWarpThreads, static_cast<int>(lanes), 1, length, is_short ? kShortElements : kRowElements};
  }
  constexpr int64_t kPart = int64_t{kRowElements} * kRowThreads;
  // Half the elements a thread, up to 4096: sums of 256 rows of 4096 bf16 1.64 us to 1.61; but 8192 rows of 4095, which
  // lie in shared memory first, took 27.5 us, where these, before their windows were by one branch a row, had 21.6.
  if (length <= kPart)
    return {RowPath::kBlock, static_cast<int>(std::max<int64_t>(64, power_of_two_from(per_thread))), 1, 1, length,
            kRowElements};
  return split_shape(length, kPart, element_bytes);
}

// What map_shape asks of a device: clusters of blocks, and bytes of shared memory that a block may have.
struct RowDevice {
  bool clusters;
  int64_t shared;
};

constexpr int kStaticShared = 1024;    // bytes of it that maps' kernels have beside their rows, at most
constexpr int kHeldBytes = 64 << 10;   // of a row, or its part in a block of a cluster; two inputs take them twice
constexpr int kSplitBytes = 16 << 10;  // of a part of longer rows

// Rows that are held until they are mapped.
//
//   path      row                                          a thread's elements
//   warp      up to 1024 elements of 16 bits, 768 of f32   16 to 32 of 16 bits, 8 to 24 of f32
//   block     up to 64 KB                                  16, then 32, then 64
//   cluster   up to 131,072 elements                       32, of parts of up to 16,384
//   split     more                                         16 of 16 bits, 8 of f32
//
// Where a device's shared memory does not hold two inputs of a block's rows, the next path takes them. A thread's
// elements are few where loads must be many and the row's threads not too many for one block; least16 says where
// statistics that take many instructions a thread ask for more of 16 bits. Shares of a copy's speed, 512 MB and more,
// H200: rmsnorm, bf16 of 4096 with 16 elements 0.98, with 32 0.97; of 8192 0.98, 0.97; of 32,768 with 64 elements 0.96,
// as a cluster of two 0.90; f32 of 1024 as two warps 1.00, as one 0.96; of 4096 with 16 elements 0.98, with 32 0.95.
// layernorm, bf16 of 4096 with 16 elements 0.70, with 32 0.99. bf16 of 128, a lane's elements 16, or 8 of four rows:
// softmax 0.99, 0.93, rmsnorm 1.02, 1.00, layernorm 0.91, 0.84; at 4 MB 0.79, 0.52, 0.95, 0.70, 0.74, 0.53.
inline RowShape map_shape(int64_t length, int64_t element_bytes, bool contiguous, const RowDevice& device,
                          int least16 = 16) {
  if (!contiguous) return row_shape(length, element_bytes, contiguous, device.clusters);
  if (length <= (element_bytes == 2 ? 1024 : 768)) {
    const int64_t least = kShortPieces * kPieceBytes / element_bytes;
    const int64_t lanes = std::min<int64_t>(kRowLanes, power_of_two_from(divide_up(length, least)));
    const int64_t elements = std::max(least, divide_up(length, lanes * kShortElements) * kShortElements);
    return {RowPath::kWarp, kWarpThreads, static_cast<int>(lanes), 1, length, static_cast<int>(elements)};
  }
  constexpr int64_t kPart = int64_t{kRowElements} * kRowThreads;
  const auto fits = [&](int64_t elements) {  // of two inputs, which may lie in a word more each
    return 2 * (elements * element_bytes + kPieceBytes) + kStaticShared <= device.shared;
  };
  const int64_t few = element_bytes == 2 ? 4096 : 8192;
  const int least = element_bytes == 2 ? least16 : 16;
  const int elements = length <= few ? least : length <= kPart ? 32 : 64;
  const int64_t threads = std::max<int64_t>(64, power_of_two_from(divide_up(length, elements)));
  if (length * element_bytes <= kHeldBytes && fits(threads * elements))
    return {RowPath::kBlock, static_cast<int>(threads), 1, 1, length, elements};
  if (device.clusters && fits(kPart) && length <= kPart * kRowClusterBlocks) {
    const int64_t blocks = power_of_two_from(divide_up(length, kPart));
    return {RowPath::kCluster, kRowThreads, 1, blocks, part_of(length, blocks, element_bytes), kRowElements};
  }
  return split_shape(length, kSplitBytes / element_bytes, element_bytes);
}

}  // namespace oprt
