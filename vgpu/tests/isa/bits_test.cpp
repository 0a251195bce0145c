// Bits: logic, shifts, counts, fields, permutes, moves.
#include <gtest/gtest.h>

#include <bit>
#include <string>

#include "isa/harness.h"

namespace vgpu::isa_test {
namespace {

std::string named(const char* prefix, int bits) { return prefix + std::to_string(bits); }

TEST(IsaBits, Logic) {
  for (const int bits : {16, 32, 64}) {
    const std::string b = named("b", bits);
    expect({"and." + b + " %d0, %a0, %a1;\nor." + b + " %d1, %a0, %a1;\nxor." + b + " %d2, %a0, %a1;\nnot." + b +
                " %d3, %a0;\ncnot." + b + " %d4, %a0;",
            {b, b},
            {b, b, b, b, b}},
           integer_rows({bits, bits}),
           [&](const Row& x) { return Row{x[0] & x[1], x[0] | x[1], x[0] ^ x[1], cut(~x[0], bits), x[0] == 0}; });
  }
  expect({"and.pred %d0, %a0, %a1;\nor.pred %d1, %a0, %a1;\nxor.pred %d2, %a0, %a1;\nnot.pred %d3, %a0;\n"
          "and.pred %d4, %a0, !%a1;\nmov.pred %d5, %a0;",
          {"pred", "pred"},
          std::vector<std::string>(6, "pred")},
         {{0, 0}, {0, 1}, {1, 0}, {1, 1}},
         [](const Row& x) { return Row{x[0] & x[1], x[0] | x[1], x[0] ^ x[1], !x[0], x[0] && !x[1], x[0]}; });
}

TEST(IsaBits, EveryTableOfLop3) {
  for (int table = 0; table < 256; ++table) {
    expect({"lop3.b32 %d0, %a0, %a1, %a2, " + std::to_string(table) + ";", {"b32", "b32", "b32"}, {"b32"}},
           {{0xF0F0F0F0, 0xCCCCCCCC, 0xAAAAAAAA}, {0x12345678, 0x9ABCDEF0, 0x0F1E2D3C}}, [&](const Row& x) {
             uint64_t result = 0;
             for (int i = 0; i < 32; ++i) {
               const int at = int(x[0] >> i & 1) << 2 | int(x[1] >> i & 1) << 1 | int(x[2] >> i & 1);
               result |= uint64_t(table >> at & 1) << i;
             }
             return Row{result};
           });
  }
  expect({"lop3.or.b32 %d0|%d1, %a0, %a1, %a2, 0x80, %a3;\nlop3.and.b32 %d2|%d3, %a0, %a1, %a2, 0x80, %a3;",
          {"b32", "b32", "b32", "pred"},
          {"b32", "pred", "b32", "pred"}},
         {{1, 1, 1, 0}, {1, 1, 1, 1}, {1, 2, 4, 0}, {1, 2, 4, 1}}, [](const Row& x) {
           const uint64_t all = x[0] & x[1] & x[2];
           return Row{all, all != 0 || x[3], all, all != 0 && x[3]};
         });
}

TEST(IsaBits, Shifts) {
  for (const int bits : {16, 32, 64}) {
    const std::string b = named("b", bits), u = named("u", bits), s = named("s", bits);
    // Amounts beyond the width shift everything out.
    expect({"shl." + b + " %d0, %a0, %a1;\nshr." + u + " %d1, %a0, %a1;\nshr." + s + " %d2, %a0, %a1;\nshr." + b +
                " %d3, %a0, %a1;",
            {b, "u32"},
            {b, b, b, b}},
           integer_rows({bits, 32}), [&](const Row& x) {
             const bool out = x[1] >= uint64_t(bits);
             const uint64_t left = out ? 0 : cut(x[0] << x[1], bits), right = out ? 0 : x[0] >> x[1];
             const int64_t arithmetic = sign_extended(x[0], bits) >> (out ? bits - 1 : int(x[1]));
             return Row{left, right, cut(uint64_t(arithmetic), bits), right};
           });
  }
  const std::vector<std::string> three(3, "b32"), four(4, "b32");
  expect({"shf.l.wrap.b32 %d0, %a0, %a1, %a2;\nshf.r.wrap.b32 %d1, %a0, %a1, %a2;\n"
          "shf.l.clamp.b32 %d2, %a0, %a1, %a2;\nshf.r.clamp.b32 %d3, %a0, %a1, %a2;",
          three, four},
         integer_rows({32, 32, 32}), [](const Row& x) {
           const uint64_t both = x[1] << 32 | x[0], wrapped = x[2] % 32, clamped = std::min<uint64_t>(x[2], 32);
           return Row{cut(both << wrapped >> 32, 32), cut(both >> wrapped, 32),
                      clamped == 32 ? x[0] : cut(both << clamped >> 32, 32), cut(both >> clamped, 32)};
         });
}

TEST(IsaBits, Counts) {
  for (const int bits : {32, 64}) {
    const std::string b = named("b", bits), u = named("u", bits), s = named("s", bits);
    expect({"popc." + b + " %d0, %a0;\nclz." + b + " %d1, %a0;\nbfind." + u + " %d2, %a0;\nbfind." + s +
                " %d3, %a0;\nbfind.shiftamt." + u + " %d4, %a0;\nbfind.shiftamt." + s + " %d5, %a0;\nbrev." + b +
                " %d6, %a0;",
            {b},
            {"b32", "b32", "b32", "b32", "b32", "b32", b}},
           integer_rows({bits}), [&](const Row& x) {
             const auto highest = [&](uint64_t v) { return v == 0 ? -1 : 63 - std::countl_zero(v); };
             const int found = highest(x[0]);
             const int64_t value = sign_extended(x[0], bits);  // of a negative number, the highest zero
             const int signed_found = highest(cut(uint64_t(value < 0 ? ~value : value), bits));
             const auto amount = [&](int at) { return at < 0 ? cut(~uint64_t{0}, 32) : uint64_t(bits - 1 - at); };
             uint64_t reversed = 0;
             for (int i = 0; i < bits; ++i) reversed |= (x[0] >> i & 1) << (bits - 1 - i);
             return Row{uint64_t(std::popcount(x[0])),
                        uint64_t(std::countl_zero(x[0]) - (64 - bits)),
                        cut(uint64_t(int64_t(found)), 32),
                        cut(uint64_t(int64_t(signed_found)), 32),
                        amount(found),
                        amount(signed_found),
                        reversed};
           });
  }
}

// The n-th set bit from a base upward or downward.
TEST(IsaBits, FindNthSet) {
  Random random(7);
  std::vector<Row> rows;
  for (int i = 0; i < 4000; ++i)
    rows.push_back({random.integer(32), random.below(32), cut(uint64_t(int64_t(random.below(21)) - 10), 32)});
  expect({"fns.b32 %d0, %a0, %a1, %a2;", {"b32", "b32", "s32"}, {"b32"}}, rows, [](const Row& x) {
    const int64_t n = sign_extended(x[2], 32);
    const int base = int(x[1]);
    if (n == 0) return Row{x[0] >> base & 1 ? uint64_t(base) : 0xFFFFFFFF};
    int64_t left = n > 0 ? n : -n;
    for (int i = base; i >= 0 && i < 32; i += n > 0 ? 1 : -1) {
      if ((x[0] >> i & 1) && --left == 0) return Row{uint64_t(i)};
    }
    return Row{0xFFFFFFFF};
  });
}

TEST(IsaBits, Fields) {
  for (const int bits : {32, 64}) {
    std::vector<Row> rows;
    Random random(bits);
    for (uint64_t position : {0, 1, 5, 31, 32, 63, 64, 200, 255, 256, 300}) {
      for (uint64_t length : {0, 1, 7, 31, 32, 33, 63, 64, 255, 256, 257})
        for (int i = 0; i < 4; ++i) rows.push_back({random.integer(bits), random.integer(bits), position, length});
    }
    const std::string b = named("b", bits), u = named("u", bits), s = named("s", bits);
    expect(
        {"bfe." + u + " %d0, %a0, %a2, %a3;\nbfe." + s + " %d1, %a0, %a2, %a3;\nbfi." + b + " %d2, %a0, %a1, %a2, %a3;",
         {b, b, "u32", "u32"},
         {b, b, b}},
        rows, [&](const Row& x) {
          const uint64_t position = x[2] & 0xFF, length = x[3] & 0xFF;
          // Bits beyond the word are zeros, or the sign: of the field's last bit inside the word.
          const uint64_t sign = length == 0 ? 0 : x[0] >> std::min<uint64_t>(position + length - 1, bits - 1) & 1;
          uint64_t extracted = 0, extended = 0, inserted = x[1];
          for (uint64_t i = 0; i < uint64_t(bits); ++i) {
            const bool inside = i < length && position + i < uint64_t(bits);
            const uint64_t bit = inside ? x[0] >> (position + i) & 1 : 0;
            extracted |= bit << i;
            extended |= (inside ? bit : sign) << i;
            if (inside) inserted = (inserted & ~(uint64_t{1} << (position + i))) | (x[0] >> i & 1) << (position + i);
          }
          return Row{extracted, extended, inserted};
        });
  }
}

TEST(IsaBits, MasksAndExtensions) {
  expect({"bmsk.clamp.b32 %d0, %a0, %a1;\nbmsk.wrap.b32 %d1, %a0, %a1;\nszext.clamp.s32 %d2, %a0, %a1;\n"
          "szext.clamp.u32 %d3, %a0, %a1;\nszext.wrap.s32 %d4, %a0, %a1;\nszext.wrap.u32 %d5, %a0, %a1;",
          {"b32", "b32"},
          std::vector<std::string>(6, "b32")},
         integer_rows({32, 32}), [](const Row& x) {
           const auto mask = [](uint64_t from, uint64_t width) {
             uint64_t m = 0;
             for (uint64_t i = from; i < std::min<uint64_t>(from + width, 32); ++i) m |= uint64_t{1} << i;
             return m;
           };
           const auto extend = [&](uint64_t n, bool is_signed) {
             if (n == 0) return uint64_t{0};
             if (n >= 32) return x[0];
             return is_signed ? cut(uint64_t(sign_extended(cut(x[0], int(n)), int(n))), 32) : cut(x[0], int(n));
           };
           const uint64_t clamped = std::min<uint64_t>(x[1], 32), wrapped = x[1] % 32;
           return Row{x[0] >= 32 ? 0 : mask(x[0], clamped),
                      mask(x[0] % 32, wrapped),
                      extend(clamped, true),
                      extend(clamped, false),
                      extend(wrapped, true),
                      extend(wrapped, false)};
         });
}

TEST(IsaBits, Permutes) {
  const auto byte = [](const Row& x, unsigned i) { return (i < 4 ? x[0] >> 8 * i : x[1] >> 8 * (i - 4)) & 0xFF; };
  expect({"prmt.b32 %d0, %a0, %a1, %a2;\nprmt.b32.f4e %d1, %a0, %a1, %a2;\nprmt.b32.b4e %d2, %a0, %a1, %a2;\n"
          "prmt.b32.rc8 %d3, %a0, %a1, %a2;\nprmt.b32.ecl %d4, %a0, %a1, %a2;\nprmt.b32.ecr %d5, %a0, %a1, %a2;\n"
          "prmt.b32.rc16 %d6, %a0, %a1, %a2;",
          std::vector<std::string>(3, "b32"), std::vector<std::string>(7, "b32")},
         integer_rows({32, 32, 32}), [&](const Row& x) {
           const unsigned select = x[2] & 3;
           Row row{};
           for (unsigned i = 0; i < 4; ++i) {
             const unsigned nibble = x[2] >> 4 * i & 15;
             const uint64_t chosen = byte(x, nibble & 7);
             row[0] |= (nibble & 8 ? (chosen & 0x80 ? 0xFF : 0) : chosen) << 8 * i;
             row[1] |= byte(x, select + i) << 8 * i;
             row[2] |= byte(x, (select - i) & 7) << 8 * i;
             row[3] |= byte(x, select) << 8 * i;
             row[4] |= byte(x, std::max(select, i)) << 8 * i;
             row[5] |= byte(x, std::min(select, i)) << 8 * i;
             row[6] |= byte(x, (select & 1) * 2 + (i & 1)) << 8 * i;
           }
           return row;
         });
}

TEST(IsaBits, Moves) {
  for (const std::string type :
       {"b16", "u16", "s16", "f16", "bf16", "b32", "u32", "s32", "f16x2", "bf16x2", "f32", "b64", "u64", "s64", "f64"})
    expect({"mov." + type + " %d0, %a0;", {type}, {type}}, integer_rows({8 * bytes_of(type)}, 100),
           [](const Row& x) { return x; });
}

TEST(IsaBits, MovesOfParts) {
  expect({"mov.b64 %d0, {%a0, %a1};\nmov.b64 {%d1, %d2}, %a2;\nmov.b32 {%d3, %d4}, %a0;\n"
          "{ .reg .b16 lo, hi; mov.b32 {lo, hi}, %a1; mov.b32 %d5, {hi, lo}; }\n"
          "{ .reg .b16 w<4>; mov.b64 {w0, w1, w2, w3}, %a2; mov.b64 %d6, {w3, w2, w1, w0}; }",
          {"b32", "b32", "b64"},
          {"b64", "b32", "b32", "b16", "b16", "b32", "b64"}},
         integer_rows({32, 32, 64}, 100), [](const Row& x) {
           const auto word = [&](int i) { return cut(x[2] >> 16 * i, 16); };
           return Row{x[1] << 32 | x[0],
                      cut(x[2], 32),
                      x[2] >> 32,
                      cut(x[0], 16),
                      cut(x[0] >> 16, 16),
                      cut(x[1] << 16 | x[1] >> 16, 32),
                      word(3) | word(2) << 16 | word(1) << 32 | word(0) << 48};
         });
}

}  // namespace
}  // namespace vgpu::isa_test
