// *out += sum of in[0 .. n)
//
// Each warp adds by shuffles, the first warp adds the warps' sums, and one thread of the block adds the block's.
//
// launch: shuffle_sum, grid 3, block 256
// args: float out[1] = zeros, float in[1000] = ramp, int n = 1000
//
// 1: E06: the mask names half of the warp
// 2: E06: the shuffle is inside the check of the input's end
// 3: E06: threads without an element return, and others read from them
// 4: E03: no barrier before the warps' sums are read
// 5: E07: reads 32 warps' sums where there are eight
// 6: E04: a plain addition to what all blocks add to
// 7: E01: the warps' sums have no place for the last warp
// 8: E05: the first lane of each warp goes to a barrier of its own
// 9: value: the last shuffle is missing
#include "corpus.h"

template <int mutant>
__device__ float warp_sum(float value) {
  for (int offset = 16; offset > (mutant == 9); offset /= 2) {
    value += __shfl_down_sync(mutant == 1 ? 0xffff : kFullMask, value, offset);  // here: 1, 3
  }
  return value;
}

template <int mutant>
__global__ void shuffle_sum(float* out, const float* in, int n) {
  __shared__ float sums[mutant == 5 ? 32 : mutant == 7 ? 7 : 8];
  const int t = threadIdx.x, lane = t % 32, warp = t / 32;
  float sum = 0.0f;
  const int first = blockIdx.x * 256 + t;
  if (mutant == 3 && first >= 740) return;
  for (int i = first; i < n; i += 768) sum += in[i];
  if (mutant == 2) {
    if (first < 740) {
      for (int offset = 16; offset > 0; offset /= 2) sum += __shfl_xor_sync(kFullMask, sum, offset);  // here: 2
    }
  } else {
    sum = warp_sum<mutant>(sum);
  }
  if (lane == 0) {
    sums[warp] = sum;                  // here: 7
    if (mutant == 8) __syncthreads();  // here: 8
  }
  if (mutant != 4) __syncthreads();
  if (warp == 0) {
    sum = lane < (mutant == 5 ? 32 : 8) ? sums[lane] : 0.0f;  // here: 4, 5
    for (int offset = 16; offset > 0; offset /= 2) sum += __shfl_xor_sync(kFullMask, sum, offset);
    if (lane == 0) {
      if (mutant == 6) {
        *out += sum;  // here: 6
      } else {
        atomicAdd(out, sum);
      }
    }
  }
}

#define INSTANTIATE(mutant) template __global__ void shuffle_sum<mutant>(float*, const float*, int);
MUTANTS_TO_9(INSTANTIATE)
