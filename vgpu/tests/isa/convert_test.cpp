// cvt: every type to every other, in every rounding mode, with saturation.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <string>

#include "isa/reference.h"

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
  // Registers are at least 32 bits wide here: a narrower result is extended into them.
  std::string reg() const { return bits == 64 ? "b64" : "b32"; }
  uint64_t in_register(Wide v) const {
    const uint64_t low = cut(uint64_t(v), bits);
    return cut(is_signed ? uint64_t(sign_extended(low, bits)) : low, std::max(bits, 32));
  }
};
constexpr IntType kInts[] = {{"u8", 8, false}, {"u16", 16, false}, {"u32", 32, false}, {"u64", 64, false},
                             {"s8", 8, true},  {"s16", 16, true},  {"s32", 32, true},  {"s64", 64, true}};

struct FloatType {
  const char* name;
  Format format;
};
constexpr FloatType kFloats[] = {{"f16", kF16}, {"f32", kF32}, {"f64", kF64}, {"bf16", kBf16}};

constexpr Mode kIntegerModes[] = {
    {".rni", Rounding::nearest_even}, {".rzi", Rounding::zero}, {".rmi", Rounding::down}, {".rpi", Rounding::up}};

bool same_or_nan(Format f, uint64_t got, uint64_t wanted) {
  return got == wanted || (f.width() == 64 && f.is_nan(got) && f.is_nan(wanted));
}

uint64_t saturated(Format f, uint64_t bits) {
  return f.is_nan(bits) || bits & f.sign() ? 0 : std::min(bits, uint64_t(f.bias()) << f.mantissa_bits);
}
uint64_t relu(Format f, uint64_t bits) { return bits & f.sign() && !f.is_nan(bits) ? 0 : bits; }
// Infinity, or what is too large, becomes the largest number.
uint64_t finite(Format f, uint64_t bits) {
  return (bits & ~f.sign()) == f.infinity() ? (bits & f.sign()) | f.largest() : bits;
}

TEST(IsaConvert, IntegerToInteger) {
  for (const IntType& from : kInts) {
    for (const IntType& to : kInts) {
      for (const bool saturate : {false, true}) {
        expect({std::string("cvt") + (saturate ? ".sat." : ".") + to.name + "." + from.name + " %d0, %a0;",
                {from.reg()},
                {to.reg()}},
               integer_rows({std::max(from.bits, 32)}, 500), [&](const Row& row) {
                 const Wide value = from.value(row[0]);
                 return Row{to.in_register(saturate ? std::min(std::max(value, to.least()), to.most()) : value)};
               });
      }
    }
  }
}

TEST(IsaConvert, IntegerToFloat) {
  for (const IntType& from : kInts) {
    for (const FloatType& to : kFloats) {
      for (const Mode& mode : kModes) {
        for (const bool saturate : {false, true}) {
          if (saturate && to.name == std::string("bf16")) continue;  // there is no cvt.sat to bf16
          expect(
              {std::string("cvt") + mode.name + (saturate ? ".sat." : ".") + to.name + "." + from.name + " %d0, %a0;",
               {from.reg()},
               {to.name}},
              integer_rows({std::max(from.bits, 32)}, 1000), [&](const Row& row) {
                const uint64_t bits = encode(to.format, Number::integer(from.value(row[0])), mode.rounding);
                return Row{saturate ? saturated(to.format, bits) : bits};
              });
        }
      }
    }
  }
}

