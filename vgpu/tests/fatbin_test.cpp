// Fat binaries made here as nvcc makes them, whole and damaged.
#include "runtime/fatbin.h"

#include <gtest/gtest.h>
#include <lz4.h>
#include <zstd.h>

#include <cstring>

namespace vgpu {
namespace {

const std::string kText = "//\n.version 9.0\n.target sm_80\n.address_size 64\n.visible .entry k()\n{\n\tret;\n}\n";

enum class Packing { none, lz4, zstd };

template <class T>
void put(std::string& bytes, size_t at, T value) {
  std::memcpy(bytes.data() + at, &value, sizeof value);
}

std::string entry(int kind, int sm, const std::string& content, Packing packing = Packing::none) {
  std::string packed(LZ4_compressBound(int(content.size())) + ZSTD_compressBound(content.size()), '\0');
  if (packing == Packing::lz4) {
    packed.resize(LZ4_compress_default(content.data(), packed.data(), int(content.size()), int(packed.size())));
  } else if (packing == Packing::zstd) {
    packed.resize(ZSTD_compress(packed.data(), packed.size(), content.data(), content.size(), 3));
  } else {
    packed = content;
  }
  const size_t used = packed.size();
  packed.resize((used + 7) / 8 * 8);
  std::string head(64, '\0');
  put<uint16_t>(head, 0, kind);
  put<uint16_t>(head, 2, 0x101);
  put<uint32_t>(head, 4, 64);
  put<uint64_t>(head, 8, packed.size());
  put<uint32_t>(head, 28, sm);
  if (packing != Packing::none) {
    put<uint32_t>(head, 16, used);
    put<uint64_t>(head, 40, packing == Packing::lz4 ? 0x2011 : 0x8011);
    put<uint64_t>(head, 56, content.size());
  }
  return head + packed;
}

std::string container(const std::string& entries) {
  std::string head(16, '\0');
  put<uint32_t>(head, 0, 0xBA55ED50);
  put<uint16_t>(head, 4, 1);
  put<uint16_t>(head, 6, 16);
  put<uint64_t>(head, 8, entries.size());
  return head + entries;
}

// A copy of exactly the size, so that the address sanitizer sees a read past the end.
bool read(const std::string& bytes, FatBinary& binary, std::string& error) {
  const std::vector<char> exact(bytes.begin(), bytes.end());
  return read_fat_binary(std::as_bytes(std::span(exact)), binary, error);
}

TEST(FatBinary, PlainLz4AndZstdGiveTheSameText) {
  for (const auto packing : {Packing::none, Packing::lz4, Packing::zstd}) {
    FatBinary binary;
    std::string error;
    ASSERT_TRUE(read(container(entry(2, 80,
                                     "\x7f"
                                     "ELF") +
                               entry(1, 80, kText, packing)),
                     binary, error))
        << error;
    ASSERT_EQ(binary.ptx.size(), 1u);
    EXPECT_EQ(binary.ptx[0].text, kText);
    EXPECT_EQ(binary.machine_code, std::vector{80});
  }
}

TEST(FatBinary, HighestThatTheDeviceRuns) {
  FatBinary binary;
  std::string error, exact = kText;
  exact.replace(exact.find("sm_80"), 5, "sm_90a");
  ASSERT_TRUE(read(container(entry(1, 75, kText) + entry(1, 90, exact) + entry(1, 90, kText) + entry(1, 100, kText)),
                   binary, error));
  Error code = Error::Success;
  const Ptx* ptx = choose(binary, 90, code, error);
  ASSERT_TRUE(ptx);
  EXPECT_EQ(ptx->sm, 90);
  EXPECT_FALSE(ptx->exact);
  EXPECT_EQ(choose(binary, 80, code, error)->sm, 75);
  EXPECT_EQ(choose(binary, 120, code, error)->sm, 100);
  EXPECT_FALSE(choose(binary, 70, code, error));
  EXPECT_EQ(code, Error::NoKernelImageForDevice);
  EXPECT_NE(error.find("compute_75, compute_90, compute_90 and compute_100"), std::string::npos) << error;
}

TEST(FatBinary, MachineCodeAloneIsToldSo) {
  FatBinary binary;
  std::string error;
  ASSERT_TRUE(read(container(entry(2, 80,
                                   "\x7f"
                                   "ELF") +
                             entry(2, 90,
                                   "\x7f"
                                   "ELF")),
                   binary, error));
  Error code = Error::Success;
  EXPECT_FALSE(choose(binary, 90, code, error));
  EXPECT_EQ(code, Error::NoKernelImageForDevice);
  EXPECT_NE(error.find("machine code for sm_80 and sm_90 but no PTX"), std::string::npos) << error;
}

TEST(FatBinary, EveryCutIsASentence) {
  for (const auto packing : {Packing::none, Packing::lz4, Packing::zstd}) {
    const auto whole = container(entry(1, 80, kText, packing) + entry(1, 90, kText));
    for (size_t length = 0; length < whole.size(); ++length) {
      FatBinary binary;
      std::string error;
      EXPECT_FALSE(read(whole.substr(0, length), binary, error)) << length;
      EXPECT_NE(error.find("fat binary"), std::string::npos) << length;
    }
  }
}

TEST(FatBinary, NoFlippedBitIsRead) {
  // Whatever a bit of a header or of compressed data becomes: a result or a sentence.
  for (const auto packing : {Packing::none, Packing::lz4, Packing::zstd}) {
    const auto whole = container(entry(1, 80, kText, packing));
    for (size_t bit = 0; bit < whole.size() * 8; ++bit) {
      auto flipped = whole;
      flipped[bit / 8] = char(flipped[bit / 8] ^ (1 << (bit % 8)));
      FatBinary binary;
      std::string error;
      const bool good = read(flipped, binary, error);
      EXPECT_EQ(good, error.empty()) << bit;
    }
  }
}

TEST(Image, TextIsTakenAndMachineCodeIsNot) {
  FatBinary binary;
  std::string error;
  ASSERT_TRUE(read_image(std::as_bytes(std::span(kText)), binary, error)) << error;
  EXPECT_EQ(binary.ptx.at(0).sm, 80);
  const std::string elf =
      "\x7f"
      "ELF....";
  EXPECT_FALSE(read_image(std::as_bytes(std::span(elf)), binary, error));
  EXPECT_NE(error.find("cubin"), std::string::npos);
}

}  // namespace
}  // namespace vgpu
