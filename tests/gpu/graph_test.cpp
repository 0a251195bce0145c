// C39: an operator's first call in a process is captured into a graph. Then what the capture saw is destroyed, memory
// of the same sizes is taken a thousand times and filled with NaN, and the graph is replayed on new input. CTest starts
// this program once for each operator.
#include <cuda_runtime_api.h>

#include <cstdlib>

#include "device_call.h"

namespace oprt_test {
namespace {

constexpr int kReplays = 100, kAllocations = 1000;

class CapturedFirst : public EachOperator {};

TEST_P(CapturedFirst, ReplaysOnNewInput) {
  const oprt::Device device(kGpu);
  DeviceCall call(op(), example(op(), 100), device);
  const oprt::Stream stream(device);
  const auto native = static_cast<cudaStream_t>(stream.c());
  oprt_operator_descriptor_t desc = nullptr;
  ASSERT_EQ(call.create(&desc), OPRT_SUCCESS) << oprt_last_error_message();
  call.take_workspace(desc);

  cudaGraph_t graph = nullptr;
  cudaGraphExec_t replay = nullptr;
  ASSERT_EQ(cudaStreamBeginCapture(native, cudaStreamCaptureModeGlobal), cudaSuccess);
  const oprt_status_t captured = call.execute(desc, stream.c());
  EXPECT_EQ(captured, OPRT_SUCCESS) << oprt_last_error_message();
  ASSERT_EQ(cudaStreamEndCapture(native, &graph), cudaSuccess);
  ASSERT_EQ(cudaGraphInstantiate(&replay, graph, 0), cudaSuccess);
  ASSERT_EQ(cudaGraphDestroy(graph), cudaSuccess);
  op().destroy(desc);

  for (int i = 0; i < kAllocations; ++i) {
    const size_t bytes = call.host.bytes(static_cast<size_t>(i) % call.views.size());
    const oprt::DeviceBuffer churned(bytes, device);
    ASSERT_EQ(cudaMemsetAsync(churned.data(), 0xFF, bytes, native), cudaSuccess);
    std::string on_host(64 + static_cast<size_t>(i), '\xFF');  // the sizes of descriptors and plans
    ASSERT_EQ(on_host.back(), '\xFF');
  }

  for (int i = 0; i < kReplays; ++i) {
    call.host.refill(i);
    call.put();
    ASSERT_EQ(cudaGraphLaunch(replay, native), cudaSuccess);
    stream.synchronize();
    ASSERT_EQ(call.wrong(), "") << "at replay " << i;
  }
  ASSERT_EQ(cudaGraphExecDestroy(replay), cudaSuccess);
}

OPRT_EACH_OPERATOR(CapturedFirst);

}  // namespace
}  // namespace oprt_test
