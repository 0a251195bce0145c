// A sum in one launch: the block that finishes last, found by a fence and an atomic counter, adds the others' parts.
#include <vector>

#include "check.h"

__device__ unsigned finished = 0;

__global__ void sum(double* total, volatile double* parts, const float* x, int n) {
  __shared__ double shared[256];
  __shared__ bool is_last;
  double own = 0;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) own += x[i];
  shared[threadIdx.x] = own;
  __syncthreads();
  for (int half = blockDim.x / 2; half > 0; half /= 2) {
    if (threadIdx.x < half) shared[threadIdx.x] += shared[threadIdx.x + half];
    __syncthreads();
  }
  if (threadIdx.x == 0) {
    parts[blockIdx.x] = shared[0];
    __threadfence();  // the part before the count
    is_last = atomicInc(&finished, gridDim.x - 1) == gridDim.x - 1;
  }
  __syncthreads();
  if (is_last && threadIdx.x == 0) {
    double all = 0;
    for (unsigned b = 0; b < gridDim.x; ++b) all += parts[b];
    *total = all;
  }
}

int main() {
  const int n = 20000, blocks = 13;
  std::vector<float> x(n);
  double expected = 0, result;
  for (int i = 0; i < n; ++i) expected += x[i] = float(i % 97) / 4;
  float* dx;
  double *parts, *total;
  CUDA(cudaMalloc(&dx, n * sizeof(float)));
  CUDA(cudaMalloc(&parts, blocks * sizeof(double)));
  CUDA(cudaMalloc(&total, sizeof(double)));
  CUDA(cudaMemcpy(dx, x.data(), n * sizeof(float), cudaMemcpyHostToDevice));
  for (int round = 0; round < 2; ++round) {  // the counter is back at zero after the first
    CUDA(cudaMemset(total, 0, sizeof(double)));
    sum<<<blocks, 256>>>(total, parts, dx, n);
    CUDA(cudaMemcpy(&result, total, sizeof result, cudaMemcpyDeviceToHost));
    EXPECT(result == expected);
  }
  CUDA(cudaFree(dx));
  CUDA(cudaFree(parts));
  CUDA(cudaFree(total));
  print_bits("sum", &result, 1);
  std::printf("last_block: sum %.2f\n", result);
}
