// out[256 b + k] = sum of in[256 b .. 256 b + k]: each block scans its part
//
// Hillis and Steele: in each step a thread adds what stands `offset` places before it, from one buffer to the other.
//
// launch: scan, grid 4, block 256
// args: int out[1024], int in[1024] = ramp, int n = 1000
//
// 1: E03: no barrier between the steps
// 2: E03: one buffer: a thread reads what its neighbour has overwritten
// 3: E01: no check that there are `offset` places before
// 4: E07: threads past the input's end leave their place as it is
// 5: E05: threads that have nothing to add wait at another barrier
// 6: E01: the second buffer has one element too few
// 7: E11: the offset stays zero
// 8: P02: the buffers hold an element in every eighth word
// 9: value: exclusive instead of inclusive
#include "corpus.h"

template <int mutant>
__global__ void scan(int* out, const int* in, int n) {
  constexpr int kStep = mutant == 8 ? 8 : 1;
  __shared__ int buffers[(mutant == 6 ? 511 : 512) * kStep];
  const int t = threadIdx.x, i = blockIdx.x * 256 + t;
  int from = 0;  // where the buffer begins that the last step filled
  if (mutant != 4 || i < n) {
    buffers[t * kStep] = i < n ? in[i] : 0;  // here: 8
  }
  __syncthreads();
  for (int offset = mutant == 7 ? 0 : 1; offset < 256; offset *= 2) {  // here: 7
    const int to = mutant == 2 ? from : 256 - from;
    const bool adds = mutant == 3 || t >= offset;
    const int before = adds ? buffers[(from + t - offset) * kStep] : 0;  // here: 1, 2, 3, 4, 8
    buffers[(to + t) * kStep] = buffers[(from + t) * kStep] + before;    // here: 4, 6, 8
    from = to;
    if (mutant == 5 && adds) {
      asm volatile("bar.sync 1, 256;" ::: "memory");
    } else if (mutant != 1) {
      __syncthreads();  // here: 5
    }
  }
  if (i < n) out[i] = buffers[(from + t) * kStep] - (mutant == 9 ? in[i] : 0);  // here: 8
}

#define INSTANTIATE(mutant) template __global__ void scan<mutant>(int*, const int*, int);
MUTANTS_TO_9(INSTANTIATE)
