// The approximate functions: within the error that the PTX manual states, and exact where it gives a table.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <string>

#include "isa/reference.h"

namespace vgpu::isa_test {
namespace {

using Function = std::function<long double(long double)>;

struct Bound {
  double relative, absolute;
  double within;  // of the argument: beyond, the manual promises nothing
};
Bound relative(double error) { return {error, 0, INFINITY}; }
Bound absolute(double error, double within = INFINITY) { return {0, error, within}; }

bool close_enough(Format f, bool flush, const Function& exact, const Bound& bound, uint64_t bits, uint64_t got,
                  uint64_t wanted) {
  if (flush) bits = f.flushed(bits);
  if (f.is_nan(bits)) return f.is_nan(got);
  const double x = to_double(decode(f, bits));
  if (std::isinf(x)) return true;  // in the table
  if (std::fabs(x) > bound.within) return true;
  if (f.is_nan(wanted)) return f.is_nan(got);
  if (flush && f.is_subnormal(wanted)) return got == (wanted & f.sign()) || (got & ~f.sign()) == f.least_normal();
  const double y = to_double(decode(f, got));
  const long double z = exact(x);
  if (std::isinf(y) || std::isinf(double(z))) return got == wanted;
  // A subnormal result has no more than its quantum.
  const double quantum = std::ldexp(1, 1 - f.bias() - f.mantissa_bits);
  const double slack = f.is_subnormal(wanted) || wanted == 0 ? quantum : 0;
  return fabsl(y - z) <= std::max({bound.relative * fabsl(z), (long double)bound.absolute, (long double)slack});
}

// One-operand function, against the host's in extended precision. `flush`: subnormal input and output are zero. Half
// types one by one and in pairs.
void approximates(const std::string& opcode, const char* type, Format f, bool flush, const Function& exact,
                  const Bound& bound, const std::vector<std::pair<uint64_t, uint64_t>>& table) {
  std::vector<Row> rows;
  Random random(opcode.size());
  for (int i = 0; i < 6000; ++i) {
    const uint64_t bits = cut(random.next(), f.width());
    rows.push_back({bits});
    // Exponents around one, where the functions bend.
    const uint64_t near = f.bias() - 12 + random.below(20);
    rows.push_back({(bits & ~f.infinity()) | near << f.mantissa_bits});
  }
  const auto wanted = [&](uint64_t bits) {
    const double x = to_double(decode(f, flush ? f.flushed(bits) : bits));
    return encode(f, decode(kF64, std::bit_cast<uint64_t>(double(exact(x)))));
  };
  const auto same = [&](uint64_t bits, uint64_t got, uint64_t want) {
    return close_enough(f, flush, exact, bound, bits, got, want);
  };
  expect(
      {opcode + "." + type + " %d0, %a0;", {type}, {type}}, rows, [&](const Row& row) { return Row{wanted(row[0])}; },
      [&](int, const Row& row, uint64_t got, uint64_t want) { return same(row[0], got, want); });
  if (f.width() == 16) {
    const std::string pair = std::string(type) + "x2";
    for (size_t i = 0; i + 1 < rows.size(); ++i) rows[i][0] |= cut(rows[i + 1][0], 16) << 16;
    expect(
        {opcode + "." + pair + " %d0, %a0;", {pair}, {pair}}, rows,
        [&](const Row& row) { return Row{wanted(cut(row[0], 16)) | wanted(row[0] >> 16) << 16}; },
        [&](int, const Row& row, uint64_t got, uint64_t want) {
          return same(cut(row[0], 16), cut(got, 16), cut(want, 16)) && same(row[0] >> 16, got >> 16, want >> 16);
        });
  }
  std::vector<Row> points;
  for (const auto& [in, out] : table) points.push_back({in, out});
  expect(
      {opcode + "." + type + " %d0, %a0;", {type, type}, {type}}, points, [](const Row& row) { return Row{row[1]}; },
      [&](int, const Row&, uint64_t got, uint64_t wanted) {
        return got == wanted || (f.is_nan(got) && f.is_nan(wanted));
      });
}

constexpr uint64_t kInf = 0x7F800000, kNan = 0x7FFFFFFF, kMinus = 0x80000000, kOne = 0x3F800000;

TEST(IsaApproximate, ReciprocalsAndRoots) {
  for (const bool flush : {false, true}) {
    const std::string ftz = flush ? ".ftz" : "";
    approximates("rcp.approx" + ftz, "f32", kF32, flush, [](long double x) { return 1 / x; }, relative(0x1p-23),
                 {{0, kInf}, {kMinus, kMinus | kInf}, {kInf, 0}, {kMinus | kInf, kMinus}, {kNan, kNan}, {kOne, kOne}});
    approximates("sqrt.approx" + ftz, "f32", kF32, flush, [](long double x) { return sqrtl(x); }, relative(0x1p-23),
                 {{0, 0}, {kMinus, kMinus}, {kInf, kInf}, {kMinus | kInf, kNan}, {kMinus | kOne, kNan}, {kNan, kNan}});
    approximates("rsqrt.approx" + ftz, "f32", kF32, flush, [](long double x) { return 1 / sqrtl(x); },
                 relative(0x1.1p-23),
                 {{0, kInf}, {kMinus, kMinus | kInf}, {kInf, 0}, {kMinus | kInf, kNan}, {kMinus | kOne, kNan}});
  }
  approximates("rsqrt.approx", "f64", kF64, false, [](long double x) { return 1 / sqrtl(x); }, relative(0x1p-20),
               {{0, 0x7FF0000000000000}, {uint64_t{1} << 63, 0xFFF0000000000000}, {0x7FF0000000000000, 0}});
  approximates("rsqrt.approx.ftz", "f64", kF64, true, [](long double x) { return 1 / sqrtl(x); }, relative(0x1p-20),
               {{0, 0x7FF0000000000000}, {1, 0x7FF0000000000000}, {0x7FF0000000000000, 0}});
  approximates("rcp.approx.ftz", "f64", kF64, true, [](long double x) { return 1 / x; }, relative(0x1p-20),
               {{0, 0x7FF0000000000000}, {uint64_t{1} << 63, 0xFFF0000000000000}, {0x7FF0000000000000, 0}});
}

TEST(IsaApproximate, Transcendentals) {
  for (const bool flush : {false, true}) {
    const std::string ftz = flush ? ".ftz" : "";
    approximates("sin.approx" + ftz, "f32", kF32, flush, [](long double x) { return sinl(x); }, absolute(0x1p-20, M_PI),
                 {{0, 0}, {kMinus, kMinus}, {kInf, kNan}, {kMinus | kInf, kNan}, {kNan, kNan}});
    approximates("cos.approx" + ftz, "f32", kF32, flush, [](long double x) { return cosl(x); }, absolute(0x1p-20, M_PI),
                 {{0, kOne}, {kMinus, kOne}, {kInf, kNan}, {kNan, kNan}});
    approximates("lg2.approx" + ftz, "f32", kF32, flush, [](long double x) { return log2l(x); },
                 Bound{0x1.6p-23, 0x1.6p-23, INFINITY},
                 {{0, kMinus | kInf}, {kMinus, kMinus | kInf}, {kInf, kInf}, {kMinus | kOne, kNan}, {kOne, 0}});
    approximates("ex2.approx" + ftz, "f32", kF32, flush, [](long double x) { return exp2l(x); }, relative(0x1p-22),
                 {{0, kOne}, {kMinus, kOne}, {kInf, kInf}, {kMinus | kInf, 0}, {kOne, 0x40000000}, {kNan, kNan}});
  }
  approximates("tanh.approx", "f32", kF32, false, [](long double x) { return tanhl(x); }, relative(0x1p-10),
               {{0, 0}, {kMinus, kMinus}, {kInf, kOne}, {kMinus | kInf, kMinus | kOne}, {kNan, kNan}});
}

TEST(IsaApproximate, HalfTypes) {
  approximates("ex2.approx", "f16", kF16, false, [](long double x) { return exp2l(x); }, relative(0x1.1p-10),
               {{0, 0x3C00}, {0x8000, 0x3C00}, {0x7C00, 0x7C00}, {0xFC00, 0}, {0x7FFF, 0x7FFF}});
  approximates("tanh.approx", "f16", kF16, false, [](long double x) { return tanhl(x); }, absolute(0x1.1p-11),
               {{0, 0}, {0x8000, 0x8000}, {0x7C00, 0x3C00}, {0xFC00, 0xBC00}, {0x7FFF, 0x7FFF}});
  approximates("ex2.approx.ftz", "bf16", kBf16, true, [](long double x) { return exp2l(x); }, relative(0x1p-7),
               {{0, 0x3F80}, {0x8000, 0x3F80}, {0x7F80, 0x7F80}, {0xFF80, 0}, {0x7FFF, 0x7FFF}});
  approximates("tanh.approx", "bf16", kBf16, false, [](long double x) { return tanhl(x); }, absolute(0x1p-8),
               {{0, 0}, {0x8000, 0x8000}, {0x7F80, 0x3F80}, {0xFF80, 0xBF80}, {0x7FFF, 0x7FFF}});
}

TEST(IsaApproximate, Division) {
  for (const std::string form : {"div.approx", "div.full"}) {
    for (const bool flush : {false, true}) {
      expect(
          {form + (flush ? ".ftz" : "") + ".f32 %d0, %a0, %a1;", {"f32", "f32"}, {"f32"}}, float_rows(kF32, 2, 6000),
          [&](const Row& row) {
            const auto operand = [&](int i) { return decode(kF32, flush ? kF32.flushed(row[i]) : row[i]); };
            return Row{encode(kF32, quotient(operand(0), operand(1)))};
          },
          [&](int, const Row& row, uint64_t got, uint64_t wanted) {
            if (kF32.is_nan(wanted)) return kF32.is_nan(got);
            // Beyond 2^126 div.approx may give 0 (and NaN of infinity by such a divisor).
            if (form == "div.approx" && (row[1] & ~kF32.sign()) > 0x7E800000) return true;
            if (flush && kF32.is_subnormal(wanted)) return got == (wanted & kF32.sign());
            // At most two units in the last place.
            return (got & kF32.sign()) == (wanted & kF32.sign()) &&
                   std::abs(int64_t(got & ~kF32.sign()) - int64_t(wanted & ~kF32.sign())) <= 2;
          });
    }
  }
}

}  // namespace
}  // namespace vgpu::isa_test