TEST(IsaConvert, FloatToInteger) {
  for (const FloatType& from : kFloats) {
    for (const IntType& to : kInts) {
      std::vector<Row> rows = float_rows(from.format, 1);
      // Halfway cases and the edges of the integer type.
      for (const Wide around : {Wide(0), to.least(), to.most(), Wide(100)}) {
        for (int quarters = -9; quarters <= 9; ++quarters) {
          Number n = Number::integer(around * 4 + quarters);
          n.exponent = -2;
          rows.push_back({encode(from.format, n)});
        }
      }
      for (const Mode& mode : kIntegerModes) {
        for (int flags = 0; flags < (from.format.width() == 32 ? 4 : 2); ++flags) {
          const bool saturate = flags & 1, flush = flags & 2;  // out-of-range values clamp in any case
          expect(
              {std::string("cvt") + mode.name + (flush ? ".ftz" : "") + (saturate ? ".sat." : ".") + to.name + "." +
                   from.name + " %d0, %a0;",
               {from.name},
               {to.reg()}},
              rows,
              [&](const Row& row) {
                const uint64_t bits = flush ? from.format.flushed(row[0]) : row[0];
                const Number n = to_integer(decode(from.format, bits), mode.rounding);
                if (n.kind == Number::Kind::nan) return Row{0};
                Wide value;
                if (n.is_zero()) {
                  value = 0;
                } else if (n.kind == Number::Kind::infinite || n.exponent > 60) {
                  value = n.negative ? to.least() : to.most();
                } else {
                  value = Wide(n.significand) << n.exponent;
                  value = std::min(std::max(n.negative ? -value : value, to.least()), to.most());
                }
                return Row{to.in_register(value)};
              },
              [&](int, const Row& row, uint64_t got, uint64_t wanted) {
                // The manual makes 0 of NaN; hardware makes the least number of it where 64 bits are involved.
                const bool wide = to.bits == 64 || from.format.width() == 64;
                return got == wanted || (wide && from.format.is_nan(row[0]));
              });
        }
      }
    }
  }
}

// Values of a format, halfway cases of a narrower one among them.
std::vector<Row> rows_to_narrow(const FloatType& to, const FloatType& from) {
  std::vector<Row> rows = float_rows(from.format, 1);
  Random random(3);
  const int below = from.format.mantissa_bits - to.format.mantissa_bits;
  for (int i = 0; i < 2000 && below > 0; ++i) {
    const uint64_t near = encode(from.format, decode(to.format, cut(random.next(), to.format.width())));
    for (const int beyond : {0, 1, -1}) rows.push_back({(near | uint64_t{1} << (below - 1)) + uint64_t(beyond)});
  }
  return rows;
}

// Whether hardware takes a result for subnormal before or after rounding, PTX leaves open.
Same same_flushed(Format f) {
  return [f](int, const Row&, uint64_t got, uint64_t wanted) {
    return got == wanted || ((wanted & ~f.sign()) == f.least_normal() && got == (wanted & f.sign()));
  };
}

TEST(IsaConvert, FloatToNarrowerFloat) {
  const FloatType &f16 = kFloats[0], &f32 = kFloats[1], &f64 = kFloats[2], &bf16 = kFloats[3];
  const struct {
    FloatType to, from;
  } pairs[] = {{f32, f64}, {f16, f64}, {f16, f32}, {bf16, f64}, {bf16, f32}, {f16, bf16}, {bf16, f16}};
  for (const auto& [to, from] : pairs) {
    const bool is_bf16 = to.name == std::string("bf16"), of_half = from.format.width() == 16;
    const bool flushes = to.format.width() == 32 || from.format.width() == 32;
    for (const Mode& mode : kModes) {
      for (int flags = 0; flags < 4; ++flags) {
        const bool saturate = flags & 1, flush = flags & 2;
        // There is no cvt.sat to bf16, nor between the half types; .ftz is for an f32 on either side.
        if ((saturate && (is_bf16 || of_half)) || (flush && !flushes)) continue;
        expect(
            {std::string("cvt") + mode.name + (flush ? ".ftz" : "") + (saturate ? ".sat." : ".") + to.name + "." +
                 from.name + " %d0, %a0;",
             {from.name},
             {to.name}},
            rows_to_narrow(to, from),
            [&](const Row& row) {
              const bool of_single = from.format.width() == 32;
              uint64_t bits =
                  encode(to.format, decode(from.format, flush && of_single ? from.format.flushed(row[0]) : row[0]),
                         mode.rounding);
              if (flush && !of_single) bits = to.format.flushed(bits);
              return Row{saturate ? saturated(to.format, bits) : bits};
            },
            flush ? same_flushed(to.format) : Same{});
      }
    }
  }
}

