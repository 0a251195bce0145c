// What every program here does with errors and results: it stops at the first that is wrong, and prints the right ones
// such that two devices can be compared bit for bit.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>

#define CUDA(call)                                                                                              \
  do {                                                                                                          \
    const cudaError_t error_ = (call);                                                                          \
    if (error_ != cudaSuccess) {                                                                                \
      std::printf("%s:%d: %s: %s\n", __FILE__, __LINE__, cudaGetErrorName(error_), cudaGetErrorString(error_)); \
      std::exit(1);                                                                                             \
    }                                                                                                           \
  } while (false)

#define EXPECT(condition)                                                           \
  do {                                                                              \
    if (!(condition)) {                                                             \
      std::printf("%s:%d: it is not so that %s\n", __FILE__, __LINE__, #condition); \
      std::exit(1);                                                                 \
    }                                                                               \
  } while (false)

// The FNV-1a hash of an array.
template <class T>
void print_bits(const char* what, const T* data, size_t count) {
  uint64_t hash = 0xcbf29ce484222325;
  for (size_t i = 0; i < count * sizeof(T); ++i) {
    hash = (hash ^ reinterpret_cast<const unsigned char*>(data)[i]) * 0x100000001b3;
  }
  std::printf("%s: %016llx\n", what, static_cast<unsigned long long>(hash));
}
