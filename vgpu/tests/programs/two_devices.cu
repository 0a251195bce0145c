// Two devices: a thread of the host for each works on a half with variables of its device; events order streams of
// both, and the first device gathers through peer access, by copies and as a graph.
#include <thread>

#include "check.h"

__device__ int launches;
__constant__ float factor;
__managed__ int finished;

__global__ void scale(float* x, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) x[i] *= factor;
  if (i == 0) ++launches;
}

__global__ void add(float* sum, const float* x, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) sum[i] += x[i];
}

__global__ void finish() { ++finished; }

struct Half {
  float* x;
  cudaStream_t stream;
  cudaEvent_t done;
  int device, launches;
};

void work(Half& half, const float* host, int n, int device) {
  CUDA(cudaSetDevice(device));
  CUDA(cudaStreamCreateWithFlags(&half.stream, cudaStreamNonBlocking));
  CUDA(cudaEventCreateWithFlags(&half.done, cudaEventDisableTiming));
  CUDA(cudaMallocAsync(&half.x, n * sizeof(float), half.stream));
  const float own = 2.f + float(device);
  CUDA(cudaMemcpyToSymbol(factor, &own, sizeof own));
  CUDA(cudaMemcpyAsync(half.x, host, n * sizeof(float), cudaMemcpyDefault, half.stream));
  for (int round = 0; round <= device; ++round) scale<<<(n + 255) / 256, 256, 0, half.stream>>>(half.x, n);
  CUDA(cudaEventRecord(half.done, half.stream));
  CUDA(cudaStreamSynchronize(half.stream));
  CUDA(cudaMemcpyFromSymbol(&half.launches, launches, sizeof half.launches));
  CUDA(cudaGetDevice(&half.device));
}

