// out[i] = in[i]                                                                                        i in [0,n)
//
// launch: copy, grid 4, block 256
// args: float out[1000], float in[1000] = ramp, int n = 1000
//
// 1: E01: no bounds check; the grid has 24 threads more than there are elements
// 2: E01: `<=` lets one element past
// 3: E02 (in freed): the source was freed before the launch
// 4: E02 (out freed): and here the destination
// 5: E07 (in unwritten): nobody filled the source
// 6: E08 (in host): a pointer from malloc
// 7: E09: pairs that begin at an odd element
// 8: E11: a grid-stride loop without its step
// 9: E10 (block 2048): more threads than a block may have
// 10: E10 (grid 0): no block at all
// 11: P04 (block 20, grid 50): a third of every warp is missing
// 12: P01: neighbouring lanes are 50 elements apart
// 13: value: the last element is forgotten
// 14: value: shifted by one
#include "corpus.h"

template <int mutant>
__global__ void copy(float* out, const float* in, int n) {  // here: 11
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (mutant == 7) {
    if (2 * i + 2 < n) {
      const float2 pair = *reinterpret_cast<const float2*>(in + 1 + 2 * i);  // here: 7
      out[2 * i] = pair.x;
      out[2 * i + 1] = pair.y;
    }
  } else if (mutant == 8) {
    while (i < n) out[i] = in[i];  // here: 8
  } else if (mutant == 12) {
    const int k = i % 20 * 50 + i / 20;
    if (i < n) out[k] = in[k];  // here: 12
  } else if (mutant == 14) {
    if (i < n) out[i] = in[i > 0 ? i - 1 : 0];
  } else if (mutant == 1 || (mutant == 2 ? i <= n : mutant == 13 ? i < n - 1 : i < n)) {
    out[i] = in[i];  // here: 1, 2, 3, 4, 5, 6
  }
}

#define INSTANTIATE(mutant) template __global__ void copy<mutant>(float*, const float*, int);
MUTANTS_TO_14(INSTANTIATE)
