// An inclusive scan in three launches: blocks scan, one block scans their sums, all add; a 64-bit integer type.
#include <vector>

#include "check.h"

constexpr int kBlock = 128;

__device__ long long block_scan(long long value, long long* shared) {
  shared[threadIdx.x] = value;
  __syncthreads();
  for (int offset = 1; offset < blockDim.x; offset *= 2) {
    const long long other = threadIdx.x >= offset ? shared[threadIdx.x - offset] : 0;
    __syncthreads();  // all have read before anyone writes
    shared[threadIdx.x] += other;
    __syncthreads();
  }
  return shared[threadIdx.x];
}

__global__ void scan_blocks(long long* out, long long* sums, const int* x, int n) {
  __shared__ long long shared[kBlock];
  const int i = blockIdx.x * kBlock + threadIdx.x;
  const long long value = block_scan(i < n ? x[i] : 0, shared);
  if (i < n) out[i] = value;
  if (threadIdx.x == kBlock - 1) sums[blockIdx.x] = value;
}

__global__ void scan_sums(long long* sums, int blocks) {
  __shared__ long long shared[kBlock];
  const long long value = block_scan(threadIdx.x < blocks ? sums[threadIdx.x] : 0, shared);
  if (threadIdx.x < blocks) sums[threadIdx.x] = value;
}

__global__ void add_sums(long long* out, const long long* sums, int n) {
  const int i = blockIdx.x * kBlock + threadIdx.x;
  if (blockIdx.x > 0 && i < n) out[i] += sums[blockIdx.x - 1];
}

int main() {
  const int n = 5000, blocks = (n + kBlock - 1) / kBlock;
  std::vector<int> x(n);
  std::vector<long long> out(n);
  for (int i = 0; i < n; ++i) x[i] = (i % 3 ? 1 : -1) * i * 100003;
  int* dx;
  long long *device, *sums;
  CUDA(cudaMalloc(&dx, n * sizeof(int)));
  CUDA(cudaMalloc(&device, n * sizeof(long long)));
  CUDA(cudaMalloc(&sums, blocks * sizeof(long long)));
  CUDA(cudaMemcpy(dx, x.data(), n * sizeof(int), cudaMemcpyHostToDevice));
  scan_blocks<<<blocks, kBlock>>>(device, sums, dx, n);
  scan_sums<<<1, kBlock>>>(sums, blocks);
  add_sums<<<blocks, kBlock>>>(device, sums, n);
  CUDA(cudaMemcpy(out.data(), device, n * sizeof(long long), cudaMemcpyDeviceToHost));
  long long sum = 0;
  for (int i = 0; i < n; ++i) {
    sum += x[i];
    EXPECT(out[i] == sum);
  }
  CUDA(cudaFree(dx));
  CUDA(cudaFree(device));
  CUDA(cudaFree(sums));
  print_bits("scan", out.data(), n);
  std::printf("scan: total %lld\n", sum);
}
