// Built with --default-stream per-thread: four host threads, each with its own default stream.
#include <thread>
#include <vector>

#include "check.h"

__global__ void square(int* x, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) x[i] *= x[i];
}

void work(int id, long long* sum) {
  const int n = 512;
  std::vector<int> host(n);
  for (int i = 0; i < n; ++i) host[i] = id + i % 10;
  int* x;
  CUDA(cudaMalloc(&x, n * sizeof(int)));
  CUDA(cudaMemcpyAsync(x, host.data(), n * sizeof(int), cudaMemcpyHostToDevice));
  square<<<4, 128>>>(x, n);
  CUDA(cudaMemcpyAsync(host.data(), x, n * sizeof(int), cudaMemcpyDeviceToHost, cudaStreamPerThread));
  CUDA(cudaStreamSynchronize(0));
  for (int i = 0; i < n; ++i) {
    EXPECT(host[i] == (id + i % 10) * (id + i % 10));
    *sum += host[i];
  }
  CUDA(cudaFree(x));
}

int main() {
  long long sums[4] = {};
  std::vector<std::thread> threads;
  for (int id = 0; id < 4; ++id) threads.emplace_back(work, id, &sums[id]);
  for (auto& thread : threads) thread.join();
  std::printf("per_thread_streams: %lld %lld %lld %lld\n", sums[0], sums[1], sums[2], sums[3]);
}
