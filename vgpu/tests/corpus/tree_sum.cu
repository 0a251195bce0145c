// out[b] = sum of in[256 b .. 256 b + 255], as far as it goes
//
// A tree in shared memory: in each step the lower half adds the upper half, and a barrier closes the step.
//
// launch: tree_sum, grid 5, block 256
// args: float out[5], float in[1200] = ramp, int n = 1200
//
// 1: E03: no barrier between the steps
// 2: E05: a barrier inside the branch: the lanes of a warp come to two different ones
// 3: E07: threads without an element return at once, and their places stay as they are
// 4: E07: threads without an element leave their place as it is
// 5: P03: neighbours are added first, so that in every warp a few lanes work
// 6: E01: the first step reaches as far again as the array is long
// 7: E11: the stride is never halved
// 8: E03: the last 32 sums in one warp, without __syncwarp
// 9: E03: the same with volatile, as it was done before Volta
// 10: E01: no check of the input's end
// 11: value: the tree stops one step early
#include "corpus.h"

template <int mutant>
__global__ void tree_sum(float* out, const float* in, int n) {
  __shared__ float sum[256];
  const int t = threadIdx.x, i = blockIdx.x * 256 + t;
  if (mutant == 3 && i >= n) return;
  if (mutant == 4) {
    if (i < n) sum[t] = in[i];
  } else {
    sum[t] = mutant == 10 || i < n ? in[i] : 0.0f;  // here: 10
  }
  __syncthreads();
  if (mutant == 5) {
    for (int stride = 1; stride < 256; stride *= 2) {
      if (t % (2 * stride) == 0) {  // here: 5
        sum[t] += sum[t + stride];
      }
      __syncthreads();
    }
  } else {
    const int last = mutant == 8 || mutant == 9 ? 32 : mutant == 11 ? 1 : 0;
    for (int stride = mutant == 6 ? 256 : 128; stride > last; stride = mutant == 7 ? stride : stride / 2) {
      if (t < stride) {                    // here: 7
        sum[t] += sum[t + stride];         // here: 1, 3, 4, 6
        if (mutant == 2) __syncthreads();  // here: 2
      }
      if (mutant != 1 && mutant != 2) __syncthreads();
    }
    if (mutant == 8 && t < 32) {
#pragma unroll
      for (int stride = 32; stride > 0; stride /= 2) {
        sum[t] += sum[t + stride];  // here: 8
      }
    }
    if (mutant == 9 && t < 32) {
      volatile float* all = sum;
#pragma unroll
      for (int stride = 32; stride > 0; stride /= 2) {
        all[t] += all[t + stride];  // here: 9
      }
    }
  }
  if (mutant == 2) __syncthreads();
  if (t == 0) out[blockIdx.x] = sum[0];
}

#define INSTANTIATE(mutant) template __global__ void tree_sum<mutant>(float*, const float*, int);
MUTANTS_TO_11(INSTANTIATE)
