// out[r,c] = (in[r,c] - mean_r) / sqrt(var_r + eps) * gamma[c] + beta[c]                r in [0,rows), c in [0,256)
//
// One warp a row, four rows a block. A lane keeps eight elements in registers; the row's two sums go by shuffles.
//
// launch: layernorm, grid 8, block 32 4
// args: float out[7680], float in[7680] = ramp, float gamma[256] = ramp, float beta[256] = ramp, int rows = 30
//
// 1: E07 (gamma unwritten): gamma was never copied to the device
// 2: E01: rows are not checked: the last block has two too many
// 3: E06: odd lanes leave out the second shuffle
// 4: E03: the row goes through shared memory without __syncwarp
// 5: P02: it goes through shared memory by columns
// 6: P04 (block 24 3, grid 10): three quarters of a warp a row
// 7: P01: a lane keeps eight neighbours
// 8: E07: a local array is summed that was filled half
// 9: E09 (out shifted by 4): pairs, and a result that begins one element late
// 10: value: eps is forgotten
// 11: P03: every lane works alone on its element, one after the other
#include "corpus.h"

__device__ float warp_sum(float value) {
  for (int offset = 16; offset > 0; offset /= 2) value += __shfl_xor_sync(kFullMask, value, offset);
  return value;
}

template <int mutant>
__global__ void layernorm(float* out, const float* in, const float* gamma, const float* beta, int rows) {  // here: 6
  __shared__ float tile[mutant == 4 || mutant == 5 ? 4 : 1][256];
  const int lane = threadIdx.x, y = threadIdx.y, r = blockIdx.x * 4 + y;
  if (mutant == 6) {  // 24 lanes a row, so eight warps' borders fall inside a row: each lane sums alone
    if (r >= rows) return;
    float sum = 0.0f, squares = 0.0f;
    for (int c = 0; c < 256; ++c) {
      sum += in[r * 256 + c];
      squares += in[r * 256 + c] * in[r * 256 + c];
    }
    const float mean = sum / 256, scale = rsqrtf(squares / 256 - mean * mean + 1e-5f);
    for (int c = lane; c < 256; c += 24) out[r * 256 + c] = (in[r * 256 + c] - mean) * scale * gamma[c] + beta[c];
    return;
  }
  if (mutant != 2 && r >= rows) return;
  const float* row = in + r * 256;
  float x[8], sum = 0.0f;
  for (int k = 0; k < 8; ++k) {
    const int c = mutant == 7 ? 8 * lane + k : 32 * k + lane;
    x[k] = row[c];  // here: 2, 7
    sum += x[k];
  }
  if (mutant == 8) {
    float again[8];
    for (int k = lane % 2; k < 8; k += 2) again[k] = x[0];
    sum = 0.0f;
    for (int k = 0; k < 8; ++k) sum += again[(k + rows) % 8];  // here: 8
  }
  if (mutant == 4) {
    for (int k = 0; k < 8; ++k) tile[y][32 * k + lane] = x[k];
    for (int k = 0; k < 8; ++k) x[k] = tile[y][32 * k + 31 - lane];  // here: 4
  }
  if (mutant == 5) {
    for (int k = 0; k < 8; ++k) tile[y][8 * lane + k] = x[k];  // here: 5
    __syncwarp();
    for (int k = 0; k < 8; ++k) x[k] = tile[y][8 * lane + k];  // here: 5
  }
  const float mean = warp_sum(sum) / 256;
  float squares = 0.0f;
  for (int k = 0; k < 8; ++k) squares += (x[k] - mean) * (x[k] - mean);
  if (mutant == 3) {
    if (lane % 2 == 0) squares += __shfl_xor_sync(kFullMask, squares, 1);  // here: 3
  } else {
    squares = warp_sum(squares);
  }
  const float scale = rsqrtf(squares / 256 + (mutant == 10 ? 0.0f : 1e-5f));
  if (mutant == 11) {
    for (int turn = 0; turn < 32; ++turn) {
      if (lane == turn) {  // here: 11
        for (int k = 0; k < 8; ++k) {
          const int c = 32 * k + lane;
          out[r * 256 + c] = (x[k] - mean) * scale * gamma[c] + beta[c];
        }
      }
    }
    return;
  }
  if (mutant == 9) {
    for (int k = 0; k < 4; ++k) {
      const int c = 64 * k + 2 * lane;
      const float2 pair = make_float2(row[c] * gamma[c], row[c + 1] * gamma[c + 1]);
      *reinterpret_cast<float2*>(out + r * 256 + c) = pair;  // here: 9
    }
    return;
  }
  for (int k = 0; k < 8; ++k) {
    const int c = mutant == 7 ? 8 * lane + k : 32 * k + lane;
    const float weight = gamma[c];                              // here: 1, 7
    const float shift = beta[c];                                // here: 7
    out[r * 256 + c] = (x[k] - mean) * scale * weight + shift;  // here: 7
  }
}

#define INSTANTIATE(mutant) \
  template __global__ void layernorm<mutant>(float*, const float*, const float*, const float*, int);
MUTANTS_TO_11(INSTANTIATE)
