// Sectors and wavefronts of one access, against their definitions counted byte by byte; known patterns by number.
#include "check/footprint.h"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <set>

#include "check/init.h"

namespace vgpu {
namespace {

Access access(uint32_t lanes, uint32_t bytes, const uint64_t* address) {
  return {{}, ptx::Space::global, AccessKind::load, Order::weak, Scope::none, lanes, bytes, address, 0, false};
}

struct Pattern {
  uint64_t address[32];
  Pattern(uint64_t first, uint64_t stride) {
    for (uint64_t lane = 0; lane < 32; ++lane) address[lane] = first + lane * stride;
  }
};

TEST(Footprint, SectorsOfKnownPatterns) {
  const auto sectors = [](const Pattern& p, uint32_t bytes, uint32_t lanes = ~0u) {
    const Footprint f = sectors_of(access(lanes, bytes, p.address));
    return std::tuple(f.sectors, f.ideal, f.bytes);
  };
  EXPECT_EQ(sectors({0, 4}, 4), std::tuple(4, 4, 128));       // floats in a row
  EXPECT_EQ(sectors({4, 4}, 4), std::tuple(5, 4, 128));       // the same, off by one
  EXPECT_EQ(sectors({0, 16}, 16), std::tuple(16, 16, 512));   // float4
  EXPECT_EQ(sectors({0, 32}, 4), std::tuple(32, 4, 128));     // a column
  EXPECT_EQ(sectors({64, 0}, 4), std::tuple(1, 1, 4));        // one word for all
  EXPECT_EQ(sectors({0, 8}, 4, 0xff), std::tuple(2, 1, 32));  // every second float, eight lanes
  EXPECT_EQ(sectors({0, 2}, 2), std::tuple(2, 2, 64));        // halves
}

TEST(Footprint, WavefrontsOfKnownPatterns) {
  const auto wavefronts = [](const Pattern& p, uint32_t bytes, uint32_t lanes = ~0u) {
    const Wavefronts w = wavefronts_of(access(lanes, bytes, p.address));
    return std::pair(w.wavefronts, w.ideal);
  };
  EXPECT_EQ(wavefronts({0, 4}, 4), std::pair(1u, 1u));
  EXPECT_EQ(wavefronts({0, 128}, 4), std::pair(32u, 1u));       // a column of a tile 32 wide
  EXPECT_EQ(wavefronts({0, 132}, 4), std::pair(1u, 1u));        // 33 wide
  EXPECT_EQ(wavefronts({0, 8}, 4), std::pair(2u, 1u));          // every second word
  EXPECT_EQ(wavefronts({0, 0}, 4), std::pair(1u, 1u));          // broadcast
  EXPECT_EQ(wavefronts({0, 8}, 8), std::pair(2u, 2u));          // by half-warp
  EXPECT_EQ(wavefronts({0, 16}, 16), std::pair(4u, 4u));        // by quarter
  EXPECT_EQ(wavefronts({0, 16}, 16, 0xff), std::pair(1u, 1u));  // one quarter
  EXPECT_EQ(wavefronts({0, 2}, 2), std::pair(1u, 1u));          // two halves share a word
}

TEST(Footprint, AgreesWithTheDefinitions) {
  std::mt19937_64 random(1);
  for (int round = 0; round < 3000; ++round) {
    const uint32_t bytes = 1u << random() % 5, lanes = uint32_t(random() % 3 ? random() : ~uint64_t{0}) | 1;
    const uint64_t spread = uint64_t{1} << random() % 12;
    uint64_t address[32];
    std::set<uint64_t> touched, sectors;
    std::map<std::pair<uint32_t, uint64_t>, std::set<uint64_t>> banks;  // by group and bank
    const uint32_t group = bytes <= 4 ? 32 : 128 / bytes;
    for (uint32_t lane = 0; lane < 32; ++lane) {
      address[lane] = random() % 5 == 0 && lane ? address[lane - 1] : random() % spread * bytes;
      if (!(lanes >> lane & 1)) continue;
      for (uint64_t b = address[lane]; b < address[lane] + bytes; ++b) {
        touched.insert(b);
        sectors.insert(b / 32);
        banks[{lane / group, b / 4 % 32}].insert(b / 4);
      }
    }
    std::map<uint32_t, size_t> fullest;
    for (const auto& [at, words] : banks) fullest[at.first] = std::max(fullest[at.first], words.size());
    size_t passes = 0;
    for (const auto& [g, most] : fullest) passes += most;
    const Footprint f = sectors_of(access(lanes, bytes, address));
    EXPECT_EQ(f.sectors, sectors.size());
    EXPECT_EQ(f.bytes, touched.size());
    EXPECT_EQ(f.ideal, (touched.size() + 31) / 32);
    const Wavefronts w = wavefronts_of(access(lanes, bytes, address));
    EXPECT_EQ(w.wavefronts, passes);
    EXPECT_EQ(w.ideal, fullest.size());
  }
}

TEST(WrittenBits, AgreesWithAListOfBytes) {
  std::mt19937 random(2);
  WrittenBits bits(500);
  std::set<uint64_t> list;
  for (int round = 0; round < 2000; ++round) {
    const uint64_t from = random() % 400, count = 1 + random() % 100;
    const bool value = random() % 2;
    if (round % 4 == 0) {
      bits.set(from, count, value);
      for (uint64_t b = from; b < from + count; ++b) value ? (void)list.insert(b) : (void)list.erase(b);
    }
    size_t there = 0;
    for (uint64_t b = from; b < from + count; ++b) there += list.count(b);
    EXPECT_EQ(bits.all(from, count), there == count);
    EXPECT_EQ(bits.any(from, count), there > 0);
  }
}

}  // namespace
}  // namespace vgpu
