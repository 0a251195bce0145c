// out[i] = a[i] + b[i]                                                                                  i in [0,n)
//
// Four elements a thread as one float4, then the rest one by one.
//
// launch: add, grid 2, block 128
// args: float out[1003], float a[1003] = ramp, float b[1003] = ramp, int n = 1003
//
// 1: E01: the last float4 is read whole, past the end
// 2: E09: the vector loop begins at element 1
// 3: E07 (b unwritten): the second operand was never copied to the device
// 4: E02 (b freed): it was freed
// 5: E11: the rest is added for ever
// 6: E04: a running sum in place, with the other block's half
// 7: P04 (block 33, grid 10): one thread more than a warp
// 8: E10 (shared 300000): more shared memory than there is
// 9: value: the rest is forgotten
// 10: E08 (a host): an operand left in the host's memory
#include "corpus.h"

template <int mutant>
__global__ void add(float* out, const float* a, const float* b, int n) {  // here: 7
  const int t = blockIdx.x * blockDim.x + threadIdx.x, threads = gridDim.x * blockDim.x;
  if (mutant == 6) {  // out[i] depends on out[i + half], which another block writes
    const int half = n / 2 / 128 * 128;
    if (t < half) {
      float* sums = out;
      const int mine = blockIdx.x * 128 + threadIdx.x, theirs = (blockIdx.x ^ 1) * 128 + threadIdx.x;
      sums[mine] = a[mine];
      __syncthreads();
      const float other = sums[theirs];  // here: 6
      out[512 + mine] = other + b[mine];
    }
    return;
  }
  const int quads = mutant == 1 ? (n + 3) / 4 : n / 4, shift = mutant == 2;
  for (int q = t; q < quads - shift; q += threads) {
    const float4 x = *reinterpret_cast<const float4*>(a + 4 * q + shift);  // here: 1, 2, 10
    const float4 y = *reinterpret_cast<const float4*>(b + 4 * q + shift);  // here: 3, 4
    *reinterpret_cast<float4*>(out + 4 * q + shift) = make_float4(x.x + y.x, x.y + y.y, x.z + y.z, x.w + y.w);
  }
  if (mutant == 1 || mutant == 9) return;
  for (int i = 4 * (n / 4) + t; i < n; i += mutant == 5 ? 0 : threads) {  // here: 5
    out[i] = a[i] + b[i];                                                 // here: 3
  }
}

#define INSTANTIATE(mutant) template __global__ void add<mutant>(float*, const float*, const float*, int);
MUTANTS_TO_10(INSTANTIATE)
