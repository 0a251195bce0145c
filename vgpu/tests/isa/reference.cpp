#include "isa/reference.h"

#include <algorithm>
#include <bit>
#include <utility>

namespace vgpu::isa_test {
namespace {

using Wide = unsigned __int128;

int bit_length(Wide value) {
  const uint64_t high = uint64_t(value >> 64);
  return high ? 128 - std::countl_zero(high) : 64 - std::countl_zero(uint64_t(value));
}

// A finite number as a long integer in units of 2^unit.
class Fixed {
 public:
  Fixed(const Number& n, int unit, size_t words) : unit_(unit), words_(words) {
    const int at = n.exponent - unit, bit = at % 64;
    const uint64_t parts[3] = {uint64_t(n.significand << bit), uint64_t(n.significand << bit >> 64),
                               bit ? uint64_t(n.significand >> (128 - bit)) : 0};
    for (int i = 0; i < 3; ++i) {
      if (parts[i]) words_[at / 64 + i] = parts[i];
    }
  }
  // Two numbers in units of the finer one.
  static std::pair<Fixed, Fixed> aligned(const Number& a, const Number& b) {
    const int unit = std::min(a.exponent, b.exponent);
    const size_t words = (std::max(a.exponent, b.exponent) - unit) / 64 + 4;
    return {Fixed(a, unit, words), Fixed(b, unit, words)};
  }
  bool operator<(const Fixed& other) const {
    return std::lexicographical_compare(words_.rbegin(), words_.rend(), other.words_.rbegin(), other.words_.rend());
  }
  bool operator==(const Fixed& other) const { return words_ == other.words_; }
  Fixed& operator+=(const Fixed& other) {
    unsigned carry = 0;
    for (size_t i = 0; i < words_.size(); ++i) {
      const Wide s = Wide(words_[i]) + other.words_[i] + carry;
      words_[i] = uint64_t(s);
      carry = unsigned(s >> 64);
    }
    return *this;
  }
  Fixed& operator-=(const Fixed& other) {
    unsigned borrow = 0;
    for (size_t i = 0; i < words_.size(); ++i) {
      const Wide d = Wide(words_[i]) - other.words_[i] - borrow;
      words_[i] = uint64_t(d);
      borrow = unsigned(d >> 64) & 1;
    }
    return *this;
  }
  // The leading 128 bits, from a word's end on, and whether there are more.
  Number number(bool negative) const {
    size_t top = words_.size();
    while (top > 0 && words_[top - 1] == 0) --top;
    const size_t last = top > 2 ? top - 2 : 0;  // 65 bits at least
    Number n{.negative = negative, .exponent = unit_ + int(last) * 64};
    n.significand = Wide(last + 1 < words_.size() ? words_[last + 1] : 0) << 64 | words_[last];
    for (size_t i = 0; i < last; ++i) n.more |= words_[i] != 0;
    return n;
  }

