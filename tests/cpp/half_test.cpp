// Narrowing to f16 and bf16 on all 2^32 f32 patterns, and widening back on all 2^16: the scalar code of core/half.h and
// the vectors of device/cpu/simd.h on every instruction set.
//
// The right answers come from rounding's definition, not from another narrowing: between two neighbours of the 16-bit
// type lies a midpoint; below it the lower one is nearest, above it the upper, on it the even one. So each 16-bit value
// owns one range of f32 patterns, and the ranges are laid out once.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tests/cpp/half_test.cpp"
#include <hwy/foreach_target.h>

#include "oprt/device/cpu/simd.h"

HWY_BEFORE_NAMESPACE();
namespace oprt {
namespace HWY_NAMESPACE {

// n and `out` are multiples of any target's vector.
template <class T>
HWY_INLINE void narrow_span(const float* in, T* out, size_t n, bool past_cache) {
  const size_t step = lanes();
  if (past_cache) {
    for (size_t i = 0; i < n; i += step) stream(load_f32(in + i), out + i);
    hwy::FlushStream();
  } else {
    for (size_t i = 0; i < n; i += step) store(load_f32(in + i), out + i);
  }
}

template <class T>
HWY_INLINE void widen_span(const T* in, float* out, size_t n) {
  for (size_t i = 0; i < n; i += lanes()) store(load_f32(in + i), out + i);
}

void narrow_f16(const float* in, f16* out, size_t n, bool past_cache) { narrow_span(in, out, n, past_cache); }
void narrow_bf16(const float* in, bf16* out, size_t n, bool past_cache) { narrow_span(in, out, n, past_cache); }
void widen_f16(const f16* in, float* out, size_t n) { widen_span(in, out, n); }
void widen_bf16(const bf16* in, float* out, size_t n) { widen_span(in, out, n); }

}  // namespace HWY_NAMESPACE
}  // namespace oprt
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstring>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "tests/cpp/cpu_targets.h"

