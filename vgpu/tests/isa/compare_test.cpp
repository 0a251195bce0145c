// setp, set, selp, slct: every comparison of every type, alone and combined with a predicate, into every result.
#include <gtest/gtest.h>

#include <string>

#include "isa/reference.h"

namespace vgpu::isa_test {
namespace {

// Which of less, equal, greater and unordered (one is a NaN) a comparison is true for.
struct Comparison {
  const char* name;
  bool less, equal, greater, unordered;
  bool holds(int order) const {
    return order == kUnordered ? unordered : order < 0 ? less : order > 0 ? greater : equal;
  }
  static constexpr int kUnordered = 2;
};
constexpr Comparison kOrdered[] = {{"eq", 0, 1, 0, 0}, {"ne", 1, 0, 1, 0}, {"lt", 1, 0, 0, 0},
                                   {"le", 1, 1, 0, 0}, {"gt", 0, 0, 1, 0}, {"ge", 0, 1, 1, 0}};
constexpr Comparison kOfFloats[] = {{"eq", 0, 1, 0, 0},  {"ne", 1, 0, 1, 0},  {"lt", 1, 0, 0, 0},  {"le", 1, 1, 0, 0},
                                    {"gt", 0, 0, 1, 0},  {"ge", 0, 1, 1, 0},  {"equ", 0, 1, 0, 1}, {"neu", 1, 0, 1, 1},
                                    {"ltu", 1, 0, 0, 1}, {"leu", 1, 1, 0, 1}, {"gtu", 0, 0, 1, 1}, {"geu", 0, 1, 1, 1},
                                    {"num", 1, 1, 1, 0}, {"nan", 0, 0, 0, 1}};
constexpr Comparison kUntyped[] = {{"eq", 0, 1, 0, 0}, {"ne", 1, 0, 1, 0}};
constexpr Comparison kOfUnsigned[] = {{"lo", 1, 0, 0, 0}, {"ls", 1, 1, 0, 0}, {"hi", 0, 0, 1, 0}, {"hs", 0, 1, 1, 0}};

using Order = std::function<int(uint64_t a, uint64_t b)>;

Order of_integers(int bits, bool is_signed) {
  return [=](uint64_t a, uint64_t b) {
    if (a == b) return 0;
    return (is_signed ? sign_extended(a, bits) < sign_extended(b, bits) : a < b) ? -1 : 1;
  };
}
Order of_floats(Format f, bool flush) {
  return [=](uint64_t a, uint64_t b) {
    if (f.is_nan(a) || f.is_nan(b)) return Comparison::kUnordered;
    return compare(decode(f, flush ? f.flushed(a) : a), decode(f, flush ? f.flushed(b) : b));
  };
}

// setp.c{.bool}{.ftz}.type p|q, a, b{, c}: p is the comparison combined with c, q its negation so combined.
void expect_setp(const Comparison& c, const std::string& suffix, const std::string& type, const std::vector<Row>& rows,
                 const Order& order) {
  const std::string name = std::string("setp.") + c.name, operands = ", %a0, %a1";
  expect({name + suffix + " %d0" + operands + ";\n" + name + suffix + " %d1|%d2" + operands + ";\n" + name + ".and" +
              suffix + " %d3|%d4" + operands + ", %a2;\n" + name + ".or" + suffix + " %d5|%d6" + operands + ", %a2;\n" +
              name + ".xor" + suffix + " %d7|%d8" + operands + ", !%a2;",
          {type, type, "pred"},
          std::vector<std::string>(9, "pred")},
         rows, [&](const Row& x) {
           const bool is = c.holds(order(x[0], x[1])), with = x[2] != 0;
           return Row{is, is, !is, is && with, !is && with, is || with, !is || with, is != !with, !is != !with};
         });
}

struct Result {
  const char* name;
  uint64_t yes;
};
constexpr Result kResults[] = {{"u32", 0xFFFFFFFF}, {"s32", 0xFFFFFFFF}, {"f32", 0x3F800000}, {"f16", 0x3C00},
                               {"bf16", 0x3F80},    {"u16", 0xFFFF},     {"s16", 0xFFFF}};

// set.c{.bool}{.ftz}.dtype.type d, a, b{, c}
void expect_set(const Comparison& c, const std::string& ftz, const std::string& type, const std::vector<Row>& rows,
                const Order& order) {
  for (const Result& result : kResults) {
    const std::string d = result.name;
    if ((d == "u16" || d == "s16") && type != "f16" && type != "bf16") continue;
    const std::string name = std::string("set.") + c.name, suffix = ftz + "." + d + "." + type;
    expect({name + suffix + " %d0, %a0, %a1;\n" + name + ".and" + suffix + " %d1, %a0, %a1, %a2;\n" + name + ".or" +
                suffix + " %d2, %a0, %a1, %a2;\n" + name + ".xor" + suffix + " %d3, %a0, %a1, !%a2;",
            {type, type, "pred"},
            {d, d, d, d}},
           rows, [&](const Row& x) {
             const bool is = c.holds(order(x[0], x[1])), with = x[2] != 0;
             const auto number = [&](bool yes) { return yes ? result.yes : 0; };
             return Row{number(is), number(is && with), number(is || with), number(is != !with)};
           });
  }
}

// Some rows for the many forms of one comparison: all of them would take their time.
std::vector<Row> with_predicate(std::vector<Row> rows, size_t most) {
  std::vector<Row> some;
  for (size_t i = 0; i < rows.size(); i += std::max<size_t>(1, rows.size() / most)) {
    some.push_back(rows[i]);
    some.back()[2] = i / 3 % 2;
  }
  return some;
}

template <size_t kCount>
void expect_all(const Comparison (&comparisons)[kCount], const std::string& ftz, const std::string& type,
                const std::vector<Row>& rows, const Order& order) {
  for (const Comparison& c : comparisons) {
    expect_setp(c, ftz + "." + type, type, with_predicate(rows, 4000), order);
    expect_set(c, ftz, type, with_predicate(rows, 500), order);
  }
}

TEST(IsaCompare, Integers) {
  for (const int bits : {16, 32, 64}) {
    const std::string width = std::to_string(bits);
    const auto rows = integer_rows({bits, bits});
    expect_all(kOrdered, "", "s" + width, rows, of_integers(bits, true));
    expect_all(kOrdered, "", "u" + width, rows, of_integers(bits, false));
    expect_all(kOfUnsigned, "", "u" + width, rows, of_integers(bits, false));
    expect_all(kUntyped, "", "b" + width, rows, of_integers(bits, false));
  }
}

TEST(IsaCompare, Floats) {
  const struct {
    const char* name;
    Format format;
    bool flush;
  } types[] = {{"f32", kF32, false}, {"f32", kF32, true},    {"f64", kF64, false},
               {"f16", kF16, false}, {"bf16", kBf16, false}, {"f16", kF16, true}};
  for (const auto& t : types)
    expect_all(kOfFloats, t.flush ? ".ftz" : "", t.name, float_rows(t.format, 2), of_floats(t.format, t.flush));
}

// Of pairs, setp gives a predicate to each half; set gives a number to each, ones or all bits.
TEST(IsaCompare, Pairs) {
  const struct {
    const char* name;
    Format format;
    bool flush;
    uint64_t one;
  } types[] = {{"f16x2", kF16, false, 0x3C00}, {"f16x2", kF16, true, 0x3C00}, {"bf16x2", kBf16, false, 0x3F80}};
  for (const auto& t : types) {
    std::vector<Row> pairs = with_predicate(float_rows(t.format, 2), 2000);
    for (size_t i = 0; i < pairs.size(); ++i) {
      const Row& other = pairs[(i * 7 + 3) % pairs.size()];
      for (int c = 0; c < 2; ++c) pairs[i][c] = (pairs[i][c] & 0xFFFF) | (other[c] & 0xFFFF) << 16;
    }
    const Order order = of_floats(t.format, t.flush);
    for (const Comparison& c : kOfFloats) {
      const std::string type = t.name, ftz = t.flush ? ".ftz" : "", name = c.name, suffix = ftz + "." + type;
      const auto each = [&](const Row& x) {
        return std::pair(c.holds(order(x[0] & 0xFFFF, x[1] & 0xFFFF)), c.holds(order(x[0] >> 16, x[1] >> 16)));
      };
      expect({"setp." + name + suffix + " %d0|%d1, %a0, %a1;\nsetp." + name + ".and" + suffix +
                  " %d2|%d3, %a0, %a1, %a2;\nsetp." + name + ".or" + suffix + " %d4|%d5, %a0, %a1, %a2;\nsetp." + name +
                  ".xor" + suffix + " %d6|%d7, %a0, %a1, %a2;",
              {type, type, "pred"},
              std::vector<std::string>(8, "pred")},
             pairs, [&](const Row& x) {
               const auto [low, high] = each(x);
               const bool with = x[2] != 0;
               return Row{low, high, low && with, high && with, low || with, high || with, low != with, high != with};
             });
      expect({"set." + name + ftz + "." + type + "." + type + " %d0, %a0, %a1;\nset." + name + ftz + ".u32." + type +
                  " %d1, %a0, %a1;\nset." + name + ftz + ".s32." + type + " %d2, %a0, %a1;",
              {type, type},
              {"b32", "b32", "b32"}},
             pairs, [&](const Row& x) {
               const auto [low, high] = each(x);
               const auto both = [&, low = low, high = high](uint64_t yes) {
                 return (low ? yes : 0) | (high ? yes << 16 : 0);
               };
               return Row{both(t.one), both(0xFFFF), both(0xFFFF)};
             });
    }
  }
}

TEST(IsaCompare, Selections) {
  for (const std::string type : {"b16", "u16", "s16", "f16", "bf16", "b32", "u32", "s32", "f16x2", "bf16x2", "f32",
                                 "b64", "u64", "s64", "f64"}) {
    expect({"selp." + type + " %d0, %a0, %a1, %a2;\nselp." + type + " %d1, %a1, %a0, !%a2;\nslct." + type +
                ".s32 %d2, %a0, %a1, %a3;\nslct." + type + ".f32 %d3, %a0, %a1, %a4;\nslct.ftz." + type +
                ".f32 %d4, %a0, %a1, %a4;",
            {type, type, "pred", "s32", "f32"},
            {type, type, type, type, type}},
           {{1, 2, 0, 0, 0},
            {1, 2, 1, 0xFFFFFFFF, 0x80000000},
            {1, 2, 1, 5, 0x80000001},
            {1, 2, 0, 0x80000000, 0x7FFFFFFF},
            {1, 2, 0, 0x7FFFFFFF, 0xBF800000}},
           [](const Row& x) {
             // -0 is at least 0, and a NaN is not; a negative subnormal number is flushed to -0.
             const bool nan = (x[4] & 0x7FFFFFFF) > 0x7F800000, negative = x[4] > 0x80000000;
             const bool subnormal = x[4] > 0x80000000 && x[4] < 0x80800000;
             return Row{x[2] ? x[0] : x[1], x[2] ? x[0] : x[1], sign_extended(x[3], 32) >= 0 ? x[0] : x[1],
                        nan || negative ? x[1] : x[0], nan || (negative && !subnormal) ? x[1] : x[0]};
           });
  }
}

}  // namespace
}  // namespace vgpu::isa_test
