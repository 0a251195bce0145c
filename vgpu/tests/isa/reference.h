// IEEE arithmetic without floating-point hardware: values are exact, and are rounded once, at the end.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "isa/harness.h"

namespace vgpu::isa_test {

enum class Rounding { nearest_even, zero, down, up, nearest_away };

struct Format {
  int exponent_bits, mantissa_bits;  // the mantissa's without the hidden bit
  int bias() const { return (1 << (exponent_bits - 1)) - 1; }
  int width() const { return 1 + exponent_bits + mantissa_bits; }
  uint64_t sign() const { return uint64_t{1} << (exponent_bits + mantissa_bits); }
  uint64_t infinity() const { return ((uint64_t{1} << exponent_bits) - 1) << mantissa_bits; }
  uint64_t largest() const { return infinity() - 1; }
  uint64_t least_normal() const { return uint64_t{1} << mantissa_bits; }
  // The NaN that PTX makes: all bits but the sign. Double precision keeps payloads: any NaN will do.
  uint64_t nan() const { return sign() - 1; }
  bool is_nan(uint64_t bits) const { return (bits & (sign() - 1)) > infinity(); }
  bool is_subnormal(uint64_t bits) const {
    const uint64_t magnitude = bits & (sign() - 1);
    return magnitude != 0 && magnitude < least_normal();
  }
  uint64_t flushed(uint64_t bits) const { return is_subnormal(bits) ? bits & sign() : bits; }
};
constexpr Format kF16{5, 10}, kBf16{8, 7}, kTf32{8, 10}, kF32{8, 23}, kF64{11, 52};

// ±significand * 2^exponent, infinity or NaN; `more` where the exact value lies beyond the significand's last bit.
struct Number {
  enum class Kind { finite, infinite, nan } kind = Kind::finite;
  bool negative = false;
  unsigned __int128 significand = 0;
  int exponent = 0;
  bool more = false;
  bool is_zero() const { return kind == Kind::finite && significand == 0 && !more; }
  static Number nan() { return {Kind::nan}; }
  static Number infinite(bool negative) { return {Kind::infinite, negative}; }
  static Number integer(__int128 value);
  Number operator-() const;
};

Number decode(Format format, uint64_t bits);
// NaN becomes the format's own. Results below the least normal number are flushed to zero where `flush`.
uint64_t encode(Format format, const Number& value, Rounding rounding = Rounding::nearest_even);

Number product(const Number& a, const Number& b);                 // exact, of significands of up to 64 bits
Number sum(const Number& a, const Number& b, Rounding rounding);  // exact; the rounding chooses the sign of x - x
Number quotient(const Number& a, const Number& b);                // to 70 bits and `more`
Number square_root(const Number& a);                              // to 60 bits and `more`
Number to_integer(const Number& a, Rounding rounding);            // a finite number rounded to an integer
int compare(const Number& a, const Number& b);                    // -1, 0, 1; of numbers that are no NaN
double to_double(const Number& a);

// Values at the edges of a format, and rows of them: all combinations, random bits, random values of like magnitude.
std::vector<uint64_t> edge_values(Format format);
std::vector<Row> float_rows(Format format, int columns, size_t random_rows = 3000);

struct Mode {
  const char* name;
  Rounding rounding;
};
constexpr Mode kModes[] = {
    {".rn", Rounding::nearest_even}, {".rz", Rounding::zero}, {".rm", Rounding::down}, {".rp", Rounding::up}};

}  // namespace vgpu::isa_test