namespace oprt {
namespace {

HWY_EXPORT(narrow_f16);
HWY_EXPORT(narrow_bf16);
HWY_EXPORT(widen_f16);
HWY_EXPORT(widen_bf16);

template <class T>
struct Way {
  std::string name;
  void (*narrow)(const float*, T*, size_t, bool past_cache);
  void (*widen)(const T*, float*, size_t);
};

template <class T>
void narrow_scalar(const float* in, T* out, size_t n, bool) {
  for (size_t i = 0; i < n; ++i) out[i] = narrow<T>(in[i]);
}

template <class T>
void widen_scalar(const T* in, float* out, size_t n) {
  for (size_t i = 0; i < n; ++i) out[i] = widen(in[i]);
}

template <class T>
std::vector<Way<T>> ways() {
  std::vector<Way<T>> out = {{"scalar", narrow_scalar<T>, widen_scalar<T>}};
  for_each_cpu_target([&](const char* name) {
    if constexpr (std::is_same_v<T, f16>)
      out.push_back({name, &HWY_DYNAMIC_DISPATCH(narrow_f16), &HWY_DYNAMIC_DISPATCH(widen_f16)});
    else
      out.push_back({name, &HWY_DYNAMIC_DISPATCH(narrow_bf16), &HWY_DYNAMIC_DISPATCH(widen_bf16)});
  });
  return out;
}

// A 16-bit float is a sign, an exponent and a fraction; its value follows from the three (IEEE 754).
template <class T>
struct Format;
template <>
struct Format<f16> {
  static constexpr int fraction = 10, bias = 15;
};
template <>
struct Format<bf16> {
  static constexpr int fraction = 7, bias = 127;
};

// Of a magnitude (no sign bit); infinity counts as the power of two that would come next.
template <class T>
double value_of(int magnitude) {
  constexpr int fraction = Format<T>::fraction;
  const int exponent = magnitude >> fraction, bits = magnitude & ((1 << fraction) - 1);
  return exponent == 0 ? std::ldexp(bits, 1 - Format<T>::bias - fraction)
                       : std::ldexp((1 << fraction) + bits, exponent - Format<T>::bias - fraction);
}

template <class T>
constexpr int kInfinity = 0x7FFF >> Format<T>::fraction << Format<T>::fraction;

constexpr uint32_t kF32Infinity = 0x7F800000u;

// ends[h] is the first positive f32 pattern past those that narrow to magnitude h.
template <class T>
std::vector<uint32_t> range_ends() {
  std::vector<uint32_t> ends;
  for (int h = 0; h < kInfinity<T>; ++h) {
    const double midpoint = (value_of<T>(h) + value_of<T>(h + 1)) / 2;
    const float exact = static_cast<float>(midpoint);
    EXPECT_EQ(exact, midpoint);
    uint32_t bits;
    std::memcpy(&bits, &exact, sizeof(bits));
    ends.push_back(h % 2 == 0 ? bits + 1 : bits);  // the midpoint goes to the even neighbour
  }
  ends.push_back(kF32Infinity + 1);
  return ends;
}

template <class T>
bool is_nan(T x) {
  return (x.bits & 0x7FFF) > kInfinity<T>;
}

constexpr size_t kChunk = 1 << 16;

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr uint32_t kChunkStep = 1021;  // a sample: sanitizers look at addresses, and make each step many times slower
#else
constexpr uint32_t kChunkStep = 1;
#endif

template <class T>
void narrow_every_pattern() {
  const std::vector<Way<T>> all = ways<T>();
  const std::vector<uint32_t> ends = range_ends<T>();
  std::atomic<uint32_t> next{0};
  std::atomic<int> failures{0};
  const auto work = [&] {
    struct Buffers {
      alignas(64) float in[kChunk];
      alignas(64) T got[kChunk];
      T right[kChunk];
    };
    const auto b = std::make_unique<Buffers>();
    for (uint32_t chunk; (chunk = next.fetch_add(kChunkStep)) < (1u << 16) && failures < 20;) {
      const uint32_t first = chunk * static_cast<uint32_t>(kChunk), sign = first >> 31, magnitude = first & 0x7FFFFFFF;
      for (uint32_t i = 0; i < kChunk; ++i) {
        const uint32_t bits = first + i;
        std::memcpy(&b->in[i], &bits, sizeof(bits));
      }
      // How many of the chunk are numbers or infinities: all, none, or the one infinity at its start.
      const uint32_t numbers = std::min<uint32_t>(kChunk, magnitude > kF32Infinity ? 0 : kF32Infinity + 1 - magnitude);
      size_t h = std::upper_bound(ends.begin(), ends.end(), magnitude) - ends.begin();
      for (uint32_t i = 0; i < numbers; ++h) {
        const uint32_t end = std::min(numbers, ends[h] - magnitude);
        std::fill(b->right + i, b->right + end, T{static_cast<uint16_t>(sign << 15 | h)});
        i = end;
      }
      for (const Way<T>& way : all) {
        way.narrow(b->in, b->got, kChunk, /*past_cache=*/chunk % 16 == 5);
        if (std::memcmp(b->got, b->right, numbers * sizeof(T)) != 0) {
          uint32_t i = 0;
          while (b->got[i].bits == b->right[i].bits) ++i;
          ADD_FAILURE() << way.name << ": pattern 0x" << std::hex << first + i << " gives 0x" << b->got[i].bits
                        << ", nearest is 0x" << b->right[i].bits;
          ++failures;
        }
        for (uint32_t i = numbers; i < kChunk; ++i) {
          if (is_nan(b->got[i])) continue;
          ADD_FAILURE() << way.name << ": NaN 0x" << std::hex << first + i << " gives 0x" << b->got[i].bits;
          ++failures;
          break;
        }
      }
    }
  };
  std::vector<std::thread> threads;
  for (unsigned t = 0; t < std::max(1u, std::thread::hardware_concurrency()); ++t) threads.emplace_back(work);
  for (std::thread& thread : threads) thread.join();
}

TEST(Half, NarrowsEveryPatternToF16) { narrow_every_pattern<f16>(); }
TEST(Half, NarrowsEveryPatternToBf16) { narrow_every_pattern<bf16>(); }

template <class T>
void widen_every_pattern() {
  std::vector<T> in(1 << 16);
  for (size_t i = 0; i < in.size(); ++i) in[i].bits = static_cast<uint16_t>(i);
  for (const Way<T>& way : ways<T>()) {
    std::vector<float> out(in.size());
    way.widen(in.data(), out.data(), in.size());
    for (size_t i = 0; i < in.size(); ++i) {
      const int magnitude = static_cast<int>(i & 0x7FFF);
      if (is_nan(in[i])) {
        ASSERT_TRUE(std::isnan(out[i])) << way.name << ": 0x" << std::hex << i;
        continue;
      }
      const double value = magnitude == kInfinity<T> ? INFINITY : value_of<T>(magnitude);
      ASSERT_EQ(std::fabs(out[i]), value) << way.name << ": 0x" << std::hex << i;
      ASSERT_EQ(std::signbit(out[i]), i >> 15 == 1) << way.name << ": 0x" << std::hex << i;
    }
  }
}

TEST(Half, WidensEveryF16) { widen_every_pattern<f16>(); }
TEST(Half, WidensEveryBf16) { widen_every_pattern<bf16>(); }

TEST(Half, RunsOnMoreThanOneInstructionSet) {
#if HWY_ARCH_X86_64
  EXPECT_GE(ways<f16>().size(), 3u) << "scalar, portable, and AVX2 or better";
#else
  EXPECT_GE(ways<f16>().size(), 2u);
#endif
}

}  // namespace
}  // namespace oprt
#endif
