// add, sub, mul, fma, mad, div, rcp, sqrt, min, max, abs, neg, copysign, testp: f32 and f64, exactly.
#include <gtest/gtest.h>

#include <string>

#include "isa/reference.h"

namespace vgpu::isa_test {
namespace {

using Compute = std::function<Number(const Number*, Rounding)>;

// f32 makes one NaN, f64 may keep a payload.
Same same_in(Format format) {
  return [format](int, const Row&, uint64_t got, uint64_t wanted) {
    return got == wanted || (format.width() == 64 && format.is_nan(wanted) && format.is_nan(got));
  };
}

uint64_t saturated(Format f, uint64_t bits) {
  const uint64_t one = uint64_t(f.bias()) << f.mantissa_bits;
  if (f.is_nan(bits) || bits & f.sign()) return 0;
  return std::min(bits, one);
}

struct Flags {
  bool flush = false, saturate = false;
  std::string text() const { return std::string(flush ? ".ftz" : "") + (saturate ? ".sat" : ""); }
};

// What `compute` makes of a row, rounded once.
Reference rounded(Format f, int columns, Rounding rounding, Flags flags, const Compute& compute) {
  return [=](const Row& row) {
    Number operands[3];
    for (int i = 0; i < columns; ++i) operands[i] = decode(f, flags.flush ? f.flushed(row[i]) : row[i]);
    uint64_t bits = encode(f, compute(operands, rounding), rounding);
    if (flags.flush) bits = f.flushed(bits);
    if (flags.saturate) bits = saturated(f, bits);
    return Row{bits};
  };
}

// Whether hardware takes a result for subnormal before or after rounding, PTX leaves open: either will do where the
// rounded result is the least normal number.
Same same_flushed(Format f, const Flags& flags) {
  const Same same = same_in(f);
  return [=](int column, const Row& in, uint64_t got, uint64_t wanted) {
    const uint64_t magnitude = wanted & ~f.sign();
    return same(column, in, got, wanted) ||
           (flags.flush && magnitude == f.least_normal() && got == (wanted & f.sign()));
  };
}

const Compute kAdd = [](const Number* x, Rounding r) { return sum(x[0], x[1], r); };
const Compute kSub = [](const Number* x, Rounding r) { return sum(x[0], -x[1], r); };
const Compute kMul = [](const Number* x, Rounding) { return product(x[0], x[1]); };
const Compute kFma = [](const Number* x, Rounding r) { return sum(product(x[0], x[1]), x[2], r); };
const Compute kDiv = [](const Number* x, Rounding) { return quotient(x[0], x[1]); };
const Compute kRcp = [](const Number* x, Rounding) { return quotient(Number::integer(1), x[0]); };
const Compute kSqrt = [](const Number* x, Rounding) { return square_root(x[0]); };

void expect_rounded(const std::string& opcode, int columns, const Compute& compute, Format f, const Mode& mode,
                    Flags flags) {
  const std::string type = f.width() == 64 ? "f64" : "f32";
  std::string operands = "%d0";
  for (int i = 0; i < columns; ++i) operands += ", %a" + std::to_string(i);
  expect({opcode + mode.name + flags.text() + "." + type + " " + operands + ";",
          std::vector<std::string>(columns, type),
          {type}},
         float_rows(f, columns), rounded(f, columns, mode.rounding, flags, compute), same_flushed(f, flags));
}

TEST(IsaFloat, ArithmeticInEveryRoundingMode) {
  const struct {
    const char* opcode;
    int columns;
    const Compute& compute;
    bool saturates;
  } cases[] = {{"add", 2, kAdd, true}, {"sub", 2, kSub, true},  {"mul", 2, kMul, true},  {"fma", 3, kFma, true},
               {"mad", 3, kFma, true}, {"div", 2, kDiv, false}, {"rcp", 1, kRcp, false}, {"sqrt", 1, kSqrt, false}};
  for (const auto& c : cases) {
    for (const Mode& mode : kModes) {
      for (int flags = 0; flags < (c.saturates ? 4 : 2); ++flags)
        expect_rounded(c.opcode, c.columns, c.compute, kF32, mode, {bool(flags & 1), bool(flags & 2)});
      expect_rounded(c.opcode, c.columns, c.compute, kF64, mode, {});
    }
  }
}

TEST(IsaFloat, WithoutARoundingModeToNearestEven) {
  const Mode none{"", Rounding::nearest_even};
  for (int i = 0; i < 4; ++i) {
    const Flags flags{bool(i & 1), bool(i & 2)};
    expect_rounded("add", 2, kAdd, kF32, none, flags);
    expect_rounded("sub", 2, kSub, kF32, none, flags);
    expect_rounded("mul", 2, kMul, kF32, none, flags);
  }
  expect_rounded("add", 2, kAdd, kF64, none, {});
  expect_rounded("sub", 2, kSub, kF64, none, {});
  expect_rounded("mul", 2, kMul, kF64, none, {});
}

// Of immediates: a double literal is rounded to the instruction's type.
TEST(IsaFloat, Immediates) {
  expect({"add.f32 %d0, %a0, 0f3F800000;\nadd.f32 %d1, %a0, 1.0;", {"f32"}, {"f32", "f32"}}, float_rows(kF32, 1),
         [](const Row& row) {
           const uint64_t sum_bits =
               encode(kF32, sum(decode(kF32, row[0]), Number::integer(1), Rounding::nearest_even));
           return Row{sum_bits, sum_bits};
         });
  expect(
      {"add.f64 %d0, %a0, 0d3FF0000000000000;", {"f64"}, {"f64"}}, float_rows(kF64, 1),
      [](const Row& row) {
        return Row{encode(kF64, sum(decode(kF64, row[0]), Number::integer(1), Rounding::nearest_even))};
      },
      same_in(kF64));
}

struct MinMax {
  bool max, flush, nan, xorsign, abs;
};

uint64_t min_or_max(Format f, const MinMax& m, uint64_t a, uint64_t b) {
  if (m.flush) a = f.flushed(a), b = f.flushed(b);
  const uint64_t signs = (a ^ b) & f.sign();
  if (m.abs || m.xorsign) a &= ~f.sign(), b &= ~f.sign();
  const auto signed_by = [&](uint64_t bits) { return m.xorsign && !f.is_nan(bits) ? bits | signs : bits; };
  if (f.is_nan(a) || f.is_nan(b)) {
    if (m.nan || (f.is_nan(a) && f.is_nan(b))) return f.nan();
    return signed_by(f.is_nan(a) ? b : a);
  }
  const int order = compare(decode(f, a), decode(f, b));
  // Zeros are ordered by their signs.
  const bool a_first = order < 0 || (order == 0 && (a & f.sign()) >= (b & f.sign()));
  return signed_by(a_first == m.max ? b : a);
}

TEST(IsaFloat, MinimumAndMaximum) {
  for (const bool max : {false, true}) {
    const std::string opcode = max ? "max" : "min";
    for (int flags = 0; flags < 8; ++flags) {
      const MinMax m{max, bool(flags & 1), bool(flags & 2), bool(flags & 4), bool(flags & 4)};
      const std::string text = opcode + (m.flush ? ".ftz" : "") + (m.nan ? ".NaN" : "") +
                               (m.xorsign ? ".xorsign.abs" : "") + ".f32 %d0, %a0, %a1;";
      expect({text, {"f32", "f32"}, {"f32"}}, float_rows(kF32, 2),
             [&](const Row& row) { return Row{min_or_max(kF32, m, row[0], row[1])}; });
    }
    const MinMax plain{max, false, false, false, false};
    expect(
        {opcode + ".f64 %d0, %a0, %a1;", {"f64", "f64"}, {"f64"}}, float_rows(kF64, 2),
        [&](const Row& row) { return Row{min_or_max(kF64, plain, row[0], row[1])}; }, same_in(kF64));
  }
}

TEST(IsaFloat, Signs) {
  const auto one = [](const std::string& text, Format f, const std::function<uint64_t(uint64_t)>& wanted) {
    const std::string type = f.width() == 64 ? "f64" : "f32";
    expect(
        {text + "." + type + " %d0, %a0;", {type}, {type}}, float_rows(f, 1),
        [&](const Row& row) { return Row{wanted(row[0])}; },
        [&](int, const Row&, uint64_t got, uint64_t want) {  // the sign and payload of a NaN are open
          return f.is_nan(want) ? f.is_nan(got) : got == want;
        });
  };
  for (const Format f : {kF32, kF64}) {
    one("abs", f, [&](uint64_t x) { return x & ~f.sign(); });
    one("neg", f, [&](uint64_t x) { return x ^ f.sign(); });
  }
  one("abs.ftz", kF32, [](uint64_t x) { return kF32.flushed(x) & ~kF32.sign(); });
  one("neg.ftz", kF32, [](uint64_t x) { return kF32.flushed(x) ^ kF32.sign(); });
  for (const Format f : {kF32, kF64}) {
    const std::string type = f.width() == 64 ? "f64" : "f32";
    // The sign of the first, the magnitude of the second.
    expect({"copysign." + type + " %d0, %a0, %a1;", {type, type}, {type}}, float_rows(f, 2),
           [&](const Row& row) { return Row{(row[0] & f.sign()) | (row[1] & ~f.sign())}; });
  }
}

TEST(IsaFloat, TestProperty) {
  for (const Format f : {kF32, kF64}) {
    const std::string type = f.width() == 64 ? "f64" : "f32";
    std::string text;
    int i = 0;
    for (const char* property : {"finite", "infinite", "number", "notanumber", "normal", "subnormal"})
      text += std::string("testp.") + property + "." + type + " %d" + std::to_string(i++) + ", %a0;\n";
    expect({text, {type}, std::vector<std::string>(6, "pred")}, float_rows(f, 1), [&](const Row& row) {
      const uint64_t magnitude = row[0] & ~f.sign();
      const bool nan = f.is_nan(row[0]), infinite = magnitude == f.infinity(), subnormal = f.is_subnormal(row[0]);
      return Row{!nan && !infinite, infinite, !nan, nan, !nan && !infinite && !subnormal && magnitude != 0, subnormal};
    });
  }
}

}  // namespace
}  // namespace vgpu::isa_test
