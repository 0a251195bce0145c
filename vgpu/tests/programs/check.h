// What every program here does with errors and results: it stops at the first that is wrong.
#pragma once

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
