// Copies to shared memory that run while the block computes (cp.async), double-buffered.
#include <cuda_pipeline.h>

#include <vector>

#include "check.h"

constexpr int kThreads = 128, kTile = kThreads * 4;

// y[i] = sum of the tile that i is in, plus x[i].
__global__ void tile_sums(float* y, const float* x, int tiles) {
  __shared__ __align__(16) float buffer[2][kTile];
  __shared__ float sum;
  const auto fetch = [&](int tile, int stage) {
    __pipeline_memcpy_async(&buffer[stage][threadIdx.x * 4], &x[size_t(tile) * kTile + threadIdx.x * 4], 16);
    __pipeline_commit();
  };
  int tile = blockIdx.x;
  if (tile < tiles) fetch(tile, 0);
  for (int stage = 0; tile < tiles; tile += gridDim.x, stage ^= 1) {
    const int next = tile + gridDim.x;
    if (next < tiles) {
      fetch(next, stage ^ 1);
      __pipeline_wait_prior(1);
    } else {
      __pipeline_wait_prior(0);
    }
    if (threadIdx.x == 0) sum = 0;
    __syncthreads();  // this tile has landed for all, and the sum is zero
    float own = 0;
    for (int i = threadIdx.x; i < kTile; i += kThreads) own += buffer[stage][i];
    atomicAdd(&sum, own);
    __syncthreads();
    for (int i = threadIdx.x; i < kTile; i += kThreads) y[size_t(tile) * kTile + i] = sum + buffer[stage][i];
    __syncthreads();  // the buffer and the sum are free again
  }
}

int main() {
  const int tiles = 7, n = tiles * kTile;
  std::vector<float> x(n), y(n);
  for (int i = 0; i < n; ++i) x[i] = float(i % 13);
  float *dx, *dy;
  CUDA(cudaMalloc(&dx, n * sizeof(float)));
  CUDA(cudaMalloc(&dy, n * sizeof(float)));
  CUDA(cudaMemcpy(dx, x.data(), n * sizeof(float), cudaMemcpyHostToDevice));
  tile_sums<<<2, kThreads>>>(dy, dx, tiles);
  CUDA(cudaMemcpy(y.data(), dy, n * sizeof(float), cudaMemcpyDeviceToHost));
  for (int t = 0; t < tiles; ++t) {
    float sum = 0;
    for (int i = 0; i < kTile; ++i) sum += x[t * kTile + i];
    for (int i = 0; i < kTile; ++i) EXPECT(y[t * kTile + i] == sum + x[t * kTile + i]);
  }
  CUDA(cudaFree(dx));
  CUDA(cudaFree(dy));
  print_bits("y", y.data(), y.size());
  std::printf("async_copy: %d tiles\n", tiles);
}
