// How many blocks of a launch a multiprocessor holds at once, and is let hold: pure functions, C++17, no vendor's
// header.
#pragma once

#include <algorithm>
#include <cstdint>

namespace oprt {

struct Multiprocessors {
  int count;
  int shared;                      // bytes of shared memory of each
  int reserved;                    // of them, for each block that runs there
  int registers, threads, blocks;  // of each
};

// Blocks that run at once where registers, threads and their number are what bounds them. Each quarter of a
// multiprocessor gives its registers to whole warps, 8 for each of its threads at a time.
inline int64_t blocks_at_once(int registers, int threads, const Multiprocessors& all) {
  constexpr int kWarp = 32, kUnit = 8, kQuarters = 4;
  const int warps = (threads + kWarp - 1) / kWarp, of_thread = std::max(1, (registers + kUnit - 1) / kUnit) * kUnit;
  const int held = all.registers / kQuarters / (of_thread * kWarp) * kQuarters;
  return int64_t{all.count} * std::min({held / warps, all.threads / (warps * kWarp), all.blocks});
}

// Where launches overlap, blocks of the next one are placed as room comes, and some multiprocessors get more than
// others. Blocks of which an even share, of 2 to 16, is all that a multiprocessor has shared memory for are spread
// evenly. They ask for as little of it as does that: the rest is L1's, where loads that are under way wait (sums of
// bf16 columns, 4096 x 8192: 20.4 us, with all that the share leaves room for 28.4). Us on an H200, without and with:
//
//   softmax, f32 4096 x 768       8.32  7.13      rmsnorm, bf16 256 x 4096         2.75  2.50
//   softmax, f32 1024 x 1024      4.80  3.74      rmsnorm, bf16 700 x 4096         4.16  4.32
//   softmax, bf16 256 x 8192      5.76  4.21      layernorm, bf16 256 x 4096       3.21  2.99
//   softmax, bf16 512 x 4095      5.39  4.92      add_rmsnorm, bf16 256 x 4096     4.00  3.79
//   silu, bf16 of 800,000         2.29  2.02      embedding, bf16 1024 of 4096     6.14  6.21
//
// and rmsnorm, silu, softmax and vector_add of 256 x 4096 in turns 11.5 and 10.1. Returns the bytes of dynamic shared
// memory of a block that needs `shared` of them and has `fixed` beside.
inline int evenly_shared(int64_t blocks, int shared, int fixed, const Multiprocessors& all) {
  const int64_t share = (blocks + all.count - 1) / all.count;
  if (share < 2 || share > 16) return shared;
  constexpr int64_t kUnit = 128;  // of an allocation
  const int64_t each = ((all.shared / (share + 1) - all.reserved) / kUnit + 1) * kUnit - fixed;
  return static_cast<int>(std::max<int64_t>(shared, each));
}

}  // namespace oprt
