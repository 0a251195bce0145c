// Thread block clusters (sm_90): blocks read and add to each other's shared memory.
#include <cooperative_groups.h>

#include <vector>

#include "check.h"

namespace cg = cooperative_groups;

// Each cluster of four blocks counts into bins that are spread over their shared memories.
__global__ void __cluster_dims__(4, 1, 1) histogram(int* bins, const int* data, int n, int per_block) {
  extern __shared__ int local[];
  const auto cluster = cg::this_cluster();
  for (int i = threadIdx.x; i < per_block; i += blockDim.x) local[i] = 0;
  cluster.sync();  // nobody adds before all are zero
  const int threads = cluster.num_threads();
  const int cluster_of_four = blockIdx.x / cluster.num_blocks();
  const int clusters = gridDim.x / cluster.num_blocks();
  for (int i = cluster_of_four * threads + cluster.thread_rank(); i < n; i += clusters * threads) {
    const int bin = data[i];
    int* const owner = cluster.map_shared_rank(local, bin / per_block);
    atomicAdd(owner + bin % per_block, 1);
  }
  cluster.sync();  // nobody leaves, or reads, before all have added
  for (int i = threadIdx.x; i < per_block; i += blockDim.x) {
    atomicAdd(&bins[cluster.block_rank() * per_block + i], local[i]);
  }
}

// The sum of a row that is spread over a cluster, launched with the size as an attribute.
__global__ void row_sums(float* sums, const float* x, int columns) {
  __shared__ float part;
  const auto cluster = cg::this_cluster();
  const int row = blockIdx.y, blocks = cluster.num_blocks(), rank = cluster.block_rank();
  if (threadIdx.x == 0) part = 0;
  __syncthreads();
  float own = 0;
  for (int c = rank * blockDim.x + threadIdx.x; c < columns; c += blocks * blockDim.x) own += x[row * columns + c];
  atomicAdd(&part, own);
  cluster.sync();
  if (rank == 0 && threadIdx.x == 0) {
    float sum = 0;
    for (int b = 0; b < blocks; ++b) sum += *cluster.map_shared_rank(&part, b);
    sums[row] = sum;
  }
  cluster.sync();  // the others' shared memory must live until it is read
}

int main() {
  const int n = 3000, per_block = 16, bins = 4 * per_block;
  std::vector<int> data(n), expected(bins), counted(bins);
  for (int i = 0; i < n; ++i) ++expected[data[i] = i * i % bins];
  int *device_data, *device_bins;
  CUDA(cudaMalloc(&device_data, n * sizeof(int)));
  CUDA(cudaMalloc(&device_bins, bins * sizeof(int)));
  CUDA(cudaMemcpy(device_data, data.data(), n * sizeof(int), cudaMemcpyHostToDevice));
  CUDA(cudaMemset(device_bins, 0, bins * sizeof(int)));
  histogram<<<8, 64, per_block * sizeof(int)>>>(device_bins, device_data, n, per_block);
  CUDA(cudaGetLastError());
  CUDA(cudaMemcpy(counted.data(), device_bins, bins * sizeof(int), cudaMemcpyDeviceToHost));
  EXPECT(counted == expected);

  const int rows = 3, columns = 1000;
  std::vector<float> x(rows * columns), sums(rows);
  for (int i = 0; i < rows * columns; ++i) x[i] = float(i % 17);
  float *device_x, *device_sums;
  CUDA(cudaMalloc(&device_x, x.size() * sizeof(float)));
  CUDA(cudaMalloc(&device_sums, rows * sizeof(float)));
  CUDA(cudaMemcpy(device_x, x.data(), x.size() * sizeof(float), cudaMemcpyHostToDevice));
  cudaLaunchConfig_t config{};
  config.gridDim = dim3(8, rows);
  config.blockDim = dim3(64);
  cudaLaunchAttribute attribute;
  attribute.id = cudaLaunchAttributeClusterDimension;
  attribute.val.clusterDim.x = 8;
  attribute.val.clusterDim.y = 1;
  attribute.val.clusterDim.z = 1;
  config.attrs = &attribute;
  config.numAttrs = 1;
  CUDA(cudaLaunchKernelEx(&config, row_sums, device_sums, static_cast<const float*>(device_x), columns));
  CUDA(cudaMemcpy(sums.data(), device_sums, rows * sizeof(float), cudaMemcpyDeviceToHost));
  for (int r = 0; r < rows; ++r) {
    float sum = 0;
    for (int c = 0; c < columns; ++c) sum += x[r * columns + c];
    EXPECT(sums[r] == sum);
  }
  CUDA(cudaFree(device_data));
  CUDA(cudaFree(device_bins));
  CUDA(cudaFree(device_x));
  CUDA(cudaFree(device_sums));
  print_bits("bins", counted.data(), counted.size());
  print_bits("sums", sums.data(), sums.size());
  std::printf("clusters: %d values counted, first row %.0f\n", n, sums[0]);
}
