// Deterministic numbers for tests.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>

namespace vgpu::test {

class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed) {}
  uint64_t next() {  // splitmix64
    uint64_t z = state_ += 0x9E3779B97F4A7C15;
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9;
    z = (z ^ z >> 27) * 0x94D049BB133111EB;
    return z ^ z >> 31;
  }
  uint64_t below(uint64_t n) { return n ? next() % n : 0; }
  bool one_in(uint64_t n) { return below(n) == 0; }
  template <class List>
  const auto& of(const List& list) {
    return list[below(std::size(list))];
  }

 private:
  uint64_t state_;
};

// How often a fuzz test tries: as often as a test run has seconds for, or VGPU_FUZZ_ROUNDS times.
inline size_t rounds(size_t usual) {
  const char* asked = std::getenv("VGPU_FUZZ_ROUNDS");
  return asked ? std::strtoull(asked, nullptr, 10) : usual;
}

}  // namespace vgpu::test
