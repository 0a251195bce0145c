// Cooperative groups, clusters, barriers and pipelines of libcu++, scoped atomics, tensor cores, half types, inline
// PTX.
#include <cooperative_groups.h>
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_pipeline.h>
#include <mma.h>

#include <cuda/atomic>
#include <cuda/barrier>

#pragma nv_diag_suppress static_var_with_dynamic_init

namespace cg = cooperative_groups;
using namespace nvcuda;

__global__ void pipes(float* out, const float4* in) {
  __shared__ float4 tile[64];
  __shared__ cuda::barrier<cuda::thread_scope_block> barrier;
  const auto block = cg::this_thread_block();
  if (block.thread_rank() == 0) init(&barrier, block.size());
  block.sync();
  __pipeline_memcpy_async(&tile[threadIdx.x], &in[threadIdx.x], 16);
  __pipeline_commit();
  __pipeline_wait_prior(0);
  barrier.arrive_and_wait();
  const auto warp = cg::tiled_partition<32>(block);
  float v = tile[threadIdx.x].x;
  for (int i = 16; i; i /= 2) v += warp.shfl_down(v, i);
  cuda::atomic_ref<float, cuda::thread_scope_device> sum(out[0]);
  sum.fetch_add(v, cuda::memory_order_acq_rel);
  __half2 h = __floats2half2_rn(v, v);
  h = __hfma2(h, h, h);
  const __nv_bfloat162 b = __float22bfloat162_rn({v, v});
  out[3] = __low2float(h) + __bfloat162float(b.x);
}

__global__ void __cluster_dims__(2, 1, 1) clusters(int* p) {
  __shared__ int s;
  s = 0;
  auto cluster = cg::this_cluster();
  cluster.sync();
  *cluster.map_shared_rank(&s, 1) = 3;
  cluster.sync();
  p[0] = s;
}

__global__ void tensor(const half* a, const half* b, float* c) {
  wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> fa;
  wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::col_major> fb;
  wmma::fragment<wmma::accumulator, 16, 16, 16, float> fc;
  wmma::fill_fragment(fc, 0.f);
  wmma::load_matrix_sync(fa, a, 16);
  wmma::load_matrix_sync(fb, b, 16);
  wmma::mma_sync(fc, fa, fb, fc);
  wmma::store_matrix_sync(c, fc, 16, wmma::mem_row_major);
}

// The same labels twice in one function, each in its block.
__global__ void labels() {
  asm volatile("{ .reg .pred p; AGAIN: setp.eq.u32 p, %0, 3; @p bra DONE; bra AGAIN; DONE: }" ::"r"(threadIdx.x));
  asm volatile("{ .reg .pred p; AGAIN: setp.eq.u32 p, %0, 3; @p bra DONE; bra AGAIN; DONE: }" ::"r"(threadIdx.y));
}
