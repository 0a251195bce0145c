// Constant memory and device variables: copies to and from symbols, their addresses and sizes.
#include <vector>

#include "check.h"

__constant__ double coefficients[8] = {1, 0.5, 0.25};
__constant__ int degree = 2;
__device__ int calls;
__device__ float table[16];

__global__ void polynomial(double* y, const double* x, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  double sum = 0;
  for (int k = degree; k >= 0; --k) sum = sum * x[i] + coefficients[k];
  y[i] = sum;
  atomicAdd(&calls, 1);
}

__global__ void fill_table() { table[threadIdx.x] = threadIdx.x * threadIdx.x; }

int main() {
  const int n = 300;
  std::vector<double> x(n), y(n);
  for (int i = 0; i < n; ++i) x[i] = (i - 150) / 16.0;
  double *dx, *dy;
  CUDA(cudaMalloc(&dx, n * sizeof(double)));
  CUDA(cudaMalloc(&dy, n * sizeof(double)));
  CUDA(cudaMemcpy(dx, x.data(), n * sizeof(double), cudaMemcpyHostToDevice));
  polynomial<<<3, 128>>>(dy, dx, n);  // with the initial values
  CUDA(cudaMemcpy(y.data(), dy, n * sizeof(double), cudaMemcpyDeviceToHost));
  for (int i = 0; i < n; ++i) EXPECT(y[i] == 1 + x[i] * (0.5 + 0.25 * x[i]));
  print_bits("square", y.data(), n);

  const double cubic[4] = {-2, 0, 3, 0.125};
  const int three = 3;
  CUDA(cudaMemcpyToSymbol(coefficients, cubic, sizeof cubic));
  CUDA(cudaMemcpyToSymbol(degree, &three, sizeof three));
  polynomial<<<3, 128>>>(dy, dx, n);
  CUDA(cudaMemcpy(y.data(), dy, n * sizeof(double), cudaMemcpyDeviceToHost));
  for (int i = 0; i < n; ++i) EXPECT(y[i] == -2 + x[i] * (x[i] * (3 + x[i] * 0.125)));
  print_bits("cubic", y.data(), n);

  int counted;
  CUDA(cudaMemcpyFromSymbol(&counted, calls, sizeof counted));
  EXPECT(counted == 2 * n);
  fill_table<<<1, 16>>>();
  float part[4];
  CUDA(cudaMemcpyFromSymbol(part, table, sizeof part, 4 * sizeof(float)));
  for (int i = 0; i < 4; ++i) EXPECT(part[i] == (i + 4) * (i + 4));
  void* address;
  size_t bytes;
  CUDA(cudaGetSymbolAddress(&address, table));
  CUDA(cudaGetSymbolSize(&bytes, table));
  EXPECT(bytes == sizeof table);
  CUDA(cudaMemset(address, 0, bytes));
  CUDA(cudaMemcpyFromSymbol(part, table, sizeof part));
  EXPECT(part[3] == 0);
  CUDA(cudaFree(dx));
  CUDA(cudaFree(dy));
  std::printf("constant_memory: %d evaluations\n", counted);
}
