// bins[v] += how often v stands in values[0 .. n)                                                       v in [0,64)
//
// Each block counts in shared memory and adds its bins to the result.
//
// launch: histogram, grid 4, block 128
// args: int bins[64] = zeros, int values[3000] = ramp, int n = 3000
//
// 1: E03: counts without atomics
// 2: E07: the block's bins are not cleared
// 3: E03: no barrier after they are cleared
// 4: E03: no barrier before they are added to the result
// 5: E04: added to the result without atomics
// 6: E01: values are not masked to the number of bins
// 7: E07 (bins unwritten): nobody cleared the result
// 8: P03: each bin has a branch of its own
// 9: E02 (values freed): the values were freed
// 10: value: every second value is counted
#include "corpus.h"

template <int mutant>
__global__ void histogram(int* bins, const int* values, int n) {
  __shared__ int counts[64];
  const int t = threadIdx.x;
  if (mutant != 2 && t < 64) counts[t] = 0;  // here: 3
  if (mutant != 3) __syncthreads();
  for (int i = blockIdx.x * 128 + t; i < n; i += 512 * (mutant == 10 ? 2 : 1)) {
    const int value = values[i] & (mutant == 6 ? 0xfff : 63);  // here: 9
    if (mutant == 1) {
      ++counts[value];  // here: 1
    } else if (mutant == 8) {
      for (int bin = 0; bin < 64; ++bin) {
        if (bin == value) {  // here: 8
          for (int again = 0; again < 32; ++again) {
            if (atomicAdd(&counts[bin], again == 31) < 0) return;
          }
        }
      }
    } else {
      atomicAdd(&counts[value], 1);  // here: 2, 3, 6
    }
  }
  if (mutant != 4) __syncthreads();
  if (t < 64) {
    const int count = counts[t];  // here: 4
    if (mutant == 5) {
      bins[t] += count;  // here: 5
    } else {
      atomicAdd(&bins[t], count);  // here: 7
    }
  }
}

#define INSTANTIATE(mutant) template __global__ void histogram<mutant>(int*, const int*, int);
MUTANTS_TO_10(INSTANTIATE)
