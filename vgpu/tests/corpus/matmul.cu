// c[i,j] = sum_k a[i,k] * b[k,j]                      a is (m,k), b is (k,n), c is (m,n), row after row
//
// A block computes 16 x 16 of c, tile after tile of a and b through shared memory; what lies outside counts as zero.
//
// launch: matmul, grid 3 3, block 16 16
// args: float c[1600], float a[1480] = ramp, float b[1480] = ramp, int m = 40, int n = 40, int k = 37
//
// 1: E03: no barrier between filling the tiles and using them
// 2: E03: no barrier between using them and the next filling
// 3: E07: outside elements are not set to zero
// 4: E01: no check of a's columns and rows
// 5: E07: threads outside of c return at once and do not help to fill
// 6: P02: a's tile is transposed and not padded
// 7: P01: the result is stored column by column
// 8: E11: the loop over the tiles does not move on
// 9: E04 (grid 3 3 2): two blocks share a sum and add without atomics
// 10: E10 (block 16 16 8): more than 1024 threads
// 11: E01: the tile of b has 15 rows
// 12: E02 (b freed): b was freed
// 13: value: the last tile is left out
#include "corpus.h"

template <int mutant>
__global__ void matmul(float* c, const float* a, const float* b, int m, int n, int k) {
  __shared__ float a_tile[16][16], b_tile[mutant == 11 ? 15 : 16][16];
  const int x = threadIdx.x, y = threadIdx.y;
  const int i = blockIdx.y * 16 + y, j = blockIdx.x * 16 + x;
  if (mutant == 5 && (i >= m || j >= n)) return;
  float sum = 0.0f;
  const int end = mutant == 13 ? k - 16 : k;
  const int step = mutant == 8 ? 0 : mutant == 9 ? 32 : 16;
  for (int k0 = mutant == 9 ? 16 * blockIdx.z : 0; k0 < end; k0 += step) {
    const bool a_inside = mutant == 4 || (i < m && k0 + x < k), b_inside = k0 + y < k && j < n;
    if (mutant != 3 || a_inside) {
      const float value = a_inside ? a[i * k + k0 + x] : 0.0f;  // here: 4
      (mutant == 6 ? a_tile[x][y] : a_tile[y][x]) = value;      // here: 6
    }
    const float value = b_inside ? b[(k0 + y) * n + j] : 0.0f;  // here: 8, 12
    b_tile[y][x] = value;                                       // here: 11
    if (mutant != 1) __syncthreads();
#pragma unroll
    for (int q = 0; q < 16; ++q) {
      const float left = mutant == 6 ? a_tile[q][y] : a_tile[y][q];  // here: 1, 2, 3, 5
      const float right = b_tile[q][x];                              // here: 1, 2, 5
      sum += left * right;
    }
    if (mutant != 2) __syncthreads();
  }
  if (mutant == 7) {
    const int row = blockIdx.y * 16 + x, col = blockIdx.x * 16 + y;
    if (row < m && col < n) c[row * n + col] = sum;  // here: 7
  } else if (i < m && j < n) {
    c[i * n + j] = sum;  // here: 9
  }
}

#define INSTANTIATE(mutant) template __global__ void matmul<mutant>(float*, const float*, const float*, int, int, int);
MUTANTS_TO_13(INSTANTIATE)
