// Instructions of a warp: shuffles, votes, match, redux, elect.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <string>

#include "isa/harness.h"

namespace vgpu::isa_test {
namespace {

constexpr uint32_t kAll = 0xFFFFFFFF;

// Warps of random values in column 0; column 1: whether the lane takes part, column 2: the mask of those that do.
std::vector<Row> warps(int count, int bits, uint64_t distinct = 0) {
  Random random(bits + count);
  std::vector<Row> rows;
  for (int w = 0; w < count; ++w) {
    uint64_t mask = w % 4 == 0 ? kAll : cut(random.next(), 32);
    mask |= uint64_t{1} << random.below(32);
    for (int lane = 0; lane < 32; ++lane) {
      const uint64_t value = distinct ? random.below(distinct) * 0x0101010101010101 : random.integer(bits);
      rows.push_back({cut(value, bits), mask >> lane & 1, mask});
    }
  }
  return rows;
}

TEST(IsaWarp, Shuffles) {
  const struct {
    const char* name;
    std::function<int(int lane, int b, int least, int most, int mask)> source;
    bool up;
  } modes[] = {{"up", [](int lane, int b, int, int, int) { return lane - b; }, true},
               {"down", [](int lane, int b, int, int, int) { return lane + b; }, false},
               {"bfly", [](int lane, int b, int, int, int) { return lane ^ b; }, false},
               {"idx", [](int, int b, int least, int, int mask) { return least | (b & ~mask); }, false}};
  std::vector<Row> rows;
  Random random(1);
  // Subwarps of 32, 16, 8, 4, 2 and 1, the clamp at their end (or beginning, for up), and odd ones.
  for (const uint64_t c : {0x1F, 0x0, 0x101F, 0x1000, 0x181F, 0x1800, 0x1C1F, 0x1C00, 0x1E1F, 0x1F1F, 0x7, 0x1803}) {
    for (int b = 0; b < 34; b += b < 5 ? 1 : 3) {
      for (int lane = 0; lane < 32; ++lane)
        rows.push_back({random.integer(32), b == 33 ? random.below(32) : uint64_t(b), c});
    }
  }
  for (const auto& mode : modes) {
    const auto chosen = [&](const Row* lanes, int lane) {
      const int b = lanes[lane][1] & 31, clamp = lanes[lane][2] & 31, mask = lanes[lane][2] >> 8 & 31;
      const int least = lane & mask, most = least | (clamp & ~mask);
      const int source = mode.source(lane, b, least, most, mask);
      const bool inside = mode.up ? source >= most : source <= most;
      return Row{lanes[inside ? source : lane][0], inside, lanes[inside ? source : lane][0]};
    };
    expect_warp({std::string("shfl.sync.") + mode.name + ".b32 %d0|%d1, %a0, %a1, %a2, 0xFFFFFFFF;\nshfl.sync." +
                     mode.name + ".b32 %d2, %a0, %a1, %a2, -1;",
                 {"b32", "b32", "b32"},
                 {"b32", "pred", "b32"}},
                rows, chosen);
  }
}

TEST(IsaWarp, Votes) {
  const auto rows = [] {
    std::vector<Row> rows = warps(40, 1);
    for (size_t i = 0; i < rows.size(); ++i) {  // some warps agree
      if (i / 32 % 5 == 1) rows[i][0] = 1;
      if (i / 32 % 5 == 2) rows[i][0] = 0;
    }
    return rows;
  }();
  expect_warp({"@!%a1 bra OUT;\nvote.sync.all.pred %d0, %a0, %a2;\nvote.sync.any.pred %d1, %a0, %a2;\n"
               "vote.sync.uni.pred %d2, %a0, %a2;\nvote.sync.ballot.b32 %d3, %a0, %a2;\n"
               "vote.sync.ballot.b32 %d4, !%a0, %a2;\nactivemask.b32 %d5;\nOUT:",
               {"pred", "pred", "b32"},
               {"pred", "pred", "pred", "b32", "b32", "b32"}},
              rows, [](const Row* lanes, int lane) {
                if (!lanes[lane][1]) return Row{};
                uint64_t ballot = 0;
                const uint64_t mask = lanes[lane][2];
                for (int i = 0; i < 32; ++i) ballot |= (mask >> i & 1 && lanes[i][0] ? uint64_t{1} : 0) << i;
                return Row{ballot == mask, ballot != 0, ballot == mask || ballot == 0, ballot, mask & ~ballot, mask};
              });
}

TEST(IsaWarp, Match) {
  for (const int bits : {32, 64}) {
    const std::string b = "b" + std::to_string(bits);
    std::vector<Row> rows = warps(40, bits, 3);
    for (size_t i = 0; i < rows.size(); ++i) {
      if (i / 32 % 3 == 0) rows[i][0] = 5;
    }
    expect_warp(
        {"@!%a1 bra OUT;\nmatch.any.sync." + b + " %d0, %a0, %a2;\nmatch.all.sync." + b + " %d1|%d2, %a0, %a2;\nOUT:",
         {b, "pred", "b32"},
         {"b32", "b32", "pred"}},
        rows, [](const Row* lanes, int lane) {
          if (!lanes[lane][1]) return Row{};
          uint64_t same = 0;
          const uint64_t mask = lanes[lane][2];
          for (int i = 0; i < 32; ++i) same |= uint64_t(mask >> i & 1 && lanes[i][0] == lanes[lane][0]) << i;
          return Row{same, same == mask ? mask : 0, same == mask};
        });
  }
}

TEST(IsaWarp, Reductions) {
  std::string text = "@!%a1 bra OUT;\n";
  int d = 0;
  for (const char* operation :
       {"add.u32", "add.s32", "min.u32", "min.s32", "max.u32", "max.s32", "and.b32", "or.b32", "xor.b32"})
    text += std::string("redux.sync.") + operation + " %d" + std::to_string(d++) + ", %a0, %a2;\n";
  expect_warp(
      {text + "OUT:", {"b32", "pred", "b32"}, std::vector<std::string>(9, "b32")},
      [] {
        std::vector<Row> rows = warps(40, 32);
        return rows;
      }(),
      [](const Row* lanes, int lane) {
        if (!lanes[lane][1]) return Row{};
        Row r{0, 0, kAll, kAll, 0, 0, kAll, 0, 0};
        int32_t least = INT32_MAX, most = INT32_MIN;
        for (int i = 0; i < 32; ++i) {
          if (!(lanes[lane][2] >> i & 1)) continue;
          const uint64_t x = lanes[i][0];
          r[0] = r[1] = cut(r[0] + x, 32);
          r[2] = std::min(r[2], x);
          r[4] = std::max(r[4], x);
          least = std::min(least, int32_t(x));
          most = std::max(most, int32_t(x));
          r[6] &= x;
          r[7] |= x;
          r[8] ^= x;
        }
        r[3] = uint32_t(least);
        r[5] = uint32_t(most);
        return r;
      });
}

TEST(IsaWarp, ElectOne) {
  const std::vector<Row> rows = warps(20, 32);
  const Snippet snippet{
      "mov.b32 %d1, 99;\n@!%a1 bra OUT;\nelect.sync %d1|%d0, %a2;\nOUT:", {"b32", "pred", "b32"}, {"pred", "b32"}};
  const std::vector<Row> results = run(snippet, rows);
  if (results.empty()) return;
  for (size_t w = 0; w < rows.size(); w += 32) {
    int elected = -1;
    for (int lane = 0; lane < 32; ++lane) {
      if (!results[w + lane][0]) continue;
      EXPECT_EQ(elected, -1) << "one lane only";
      elected = lane;
    }
    ASSERT_GE(elected, 0);
    EXPECT_TRUE(rows[w][2] >> elected & 1) << "of the mask";
    for (int lane = 0; lane < 32; ++lane)
      EXPECT_EQ(results[w + lane][1], rows[w + lane][1] ? uint64_t(elected) : 99) << "every lane learns which";
  }
}

// Of a block: how many of its 128 threads say yes, whether all do, whether one does.
TEST(IsaWarp, BarrierReductions) {
  std::vector<Row> rows;
  for (int block = 0; block < 4; ++block) {
    for (int thread = 0; thread < 128; ++thread)
      rows.push_back(
          {uint64_t(block == 1 || (block == 2 && thread == 77) || (block == 3 && thread % 3 == 0)), uint64_t(block)});
  }
  for (const std::string name : {"bar.red", "bar.cta.red", "barrier.red", "barrier.cta.red"}) {
    for (const std::string aligned : {"", ".aligned"}) {
      if (!aligned.empty() && name.starts_with("bar.")) continue;
      expect_warp(
          {name + ".popc" + aligned + ".u32 %d0, 0, %a0;\n" + name + ".and" + aligned + ".pred %d1, 0, %a0;\n" + name +
               ".or" + aligned + ".pred %d2, 1, !%a0;\n" + name + ".popc" + aligned + ".u32 %d3, 2, 128, !%a0;",
           {"pred", "b32"},
           {"u32", "pred", "pred", "u32"}},
          rows, [](const Row* lanes, int) {
            const uint64_t counts[] = {0, 128, 1, 43}, count = counts[lanes[0][1]];
            return Row{count, count == 128, count != 128, 128 - count};
          });
    }
  }
}

TEST(IsaWarp, LaneMasks) {
  std::vector<Row> rows(128, Row{});
  expect_warp({"mov.u32 %d0, %laneid;\nmov.u32 %d1, %lanemask_eq;\nmov.u32 %d2, %lanemask_lt;\n"
               "mov.u32 %d3, %lanemask_le;\nmov.u32 %d4, %lanemask_gt;\nmov.u32 %d5, %lanemask_ge;\n"
               "mov.u32 %d6, WARP_SZ;",
               {},
               std::vector<std::string>(7, "b32")},
              rows, [](const Row*, int lane) {
                const uint64_t one = uint64_t{1} << lane;
                return Row{uint64_t(lane), one, one - 1, 2 * one - 1, kAll & ~(2 * one - 1), kAll & ~(one - 1), 32};
              });
}

}  // namespace
}  // namespace vgpu::isa_test
