// The first program: c = a + b, with a grid-stride loop.
#include <vector>

#include "check.h"

__global__ void add(float* c, const float* a, const float* b, int n) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) c[i] = a[i] + b[i];
}

int main() {
  const int n = 10007;  // no multiple of anything
  std::vector<float> a(n), b(n), c(n);
  for (int i = 0; i < n; ++i) {
    a[i] = 0.5f * i;
    b[i] = 1000 - i;
  }
  float *da, *db, *dc;
  CUDA(cudaMalloc(&da, n * sizeof(float)));
  CUDA(cudaMalloc(&db, n * sizeof(float)));
  CUDA(cudaMalloc(&dc, n * sizeof(float)));
  CUDA(cudaMemcpy(da, a.data(), n * sizeof(float), cudaMemcpyHostToDevice));
  CUDA(cudaMemcpy(db, b.data(), n * sizeof(float), cudaMemcpyHostToDevice));
  add<<<7, 128>>>(dc, da, db, n);
  CUDA(cudaGetLastError());
  CUDA(cudaMemcpy(c.data(), dc, n * sizeof(float), cudaMemcpyDeviceToHost));
  for (int i = 0; i < n; ++i) EXPECT(c[i] == a[i] + b[i]);
  CUDA(cudaFree(da));
  CUDA(cudaFree(db));
  CUDA(cudaFree(dc));
  print_bits("c", c.data(), n);
  std::printf("vector_add: c[%d] = %.1f\n", n - 1, c[n - 1]);
}
