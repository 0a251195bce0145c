// One mistake for each of compute-sanitizer's tools, in kernels of namespace oprt, as it is told to look at:
//
//   gpu_planted memcheck | racecheck | initcheck | synccheck
#include <cuda_runtime.h>

#include <cstdio>
#include <cstring>

namespace oprt {

constexpr int kThreads = 64, kWarp = 32;

__global__ void writes_past_the_end(int* data) { data[threadIdx.x + 1] = 1; }

__global__ void lacks_a_barrier(int* data) {
  __shared__ int shared[kThreads];
  shared[threadIdx.x] = static_cast<int>(threadIdx.x);
  data[threadIdx.x] = shared[kThreads - 1 - threadIdx.x];  // of the other warp
}

__global__ void reads_what_nobody_wrote(int* data) { data[threadIdx.x] = data[threadIdx.x + kThreads] + 1; }

__global__ void takes_half_a_warp_to_a_barrier(int* data) {
  if (threadIdx.x % kWarp < kWarp / 2) __syncthreads();
  data[threadIdx.x] = 1;
}

}  // namespace oprt

int main(int count, char** arguments) {
  if (count != 2) return 2;
  const auto is = [&](const char* tool) { return std::strcmp(arguments[1], tool) == 0; };
  int* data = nullptr;
  cudaMalloc(&data, (is("memcheck") ? 1 : 2) * oprt::kThreads * sizeof(int));
  if (is("memcheck")) oprt::writes_past_the_end<<<1, oprt::kThreads>>>(data);
  if (is("racecheck")) oprt::lacks_a_barrier<<<1, oprt::kThreads>>>(data);
  if (is("initcheck")) oprt::reads_what_nobody_wrote<<<1, oprt::kThreads>>>(data);
  if (is("synccheck")) oprt::takes_half_a_warp_to_a_barrier<<<1, oprt::kThreads>>>(data);
  std::printf("%s\n", cudaGetErrorString(cudaDeviceSynchronize()));
  cudaFree(data);
  return 0;
}
