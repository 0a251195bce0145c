// Streams and events: two streams work on halves, a third waits for both by events; priorities, host functions,
// queries.
#include "check.h"

__global__ void scale(float* x, float factor, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) x[i] *= factor;
}

__global__ void sum_halves(float* out, const float* x, int half) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < half) out[i] = x[i] + x[half + i];
}

void count(void* data) { ++*static_cast<int*>(data); }

int main() {
  const int n = 4096, half = n / 2;
  float *host, *result, *x, *out;
  CUDA(cudaMallocHost(&host, n * sizeof(float)));
  CUDA(cudaHostAlloc(&result, half * sizeof(float), cudaHostAllocDefault));
  CUDA(cudaMalloc(&x, n * sizeof(float)));
  CUDA(cudaMalloc(&out, half * sizeof(float)));
  for (int i = 0; i < n; ++i) host[i] = float(i % 100);

  int least, greatest;
  CUDA(cudaDeviceGetStreamPriorityRange(&least, &greatest));
  EXPECT(greatest <= least);
  cudaStream_t streams[3];
  CUDA(cudaStreamCreate(&streams[0]));
  CUDA(cudaStreamCreateWithFlags(&streams[1], cudaStreamNonBlocking));
  CUDA(cudaStreamCreateWithPriority(&streams[2], cudaStreamNonBlocking, greatest));
  cudaEvent_t start, done[2], stop;
  CUDA(cudaEventCreate(&start));
  CUDA(cudaEventCreate(&stop));
  for (auto& event : done) CUDA(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));

  int counted = 0;
  CUDA(cudaEventRecord(start, streams[2]));
  for (int s = 0; s < 2; ++s) {
    float* part = x + s * half;
    CUDA(cudaMemcpyAsync(part, host + s * half, half * sizeof(float), cudaMemcpyHostToDevice, streams[s]));
    scale<<<(half + 255) / 256, 256, 0, streams[s]>>>(part, s ? 3.f : 2.f, half);
    CUDA(cudaLaunchHostFunc(streams[s], count, &counted));
    CUDA(cudaEventRecord(done[s], streams[s]));
    CUDA(cudaStreamWaitEvent(streams[2], done[s], 0));
  }
  sum_halves<<<(half + 127) / 128, 128, 0, streams[2]>>>(out, x, half);
  CUDA(cudaMemcpyAsync(result, out, half * sizeof(float), cudaMemcpyDeviceToHost, streams[2]));
  CUDA(cudaEventRecord(stop, streams[2]));
  CUDA(cudaStreamSynchronize(streams[2]));
  CUDA(cudaStreamQuery(streams[2]));
  CUDA(cudaEventQuery(stop));

  for (int i = 0; i < half; ++i) EXPECT(result[i] == 2 * host[i] + 3 * host[half + i]);
  print_bits("halves", result, half);
  CUDA(cudaDeviceSynchronize());
  EXPECT(counted == 2);
  float milliseconds = -1;
  CUDA(cudaEventElapsedTime(&milliseconds, start, stop));
  EXPECT(milliseconds >= 0);
  EXPECT(cudaEventElapsedTime(&milliseconds, done[0], stop) == cudaErrorInvalidResourceHandle);  // no timing
  for (auto& stream : streams) CUDA(cudaStreamDestroy(stream));
  for (auto& event : done) CUDA(cudaEventDestroy(event));
  CUDA(cudaFreeHost(host));
  CUDA(cudaFreeHost(result));
  CUDA(cudaFree(x));
  CUDA(cudaFree(out));
  std::printf("streams: %d elements, %d host functions\n", n, counted);
}
