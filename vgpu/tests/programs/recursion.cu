// Recursion on the device: calls that the compiler cannot unroll, with arrays on the stack.
#include <algorithm>
#include <vector>

#include "check.h"

__device__ __noinline__ int ackermann(int m, int n) {
  if (m == 0) return n + 1;
  if (n == 0) return ackermann(m - 1, 1);
  return ackermann(m - 1, ackermann(m, n - 1));
}

__device__ __noinline__ void quicksort(int* x, int low, int high) {
  while (low < high) {
    const int pivot = x[(low + high) / 2];
    int i = low, j = high;
    while (i <= j) {
      while (x[i] < pivot) ++i;
      while (x[j] > pivot) --j;
      if (i <= j) {
        const int swapped = x[i];
        x[i++] = x[j];
        x[j--] = swapped;
      }
    }
    quicksort(x, low, j);
    low = i;
  }
}

__global__ void recursive(int* values, int* arrays, int length) {
  const int i = threadIdx.x;
  values[i] = ackermann(2, i % 4);
  int local[32];
  for (int k = 0; k < length; ++k) local[k] = (k * 17 + i * 5) % 31;
  quicksort(local, 0, length - 1);
  for (int k = 0; k < length; ++k) arrays[i * length + k] = local[k];
}

int main() {
  const int threads = 48, length = 30;
  int *values, *arrays;
  CUDA(cudaDeviceSetLimit(cudaLimitStackSize, 8192));
  CUDA(cudaMalloc(&values, threads * sizeof(int)));
  CUDA(cudaMalloc(&arrays, threads * length * sizeof(int)));
  recursive<<<1, threads>>>(values, arrays, length);
  std::vector<int> host_values(threads), host_arrays(threads * length);
  CUDA(cudaMemcpy(host_values.data(), values, threads * sizeof(int), cudaMemcpyDeviceToHost));
  CUDA(cudaMemcpy(host_arrays.data(), arrays, threads * length * sizeof(int), cudaMemcpyDeviceToHost));
  for (int i = 0; i < threads; ++i) {
    EXPECT(host_values[i] == 2 * (i % 4) + 3);
    std::vector<int> expected;
    for (int k = 0; k < length; ++k) expected.push_back((k * 17 + i * 5) % 31);
    std::sort(expected.begin(), expected.end());
    EXPECT(std::equal(expected.begin(), expected.end(), host_arrays.begin() + i * length));
  }
  CUDA(cudaFree(values));
  CUDA(cudaFree(arrays));
  print_bits("sorted", host_arrays.data(), host_arrays.size());
  std::printf("recursion: ackermann(2, 3) = %d\n", host_values[3]);
}
