// Integer arithmetic: add to dp4a, with carries, saturation and every width.
#include <gtest/gtest.h>

#include <bit>
#include <string>

#include "isa/harness.h"

namespace vgpu::isa_test {
namespace {

using Wide = __int128;

struct IntType {
  const char* name;
  int bits;
  bool is_signed;
  Wide value(uint64_t x) const { return is_signed ? Wide(sign_extended(x, bits)) : Wide(cut(x, bits)); }
  Wide least() const { return is_signed ? -(Wide(1) << (bits - 1)) : 0; }
  Wide most() const { return (Wide(1) << (bits - is_signed)) - 1; }
};
constexpr IntType kTypes[] = {{"u16", 16, false}, {"u32", 32, false}, {"u64", 64, false},
                              {"s16", 16, true},  {"s32", 32, true},  {"s64", 64, true}};

// opcode.type d, a, b[, c]: the result cut to the type, or to `result` bits.
void exact(const std::string& opcode, const IntType& t, int columns, const std::function<Wide(const Wide*)>& wanted,
           int result = 0) {
  if (result == 0) result = t.bits;
  std::string operands = "%d0";
  std::vector<std::string> types(columns, t.name);
  std::vector<int> widths(columns, t.bits);
  if (columns == 3 && result != t.bits) {  // mad.wide: c is as wide as d
    types[2] = "b" + std::to_string(result);
    widths[2] = result;
  }
  for (int i = 0; i < columns; ++i) operands += ", %a" + std::to_string(i);
  expect({opcode + "." + t.name + " " + operands + ";", types, {"b" + std::to_string(result)}}, integer_rows(widths),
         [&](const Row& row) {
           Wide values[3];
           for (int i = 0; i < columns; ++i) values[i] = widths[i] == t.bits ? t.value(row[i]) : Wide(row[i]);
           return Row{cut(uint64_t(wanted(values)), result)};
         });
}

TEST(IsaInteger, AddSubMul) {
  for (const IntType& t : kTypes) {
    exact("add", t, 2, [](const Wide* x) { return x[0] + x[1]; });
    exact("sub", t, 2, [](const Wide* x) { return x[0] - x[1]; });
    exact("mul.lo", t, 2, [](const Wide* x) { return Wide(uint64_t(x[0]) * uint64_t(x[1])); });
    exact("mad.lo", t, 3, [](const Wide* x) { return Wide(uint64_t(x[0]) * uint64_t(x[1]) + uint64_t(x[2])); });
    const auto high = [&](const Wide* x) {
      if (t.bits < 64 || t.is_signed) return x[0] * x[1] >> t.bits;
      return Wide((unsigned __int128)(x[0]) * (unsigned __int128)(x[1]) >> 64);
    };
    exact("mul.hi", t, 2, high);
    exact("mad.hi", t, 3, [&](const Wide* x) { return Wide(uint64_t(high(x)) + uint64_t(x[2])); });
    if (t.bits == 64) continue;
    exact("mul.wide", t, 2, [](const Wide* x) { return x[0] * x[1]; }, 2 * t.bits);
    exact("mad.wide", t, 3, [](const Wide* x) { return x[0] * x[1] + x[2]; }, 2 * t.bits);
  }
  const IntType s32 = kTypes[4];
  const auto clamped = [&](Wide x) { return std::min(std::max(x, s32.least()), s32.most()); };
  exact("add.sat", s32, 2, [&](const Wide* x) { return clamped(x[0] + x[1]); });
  exact("sub.sat", s32, 2, [&](const Wide* x) { return clamped(x[0] - x[1]); });
  exact("mad.hi.sat", s32, 3, [&](const Wide* x) { return clamped((x[0] * x[1] >> 32) + x[2]); });
}

TEST(IsaInteger, TwentyFourBits) {
  for (const IntType& t : {kTypes[1], kTypes[4]}) {
    const auto low24 = [&](Wide x) {
      return t.is_signed ? Wide(sign_extended(cut(uint64_t(x), 24), 24)) : Wide(cut(uint64_t(x), 24));
    };
    const auto all = [&](const Wide* x) { return low24(x[0]) * low24(x[1]); };
    exact("mul24.lo", t, 2, all);
    exact("mul24.hi", t, 2, [&](const Wide* x) { return all(x) >> 16; });
    exact("mad24.lo", t, 3, [&](const Wide* x) { return all(x) + x[2]; });
    exact("mad24.hi", t, 3, [&](const Wide* x) { return (all(x) >> 16) + x[2]; });
    if (!t.is_signed) continue;
    exact("mad24.hi.sat", t, 3,
          [&](const Wide* x) { return std::min(std::max((all(x) >> 16) + x[2], t.least()), t.most()); });
  }
}

TEST(IsaInteger, DivideAndRemainder) {
  for (const IntType& t : kTypes) {
    // A division by zero has no defined result.
    const auto rows = [&] {
      std::vector<Row> rows = integer_rows({t.bits, t.bits});
      std::erase_if(rows, [&](const Row& row) { return row[1] == 0; });
      return rows;
    }();
    const std::string name = t.name;
    expect({"div." + name + " %d0, %a0, %a1;\nrem." + name + " %d1, %a0, %a1;", {name, name}, {name, name}}, rows,
           [&](const Row& row) {
             const Wide a = t.value(row[0]), b = t.value(row[1]);
             return Row{cut(uint64_t(a / b), t.bits), cut(uint64_t(a % b), t.bits)};
           });
  }
}

TEST(IsaInteger, MinMaxAbsNegSad) {
  for (const IntType& t : kTypes) {
    exact("min", t, 2, [](const Wide* x) { return std::min(x[0], x[1]); });
    exact("max", t, 2, [](const Wide* x) { return std::max(x[0], x[1]); });
    exact("sad", t, 3, [](const Wide* x) { return x[2] + (x[0] < x[1] ? x[1] - x[0] : x[0] - x[1]); });
    if (!t.is_signed) continue;
    exact("neg", t, 1, [](const Wide* x) { return -x[0]; });
    exact("abs", t, 1, [](const Wide* x) { return x[0] < 0 ? -x[0] : x[0]; });
  }
  const IntType s32 = kTypes[4];
  exact("min.relu", s32, 2, [](const Wide* x) { return std::max<Wide>(0, std::min(x[0], x[1])); });
  exact("max.relu", s32, 2, [](const Wide* x) { return std::max<Wide>(0, std::max(x[0], x[1])); });
}

TEST(IsaInteger, PairsOf16Bits) {
  const auto pairs = [](const std::string& text, bool is_signed, const std::function<Wide(Wide, Wide)>& wanted) {
    expect({text + " %d0, %a0, %a1;", {"b32", "b32"}, {"b32"}}, integer_rows({32, 32}), [&](const Row& row) {
      uint64_t result = 0;
      for (const int at : {0, 16}) {
        const uint64_t a = cut(row[0] >> at, 16), b = cut(row[1] >> at, 16);
        const Wide r = is_signed ? wanted(sign_extended(a, 16), sign_extended(b, 16)) : wanted(a, b);
        result |= cut(uint64_t(r), 16) << at;
      }
      return Row{result};
    });
  };
  for (const bool is_signed : {false, true}) {
    const std::string type = is_signed ? "s16x2" : "u16x2";
    pairs("add." + type, is_signed, [](Wide a, Wide b) { return a + b; });
    pairs("min." + type, is_signed, [](Wide a, Wide b) { return std::min(a, b); });
    pairs("max." + type, is_signed, [](Wide a, Wide b) { return std::max(a, b); });
  }
  pairs("min.relu.s16x2", true, [](Wide a, Wide b) { return std::max<Wide>(0, std::min(a, b)); });
  pairs("max.relu.s16x2", true, [](Wide a, Wide b) { return std::max<Wide>(0, std::max(a, b)); });
}

// A chain of words in extended precision, and the carry that comes out of it. Only the upper half of a product asks
// for the sign.
TEST(IsaInteger, Carries) {
  for (const IntType& t : {kTypes[1], kTypes[2], kTypes[4], kTypes[5]}) {
    const int bits = t.bits;
    const std::string u = t.name;
    using Big = unsigned __int128;
    const auto row4 = integer_rows({bits, bits, bits, bits}, 2000);
    const auto words = [bits](Big low, Big high) { return Row{cut(uint64_t(low), bits), cut(uint64_t(high), bits)}; };
    expect({"add.cc." + u + " %d0, %a0, %a2;\naddc.cc." + u + " %d1, %a1, %a3;\naddc." + u + " %d2, 0, 0;",
            {u, u, u, u},
            {u, u, u}},
           row4, [&](const Row& x) {
             const Big low = Big(x[0]) + x[2], high = Big(x[1]) + x[3] + (low >> bits);
             Row row = words(low, high);
             row[2] = uint64_t(high >> bits);
             return row;
           });
    expect({"sub.cc." + u + " %d0, %a0, %a2;\nsubc.cc." + u + " %d1, %a1, %a3;\nsubc." + u + " %d2, 0, 0;",
            {u, u, u, u},
            {u, u, u}},
           row4, [&](const Row& x) {
             const bool borrow = x[0] < x[2], out = Wide(x[1]) - Wide(x[3]) - borrow < 0;
             Row row = words(x[0] - x[2], x[1] - x[3] - borrow);
             row[2] = cut(-uint64_t(out), bits);
             return row;
           });
    const auto halves = [&](const Row& x) {                     // of a0 * a1
      const Big all = Big(t.value(x[0])) * Big(t.value(x[1]));  // of 128 bits, whatever the sign
      return std::pair(Big(cut(uint64_t(all), bits)), Big(cut(uint64_t(all >> bits), bits)));
    };
    // a0 * a1 + (a3, a2) in two words.
    expect(
        {"mad.lo.cc." + u + " %d0, %a0, %a1, %a2;\nmadc.hi.cc." + u + " %d1, %a0, %a1, %a3;\naddc." + u + " %d2, 0, 0;",
         {u, u, u, u},
         {u, u, u}},
        row4, [&](const Row& x) {
          const auto [lower, upper] = halves(x);
          const Big low = lower + x[2], high = upper + x[3] + (low >> bits);
          Row row = words(low, high);
          row[2] = uint64_t(high >> bits);
          return row;
        });
    // The halves the other way round, and without a carry out.
    expect({"mad.hi.cc." + u + " %d0, %a0, %a1, %a2;\nmadc.lo.cc." + u + " %d1, %a0, %a1, %a3;\nmadc.hi." + u +
                " %d2, %a0, %a1, %a2;\nadd.cc." + u + " %d3, %a0, %a2;\nmadc.lo." + u + " %d3, %a0, %a1, %a3;",
            {u, u, u, u},
            {u, u, u, u}},
           row4, [&](const Row& x) {
             const auto [lower, upper] = halves(x);
             const Big first = upper + x[2], second = lower + x[3] + (first >> bits),
                       third = upper + x[2] + (second >> bits), fourth = lower + x[3] + ((Big(x[0]) + x[2]) >> bits);
             return Row{cut(uint64_t(first), bits), cut(uint64_t(second), bits), cut(uint64_t(third), bits),
                        cut(uint64_t(fourth), bits)};
           });
  }
}

TEST(IsaInteger, DotProducts) {
  for (const bool a_signed : {false, true}) {
    for (const bool b_signed : {false, true}) {
      const std::string types = std::string(a_signed ? ".s32" : ".u32") + (b_signed ? ".s32" : ".u32");
      const auto part = [](uint64_t x, int at, int bits, bool is_signed) {
        const uint64_t p = cut(x >> at, bits);
        return is_signed ? sign_extended(p, bits) : int64_t(p);
      };
      expect({"dp4a" + types + " %d0, %a0, %a1, %a2;\ndp2a.lo" + types + " %d1, %a0, %a1, %a2;\ndp2a.hi" + types +
                  " %d2, %a0, %a1, %a2;",
              {"b32", "b32", "b32"},
              {"b32", "b32", "b32"}},
             integer_rows({32, 32, 32}), [&](const Row& x) {
               int64_t four = int64_t(x[2]), low = four, high = four;
               for (int i = 0; i < 4; ++i) four += part(x[0], 8 * i, 8, a_signed) * part(x[1], 8 * i, 8, b_signed);
               for (int i = 0; i < 2; ++i) {
                 low += part(x[0], 16 * i, 16, a_signed) * part(x[1], 8 * i, 8, b_signed);
                 high += part(x[0], 16 * i, 16, a_signed) * part(x[1], 16 + 8 * i, 8, b_signed);
               }
               return Row{cut(uint64_t(four), 32), cut(uint64_t(low), 32), cut(uint64_t(high), 32)};
             });
    }
  }
}

}  // namespace
}  // namespace vgpu::isa_test
