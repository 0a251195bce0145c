// Launches that no device accepts: each returns its error at once, and the next good launch runs.
#include "check.h"

__global__ void kernel(int* x) { *x = 1; }
__global__ void __launch_bounds__(64) bounded(int* x) { *x = 2; }
__global__ void dynamic(int* x) {
  extern __shared__ int memory[];
  memory[0] = 3;
  *x = memory[0];
}

int main() {
  int* x;
  CUDA(cudaMalloc(&x, sizeof(int)));
  kernel<<<1, 1025>>>(x);
  EXPECT(cudaGetLastError() == cudaErrorInvalidConfiguration);
  kernel<<<0, 1>>>(x);
  EXPECT(cudaGetLastError() == cudaErrorInvalidConfiguration);
  kernel<<<dim3(1, 65536), 1>>>(x);
  EXPECT(cudaGetLastError() == cudaErrorInvalidConfiguration);
  kernel<<<1, dim3(1, 1, 65)>>>(x);
  EXPECT(cudaGetLastError() == cudaErrorInvalidConfiguration);
  dynamic<<<1, 1, 49153>>>(x);
  EXPECT(cudaGetLastError() == cudaErrorInvalidValue);
  EXPECT(cudaFuncSetAttribute(dynamic, cudaFuncAttributeMaxDynamicSharedMemorySize, 1 << 20) == cudaErrorInvalidValue);
  EXPECT(cudaGetLastError() == cudaErrorInvalidValue);
  CUDA(cudaGetLastError());  // which forgot it
  bounded<<<1, 64>>>(x);
  CUDA(cudaGetLastError());
  int value = 0;
  CUDA(cudaMemcpy(&value, x, sizeof value, cudaMemcpyDeviceToHost));
  EXPECT(value == 2);
  dynamic<<<1, 1, 49152>>>(x);
  CUDA(cudaMemcpy(&value, x, sizeof value, cudaMemcpyDeviceToHost));
  EXPECT(value == 3);
  CUDA(cudaFree(x));
  std::printf("launch_errors: six refused, two run\n");
}
