// printf on the device: its formats, and the order within a thread.
#include "check.h"

struct Pair {
  int first;
  double second;
};

__global__ void print(const Pair* pairs, int n) {
  for (int i = 0; i < n; ++i) printf("pair %d: %5d %8.3f\n", i, pairs[i].first, pairs[i].second);
  printf("%c %s %u %lld %x %#o %% %e %g\n", 'c', "text", 4000000000u, -5000000000ll, 255u, 8u, 12345.678, 0.0001);
  printf("no arguments\n");
  printf("%-6d|%06d|%+d|%.2s|\n", 42, 42, 42, "shortened");
}

__global__ void one_each() {
  if (threadIdx.x == 3) printf("thread %u of block %u\n", threadIdx.x, blockIdx.x);
}

int main() {
  const Pair pairs[3] = {{1, 0.5}, {-20, 1e3}, {300, -1.0 / 3}};
  Pair* device;
  CUDA(cudaMalloc(&device, sizeof pairs));
  CUDA(cudaMemcpy(device, pairs, sizeof pairs, cudaMemcpyHostToDevice));
  print<<<1, 1>>>(device, 3);
  CUDA(cudaDeviceSynchronize());
  one_each<<<1, 8>>>();
  CUDA(cudaDeviceSynchronize());
  CUDA(cudaFree(device));
}
