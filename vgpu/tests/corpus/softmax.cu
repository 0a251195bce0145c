// out[r,c] = exp(in[r,c] - max_c in[r,c]) / sum_c exp(in[r,c] - max_c in[r,c])          r in [0,rows), c in [0,cols)
//
// One block a row. The block's maximum and sum go through the same few words of shared memory.
//
// launch: softmax, grid 20, block 128
// args: float out[6000], float in[6000] = ramp, int rows = 20, int cols = 300
//
// 1: E03: no barrier before the shared words are used again for the sum
// 2: E03: no barrier before the warps' results are read
// 3: E01 (grid 21): a row too many and no check
// 4: E06: the shuffle's mask leaves out the last lane
// 5: P01: a thread a row
// 6: E09: the row is read in fours, but rows of 300 elements and one begin anywhere
// 7: E07: the last warp's result is never written
// 8: E10 (block 128 128): 16,384 threads in a block
// 9: value: the maximum is not subtracted, which shows only when it overflows
// 10: E04: a row's maximum is put where every block puts it
#include "corpus.h"

template <int mutant, bool is_max>
__device__ float all_threads(float* words, float value) {
  const int warps = (blockDim.x + 31) / 32, warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  for (int offset = 16; offset > 0; offset /= 2) {
    const float other = __shfl_xor_sync(mutant == 4 ? 0x7fffffff : kFullMask, value, offset);  // here: 4
    value = is_max ? fmaxf(value, other) : value + other;
  }
  if (mutant != 1) __syncthreads();  // the words may still be read from the last time
  if (lane == 0 && (mutant != 7 || warp < 3)) words[warp] = value;
  if (mutant != 2) __syncthreads();
  value = words[0];                                                                            // here: 1, 2
  for (int w = 1; w < warps; ++w) value = is_max ? fmaxf(value, words[w]) : value + words[w];  // here: 1, 2, 7
  return value;
}

template <int mutant>
__global__ void softmax(float* out, const float* in, int rows, int cols) {
  __shared__ float words[32];
  if (mutant == 5) {
    const int r = blockIdx.x * 128 + threadIdx.x;
    if (r >= rows) return;
    float most = -3e38f, sum = 0.0f;
    for (int c = 0; c < cols; ++c) most = fmaxf(most, in[r * cols + c]);  // here: 5
    for (int c = 0; c < cols; ++c) sum += expf(in[r * cols + c] - most);  // here: 5
    for (int c = 0; c < cols; ++c) {
      out[r * cols + c] = expf(in[r * cols + c] - most) / sum;  // here: 5
    }
    return;
  }
  if (mutant != 3 && blockIdx.x >= rows) return;
  const float* row = in + blockIdx.x * (mutant == 6 ? cols - 1 : cols);
  float most = -3e38f;
  if (mutant == 6) {
    for (int c = 4 * threadIdx.x; c + 3 < cols; c += 4 * blockDim.x) {
      const float4 four = *reinterpret_cast<const float4*>(row + c);  // here: 6
      most = fmaxf(fmaxf(fmaxf(four.x, four.y), fmaxf(four.z, four.w)), most);
    }
  }
  for (int c = threadIdx.x; c < cols; c += blockDim.x) most = fmaxf(most, row[c]);  // here: 3
  most = mutant == 9 ? 0.0f : all_threads<mutant, true>(words, most);
  if (mutant == 10) {
    if (threadIdx.x == 0) out[cols - 1] = most;  // here: 10
    __syncthreads();
    most = out[cols - 1];  // here: 10
  }
  float sum = 0.0f;
  for (int c = threadIdx.x; c < cols; c += blockDim.x) sum += expf(row[c] - most);
  sum = all_threads<mutant, false>(words, sum);
  for (int c = threadIdx.x; c < cols; c += blockDim.x) {
    if (mutant != 10) out[blockIdx.x * cols + c] = expf(row[c] - most) / sum;
  }
}

#define INSTANTIATE(mutant) template __global__ void softmax<mutant>(float*, const float*, int, int);
MUTANTS_TO_10(INSTANTIATE)
