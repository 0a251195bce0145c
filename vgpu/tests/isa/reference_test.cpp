// The reference against the host's own arithmetic, where that is exact or correctly rounded.
#include "isa/reference.h"

#include <gtest/gtest.h>

#include <bit>
#include <cfenv>
#include <cmath>

namespace vgpu::isa_test {
namespace {

TEST(IsaReference, AgreesWithTheHost) {
  const struct {
    Rounding rounding;
    int host;
  } modes[] = {{Rounding::nearest_even, FE_TONEAREST},
               {Rounding::zero, FE_TOWARDZERO},
               {Rounding::down, FE_DOWNWARD},
               {Rounding::up, FE_UPWARD}};
  const auto same = [](double host, uint64_t ours) {
    return std::isnan(host) ? kF64.is_nan(ours) : std::bit_cast<uint64_t>(host) == ours;
  };
  for (const Row& row : float_rows(kF64, 3, 2000)) {
    volatile double a = std::bit_cast<double>(row[0]), b = std::bit_cast<double>(row[1]),
                    c = std::bit_cast<double>(row[2]);
    const Number x = decode(kF64, row[0]), y = decode(kF64, row[1]), z = decode(kF64, row[2]);
    for (const auto& mode : modes) {
      std::fesetround(mode.host);
      volatile double s = a + b, p = a * b, q = a / b, r = std::sqrt(a), f = std::fma(a, b, c);
      volatile float n = float(a);
      std::fesetround(FE_TONEAREST);
      ASSERT_TRUE(same(s, encode(kF64, sum(x, y, mode.rounding), mode.rounding))) << a << " + " << b;
      ASSERT_TRUE(same(p, encode(kF64, product(x, y), mode.rounding))) << a << " * " << b;
      ASSERT_TRUE(same(q, encode(kF64, quotient(x, y), mode.rounding))) << a << " / " << b;
      ASSERT_TRUE(same(r, encode(kF64, square_root(x), mode.rounding))) << "sqrt " << a;
      ASSERT_TRUE(same(f, encode(kF64, sum(product(x, y), z, mode.rounding), mode.rounding)))
          << a << " * " << b << " + " << c;
      if (!std::isnan(n)) {
        ASSERT_EQ(std::bit_cast<uint32_t>(float(n)), encode(kF32, x, mode.rounding)) << a;
      }
    }
    if (!std::isnan(a) && !std::isnan(b)) {
      ASSERT_EQ(compare(x, y), a < b ? -1 : a > b) << a << " ? " << b;
    }
  }
}

}  // namespace
}  // namespace vgpu::isa_test
