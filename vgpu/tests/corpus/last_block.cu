// *out = sum of in[0 .. n), in one launch
//
// Each block writes its sum, fences and counts itself; the block that counts last adds the sums up.
//
// launch: last_block, grid 6, block 128
// args: float out[1], float partial[6], unsigned count[1] = zeros, float in[2000] = ramp, int n = 2000
//
// 1: E04: no fence between the block's sum and the count
// 2: E04: the count is not atomic, and so hands on nothing
// 3: E03: no barrier after the flag is set
// 4: E01: the last block reads one sum too many
// 5: E07: a block without elements writes no sum
// 6: E04: every block clears the result at its start
// 7: E05: the halves of the block wait at two barriers, each for all
// 8: E04: nothing is counted: the block with the last number is taken to be the last
// 9: E03: no barrier between the steps of the tree
// 10: E04: the last but one takes itself for the last
// 11: value: the last block adds half of the sums
#include "corpus.h"

template <int mutant>
__device__ float block_sum(float* sums, float value) {
  const int t = threadIdx.x;
  sums[t] = value;
  __syncthreads();
  for (int stride = 64; stride > 0; stride /= 2) {
    if (t < stride) sums[t] += sums[t + stride];  // here: 9
    if (mutant != 9) __syncthreads();
  }
  const float sum = sums[0];  // here: 9
  __syncthreads();            // before the next use of sums
  return sum;
}

template <int mutant>
__global__ void last_block(float* out, float* partial, unsigned* count, const float* in, int n) {
  __shared__ float sums[128];
  __shared__ bool is_last;
  const int t = threadIdx.x;
  float sum = 0.0f;
  for (int i = blockIdx.x * 128 + t; i < n; i += gridDim.x * 128) sum += in[i];
  sum = block_sum<mutant>(sums, sum);
  if (t == 0) {
    if (mutant == 6) *out = 0.0f;  // here: 6
    if (mutant != 5 || blockIdx.x > 0) partial[blockIdx.x] = sum;
    if (mutant != 1) __threadfence();
    unsigned before = 0;
    if (mutant == 2) {
      before = *count;      // here: 2
      *count = before + 1;  // here: 2
    } else if (mutant != 8) {
      before = atomicAdd(count, 1u);
    }
    is_last = mutant == 8 ? blockIdx.x == gridDim.x - 1 : before == gridDim.x - (mutant == 10 ? 2 : 1);
  }
  if (mutant == 7) asm volatile("bar.sync %0, 128;" ::"r"(1 + t / 64) : "memory");  // here: 7
  if (mutant != 3) __syncthreads();
  const bool last = is_last;  // here: 3
  if (mutant == 3) __syncthreads();
  if (!last) return;
  sum = 0.0f;
  const int blocks = mutant == 11 ? gridDim.x / 2 : gridDim.x + (mutant == 4);
  for (int b = t; b < blocks; b += 128) sum += partial[b];  // here: 1, 2, 4, 5, 8, 10
  sum = block_sum<0>(sums, sum);
  if (t == 0) *out = sum;
}

#define INSTANTIATE(mutant) template __global__ void last_block<mutant>(float*, float*, unsigned*, const float*, int);
MUTANTS_TO_11(INSTANTIATE)
