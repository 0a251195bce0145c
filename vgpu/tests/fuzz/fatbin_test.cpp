// Fat binaries with bytes changed, moved, cut off and put in: each is read or refused with a sentence, and what is read
// goes through the choice of an architecture and the parser.
#include "runtime/fatbin.h"

#include <gtest/gtest.h>
#include <lz4.h>
#include <zstd.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include "ptx/module.h"
#include "random.h"

namespace vgpu {
namespace {

using test::Random;

const std::string kText =
    ".version 9.0\n.target sm_80\n.address_size 64\n.visible .entry k(.param .u64 p)\n{\n\t.reg .b64 %rd<3>;\n"
    "\tld.param.u64 %rd1, [p];\n\tst.global.u32 [%rd1], 7;\n\tret;\n}\n";

enum class Packing { none, lz4, zstd };

std::string entry(uint32_t sm, Packing packing) {
  std::string payload = kText;
  if (packing == Packing::lz4) {
    payload.resize(size_t(LZ4_compressBound(int(kText.size()))));
    payload.resize(size_t(LZ4_compress_default(kText.data(), payload.data(), int(kText.size()), int(payload.size()))));
  } else if (packing == Packing::zstd) {
    payload.resize(ZSTD_compressBound(kText.size()));
    payload.resize(ZSTD_compress(payload.data(), payload.size(), kText.data(), kText.size(), 3));
  }
  const uint64_t used = payload.size(), whole = kText.size(), flags = packing == Packing::lz4 ? 0x2011 : 0x8011;
  payload.resize((used + 7) / 8 * 8);
  std::string head(64, '\0');
  const auto put = [&](size_t at, auto value) { std::memcpy(head.data() + at, &value, sizeof value); };
  put(0, uint32_t{0x01010001});
  put(4, uint32_t{64});
  put(8, uint64_t{payload.size()});
  put(28, sm);
  if (packing != Packing::none) put(16, uint32_t(used)), put(40, flags), put(56, whole);
  return head + payload;
}

std::string container() {
  const std::string entries =
      entry(80, Packing::none) + entry(90, Packing::lz4) + entry(90, Packing::zstd) + entry(75, Packing::none);
  std::string head("\x50\xED\x55\xBA\x01\x00\x10\x00", 8);
  const uint64_t bytes = entries.size();
  head.append(reinterpret_cast<const char*>(&bytes), sizeof bytes);
  return head + entries;
}

std::string mutated(std::string bytes, Random& random) {
  static constexpr uint64_t kExtremes[] = {
      0, 1, 63, 64, 65, 0x7FFF, 0xFFFF, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, 1ull << 40, 1ull << 63, ~0ull - 63, ~0ull};
  for (uint64_t changes = 1 + random.below(5); changes > 0 && !bytes.empty(); --changes) {
    const size_t at = random.below(bytes.size()), length = 1 + random.below(40);
    switch (random.below(6)) {
      case 0: bytes[at] = char(bytes[at] ^ (1 << random.below(8))); break;
      case 1: bytes[at] = char(random.next()); break;
      case 2: {  // a number in a header, or where one might be
        const uint64_t value = random.of(kExtremes);
        const size_t width = size_t{1} << (1 + random.below(3)), place = at / 4 * 4;
        std::memcpy(bytes.data() + place, &value, std::min(width, bytes.size() - place));
        break;
      }
      case 3: bytes.insert(at, bytes.substr(random.below(bytes.size()), length)); break;
      case 4: bytes.erase(at, length); break;
      default:
        if (random.one_in(4)) bytes.resize(at);
    }
  }
  return bytes;
}

TEST(FatBinaryFuzz, MutatedBytes) {
  const std::string whole = container();
  size_t read = 0, parsed = 0;
  const size_t rounds = test::rounds(20000);
  for (uint64_t round = 0; round < rounds; ++round) {
    Random random(round);
    const std::string text = round ? mutated(whole, random) : whole;
    const std::vector<char> bytes(text.begin(), text.end());  // of just that size: the sanitizer sees a read past it
    SCOPED_TRACE(round);
    FatBinary binary;
    std::string error;
    if (!read_image(std::as_bytes(std::span(bytes)), binary, error)) {
      ASSERT_FALSE(error.empty());
      continue;
    }
    ++read;
    for (const int sm : {80, 90}) {
      Error code = Error::Success;
      const Ptx* ptx = choose(binary, sm, code, error);
      if (!ptx) {
        ASSERT_NE(code, Error::Success);
        ASSERT_FALSE(error.empty());
        continue;
      }
      parsed += ptx::parse(ptx->text, error) != nullptr;
    }
  }
  std::printf("%zu of %zu were read, %zu texts of them parsed\n", read, rounds, parsed);
  EXPECT_GT(read, rounds / 20);
  EXPECT_LT(read, rounds);
}

}  // namespace
}  // namespace vgpu
