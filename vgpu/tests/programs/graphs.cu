// Graphs: captured from streams with a fork and a join, changed, replayed; and one built node by node.
#include <vector>

#include "check.h"

__global__ void add_value(int* x, int value, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) x[i] += value;
}

__global__ void combine(int* out, const int* a, const int* b, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = 10 * a[i] + b[i];
}

void count(void* data) { ++*static_cast<int*>(data); }

constexpr int n = 256, kBytes = n * sizeof(int);
int *a, *b, *out;

cudaGraph_t capture(cudaStream_t stream, cudaStream_t side, int value) {
  cudaEvent_t fork, join;
  CUDA(cudaEventCreateWithFlags(&fork, cudaEventDisableTiming));
  CUDA(cudaEventCreateWithFlags(&join, cudaEventDisableTiming));
  CUDA(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
  cudaStreamCaptureStatus status;
  CUDA(cudaStreamIsCapturing(stream, &status));
  EXPECT(status == cudaStreamCaptureStatusActive);
  CUDA(cudaMemsetAsync(a, 0, kBytes, stream));
  CUDA(cudaEventRecord(fork, stream));
  CUDA(cudaStreamWaitEvent(side, fork, 0));
  add_value<<<1, n, 0, stream>>>(a, value, n);
  add_value<<<1, n, 0, side>>>(b, 1, n);
  CUDA(cudaEventRecord(join, side));
  CUDA(cudaStreamWaitEvent(stream, join, 0));
  combine<<<1, n, 0, stream>>>(out, a, b, n);
  cudaGraph_t graph;
  CUDA(cudaStreamEndCapture(stream, &graph));
  CUDA(cudaEventDestroy(fork));
  CUDA(cudaEventDestroy(join));
  return graph;
}

int result() {
  std::vector<int> host(n);
  CUDA(cudaMemcpy(host.data(), out, kBytes, cudaMemcpyDeviceToHost));
  for (int value : host) EXPECT(value == host[0]);
  return host[0];
}

void captured(cudaStream_t stream, cudaStream_t side) {
  CUDA(cudaMemset(b, 0, kBytes));
  const cudaGraph_t graph = capture(stream, side, 5);
  CUDA(cudaMemset(out, 0xff, kBytes));
  EXPECT(result() == -1);  // nothing has run yet
  size_t nodes = 0, edges = 0, roots = 0;
  CUDA(cudaGraphGetNodes(graph, nullptr, &nodes));
  CUDA(cudaGraphGetEdges(graph, nullptr, nullptr, nullptr, &edges));
  CUDA(cudaGraphGetRootNodes(graph, nullptr, &roots));
  EXPECT(nodes == 4 && edges == 4 && roots == 1);

  cudaGraphExec_t executable;
  CUDA(cudaGraphInstantiate(&executable, graph, 0));
  for (int i = 0; i < 3; ++i) CUDA(cudaGraphLaunch(executable, stream));
  CUDA(cudaStreamSynchronize(stream));
  EXPECT(result() == 10 * 5 + 3);

  const cudaGraph_t other = capture(stream, side, 7);
  cudaGraphExecUpdateResultInfo info;
  CUDA(cudaGraphExecUpdate(executable, other, &info));
  EXPECT(info.result == cudaGraphExecUpdateSuccess);
  CUDA(cudaGraphLaunch(executable, stream));
  CUDA(cudaStreamSynchronize(stream));
  EXPECT(result() == 10 * 7 + 4);
  CUDA(cudaGraphDestroy(graph));
  CUDA(cudaGraphDestroy(other));
  CUDA(cudaGraphExecDestroy(executable));
}

void by_hand(cudaStream_t stream) {
  cudaGraph_t graph;
  CUDA(cudaGraphCreate(&graph, 0));
  std::vector<int> host(n, 4), back(n);
  cudaGraphNode_t upload, clear, add, join, download, told;
  CUDA(cudaGraphAddMemcpyNode1D(&upload, graph, nullptr, 0, a, host.data(), kBytes, cudaMemcpyHostToDevice));
  cudaMemsetParams zero{};
  zero.dst = b;
  zero.elementSize = 4;
  zero.value = 3;
  zero.width = n;
  zero.height = 1;
  CUDA(cudaGraphAddMemsetNode(&clear, graph, nullptr, 0, &zero));
  int value = 20, length = n;
  void* add_arguments[] = {&a, &value, &length};
  cudaKernelNodeParams kernel{};
  kernel.func = reinterpret_cast<void*>(add_value);
  kernel.gridDim = dim3(1);
  kernel.blockDim = dim3(n);
  kernel.kernelParams = add_arguments;
  CUDA(cudaGraphAddKernelNode(&add, graph, &upload, 1, &kernel));
  void* combine_arguments[] = {&out, &a, &b, &length};
  cudaKernelNodeParams last = kernel;
  last.func = reinterpret_cast<void*>(combine);
  last.kernelParams = combine_arguments;
  const cudaGraphNode_t before[] = {add, clear};
  CUDA(cudaGraphAddKernelNode(&join, graph, before, 2, &last));
  CUDA(cudaGraphAddMemcpyNode1D(&download, graph, &join, 1, back.data(), out, kBytes, cudaMemcpyDeviceToHost));
  int counted = 0;
  const cudaHostNodeParams host_node = {count, &counted};
  CUDA(cudaGraphAddHostNode(&told, graph, &download, 1, &host_node));
  cudaGraphNodeType type;
  CUDA(cudaGraphNodeGetType(told, &type));
  EXPECT(type == cudaGraphNodeTypeHost);

  cudaGraph_t clone;
  cudaGraphExec_t executable;
  CUDA(cudaGraphClone(&clone, graph));
  CUDA(cudaGraphInstantiate(&executable, clone, 0));
  CUDA(cudaGraphLaunch(executable, stream));
  CUDA(cudaStreamSynchronize(stream));
  for (int x : back) EXPECT(x == 10 * (4 + 20) + 3);

  value = 30;
  cudaGraphNode_t cloned;
  CUDA(cudaGraphNodeFindInClone(&cloned, add, clone));
  CUDA(cudaGraphExecKernelNodeSetParams(executable, cloned, &kernel));
  CUDA(cudaGraphLaunch(executable, stream));
  CUDA(cudaStreamSynchronize(stream));
  for (int x : back) EXPECT(x == 10 * (4 + 30) + 3);
  EXPECT(counted == 2);
  CUDA(cudaGraphExecDestroy(executable));
  CUDA(cudaGraphDestroy(clone));
  CUDA(cudaGraphDestroy(graph));
}

void refused(cudaStream_t stream) {
  cudaGraph_t graph = nullptr;
  CUDA(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
  EXPECT(cudaStreamSynchronize(stream) == cudaErrorStreamCaptureUnsupported);
  EXPECT(cudaStreamEndCapture(stream, &graph) == cudaErrorStreamCaptureInvalidated);
  EXPECT(graph == nullptr);
  (void)cudaGetLastError();
}

int main() {
  for (int** pointer : {&a, &b, &out}) CUDA(cudaMalloc(pointer, kBytes));
  cudaStream_t stream, side;
  CUDA(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  CUDA(cudaStreamCreateWithFlags(&side, cudaStreamNonBlocking));
  captured(stream, side);
  by_hand(stream);
  refused(stream);
  CUDA(cudaStreamDestroy(stream));
  CUDA(cudaStreamDestroy(side));
  for (int* pointer : {a, b, out}) CUDA(cudaFree(pointer));
  std::printf("graphs: captured, updated, built by hand\n");
}