TEST(IsaConvert, FloatToWiderFloat) {
  const struct {
    FloatType to, from;
  } pairs[] = {{kFloats[2], kFloats[1]},
               {kFloats[2], kFloats[0]},
               {kFloats[1], kFloats[0]},
               {kFloats[1], kFloats[3]},
               {kFloats[2], kFloats[3]}};
  for (const auto& [to, from] : pairs) {
    std::vector<Row> rows = float_rows(from.format, 1);
    if (from.format.width() == 16) {
      rows.clear();
      for (uint64_t bits = 0; bits < 0x10000; ++bits) rows.push_back({bits});
    }
    for (int flags = 0; flags < 4; ++flags) {
      const bool saturate = flags & 1, flush = flags & 2;
      if (flush && from.format.width() != 32 && to.format.width() != 32) continue;
      expect(
          {std::string("cvt") + (flush ? ".ftz" : "") + (saturate ? ".sat." : ".") + to.name + "." + from.name +
               " %d0, %a0;",
           {from.name},
           {to.name}},
          rows,
          [&](const Row& row) {
            // Of the two the f32 is flushed; what comes from a half type is never a subnormal f32, but for bf16, whose
            // subnormal numbers are the upper half of f32's.
            const bool of_single = from.format.width() == 32;
            uint64_t bits =
                encode(to.format, decode(from.format, flush && of_single ? from.format.flushed(row[0]) : row[0]));
            if (flush && !of_single) bits = to.format.flushed(bits);
            return Row{saturate ? saturated(to.format, bits) : bits};
          },
          [&](int, const Row&, uint64_t got, uint64_t wanted) {
            // A NaN may keep its payload.
            return got == wanted || (to.format.is_nan(wanted) && to.format.is_nan(got));
          });
    }
  }
}

TEST(IsaConvert, ToAnIntegralFloat) {
  for (const FloatType& type : kFloats) {
    for (const Mode& mode : kIntegerModes) {
      for (int flags = 0; flags < 4; ++flags) {
        const bool saturate = flags & 1, flush = flags & 2;
        if ((flush && type.format.width() != 32) || (saturate && type.format.width() == 16)) continue;
        expect(
            {std::string("cvt") + mode.name + (flush ? ".ftz" : "") + (saturate ? ".sat." : ".") + type.name + "." +
                 type.name + " %d0, %a0;",
             {type.name},
             {type.name}},
            float_rows(type.format, 1, 6000),
            [&](const Row& row) {
              const uint64_t bits =
                  encode(type.format,
                         to_integer(decode(type.format, flush ? type.format.flushed(row[0]) : row[0]), mode.rounding));
              return Row{saturate ? saturated(type.format, bits) : bits};
            },
            [&](int, const Row&, uint64_t got, uint64_t wanted) { return same_or_nan(type.format, got, wanted); });
      }
    }
  }
  expect(
      {"cvt.sat.f32.f32 %d0, %a0;\ncvt.ftz.f32.f32 %d1, %a0;\ncvt.ftz.sat.f32.f32 %d2, %a0;\ncvt.f32.f32 %d3, %a0;",
       {"f32"},
       {"f32", "f32", "f32", "f32"}},
      float_rows(kF32, 1),
      [](const Row& row) {
        return Row{saturated(kF32, row[0]), kF32.flushed(row[0]), saturated(kF32, kF32.flushed(row[0])), row[0]};
      },
      [](int, const Row&, uint64_t got, uint64_t wanted) {
        return got == wanted || (kF32.is_nan(wanted) && kF32.is_nan(got));
      });
  expect({"cvt.sat.f64.f64 %d0, %a0;", {"f64"}, {"f64"}}, float_rows(kF64, 1),
         [](const Row& row) { return Row{saturated(kF64, row[0])}; });
}

