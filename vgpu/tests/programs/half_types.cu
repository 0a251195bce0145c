// half, half2 and bfloat16: arithmetic, conversions with rounding, comparisons, special values.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cmath>
#include <vector>

#include "check.h"

__global__ void axpy(__half2* y, const __half2* x, __half a, int pairs) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < pairs) y[i] = __hfma2(__half2half2(a), x[i], y[i]);
}

__global__ void conversions(float* out, const float* in, int n) {
  const int i = threadIdx.x;
  if (i >= n) return;
  out[i] = __half2float(__float2half_rn(in[i]));
  out[n + i] = __half2float(__float2half_rz(in[i]));
  out[2 * n + i] = __bfloat162float(__float2bfloat16_rn(in[i]));
  out[3 * n + i] = __half2float(__hmax(__float2half(in[i]), __float2half(1.5f)));
  out[4 * n + i] = __hisnan(__float2half(in[i])) ? 1.f : __hlt(__float2half(in[i]), __float2half(0.f)) ? 2.f : 3.f;
  out[5 * n + i] = float(__half2int_rn(__float2half(fminf(fmaxf(in[i], -100.f), 100.f))));
}

int main() {
  const int pairs = 500;
  std::vector<__half2> x(pairs), y(pairs), result(pairs);
  for (int i = 0; i < pairs; ++i) {
    x[i] = __floats2half2_rn(i / 8.f, -i / 4.f);
    y[i] = __floats2half2_rn(1.f, float(i % 7));
  }
  __half2 *dx, *dy;
  CUDA(cudaMalloc(&dx, pairs * sizeof(__half2)));
  CUDA(cudaMalloc(&dy, pairs * sizeof(__half2)));
  CUDA(cudaMemcpy(dx, x.data(), pairs * sizeof(__half2), cudaMemcpyHostToDevice));
  CUDA(cudaMemcpy(dy, y.data(), pairs * sizeof(__half2), cudaMemcpyHostToDevice));
  axpy<<<4, 128>>>(dy, dx, __float2half(3.f), pairs);
  CUDA(cudaMemcpy(result.data(), dy, pairs * sizeof(__half2), cudaMemcpyDeviceToHost));
  for (int i = 0; i < pairs; ++i) {  // fused: rounded once
    const float low = 3.f * __low2float(x[i]) + __low2float(y[i]), high = 3.f * __high2float(x[i]) + __high2float(y[i]);
    EXPECT(__low2float(result[i]) == __half2float(__float2half(low)));
    EXPECT(__high2float(result[i]) == __half2float(__float2half(high)));
  }
  print_bits("fused", result.data(), pairs);

  const std::vector<float> in = {0.1f,    1.f / 3, 2049.f,   2051.f, -0.7f,    65519.f,
                                 65520.f, 1e-8f,   INFINITY, NAN,    3.141592f};
  const int n = int(in.size());
  std::vector<float> out(6 * n);
  float *device_in, *device_out;
  CUDA(cudaMalloc(&device_in, n * sizeof(float)));
  CUDA(cudaMalloc(&device_out, 6 * n * sizeof(float)));
  CUDA(cudaMemcpy(device_in, in.data(), n * sizeof(float), cudaMemcpyHostToDevice));
  conversions<<<1, 32>>>(device_out, device_in, n);
  CUDA(cudaMemcpy(out.data(), device_out, 6 * n * sizeof(float), cudaMemcpyDeviceToHost));
  EXPECT(out[2] == 2048.f && out[3] == 2052.f);          // ties to even
  EXPECT(out[n + 2] == 2048.f && out[n + 3] == 2050.f);  // towards zero
  EXPECT(out[5] == 65504.f && std::isinf(out[6]));       // the largest, and what overflows
  EXPECT(out[n + 6] == 65504.f);                         // towards zero nothing does
  EXPECT(out[7] == 0.f && std::isnan(out[9]));
  EXPECT(out[2 * n + 10] == 3.140625f);                      // bfloat16 has eight bits
  EXPECT(out[3 * n + 4] == 1.5f && out[3 * n + 9] == 1.5f);  // the maximum with a NaN is the other
  EXPECT(out[4 * n + 9] == 1.f && out[4 * n + 4] == 2.f && out[4 * n] == 3.f);
  EXPECT(out[5 * n + 4] == -1.f && out[5 * n + 10] == 3.f);
  print_bits("conversions", out.data(), out.size());
  for (void* pointer : {(void*)dx, (void*)dy, (void*)device_in, (void*)device_out}) CUDA(cudaFree(pointer));
  std::printf("half_types: pi is %.6f as bfloat16, %.6f as half\n", out[2 * n + 10], out[10]);
}
