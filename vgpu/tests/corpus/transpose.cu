// out[c,r] = in[r,c]                                                            r in [0,rows), c in [0,cols)
//
// A block carries a tile of 32 x 32 through shared memory, so that both sides go row by row. The tile's rows are 33
// apart: its columns, which are read, then lie in 32 different banks.
//
// launch: transpose, grid 3 4, block 32 8
// args: float out[9000], float in[9000] = ramp, int rows = 100, int cols = 90
//
// 1: E03: no barrier between filling the tile and reading it
// 2: P02: rows 32 apart: a column lies in one bank
// 3: P01: straight from row to column
// 4: E01: no check of the row on the way in
// 5: E01: the tile has 31 rows
// 6: E07: the tile is filled only where the column is even
// 7: E05: a barrier inside the check of the column: the lanes of a warp come to two different ones
// 8: E05: the barrier waits for more threads than the block has
// 9: value: the tile's first column is taken from its ninth
#include "corpus.h"

template <int mutant>
__global__ void transpose(float* out, const float* in, int rows, int cols) {
  __shared__ float tile[mutant == 5 ? 31 : 32][mutant == 2 ? 32 : 33];
  const int x = threadIdx.x, y = threadIdx.y;
  const int c = blockIdx.x * 32 + x, r0 = blockIdx.y * 32;
  if (mutant == 3) {
    for (int k = y; k < 32; k += 8) {
      if (r0 + k < rows && c < cols) {
        out[c * rows + r0 + k] = in[(r0 + k) * cols + c];  // here: 3
      }
    }
    return;
  }
  for (int k = y; k < 32; k += 8) {
    const bool inside = (mutant == 4 || r0 + k < rows) && c < cols && (mutant != 6 || c % 2 == 0);
    if (inside) {
      const float value = in[(r0 + k) * cols + c];  // here: 4
      tile[k][x] = value;                           // here: 5
    }
    if (mutant == 7 && inside) __syncthreads();  // here: 7
  }
  if (mutant == 8) asm volatile("bar.sync 1, 288;" ::: "memory");  // here: 8
  if (mutant != 1) __syncthreads();
  const int out_c = r0 + x, out_r0 = blockIdx.x * 32;
  for (int k = y; k < 32; k += 8) {
    if (out_c < rows && out_r0 + k < cols) {
      const float value = tile[x][mutant == 9 && k == 0 ? 8 : k];  // here: 1, 2, 6
      out[(out_r0 + k) * rows + out_c] = value;
    }
  }
}

#define INSTANTIATE(mutant) template __global__ void transpose<mutant>(float*, const float*, int, int);
MUTANTS_TO_9(INSTANTIATE)