// With .relu and .satfinite, one by one and in pairs, of which the first operand becomes the high half.
TEST(IsaConvert, ToHalfTypes) {
  for (const FloatType& to : {kFloats[0], kFloats[3]}) {
    for (const Mode& mode : {kModes[0], kModes[1]}) {
      for (int flags = 0; flags < 4; ++flags) {
        const bool relus = flags & 1, finites = flags & 2;
        const std::string name =
                              std::string("cvt") + mode.name + (relus ? ".relu" : "") + (finites ? ".satfinite." : "."),
                          type = to.name;
        const auto one = [&](uint64_t in) {
          uint64_t bits = encode(to.format, decode(kF32, in), mode.rounding);
          if (finites) bits = finite(to.format, bits);
          return relus ? relu(to.format, bits) : bits;
        };
        expect({name + type + ".f32 %d0, %a0;\n" + name + type + "x2.f32 %d1, %a0, %a1;",
                {"f32", "f32"},
                {type, type + "x2"}},
               float_rows(kF32, 2), [&](const Row& row) { return Row{one(row[0]), one(row[0]) << 16 | one(row[1])}; });
      }
    }
  }
}

TEST(IsaConvert, ToTf32) {
  const struct {
    const char* name;
    Rounding rounding;
    bool relus;
  } modes[] = {{".rna", Rounding::nearest_away, false},
               {".rn", Rounding::nearest_even, false},
               {".rz", Rounding::zero, false},
               {".rn.relu", Rounding::nearest_even, true},
               {".rz.relu", Rounding::zero, true}};
  for (const auto& mode : modes) {
    for (const bool finites : {false, true}) {
      expect(
          {std::string("cvt") + mode.name + (finites ? ".satfinite" : "") + ".tf32.f32 %d0, %a0;", {"f32"}, {"b32"}},
          float_rows(kF32, 1, 6000),
          [&](const Row& row) {
            uint64_t bits = encode(kTf32, decode(kF32, row[0]), mode.rounding);
            if (finites) bits = finite(kTf32, bits);
            return Row{mode.relus ? relu(kTf32, bits) : bits};
          },
          [](int, const Row&, uint64_t got, uint64_t wanted) {  // only the upper 19 bits of the result count
            return kTf32.is_nan(wanted) ? kF32.is_nan(got) : got >> 13 == wanted;
          });
    }
  }
}

// The eight-bit formats: e4m3 has no infinity and one NaN, e5m2 is a short f16. Brute force over all 127 magnitudes.
struct Byte {
  const char* name;
  int mantissa_bits, bias;
  uint64_t largest;  // its code
  double value(uint64_t code) const {
    const int exponent = int(code >> mantissa_bits), mantissa = int(code & ((1 << mantissa_bits) - 1));
    return exponent == 0 ? std::ldexp(mantissa, 1 - bias - mantissa_bits)
                         : std::ldexp(mantissa + (1 << mantissa_bits), exponent - bias - mantissa_bits);
  }
  uint64_t nearest(double x) const {
    if (std::isnan(x)) return 0x7F;
    const uint64_t sign = std::signbit(x) ? 0x80 : 0;
    const double magnitude = std::fabs(x);
    uint64_t code = 0;
    while (code < largest && value(code + 1) <= magnitude) ++code;
    if (code < largest) {
      const double middle = (value(code) + value(code + 1)) / 2;
      code += magnitude > middle || (magnitude == middle && code % 2 == 1);
    }
    return sign | code;  // satfinite: what is too large becomes the largest
  }
};
constexpr Byte kBytes[] = {{"e4m3", 3, 7, 0x7E}, {"e5m2", 2, 15, 0x7B}};

