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
  int most;                        // that a block may have
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
// others. Blocks that are asked to take as much shared memory as leaves room for an even share, of 2 to 16, are spread
// evenly. Us on an H200, without and with:
//
//   softmax, f32 4096 x 768       8.16  7.20      silu, bf16 of 262,144            1.00  0.95
//   softmax, f32 1584 x 768       5.47  4.26      silu, bf16 of 800,000            2.24  1.96
//   softmax, f32 1024 x 1024      4.65  3.88      reduce_sum, f32 256 x 4096       2.45  2.33
//   softmax, bf16 256 x 8192      5.58  4.34      reduce_sum, bf16 4096 x 512      2.80  2.65
//   rmsnorm, bf16 256 x 4096      2.80  2.60      embedding, bf16 64 of 4096       1.37  1.32
//   rmsnorm, bf16 700 x 4096      4.24  4.39      embedding, bf16 1024 of 4096     6.14  6.28
//
// Returns the bytes of dynamic shared memory of a block that needs `shared` of them and has `fixed` beside.
inline int evenly_shared(int64_t blocks, int shared, int fixed, const Multiprocessors& all) {
  const int64_t share = (blocks + all.count - 1) / all.count;
  if (share < 2 || share > 16) return shared;
  constexpr int64_t kUnit = 128;  // of an allocation
  const int64_t each = std::min<int64_t>(all.shared / share - all.reserved, all.most) / kUnit * kUnit - fixed;
  return static_cast<int>(std::max<int64_t>(shared, each));
}

}  // namespace oprt
