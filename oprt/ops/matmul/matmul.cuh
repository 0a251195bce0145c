// out[b] = act(a[b] b[b] + bias) over a batch: the kernels that need no library. Sums are f32, rounded once.
//
//   matmul_naive          one thread an element of out, k innermost
//   matmul_tiled          a block a tile of out, through shared memory; a thread a rectangle of it in registers
//   matmul_tensor_cores   16 bits: the same by mma.sync
//
// a is m by k and b is k by n, anywhere: any strides, also 0 and negative.
#pragma once

#include "oprt/ops/matmul/matmul_matrices.cuh"
#include "oprt/ops/matmul/matmul_tensor_cores.cuh"
#include "oprt/ops/matmul/matmul_tiled.cuh"

namespace oprt {

constexpr int kNaiveThreads = 256;

template <class T>
__global__ void __launch_bounds__(kNaiveThreads)
    matmul_naive(const __grid_constant__ Matrices<T> plan, uint64_t count) {
  begin_kernel();
  const uint64_t index = uint64_t{blockIdx.x} * kNaiveThreads + threadIdx.x;
  if (index >= count) return;
  const auto at = plan.place(index);
  const T* a = at.a + at.row * plan.a_strides.row;
  const T* b = at.b + at.column * plan.b_strides.column;
  float sum[1] = {};
  for (int64_t k = 0; k < plan.k; ++k)
    sum[0] = fmaf(widen(a[k * plan.a_strides.column]), widen(b[k * plan.b_strides.row]), sum[0]);
  plan.finish(at.out, at.row, at.column, 1, sum);
}

// The bias and the activation of sums that the library left, [batch, m, n] in f32.
template <class T>
__global__ void __launch_bounds__(kNaiveThreads)
    matmul_finish(const __grid_constant__ Matrices<T> plan, uint64_t count, const float* sums) {
  begin_kernel();
  const uint64_t index = uint64_t{blockIdx.x} * kNaiveThreads + threadIdx.x;
  if (index >= count) return;
  const auto at = plan.place(index);
  float sum[1] = {sums[index]};
  plan.finish(at.out, at.row, at.column, 1, sum);
}

}  // namespace oprt