TEST(IsaConvert, EightBitFloats) {
  for (const Byte& byte : kBytes) {
    const std::string type = std::string(byte.name) + "x2";
    std::vector<Row> rows = float_rows(kF32, 2, 500);
    Random random(9);
    for (int i = 0; i < 3000; ++i) {  // of the format's own magnitude, halfway cases among them
      Row row{};
      for (int c = 0; c < 2; ++c) {
        const uint64_t code = random.below(byte.largest);
        const double steps[] = {byte.value(code), (byte.value(code) + byte.value(code + 1)) / 2,
                                std::nextafterf(float((byte.value(code) + byte.value(code + 1)) / 2), 1e9f)};
        row[c] = std::bit_cast<uint32_t>(float(steps[random.below(3)])) | random.below(2) << 31;
      }
      rows.push_back(row);
    }
    const auto positive = [](uint64_t bits) { return bits & 0x80 && bits != 0xFF ? uint64_t{0} : bits; };
    expect({"cvt.rn.satfinite." + type + ".f32 %d0, %a0, %a1;\ncvt.rn.satfinite.relu." + type + ".f32 %d1, %a0, %a1;",
            {"f32", "f32"},
            {"b16", "b16"}},
           rows, [&](const Row& row) {
             const uint64_t a = byte.nearest(to_double(decode(kF32, row[0])));
             const uint64_t b = byte.nearest(to_double(decode(kF32, row[1])));
             return Row{a << 8 | b, positive(a) << 8 | positive(b)};
           });
    std::vector<Row> halves;
    for (uint64_t bits = 0; bits < 0x10000; ++bits) halves.push_back({bits << 16 | (bits * 7 & 0xFFFF)});
    expect({"cvt.rn.satfinite." + type + ".f16x2 %d0, %a0;\ncvt.rn.satfinite.relu." + type + ".f16x2 %d1, %a0;",
            {"b32"},
            {"b16", "b16"}},
           halves, [&](const Row& row) {
             const uint64_t a = byte.nearest(to_double(decode(kF16, row[0] >> 16)));
             const uint64_t b = byte.nearest(to_double(decode(kF16, row[0] & 0xFFFF)));
             return Row{a << 8 | b, positive(a) << 8 | positive(b)};
           });
    std::vector<Row> codes;
    for (uint64_t code = 0; code < 256; ++code) codes.push_back({code << 8 | (code * 7 & 0xFF)});
    expect({"cvt.rn.f16x2." + type + " %d0, %a0;\ncvt.rn.relu.f16x2." + type + " %d1, %a0;", {"b16"}, {"b32", "b32"}},
           codes, [&](const Row& row) {
             uint64_t result = 0, positives = 0;
             for (const int at : {0, 1}) {
               const uint64_t code = row[0] >> 8 * at & 0xFF, magnitude = code & 0x7F;
               uint64_t half;
               if (magnitude > byte.largest) {
                 half = byte.mantissa_bits == 2 && magnitude == 0x7C ? kF16.infinity() : kF16.nan();
               } else {
                 half = encode(kF16, decode(kF64, std::bit_cast<uint64_t>(byte.value(magnitude))));
               }
               if (half != kF16.nan()) half |= (code & 0x80) << 8;
               result |= half << 16 * at;
               positives |= relu(kF16, half) << 16 * at;
             }
             return Row{result, positives};
           });
  }
}

TEST(IsaConvert, Pack) {
  expect({"cvt.pack.sat.u8.s32.b32 %d0, %a0, %a1, %a2;\ncvt.pack.sat.s8.s32.b32 %d1, %a0, %a1, %a2;\n"
          "cvt.pack.sat.u16.s32 %d2, %a0, %a1;\ncvt.pack.sat.s16.s32 %d3, %a0, %a1;",
          {"b32", "b32", "b32"},
          {"b32", "b32", "b32", "b32"}},
         integer_rows({32, 32, 32}), [](const Row& row) {
           const auto narrow = [](uint64_t bits, int64_t least, int64_t most) {
             return std::min(std::max(sign_extended(bits, 32), least), most);
           };
           const auto pair = [&](int64_t least, int64_t most, int bits) {
             return cut(uint64_t(narrow(row[0], least, most)), bits) << bits |
                    cut(uint64_t(narrow(row[1], least, most)), bits);
           };
           // The older bytes move up.
           return Row{cut(row[2] << 16, 32) | pair(0, 255, 8), cut(row[2] << 16, 32) | pair(-128, 127, 8),
                      pair(0, 65535, 16), pair(-32768, 32767, 16)};
         });
}

}  // namespace
}  // namespace vgpu::isa_test
