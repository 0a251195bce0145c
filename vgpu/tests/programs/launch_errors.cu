// Launches that no device accepts, made in each of the ways there are: what each returns, as an H200 does. Then good
// launches run, for none of these errors stays.
#include "check.h"

__global__ void kernel(int* x) { *x = 1; }
__global__ void __launch_bounds__(64) bounded(int* x) { *x = 2; }
__global__ void __cluster_dims__(2) pairs(int* x) { *x = 4; }
__global__ void dynamic(int* x) {
  extern __shared__ int memory[];
  memory[0] = 3;
  *x = memory[0];
}

int* x;

struct Launch {
  const char* name;
  void (*function)(int*);
  dim3 grid, block;
  size_t shared;
  dim3 cluster{0, 0, 0};  // 0: none, else only cudaLaunchKernelExC can say it
  bool cooperative = false;
};

cudaError_t forget(cudaError_t code) {
  const cudaError_t last = cudaGetLastError();
  if (last != code) std::printf(" (cudaGetLastError: %d)", last);
  return code;
}

cudaError_t launch_ex(const Launch& l) {
  cudaLaunchAttribute attributes[2];
  cudaLaunchConfig_t config{};
  config.gridDim = l.grid;
  config.blockDim = l.block;
  config.dynamicSmemBytes = l.shared;
  config.attrs = attributes;
  if (l.cluster.x) {
    auto& attribute = attributes[config.numAttrs++];
    attribute.id = cudaLaunchAttributeClusterDimension;
    attribute.val.clusterDim = {l.cluster.x, l.cluster.y, l.cluster.z};
  }
  if (l.cooperative) {
    auto& attribute = attributes[config.numAttrs++];
    attribute.id = cudaLaunchAttributeCooperative;
    attribute.val.cooperative = 1;
  }
  return cudaLaunchKernelEx(&config, l.function, x);
}

