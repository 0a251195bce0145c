// Adds 1 to each of 1000 numbers, and has the most common of all bugs. Find it with:
//   ./dev vgpu vgpu/examples/first_bug.cu
#include <cstdio>
#include <vector>

__global__ void add_one(float* x, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i <= n) x[i] += 1;
}

int main() {
  const int n = 1000;
  std::vector<float> host(n, 41);
  float* x;
  cudaMalloc(&x, n * sizeof(float));
  cudaMemcpy(x, host.data(), n * sizeof(float), cudaMemcpyHostToDevice);
  add_one<<<(n + 255) / 256, 256>>>(x, n);
  cudaMemcpy(host.data(), x, n * sizeof(float), cudaMemcpyDeviceToHost);
  cudaFree(x);
  std::printf("%.0f\n", host[n - 1]);
}
