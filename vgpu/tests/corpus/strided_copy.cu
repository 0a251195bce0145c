// out[r,c] = in[r,c]                               r in [0,rows), c in [0,cols); rows lie `pitch` elements apart
//
// One block a row, threads along it.
//
// launch: strided_copy, grid 48, block 64
// args: float out[4000], float in[4800] = ramp, int rows = 48, int cols = 77, int out_pitch = 80, int in_pitch = 100
//
// 1: E01: the last row is one too many
// 2: E01: the pitches are swapped, and the destination's is the smaller
// 3: E07 (in rows of 77 every 100): copies the padding between the rows, which nobody wrote
// 4: P01: threads along the columns of a block of rows
// 5: E09: in pairs, but a row need not begin at an even element
// 6: E02 (in freed): the source was freed
// 7: E11: the step along the row is lost
// 8: P04 (block 40): a warp and a quarter
// 9: value: the first element of each row is skipped
#include "corpus.h"

template <int mutant>
__global__ void strided_copy(float* out, const float* in, int rows, int cols, int out_pitch, int in_pitch) {  // here: 8
  if (mutant == 4) {
    const int r = threadIdx.x;
    for (int c = blockIdx.x; c < cols; c += gridDim.x) {
      if (r < rows) out[r * out_pitch + c] = in[r * in_pitch + c];  // here: 4
    }
    return;
  }
  const int r = blockIdx.x + (mutant == 1);
  if (mutant == 5) {
    const float* row = in + r * (in_pitch - 1);
    const int c = 2 * threadIdx.x;
    if (c + 1 < cols) {
      const float2 pair = *reinterpret_cast<const float2*>(row + c);  // here: 5
      out[r * out_pitch + c] = pair.x;
      out[r * out_pitch + c + 1] = pair.y;
    }
    return;
  }
  const int end = mutant == 3 ? out_pitch : cols;
  for (int c = threadIdx.x + (mutant == 9); c < end; c += mutant == 7 ? 0 : blockDim.x) {  // here: 7
    const int from = r * (mutant == 2 ? out_pitch : in_pitch) + c, to = r * (mutant == 2 ? in_pitch : out_pitch) + c;
    const float value = in[from];  // here: 1, 3, 6
    out[to] = value;               // here: 2
  }
}

#define INSTANTIATE(mutant) template __global__ void strided_copy<mutant>(float*, const float*, int, int, int, int);
MUTANTS_TO_9(INSTANTIATE)