 private:
  int unit_;
  std::vector<uint64_t> words_;
};

// Whether a number that lies between an even or odd one and the next goes to the next.
bool goes_up(Rounding rounding, bool negative, bool odd, bool half, bool beyond) {
  switch (rounding) {
    case Rounding::nearest_even: return half && (beyond || odd);
    case Rounding::nearest_away: return half;
    case Rounding::zero: return false;
    case Rounding::down: return negative && (half || beyond);
    case Rounding::up: return !negative && (half || beyond);
  }
  return false;
}

// significand * 2^exponent in units of 2^quantum.
Wide in_units(const Number& n, int quantum, Rounding rounding) {
  const int drop = quantum - n.exponent;
  if (drop <= 0 && !n.more) return n.significand << -drop;
  const Wide kept = drop > 127 ? 0 : n.significand >> std::max(drop, 0);
  const bool half = drop >= 1 && drop <= 128 && (n.significand >> (drop - 1) & 1);
  const bool beyond =
      n.more || (drop > 128 ? n.significand != 0 : drop > 1 && (n.significand & ((Wide(1) << (drop - 1)) - 1)) != 0);
  return kept + goes_up(rounding, n.negative, kept & 1, half, beyond);
}

}  // namespace

Number Number::integer(__int128 value) {
  return {.negative = value < 0, .significand = Wide(value < 0 ? -value : value)};
}

Number Number::operator-() const {
  Number n = *this;
  n.negative = !n.negative;
  return n;
}

Number decode(Format f, uint64_t bits) {
  const uint64_t magnitude = bits & (f.sign() - 1), exponent = magnitude >> f.mantissa_bits;
  const bool negative = bits & f.sign();
  if (magnitude > f.infinity()) return Number::nan();
  if (magnitude == f.infinity()) return Number::infinite(negative);
  const uint64_t mantissa = magnitude & (f.least_normal() - 1);
  return {.negative = negative,
          .significand = exponent ? mantissa | f.least_normal() : mantissa,
          .exponent = int(std::max<uint64_t>(exponent, 1)) - f.bias() - f.mantissa_bits};
}

uint64_t encode(Format f, const Number& n, Rounding rounding) {
  const uint64_t sign = n.negative ? f.sign() : 0;
  if (n.kind == Number::Kind::nan) return f.nan();
  if (n.kind == Number::Kind::infinite) return sign | f.infinity();
  if (n.is_zero()) return sign;
  const int least = 1 - f.bias();
  const int exponent = std::max(n.exponent + bit_length(n.significand) - 1, least);  // of the leading bit
  const Wide kept = in_units(n, exponent - f.mantissa_bits, rounding);
  // A subnormal number's exponent is 0, the same as that of the least normal one but for the hidden bit, which `kept`
  // has or has not; a carry out of the mantissa raises the exponent as it should.
  const uint64_t encoded = (uint64_t(exponent - least) << f.mantissa_bits) + uint64_t(kept);
  if (encoded < f.infinity()) return sign | encoded;
  const bool away = rounding == Rounding::nearest_even || rounding == Rounding::nearest_away ||
                    rounding == (n.negative ? Rounding::down : Rounding::up);
  return sign | (away ? f.infinity() : f.largest());
}

Number product(const Number& a, const Number& b) {
  using Kind = Number::Kind;
  const bool negative = a.negative != b.negative;
  if (a.kind == Kind::nan || b.kind == Kind::nan) return Number::nan();
  if (a.kind == Kind::infinite || b.kind == Kind::infinite)
    return a.is_zero() || b.is_zero() ? Number::nan() : Number::infinite(negative);
  return {.negative = negative, .significand = a.significand * b.significand, .exponent = a.exponent + b.exponent};
}

Number sum(const Number& a, const Number& b, Rounding rounding) {
  using Kind = Number::Kind;
  if (a.kind == Kind::nan || b.kind == Kind::nan) return Number::nan();
  if (a.kind == Kind::infinite) return b.kind == Kind::infinite && a.negative != b.negative ? Number::nan() : a;
  if (b.kind == Kind::infinite) return b;
  auto [x, y] = Fixed::aligned(a, b);
  if (a.negative == b.negative) return (x += y).number(a.negative);
  if (x == y) return Number{.negative = rounding == Rounding::down};
  return x < y ? (y -= x).number(b.negative) : (x -= y).number(a.negative);
}

Number quotient(const Number& a, const Number& b) {
  using Kind = Number::Kind;
  const bool negative = a.negative != b.negative;
  if (a.kind == Kind::nan || b.kind == Kind::nan) return Number::nan();
  if (a.kind == Kind::infinite) return b.kind == Kind::infinite ? Number::nan() : Number::infinite(negative);
  if (b.kind == Kind::infinite) return Number{.negative = negative};
  if (b.is_zero()) return a.is_zero() ? Number::nan() : Number::infinite(negative);
  if (a.is_zero()) return Number{.negative = negative};
  const int shift = 126 - bit_length(a.significand);  // the quotient of significands of 53 bits has 73 at least
  const Wide dividend = a.significand << shift;
  return {.negative = negative,
          .significand = dividend / b.significand,
          .exponent = a.exponent - shift - b.exponent,
          .more = dividend % b.significand != 0};
}

Number square_root(const Number& a) {
  if (a.kind == Number::Kind::nan || a.is_zero()) return a;
  if (a.negative) return Number::nan();
  if (a.kind == Number::Kind::infinite) return a;
  int shift = 124 - bit_length(a.significand);
  if ((a.exponent - shift) % 2 != 0) --shift;
  const Wide square = a.significand << shift;
  Wide root = 0;
  for (Wide bit = Wide(1) << 62; bit != 0; bit >>= 1) {
    if ((root | bit) * (root | bit) <= square) root |= bit;
  }
  return {.significand = root, .exponent = (a.exponent - shift) / 2, .more = root * root != square};
}

Number to_integer(const Number& a, Rounding rounding) {
  if (a.kind != Number::Kind::finite || a.is_zero() || (a.exponent >= 0 && !a.more)) return a;
  return {.negative = a.negative, .significand = in_units(a, 0, rounding)};
}

int compare(const Number& a, const Number& b) {
  const auto rank = [](const Number& n) {
    if (n.is_zero()) return 0;
    const int magnitude = n.kind == Number::Kind::infinite ? 2 : 1;
    return n.negative ? -magnitude : magnitude;
  };
  const int x = rank(a), y = rank(b);
  if (x != y) return x < y ? -1 : 1;
  if (x != 1 && x != -1) return 0;
  const auto [p, q] = Fixed::aligned(a, b);
  if (p == q) return 0;
  return (p < q) == (x == 1) ? -1 : 1;
}

double to_double(const Number& a) {
  const uint64_t bits = encode(kF64, a);
  double value;
  static_assert(sizeof value == sizeof bits);
  __builtin_memcpy(&value, &bits, sizeof value);
  return value;
}

std::vector<uint64_t> edge_values(Format f) {
  const uint64_t one = uint64_t(f.bias()) << f.mantissa_bits, ulp = 1;
  const uint64_t half = one - f.least_normal(), two = one + f.least_normal();
  std::vector<uint64_t> values = {0,
                                  ulp,
                                  f.least_normal() / 2,
                                  f.least_normal() - ulp,
                                  f.least_normal(),
                                  f.least_normal() + ulp,
                                  half,
                                  one - ulp,
                                  one,
                                  one + ulp,
                                  one + f.least_normal() / 2,  // 1.5
                                  two,
                                  two + f.least_normal() / 2,                            // 3
                                  one + (uint64_t(f.mantissa_bits) << f.mantissa_bits),  // 1 / ulp
                                  one + (uint64_t(f.mantissa_bits + 1) << f.mantissa_bits),
                                  f.largest(),
                                  f.largest() - ulp,
                                  f.infinity(),
                                  f.infinity() + 1,  // a signalling NaN
                                  f.nan()};
  for (size_t i = 0, n = values.size(); i < n; ++i) values.push_back(values[i] | f.sign());
  return values;
}

std::vector<Row> float_rows(Format f, int columns, size_t random_rows) {
  std::vector<uint64_t> edges = edge_values(f);
  if (columns > 2) {  // 40^3 rows would take their time
    const std::vector<uint64_t> all = std::move(edges);
    edges.clear();
    for (size_t i = 0; i < all.size(); i += i % 5 == 0 ? 3 : 2) edges.push_back(all[i]);
  }
  std::vector<Row> rows{Row{}};
  for (int c = 0; c < columns; ++c) {
    std::vector<Row> longer;
    for (const Row& row : rows) {
      for (const uint64_t value : edges) {
        longer.push_back(row);
        longer.back()[c] = value;
      }
    }
    rows = std::move(longer);
  }
  Random random(f.width() * 8 + columns);
  for (size_t i = 0; i < random_rows; ++i) {
    Row row{};
    const uint64_t exponent = random.next();
    for (int c = 0; c < columns; ++c) {
      row[c] = cut(random.next(), f.width());
      if (i % 2 == 0) continue;
      // Exponents close to each other, around one: where sums cancel and products stay finite.
      const uint64_t near = f.bias() - 4 + (exponent + random.below(6)) % 9;
      row[c] = (row[c] & ~f.infinity()) | near << f.mantissa_bits;
    }
    if (i % 8 == 1 && columns == 3) row[2] = encode(f, -product(decode(f, row[0]), decode(f, row[1])));  // fma cancels
    rows.push_back(row);
  }
  return rows;
}

}  // namespace vgpu::isa_test
