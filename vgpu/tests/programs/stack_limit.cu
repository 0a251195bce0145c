// Each call has a frame on its thread's stack, which holds 1 KiB unless the program asks for more.
#include "check.h"

// A frame's worth of local memory that the compiler cannot do without.
__device__ __noinline__ int sum_to(int n, volatile int* zero) {
  volatile int frame[16];
  frame[n & 15] = n;
  if (n == 0) return *zero;
  return sum_to(n - 1, zero) + frame[n & 15];
}
__global__ void sum(int* result, int n) { result[1] = sum_to(n, result); }

int main() {
  int* device;
  int result = 0;
  CUDA(cudaMalloc(&device, 2 * sizeof(int)));
  CUDA(cudaMemset(device, 0, 2 * sizeof(int)));
  const auto run = [&](int n) {
    sum<<<1, 1>>>(device, n);
    return cudaMemcpy(&result, device + 1, sizeof result, cudaMemcpyDeviceToHost);
  };
  CUDA(run(8));
  EXPECT(result == 36);
  CUDA(cudaDeviceSetLimit(cudaLimitStackSize, 64 << 10));
  CUDA(run(500));
  EXPECT(result == 500 * 501 / 2);
  EXPECT(cudaDeviceSetLimit(cudaLimitStackSize, 1 << 30) == cudaErrorInvalidValue);
  cudaGetLastError();  // which forgets it
  const cudaError_t deep = run(1000000);
  std::printf("stack_limit: %d at depth 500; too deep: %s\n", 500 * 501 / 2, cudaGetErrorName(deep));
}
