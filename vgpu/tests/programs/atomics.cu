// Atomics of every kind: a histogram, a lock-free maximum of floats by compare-and-swap, counters that wrap.
#include <algorithm>
#include <vector>

#include "check.h"

__global__ void histogram(unsigned* bins, const unsigned char* data, int n) {
  __shared__ unsigned local[256];
  for (int b = threadIdx.x; b < 256; b += blockDim.x) local[b] = 0;
  __syncthreads();
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
    atomicAdd(&local[data[i]], 1u);
  __syncthreads();
  for (int b = threadIdx.x; b < 256; b += blockDim.x) atomicAdd(&bins[b], local[b]);
}

__device__ float atomic_max(float* address, float value) {
  int* bits = reinterpret_cast<int*>(address);
  int old = atomicCAS(bits, 0, 0);  // a plain read would race with the others
  while (value > __int_as_float(old)) {
    const int assumed = old;
    old = atomicCAS(bits, assumed, __float_as_int(value));
    if (old == assumed) break;
  }
  return __int_as_float(old);
}

struct Results {
  unsigned long long sum;
  double total;
  int low, high;
  int whole_system, by_block;
  unsigned bits_or, bits_and, bits_xor, wraps, down, exchanged;
  float largest;
};

__global__ void all_kinds(Results* r) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  atomicAdd(&r->sum, 1ull + i);
  atomicAdd(&r->total, 0.25);
  atomicAdd_system(&r->whole_system, 3);
  atomicMax_block(&r->by_block, threadIdx.x);  // every block ends with the same
  atomicMin(&r->low, 500 - i);
  atomicMax(&r->high, i);
  atomicOr(&r->bits_or, 1u << (i % 32));
  atomicAnd(&r->bits_and, ~(1u << (i % 5)));
  atomicXor(&r->bits_xor, unsigned(i));
  atomicInc(&r->wraps, 9);  // 0 1 … 9 0 1 …
  atomicDec(&r->down, 99);  // 99 98 … 0 99 …
  atomicExch(&r->exchanged, 7u);
  atomic_max(&r->largest, float((i * 37) % 1001));
}

int main() {
  const int n = 50000;
  std::vector<unsigned char> data(n);
  unsigned expected[256] = {}, bins[256];
  for (int i = 0; i < n; ++i) ++expected[data[i] = (i * i + 7 * i) % 251];
  unsigned char* device_data;
  unsigned* device_bins;
  CUDA(cudaMalloc(&device_data, n));
  CUDA(cudaMalloc(&device_bins, sizeof bins));
  CUDA(cudaMemcpy(device_data, data.data(), n, cudaMemcpyHostToDevice));
  CUDA(cudaMemset(device_bins, 0, sizeof bins));
  histogram<<<8, 192>>>(device_bins, device_data, n);
  CUDA(cudaMemcpy(bins, device_bins, sizeof bins, cudaMemcpyDeviceToHost));
  EXPECT(std::equal(bins, bins + 256, expected));

  Results r{};
  r.low = 1000;
  r.bits_and = ~0u;
  Results* device_results;
  CUDA(cudaMalloc(&device_results, sizeof r));
  CUDA(cudaMemcpy(device_results, &r, sizeof r, cudaMemcpyHostToDevice));
  all_kinds<<<4, 250>>>(device_results);
  CUDA(cudaMemcpy(&r, device_results, sizeof r, cudaMemcpyDeviceToHost));
  EXPECT(r.sum == 500500);
  EXPECT(r.total == 250.0);
  EXPECT(r.whole_system == 3000 && r.by_block == 249);
  EXPECT(r.low == -499 && r.high == 999);
  EXPECT(r.bits_or == ~0u && r.bits_and == ~31u);
  unsigned exclusive = 0;
  float largest = 0;
  for (int i = 0; i < 1000; ++i) {
    exclusive ^= unsigned(i);
    largest = std::max(largest, float((i * 37) % 1001));
  }
  EXPECT(r.bits_xor == exclusive && r.largest == largest);
  EXPECT(r.wraps == 0 && r.down == 0 && r.exchanged == 7);
  CUDA(cudaFree(device_data));
  CUDA(cudaFree(device_bins));
  CUDA(cudaFree(device_results));
  print_bits("bins", bins, 256);
  std::printf("atomics: sum %llu, largest %.0f\n", r.sum, r.largest);
}
