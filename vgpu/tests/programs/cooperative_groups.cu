// Cooperative groups: tiles, coalesced groups, reductions, and a grid that synchronises.
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cooperative_groups/scan.h>

#include <vector>

#include "check.h"

namespace cg = cooperative_groups;

__global__ void tiles(int* sums, int* scans, int* odd_ranks, const int* x) {
  const auto block = cg::this_thread_block();
  const auto tile = cg::tiled_partition<16>(block);
  const int i = block.thread_rank();
  const int sum = cg::reduce(tile, x[i], cg::plus<int>());
  if (tile.thread_rank() == 0) sums[tile.meta_group_rank()] = sum;
  scans[i] = cg::exclusive_scan(tile, x[i]);
  odd_ranks[i] = -1;
  if (x[i] % 2) {
    const auto odd = cg::coalesced_threads();
    odd_ranks[i] = odd.thread_rank();
  }
}

// Every block writes its part, all wait, the first block adds the parts.
__global__ void grid_sum(int* parts, int* total, const int* x, int n) {
  const auto grid = cg::this_grid();
  const auto block = cg::this_thread_block();
  __shared__ int sum;
  if (block.thread_rank() == 0) sum = 0;
  block.sync();
  int own = 0;
  for (int i = int(grid.thread_rank()); i < n; i += int(grid.size())) own += x[i];
  atomicAdd(&sum, own);
  block.sync();
  if (block.thread_rank() == 0) parts[blockIdx.x] = sum;
  grid.sync();
  if (grid.thread_rank() == 0) {
    int all = 0;
    for (unsigned b = 0; b < gridDim.x; ++b) all += parts[b];
    *total = all;
  }
}

int main() {
  int n = 1000;
  std::vector<int> x(n);
  int expected = 0;
  for (int i = 0; i < n; ++i) expected += x[i] = (i * 29) % 64;
  int *device_x, *sums, *scans, *ranks, *total;
  CUDA(cudaMalloc(&device_x, n * sizeof(int)));
  CUDA(cudaMalloc(&sums, 64 * sizeof(int)));
  CUDA(cudaMalloc(&scans, 128 * sizeof(int)));
  CUDA(cudaMalloc(&ranks, 128 * sizeof(int)));
  CUDA(cudaMalloc(&total, sizeof(int)));
  CUDA(cudaMemcpy(device_x, x.data(), n * sizeof(int), cudaMemcpyHostToDevice));

  tiles<<<1, 128>>>(sums, scans, ranks, device_x);
  std::vector<int> host_sums(8), host_scans(128), host_ranks(128);
  CUDA(cudaMemcpy(host_sums.data(), sums, 8 * sizeof(int), cudaMemcpyDeviceToHost));
  CUDA(cudaMemcpy(host_scans.data(), scans, 128 * sizeof(int), cudaMemcpyDeviceToHost));
  CUDA(cudaMemcpy(host_ranks.data(), ranks, 128 * sizeof(int), cudaMemcpyDeviceToHost));
  for (int t = 0; t < 8; ++t) {
    int sum = 0;
    for (int i = 16 * t; i < 16 * t + 16; ++i) {
      EXPECT(host_scans[i] == sum);
      sum += x[i];
    }
    EXPECT(host_sums[t] == sum);
  }
  for (int i = 0; i < 128; ++i) EXPECT((host_ranks[i] >= 0) == (x[i] % 2 == 1));

  int can = 0, each = 0, result = 0;
  CUDA(cudaDeviceGetAttribute(&can, cudaDevAttrCooperativeLaunch, 0));
  EXPECT(can);
  CUDA(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&each, grid_sum, 64, 0));
  EXPECT(each >= 1);
  void* arguments[] = {&sums, &total, &device_x, &n};
  CUDA(cudaLaunchCooperativeKernel(reinterpret_cast<void*>(grid_sum), dim3(6), dim3(64), arguments, 0, nullptr));
  CUDA(cudaMemcpy(&result, total, sizeof result, cudaMemcpyDeviceToHost));
  EXPECT(result == expected);
  for (int* pointer : {device_x, sums, scans, ranks, total}) CUDA(cudaFree(pointer));
  print_bits("sums", host_sums.data(), host_sums.size());
  print_bits("scans", host_scans.data(), host_scans.size());
  std::printf("cooperative_groups: total %d\n", result);
}
