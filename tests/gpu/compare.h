// Memory compared where it is, on the device.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>

namespace oprt_test {

// What comparisons found, in device memory: zeroed before the first of them.
struct Comparison {
  unsigned long long different;  // words of 2 bytes
  unsigned long long words;      // compared
};

// Is `got`, `bytes` long, the `period` bytes of `want` again and again? Then, where `forget` says so, it is filled with
// 0xFF, so that the next comparison sees a call that wrote nothing. Sizes are multiples of 2 bytes.
void compare(void* got, const void* want, size_t bytes, size_t period, bool forget, Comparison* result,
             cudaStream_t stream);

}  // namespace oprt_test
