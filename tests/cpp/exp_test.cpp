// The exponential of device/cpu/math.h against std::exp in double, on every instruction set: a dense sample of its
// range, both ends pattern by pattern, infinity and NaN.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tests/cpp/exp_test.cpp"

#include <hwy/foreach_target.h>

#include "oprt/device/cpu/math.h"

HWY_BEFORE_NAMESPACE();
namespace oprt {
namespace HWY_NAMESPACE {

// n is a multiple of any target's vector.
void exp_nonpositive(const float* in, float* out, size_t n) {
  for (size_t i = 0; i < n; i += lanes()) store(exp_nonpositive_f32(load_f32(in + i)), out + i);
}

}  // namespace HWY_NAMESPACE
}  // namespace oprt
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include "tests/cpp/cpu_targets.h"

namespace oprt {
namespace {

HWY_EXPORT(exp_nonpositive);

constexpr size_t kBlock = 64;  // a multiple of any target's vector
constexpr uint32_t kMinusZero = 0x80000000u, kMinus87 = 0xC2AE0000u, kMinusInfinity = 0xFF800000u;

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr uint32_t kStep = 4999;
#else
constexpr uint32_t kStep = 499;
#endif

float from_bits(uint32_t bits) {
  float x;
  std::memcpy(&x, &bits, sizeof(x));
  return x;
}

std::vector<float> exp_of(std::vector<float> xs) {
  std::vector<float> ys(xs.size());
  HWY_DYNAMIC_DISPATCH(exp_nonpositive)(xs.data(), ys.data(), xs.size());
  return ys;
}

// Every step-th pattern from `first` on, which is away from 0, as whole blocks.
template <class Body>
void for_each_pattern(uint32_t first, uint32_t last, uint32_t step, Body&& body) {
  std::vector<float> xs(kBlock);
  for (uint64_t at = first; at <= last; at += uint64_t{kBlock} * step) {
    for (size_t i = 0; i < kBlock; ++i)
      xs[i] = from_bits(static_cast<uint32_t>(std::min<uint64_t>(at + i * step, last)));
    const std::vector<float> ys = exp_of(xs);
    for (size_t i = 0; i < kBlock; ++i) body(xs[i], ys[i]);
  }
}

TEST(Exp, IsWithinTheErrorThatItsCommentStates) {
  for_each_cpu_target([](const char* target) {
    const bool portable = std::string(target) == "EMU128" || std::string(target) == "SCALAR";
    const double bound = portable ? 1.6 : 1.3;  // without and with fused multiply-add
    double worst = 0;
    float at = 0;
    const auto compare = [&](float x, float y) {
      const double right = std::exp(static_cast<double>(x)), error = std::fabs(y - right) / right * 0x1p24;
      if (!(error <= worst)) worst = error, at = x;
    };
    for_each_pattern(kMinusZero, kMinus87, kStep, compare);
    for_each_pattern(kMinusZero, kMinusZero + 4096, 1, compare);
    for_each_pattern(kMinus87 - 4096, kMinus87, 1, compare);
    EXPECT_LE(worst, bound) << target << ": e^" << at;
    EXPECT_GT(worst, 0.5) << target << ": the comparison sees nothing";
  });
}

TEST(Exp, IsZeroBelowMinus87) {
  for_each_cpu_target([](const char* target) {
    const auto is_zero = [&](float x, float y) { ASSERT_TRUE(y == 0 && !std::signbit(y)) << target << ": e^" << x; };
    for_each_pattern(kMinus87 + 1, kMinus87 + 4096, 1, is_zero);
    for_each_pattern(kMinus87 + 1, kMinusInfinity, 65521, is_zero);
    for_each_pattern(kMinusInfinity, kMinusInfinity, 1, is_zero);
  });
}

TEST(Exp, OfZeroIsOneAndNaNStays) {
  for_each_cpu_target([](const char* target) {
    for (float zero : {0.0f, -0.0f})
      for (float y : exp_of(std::vector<float>(kBlock, zero))) ASSERT_EQ(y, 1.0f) << target;
    for (uint32_t nan : {0x7FC00000u, 0xFFC00000u, 0x7F800001u, 0xFFFFFFFFu})
      for (float y : exp_of(std::vector<float>(kBlock, from_bits(nan)))) ASSERT_TRUE(std::isnan(y)) << target;
  });
}

}  // namespace
}  // namespace oprt
#endif
