// Tensor cores through nvcuda::wmma: half and bfloat16 with float sums, and signed bytes. Small integers, so that every
// sum is exact in any order.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <mma.h>

#include <vector>

#include "check.h"

using namespace nvcuda;

// c = a b for matrices of k-multiples of 16: a row-major, b column-major. One warp per tile of c.
template <class T, class Sum>
__global__ void multiply(Sum* c, const T* a, const T* b, int n, int k) {
  wmma::fragment<wmma::accumulator, 16, 16, 16, Sum> sum;
  wmma::fill_fragment(sum, Sum(0));
  for (int i = 0; i < k; i += 16) {
    wmma::fragment<wmma::matrix_a, 16, 16, 16, T, wmma::row_major> left;
    wmma::fragment<wmma::matrix_b, 16, 16, 16, T, wmma::col_major> right;
    wmma::load_matrix_sync(left, a + blockIdx.y * 16 * k + i, k);
    wmma::load_matrix_sync(right, b + blockIdx.x * 16 * k + i, k);
    wmma::mma_sync(sum, left, right, sum);
  }
  wmma::store_matrix_sync(c + blockIdx.y * 16 * n + blockIdx.x * 16, sum, n, wmma::mem_row_major);
}

template <class T, class Sum>
double run() {
  const int m = 48, n = 32, k = 64;
  std::vector<T> a(m * k), b(n * k);
  std::vector<int> whole_a(m * k), whole_b(n * k);
  for (int i = 0; i < m * k; ++i) a[i] = T(float(whole_a[i] = i * 7 % 11 - 5));
  for (int i = 0; i < n * k; ++i) b[i] = T(float(whole_b[i] = i * 5 % 13 - 6));
  T *da, *db;
  Sum* dc;
  CUDA(cudaMalloc(&da, a.size() * sizeof(T)));
  CUDA(cudaMalloc(&db, b.size() * sizeof(T)));
  CUDA(cudaMalloc(&dc, m * n * sizeof(Sum)));
  CUDA(cudaMemcpy(da, a.data(), a.size() * sizeof(T), cudaMemcpyHostToDevice));
  CUDA(cudaMemcpy(db, b.data(), b.size() * sizeof(T), cudaMemcpyHostToDevice));
  multiply<T, Sum><<<dim3(n / 16, m / 16), 32>>>(dc, da, db, n, k);
  std::vector<Sum> c(m * n);
  CUDA(cudaMemcpy(c.data(), dc, m * n * sizeof(Sum), cudaMemcpyDeviceToHost));
  double trace = 0;
  for (int i = 0; i < m; ++i) {
    for (int j = 0; j < n; ++j) {
      int sum = 0;
      for (int l = 0; l < k; ++l) sum += whole_a[i * k + l] * whole_b[j * k + l];
      EXPECT(double(c[i * n + j]) == sum);
      if (i == j) trace += sum;
    }
  }
  print_bits("c", c.data(), c.size());
  CUDA(cudaFree(da));
  CUDA(cudaFree(db));
  CUDA(cudaFree(dc));
  return trace;
}

int main() {
  const double halves = run<__half, float>();
  const double bfloat = run<__nv_bfloat16, float>();
  const double bytes = run<signed char, int>();
  EXPECT(halves == bfloat && halves == bytes);
  std::printf("wmma: trace %.0f\n", halves);
}
