// f16 and bf16 arithmetic, one by one and in pairs.
#include <gtest/gtest.h>

#include <string>

#include "isa/reference.h"

namespace vgpu::isa_test {
namespace {

struct Half {
  const char* name;
  Format format;
};
constexpr Half kHalves[] = {{"f16", kF16}, {"bf16", kBf16}};

using One = std::function<uint64_t(const uint64_t*)>;  // of the bits of up to three operands

// The instruction on single values and on pairs: the same function of the low and of the high halves.
void both(const std::string& opcode, const Half& half, int columns, const One& wanted) {
  std::string operands = " %d0";
  for (int i = 0; i < columns; ++i) operands += ", %a" + std::to_string(i);
  const std::vector<Row> rows = float_rows(half.format, columns);
  const std::string type = half.name;
  expect({opcode + "." + type + operands + ";", std::vector<std::string>(columns, type), {type}}, rows,
         [&](const Row& row) { return Row{wanted(row.data())}; });
  std::vector<Row> pairs = rows;
  for (size_t i = 0; i < rows.size(); ++i) {
    for (int c = 0; c < columns; ++c) pairs[i][c] |= rows[(i * 7 + 3) % rows.size()][c] << 16;
  }
  expect({opcode + "." + type + "x2" + operands + ";", std::vector<std::string>(columns, type + "x2"), {type + "x2"}},
         pairs, [&](const Row& row) {
           uint64_t result = 0;
           for (const int at : {0, 16}) {
             uint64_t values[3];
             for (int c = 0; c < columns; ++c) values[c] = row[c] >> at & 0xFFFF;
             result |= wanted(values) << at;
           }
           return Row{result};
         });
}

// Flags in the order the manual gives them.
struct Flags {
  bool flush, saturate, relu;
  std::string text() const {
    return std::string(flush ? ".ftz" : "") + (saturate ? ".sat" : "") + (relu ? ".relu" : "");
  }
};

One rounded(Format f, Flags flags, const std::function<Number(const Number*)>& compute, int columns) {
  return [=](const uint64_t* bits) {
    Number x[3];
    for (int i = 0; i < columns; ++i) x[i] = decode(f, flags.flush ? f.flushed(bits[i]) : bits[i]);
    uint64_t result = encode(f, compute(x));
    if (flags.flush) result = f.flushed(result);
    const uint64_t one = uint64_t(f.bias()) << f.mantissa_bits;
    if (flags.saturate) return f.is_nan(result) || result & f.sign() ? uint64_t{0} : std::min(result, one);
    if (flags.relu && (result & f.sign()) && !f.is_nan(result)) return uint64_t{0};
    return result;
  };
}

constexpr Rounding kNearest = Rounding::nearest_even;

TEST(IsaHalf, Arithmetic) {
  const struct {
    const char* opcode;
    std::function<Number(const Number*)> compute;
  } cases[] = {{"add", [](const Number* x) { return sum(x[0], x[1], kNearest); }},
               {"sub", [](const Number* x) { return sum(x[0], -x[1], kNearest); }},
               {"mul", [](const Number* x) { return product(x[0], x[1]); }}};
  for (const auto& c : cases) {
    for (const std::string rounding : {"", ".rn"}) {
      for (const Half& half : kHalves)
        both(c.opcode + rounding, half, 2, rounded(half.format, {false, false, false}, c.compute, 2));
      for (const Flags flags : {Flags{true, false, false}, Flags{false, true, false}, Flags{true, true, false}})
        both(c.opcode + rounding + flags.text(), kHalves[0], 2, rounded(kF16, flags, c.compute, 2));
    }
  }
}

TEST(IsaHalf, FusedMultiplyAdd) {
  const auto fma = [](const Number* x) { return sum(product(x[0], x[1]), x[2], kNearest); };
  for (const Half& half : kHalves) {
    for (const Flags flags : {Flags{false, false, false}, Flags{false, false, true}})
      both("fma.rn" + flags.text(), half, 3, rounded(half.format, flags, fma, 3));
  }
  for (const Flags flags :
       {Flags{true, false, false}, Flags{false, true, false}, Flags{true, true, false}, Flags{true, false, true}})
    both("fma.rn" + flags.text(), kHalves[0], 3, rounded(kF16, flags, fma, 3));
}

TEST(IsaHalf, MinimumMaximumAndSigns) {
  for (const Half& half : kHalves) {
    const Format f = half.format;
    const bool flushes = f.exponent_bits == kF16.exponent_bits;
    for (int flags = 0; flags < (flushes ? 16 : 8); ++flags) {
      const bool max = flags & 1, nan = flags & 2, xorsign = flags & 4, flush = flags & 8;
      both(std::string(max ? "max" : "min") + (flush ? ".ftz" : "") + (nan ? ".NaN" : "") +
               (xorsign ? ".xorsign.abs" : ""),
           half, 2, [=](const uint64_t* x) {
             uint64_t a = flush ? f.flushed(x[0]) : x[0], b = flush ? f.flushed(x[1]) : x[1];
             const uint64_t signs = (a ^ b) & f.sign();
             if (xorsign) a &= ~f.sign(), b &= ~f.sign();
             uint64_t chosen;
             if (f.is_nan(a) || f.is_nan(b)) {
               if (nan || (f.is_nan(a) && f.is_nan(b))) return f.nan();
               chosen = f.is_nan(a) ? b : a;
             } else {
               const int order = compare(decode(f, a), decode(f, b));
               const bool a_first = order < 0 || (order == 0 && (a & f.sign()) >= (b & f.sign()));
               chosen = a_first == max ? b : a;
             }
             return xorsign ? chosen | signs : chosen;
           });
    }
    // The sign and payload of a NaN are open.
    for (int flags = 0; flags < (flushes ? 4 : 2); ++flags) {
      const bool negate = flags & 1, flush = flags & 2;
      const std::string type = half.name, name = std::string(negate ? "neg" : "abs") + (flush ? ".ftz." : ".") + type;
      const auto wanted = [=](uint64_t bits) {
        if (flush) bits = f.flushed(bits);
        return negate ? bits ^ f.sign() : bits & ~f.sign();
      };
      const auto same = [=](uint64_t got, uint64_t want) { return f.is_nan(want) ? f.is_nan(got) : got == want; };
      expect(
          {name + " %d0, %a0;", {type}, {type}}, float_rows(f, 1), [&](const Row& row) { return Row{wanted(row[0])}; },
          [&](int, const Row&, uint64_t got, uint64_t want) { return same(got, want); });
      std::vector<Row> pairs = float_rows(f, 2);
      for (Row& row : pairs) row = {row[0] | row[1] << 16};
      expect(
          {name + "x2 %d0, %a0;", {type + "x2"}, {type + "x2"}}, pairs,
          [&](const Row& row) { return Row{wanted(row[0] & 0xFFFF) | wanted(row[0] >> 16) << 16}; },
          [&](int, const Row&, uint64_t got, uint64_t want) {
            return same(got & 0xFFFF, want & 0xFFFF) && same(got >> 16, want >> 16);
          });
    }
  }
}

}  // namespace
}  // namespace vgpu::isa_test
