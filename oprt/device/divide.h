// Division by a number that is known before the kernel starts, as a multiplication and a shift. Host and device, C++17.
//
// Granlund, Montgomery: Division by Invariant Integers using Multiplication, 1994, for dividends below half of U's
// range.
#pragma once

#include <cstdint>

#ifdef __CUDACC__
#define OPRT_HOST_DEVICE __host__ __device__
#else
#define OPRT_HOST_DEVICE
#endif

namespace oprt {

OPRT_HOST_DEVICE inline uint32_t high_product(uint32_t a, uint32_t b) {
  return static_cast<uint32_t>(static_cast<uint64_t>(a) * b >> 32);
}
OPRT_HOST_DEVICE inline uint64_t high_product(uint64_t a, uint64_t b) {
#ifdef __CUDA_ARCH__
  return __umul64hi(a, b);
#else
  return static_cast<uint64_t>(static_cast<unsigned __int128>(a) * b >> 64);
#endif
}

// U is uint32_t for dividends below 2^31, or uint64_t for dividends below 2^63.
template <class U>
struct Divider {
  U divisor = 1, multiplier = 1;
  int32_t shift = 0;

  Divider() = default;
  explicit Divider(int64_t by) : divisor(static_cast<U>(by)) {  // by > 0, and in the dividends' range
    while ((U{1} << shift) < divisor) ++shift;
    constexpr int kBits = 8 * sizeof(U);
    const unsigned __int128 excess = (static_cast<unsigned __int128>(1) << shift) - divisor;
    multiplier = static_cast<U>((excess << kBits) / divisor + 1);
  }

  // n / divisor, and n becomes n % divisor.
  OPRT_HOST_DEVICE U divide(U& n) const {
    const U quotient = (high_product(n, multiplier) + n) >> shift;
    n -= quotient * divisor;
    return quotient;
  }
};

}  // namespace oprt