void print(const Launch& l) {
  void* arguments[] = {&x};
  const auto* function = reinterpret_cast<const void*>(l.function);
  std::printf("%s:", l.name);
  if (!l.cluster.x && !l.cooperative) {
    l.function<<<l.grid, l.block, l.shared>>>(x);
    std::printf(" <<<>>> %d", cudaGetLastError());
    std::printf(" cudaLaunchKernel %d",
                forget(cudaLaunchKernel(function, l.grid, l.block, arguments, l.shared, nullptr)));
  }
  if (!l.cluster.x && l.cooperative) {
    const auto code = cudaLaunchCooperativeKernel(function, l.grid, l.block, arguments, l.shared, nullptr);
    std::printf(" cudaLaunchCooperativeKernel %d", forget(code));
  }
  std::printf(" cudaLaunchKernelEx %d", forget(launch_ex(l)));

  // The same as a node of a graph, and in a capture.
  if (!l.cluster.x && !l.cooperative) {
    cudaGraph_t graph;
    cudaGraphNode_t node;
    cudaGraphExec_t executable;
    CUDA(cudaGraphCreate(&graph, 0));
    cudaKernelNodeParams parameters{};
    parameters.func = const_cast<void*>(function);
    parameters.gridDim = l.grid;
    parameters.blockDim = l.block;
    parameters.sharedMemBytes = unsigned(l.shared);
    parameters.kernelParams = arguments;
    const cudaError_t added = forget(cudaGraphAddKernelNode(&node, graph, nullptr, 0, &parameters));
    std::printf(" cudaGraphAddKernelNode %d", added);
    if (added == cudaSuccess) {
      const cudaError_t made = forget(cudaGraphInstantiate(&executable, graph, 0));
      std::printf(" cudaGraphInstantiate %d", made);
      if (made == cudaSuccess) {
        std::printf(" cudaGraphLaunch %d", forget(cudaGraphLaunch(executable, nullptr)));
        CUDA(cudaGraphExecDestroy(executable));
      }
    }
    CUDA(cudaGraphDestroy(graph));
  }
  cudaStream_t stream;
  cudaGraph_t graph = nullptr;
  CUDA(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  CUDA(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
  if (!l.cluster.x && !l.cooperative) {
    const auto code = forget(cudaLaunchKernel(function, l.grid, l.block, arguments, l.shared, stream));
    cudaStreamCaptureStatus status;
    CUDA(cudaStreamIsCapturing(stream, &status));
    std::printf(" captured %d %c", code, status == cudaStreamCaptureStatusActive ? 'a' : 'i');
  }
  std::printf("%s", cudaStreamEndCapture(stream, &graph) == cudaSuccess ? "" : " spoilt");
  if (graph) CUDA(cudaGraphDestroy(graph));
  cudaGetLastError();
  CUDA(cudaStreamDestroy(stream));
  std::printf("\n");
  CUDA(cudaDeviceSynchronize());
}

void print(const char* name, cudaError_t code) { std::printf("%s: %d\n", name, forget(code)); }

int main() {
  CUDA(cudaMalloc(&x, sizeof(int)));
  const unsigned many = 65536;
  const Launch launches[] = {
      {"1025 threads", kernel, 1, 1025, 0},
      {"32 x 33 threads", kernel, 1, {32, 33}, 0},
      {"1025 threads in y", kernel, 1, {1, 1025}, 0},
      {"65 threads in z", kernel, 1, {1, 1, 65}, 0},
      {"2^48 threads", kernel, 1, {many, many, many}, 0},
      {"no threads", kernel, 1, 0, 0},
      {"no threads in z", kernel, 1, {1, 1, 0}, 0},
      {"no blocks", kernel, 0, 1, 0},
      {"no blocks in y", kernel, {1, 0}, 1, 0},
      {"2^31 blocks", kernel, 1u << 31, 1, 0},
      {"65536 blocks in y", kernel, {1, many}, 1, 0},
      {"65536 blocks in z", kernel, {1, 1, many}, 1, 0},
      {"65 threads of a kernel bound to 64", bounded, 1, 65, 0},
      {"48 KiB and a byte of shared memory", dynamic, 1, 1, 49153},
      {"228 KiB of shared memory", dynamic, 1, 1, 228 << 10},
      {"4 GiB of shared memory", kernel, 1, 1, size_t(1) << 32},
      {"no threads, no blocks", kernel, 0, 0, 0},
      {"no blocks, too much shared memory", dynamic, 0, 1, 49153},
      {"1025 threads, too much shared memory", dynamic, 1, 1025, 49153},
      {"three blocks of clusters of two", pairs, 3, 1, 0},
      {"clusters of nine", kernel, 9, 1, 0, {9, 1, 1}},
      {"clusters of sixteen", kernel, 16, 1, 0, {16, 1, 1}},
      {"clusters of 17", kernel, 17, 1, 0, {17, 1, 1}},
      {"clusters of no blocks in y", kernel, 4, 1, 0, {2, 0, 1}},
      {"three blocks, clusters of two", kernel, 3, 1, 0, {2, 1, 1}},
      {"other clusters than compiled for", pairs, 4, 1, 0, {4, 1, 1}},
      {"1025 threads, clusters of nine", kernel, 9, 1025, 0, {9, 1, 1}},
      {"too many blocks at once", kernel, 1 << 20, 1, 0, {0, 0, 0}, true},
      {"no blocks at once", kernel, 0, 1, 0, {0, 0, 0}, true},
  };
  for (const Launch& launch : launches) print(launch);

  const auto shared = cudaFuncAttributeMaxDynamicSharedMemorySize;
  print("permission for 1 MiB of shared memory", cudaFuncSetAttribute(dynamic, shared, 1 << 20));
  print("permission for -1 bytes", cudaFuncSetAttribute(dynamic, shared, -1));
  print("permission for 100 KiB", cudaFuncSetAttribute(dynamic, shared, 100 << 10));
  print({"100 KiB and a byte", dynamic, 1, 1, (100 << 10) + 1});
  print("an unknown attribute", cudaFuncSetAttribute(dynamic, cudaFuncAttribute(99), 1));
  print("larger clusters allowed", cudaFuncSetAttribute(kernel, cudaFuncAttributeNonPortableClusterSizeAllowed, 1));
  print({"clusters of 17, allowed", kernel, 17, 1, 0, {17, 1, 1}});
  print("no function", cudaLaunchKernel(nullptr, 1, 1, nullptr, 0, nullptr));
  print("a function of the host", cudaLaunchKernel(reinterpret_cast<const void*>(forget), 1, 1, nullptr, 0, nullptr));

  int value = 0;
  bounded<<<1, 64>>>(x);
  CUDA(cudaMemcpy(&value, x, sizeof value, cudaMemcpyDeviceToHost));
  EXPECT(value == 2);
  dynamic<<<1, 1, 100 << 10>>>(x);
  CUDA(cudaMemcpy(&value, x, sizeof value, cudaMemcpyDeviceToHost));
  EXPECT(value == 3);
  CUDA(cudaFree(x));
  std::printf("two run\n");
}
