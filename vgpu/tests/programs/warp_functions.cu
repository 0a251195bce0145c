// Shuffles, votes, matches and reductions of a warp, whole and in part.
#include <vector>

#include "check.h"

constexpr unsigned kAll = 0xffffffffu;

__global__ void warp(int* out) {
  const int lane = threadIdx.x;
  int value = lane * lane;
  int sum = value;
  for (int offset = 16; offset > 0; offset /= 2) sum += __shfl_down_sync(kAll, sum, offset);
  int scan = value;
  for (int offset = 1; offset < 32; offset *= 2) {
    const int other = __shfl_up_sync(kAll, scan, offset);
    if (lane >= offset) scan += other;
  }
  int row = 0;
  out[32 * row++ + lane] = __shfl_sync(kAll, sum, 0);
  out[32 * row++ + lane] = scan;
  out[32 * row++ + lane] = __shfl_xor_sync(kAll, value, 5);
  out[32 * row++ + lane] = __shfl_sync(kAll, value, 3, 8);  // within groups of eight
  out[32 * row++ + lane] = int(__ballot_sync(kAll, lane % 3 == 0));
  out[32 * row++ + lane] = __any_sync(kAll, lane == 40) + 2 * __all_sync(kAll, lane < 32);
  out[32 * row++ + lane] = int(__match_any_sync(kAll, lane % 4));
  int same;
  __match_all_sync(kAll, lane / 32, &same);
  out[32 * row++ + lane] = same;
  out[32 * row++ + lane] = int(__reduce_add_sync(kAll, unsigned(lane)));
  out[32 * row++ + lane] = __reduce_max_sync(kAll, 7 - lane);
  out[32 * row++ + lane] = int(__reduce_xor_sync(kAll, unsigned(lane)));
  int half = 0;
  if (lane < 16) {  // half of the warp, alone
    half = lane;
    for (int offset = 8; offset > 0; offset /= 2) half += __shfl_down_sync(0x0000ffffu, half, offset, 16);
    half = __shfl_sync(0x0000ffffu, half, 0);
  }
  __syncwarp();
  out[32 * row++ + lane] = half;
}

int main() {
  const int rows = 12;
  int* device;
  std::vector<int> out(rows * 32);
  CUDA(cudaMalloc(&device, out.size() * sizeof(int)));
  warp<<<1, 32>>>(device);
  CUDA(cudaMemcpy(out.data(), device, out.size() * sizeof(int), cudaMemcpyDeviceToHost));
  int total = 0;
  for (int lane = 0; lane < 32; ++lane) {
    total += lane * lane;
    int row = 0;
    EXPECT(out[32 * row++ + lane] == 31 * 32 * 63 / 6);
    EXPECT(out[32 * row++ + lane] == total);
    EXPECT(out[32 * row++ + lane] == (lane ^ 5) * (lane ^ 5));
    EXPECT(out[32 * row++ + lane] == (lane / 8 * 8 + 3) * (lane / 8 * 8 + 3));
    EXPECT(unsigned(out[32 * row++ + lane]) == 0x49249249u);
    EXPECT(out[32 * row++ + lane] == 2);
    EXPECT(unsigned(out[32 * row++ + lane]) == 0x11111111u << (lane % 4));
    EXPECT(out[32 * row++ + lane] == 1);
    EXPECT(out[32 * row++ + lane] == 496);
    EXPECT(out[32 * row++ + lane] == 7);
    EXPECT(out[32 * row++ + lane] == 0);
    EXPECT(out[32 * row++ + lane] == (lane < 16 ? 120 : 0));
  }
  CUDA(cudaFree(device));
  print_bits("warp", out.data(), out.size());
  std::printf("warp_functions: sum of squares %d\n", out[0]);
}
