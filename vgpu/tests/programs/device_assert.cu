// A device assertion that fails: the launch ends, and the error sticks to everything that comes after it.
#include <cassert>

#include "check.h"

__global__ void positive(const int* x, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) assert(x[i] > 0);
}

int main() {
  int x[64];
  for (int i = 0; i < 64; ++i) x[i] = i + 1;
  int* device;
  CUDA(cudaMalloc(&device, sizeof x));
  CUDA(cudaMemcpy(device, x, sizeof x, cudaMemcpyHostToDevice));
  positive<<<2, 32>>>(device, 64);
  CUDA(cudaDeviceSynchronize());  // all are positive

  x[40] = -1;
  CUDA(cudaMemcpy(device, x, sizeof x, cudaMemcpyHostToDevice));
  positive<<<2, 32>>>(device, 64);
  CUDA(cudaGetLastError());  // the launch itself was good
  EXPECT(cudaDeviceSynchronize() == cudaErrorAssert);
  EXPECT(cudaMemcpy(x, device, sizeof x, cudaMemcpyDeviceToHost) == cudaErrorAssert);
  EXPECT(cudaFree(device) == cudaErrorAssert);
  std::printf("device_assert: %s\n", cudaGetErrorString(cudaPeekAtLastError()));
}