int main() {
  const int n = 5000, blocks = (n + 255) / 256;
  int devices, can;
  CUDA(cudaGetDeviceCount(&devices));
  EXPECT(devices == 2);
  float *host, *result;
  CUDA(cudaHostAlloc(&host, n * sizeof(float), cudaHostAllocPortable));
  CUDA(cudaHostAlloc(&result, n * sizeof(float), cudaHostAllocPortable));
  for (int i = 0; i < n; ++i) host[i] = float(i % 1000);

  Half halves[2];
  std::thread other(work, std::ref(halves[1]), host, n, 1);
  work(halves[0], host, n, 0);
  other.join();
  for (int d = 0; d < 2; ++d) EXPECT(halves[d].device == d && halves[d].launches == d + 1);
  cudaPointerAttributes attributes;
  CUDA(cudaPointerGetAttributes(&attributes, halves[1].x));
  EXPECT(attributes.device == 1 && attributes.type == cudaMemoryTypeDevice);

  // The second's half lies in a pool, which says who may access it.
  float *sum, *far;
  cudaMemPool_t pool;
  CUDA(cudaDeviceCanAccessPeer(&can, 0, 1));
  EXPECT(can);
  CUDA(cudaDeviceGetDefaultMemPool(&pool, 1));
  const cudaMemAccessDesc access{{cudaMemLocationTypeDevice, 0}, cudaMemAccessFlagsProtReadWrite};
  CUDA(cudaMemPoolSetAccess(pool, &access, 1));
  CUDA(cudaMalloc(&sum, n * sizeof(float)));
  CUDA(cudaStreamWaitEvent(halves[0].stream, halves[1].done, 0));
  CUDA(cudaMemcpyAsync(sum, halves[0].x, n * sizeof(float), cudaMemcpyDeviceToDevice, halves[0].stream));
  add<<<blocks, 256, 0, halves[0].stream>>>(sum, halves[1].x, n);
  CUDA(cudaMemcpyAsync(result, sum, n * sizeof(float), cudaMemcpyDeviceToHost, halves[0].stream));
  CUDA(cudaStreamSynchronize(halves[0].stream));
  for (int i = 0; i < n; ++i) EXPECT(result[i] == 11 * host[i]);
  print_bits("through the pool", result, n);

  // The other way, memory from cudaMalloc: the second reads what the first has.
  CUDA(cudaSetDevice(1));
  CUDA(cudaDeviceEnablePeerAccess(0, 0));
  EXPECT(cudaDeviceEnablePeerAccess(0, 0) == cudaErrorPeerAccessAlreadyEnabled);
  EXPECT(cudaGetLastError() == cudaErrorPeerAccessAlreadyEnabled);
  add<<<blocks, 256, 0, halves[1].stream>>>(halves[1].x, sum, n);
  CUDA(cudaMalloc(&far, n * sizeof(float)));
  CUDA(cudaMemcpyPeerAsync(far, 1, sum, 0, n * sizeof(float), halves[1].stream));
  CUDA(cudaStreamSynchronize(halves[1].stream));
  CUDA(cudaMemcpy(result, halves[1].x, n * sizeof(float), cudaMemcpyDefault));
  for (int i = 0; i < n; ++i) EXPECT(result[i] == 20 * host[i]);
  CUDA(cudaDeviceDisablePeerAccess(0));

  // A graph over both: captured on the first, forked to the second and joined, launched twice.
  cudaEvent_t fork;
  cudaGraph_t graph;
  cudaGraphExec_t executable;
  CUDA(cudaSetDevice(0));
  CUDA(cudaEventCreateWithFlags(&fork, cudaEventDisableTiming));
  CUDA(cudaStreamBeginCapture(halves[0].stream, cudaStreamCaptureModeThreadLocal));
  CUDA(cudaEventRecord(fork, halves[0].stream));
  CUDA(cudaStreamWaitEvent(halves[1].stream, fork, 0));
  CUDA(cudaSetDevice(1));
  scale<<<blocks, 256, 0, halves[1].stream>>>(far, n);
  CUDA(cudaEventRecord(halves[1].done, halves[1].stream));
  CUDA(cudaSetDevice(0));
  scale<<<blocks, 256, 0, halves[0].stream>>>(sum, n);
  CUDA(cudaStreamWaitEvent(halves[0].stream, halves[1].done, 0));
  CUDA(cudaStreamEndCapture(halves[0].stream, &graph));
  CUDA(cudaGraphInstantiate(&executable, graph, 0));
  for (int round = 0; round < 2; ++round) CUDA(cudaGraphLaunch(executable, halves[0].stream));
  CUDA(cudaStreamSynchronize(halves[0].stream));
  CUDA(cudaMemcpy(result, sum, n * sizeof(float), cudaMemcpyDeviceToHost));
  for (int i = 0; i < n; ++i) EXPECT(result[i] == 44 * host[i]);
  CUDA(cudaMemcpy(result, far, n * sizeof(float), cudaMemcpyDeviceToHost));
  for (int i = 0; i < n; ++i) EXPECT(result[i] == 99 * host[i]);
  print_bits("by a graph", result, n);

  for (int d = 0; d < 2; ++d) {
    CUDA(cudaSetDevice(d));
    finish<<<1, 1>>>();
    CUDA(cudaDeviceSynchronize());
  }
  EXPECT(finished == 2);
  finish<<<1, 1, 0, halves[0].stream>>>();  // the second is current
  EXPECT(cudaGetLastError() == cudaErrorInvalidResourceHandle);
  CUDA(cudaGraphExecDestroy(executable));
  CUDA(cudaGraphDestroy(graph));
  for (const Half& half : halves) {
    CUDA(cudaFreeAsync(half.x, half.stream));
    CUDA(cudaStreamDestroy(half.stream));
    CUDA(cudaEventDestroy(half.done));
  }
  CUDA(cudaFree(sum));
  CUDA(cudaFree(far));
  CUDA(cudaFreeHost(host));
  CUDA(cudaFreeHost(result));
  std::printf("two_devices: %d elements, %d devices\n", n, finished);
}
