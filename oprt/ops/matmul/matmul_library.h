// The machine's matrix product for f32, found at run time.
#pragma once

#include <cstdint>
#include <string>

namespace oprt {

struct MatmulLibrary {
  // c = a b for row-major a [m, k], b [k, n], c [m, n] with rows lda, ldb, ldc elements apart; a turned operand is
  // stored as its transpose. True where it was done. Called inside a parallel region it keeps to the calling thread.
  bool (*sgemm)(bool turn_a, bool turn_b, int64_t m, int64_t n, int64_t k, const float* a, int64_t lda, const float* b,
                int64_t ldb, float* c, int64_t ldc);
  bool fast_vectors;     // its sgemm of one row is as fast as memory gives b
  int64_t limit;         // the largest length or row distance that it takes
  std::string name;      // "oneDNN 2.6.3"; "none"
  std::string why_none;  // a sentence, where sgemm is null
};

// Looked for once, by the first caller. Never unloaded.
const MatmulLibrary& matmul_library();

}  // namespace oprt
