// Stream-ordered allocation: the default pool, one of our own, and their counters.
#include "check.h"

__global__ void fill(int* x, int value, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) x[i] = value + i;
}

size_t counter(cudaMemPool_t pool, cudaMemPoolAttr attribute) {
  unsigned long long value = 0;
  CUDA(cudaMemPoolGetAttribute(pool, attribute, &value));
  return size_t(value);
}

int main() {
  const int n = 1000;
  const size_t bytes = n * sizeof(int);
  cudaStream_t stream;
  CUDA(cudaStreamCreate(&stream));
  cudaMemPool_t pool;
  CUDA(cudaDeviceGetDefaultMemPool(&pool, 0));
  unsigned long long keep = ~0ull;
  CUDA(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &keep));
  const size_t before = counter(pool, cudaMemPoolAttrUsedMemCurrent);
  int sum = 0;
  for (int round = 0; round < 5; ++round) {
    int* x;
    int last;
    CUDA(cudaMallocAsync(&x, bytes, stream));
    fill<<<4, 256, 0, stream>>>(x, 100 * round, n);
    CUDA(cudaMemcpyAsync(&last, x + n - 1, sizeof last, cudaMemcpyDeviceToHost, stream));
    CUDA(cudaFreeAsync(x, stream));
    CUDA(cudaStreamSynchronize(stream));
    EXPECT(last == 100 * round + n - 1);
    sum += last;
  }
  EXPECT(counter(pool, cudaMemPoolAttrUsedMemCurrent) == before);
  EXPECT(counter(pool, cudaMemPoolAttrUsedMemHigh) >= before + bytes);
  EXPECT(counter(pool, cudaMemPoolAttrReservedMemCurrent) >= bytes);  // kept for the next time
  CUDA(cudaMemPoolTrimTo(pool, 0));
  EXPECT(counter(pool, cudaMemPoolAttrReservedMemCurrent) == before);

  cudaMemPoolProps properties{};
  properties.allocType = cudaMemAllocationTypePinned;
  properties.location.type = cudaMemLocationTypeDevice;
  properties.location.id = 0;
  cudaMemPool_t own;
  CUDA(cudaMemPoolCreate(&own, &properties));
  int *x, first;
  CUDA(cudaMallocFromPoolAsync(&x, bytes, own, stream));
  EXPECT(counter(own, cudaMemPoolAttrUsedMemCurrent) >= bytes);
  fill<<<4, 256, 0, stream>>>(x, 7, n);
  CUDA(cudaMemcpyAsync(&first, x, sizeof first, cudaMemcpyDeviceToHost, stream));
  CUDA(cudaFreeAsync(x, stream));
  CUDA(cudaStreamSynchronize(stream));
  EXPECT(first == 7 && counter(own, cudaMemPoolAttrUsedMemCurrent) == 0);
  CUDA(cudaMemPoolDestroy(own));
  CUDA(cudaStreamDestroy(stream));
  std::printf("memory_pools: sum %d\n", sum);
}
