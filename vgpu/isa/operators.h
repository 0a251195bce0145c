// What arithmetic, atomics and reductions over a warp make of two numbers alike.
#pragma once

#include <algorithm>
#include <type_traits>

namespace vgpu::isa::VGPU_TARGET {

// Sums of integers wrap: computed unsigned.
template <class T>
T add(T a, T b) {
  using Unsigned = std::make_unsigned_t<T>;
  return static_cast<T>(static_cast<Unsigned>(a) + static_cast<Unsigned>(b));
}
template <class T>
T min(T a, T b) {
  return std::min(a, b);
}
template <class T>
T max(T a, T b) {
  return std::max(a, b);
}
template <class T>
T bit_and(T a, T b) {
  return a & b;
}
template <class T>
T bit_or(T a, T b) {
  return a | b;
}
template <class T>
T bit_xor(T a, T b) {
  return a ^ b;
}

}  // namespace vgpu::isa::VGPU_TARGET
