// The runtime API without kernels, called as programs call it: through the toolkit's headers, where there is a toolkit.
#if __has_include(<cuda_runtime.h>)
#include <cuda_runtime.h>
#include <gtest/gtest.h>

#include <numeric>
#include <thread>
#include <vector>

namespace {

#define OK(call) ASSERT_EQ(call, cudaSuccess)
#define IS(call, error)       \
  do {                        \
    EXPECT_EQ(call, error);   \
    (void)cudaGetLastError(); \
  } while (false)

class Runtime : public testing::Test {
 protected:
  void TearDown() override { EXPECT_EQ(cudaGetLastError(), cudaSuccess); }
};

std::vector<int> numbers(size_t n) {
  std::vector<int> v(n);
  std::iota(v.begin(), v.end(), 1);
  return v;
}

TEST_F(Runtime, CopiesInEveryDirection) {
  const auto in = numbers(100);
  const size_t bytes = in.size() * sizeof(int);
  int *a, *b, *pinned, *managed;
  OK(cudaMalloc(&a, bytes));
  OK(cudaMalloc(&b, bytes));
  OK(cudaMallocHost(&pinned, bytes));
  OK(cudaMallocManaged(&managed, bytes, cudaMemAttachGlobal));
  OK(cudaMemcpy(a, in.data(), bytes, cudaMemcpyHostToDevice));
  OK(cudaMemcpy(b, a, bytes, cudaMemcpyDeviceToDevice));
  OK(cudaMemcpy(pinned, b, bytes, cudaMemcpyDeviceToHost));
  OK(cudaMemcpy(managed, pinned, bytes, cudaMemcpyDefault));
  for (size_t i = 0; i < in.size(); ++i) ASSERT_EQ(managed[i], in[i]);
  // Pinned and managed memory is on both sides.
  OK(cudaMemcpy(a, pinned, bytes, cudaMemcpyDeviceToDevice));
  OK(cudaMemcpy(managed, a, bytes, cudaMemcpyDeviceToHost));
  std::vector<int> out(in.size());
  OK(cudaMemcpy(out.data(), in.data(), bytes, cudaMemcpyHostToHost));
  EXPECT_EQ(out, in);
  OK(cudaMemcpy(a, in.data(), 0, cudaMemcpyHostToDevice));
  OK(cudaFree(a));
  OK(cudaFree(b));
  OK(cudaFreeHost(pinned));
  OK(cudaFree(managed));
  OK(cudaFree(nullptr));
}

TEST_F(Runtime, CopiesThatCannotBe) {
  const auto in = numbers(10);
  int* a;
  OK(cudaMalloc(&a, 40));
  IS(cudaMemcpy(a, in.data(), 44, cudaMemcpyHostToDevice), cudaErrorInvalidValue);    // one past the end
  IS(cudaMemcpy(a, in.data(), 40, cudaMemcpyDeviceToHost), cudaErrorInvalidValue);    // the wrong way
  IS(cudaMemcpy(a, in.data(), 40, cudaMemcpyDeviceToDevice), cudaErrorInvalidValue);  // not on the device
  IS(cudaMemcpy(a, in.data(), 40, cudaMemcpyKind(7)), cudaErrorInvalidMemcpyDirection);
  IS(cudaMemcpy(nullptr, in.data(), 40, cudaMemcpyHostToDevice), cudaErrorInvalidValue);
  IS(cudaMemset(const_cast<int*>(in.data()), 0, 40), cudaErrorInvalidValue);
  IS(cudaMemset(a, 0, 41), cudaErrorInvalidValue);
  OK(cudaFree(a));
  IS(cudaMemcpy(a, in.data(), 40, cudaMemcpyHostToDevice), cudaErrorInvalidValue);  // freed
  IS(cudaFree(a), cudaErrorInvalidValue);                                           // twice
  IS(cudaFree(const_cast<int*>(in.data())), cudaErrorInvalidValue);
}

TEST_F(Runtime, MemoryRunsOut) {
  size_t free, total;
  void *large, *more;
  OK(cudaMemGetInfo(&free, &total));
  EXPECT_LE(free, total);
  IS(cudaMalloc(&large, total + 1), cudaErrorMemoryAllocation);
  OK(cudaMalloc(&large, free / 2));
  IS(cudaMalloc(&more, free), cudaErrorMemoryAllocation);
  OK(cudaFree(large));
}

TEST_F(Runtime, TwoDimensions) {
  const auto in = numbers(12);
  int* a;
  size_t pitch;
  OK(cudaMallocPitch(&a, &pitch, 3 * sizeof(int), 4));
  EXPECT_EQ(pitch % 512, 0u);
  OK(cudaMemset2D(a, pitch, 0xff, 3 * sizeof(int), 4));
  OK(cudaMemcpy2D(a, pitch, in.data(), 3 * sizeof(int), 2 * sizeof(int), 4, cudaMemcpyHostToDevice));
  std::vector<int> out(12);
  OK(cudaMemcpy2D(out.data(), 3 * sizeof(int), a, pitch, 3 * sizeof(int), 4, cudaMemcpyDeviceToHost));
  EXPECT_EQ(out, (std::vector{1, 2, -1, 4, 5, -1, 7, 8, -1, 10, 11, -1}));
  IS(cudaMemcpy2D(out.data(), 8, a, pitch, 12, 4, cudaMemcpyDeviceToHost), cudaErrorInvalidPitchValue);
  OK(cudaFree(a));
}

TEST_F(Runtime, TheLastErrorIsKeptUntilAsked) {
  int device;
  EXPECT_EQ(cudaSetDevice(5), cudaErrorInvalidDevice);
  OK(cudaGetDevice(&device));  // a good call does not clear it
  EXPECT_EQ(cudaPeekAtLastError(), cudaErrorInvalidDevice);
  std::thread([] { EXPECT_EQ(cudaPeekAtLastError(), cudaSuccess); }).join();  // each thread has its own
  EXPECT_EQ(cudaGetLastError(), cudaErrorInvalidDevice);
  EXPECT_EQ(cudaGetLastError(), cudaSuccess);
}

TEST_F(Runtime, TheDeviceIsAnH200WithLessMemory) {
  cudaDeviceProp p;
  int count, value;
  OK(cudaGetDeviceCount(&count));
  EXPECT_EQ(count, 1);
  OK(cudaGetDeviceProperties(&p, 0));
  EXPECT_EQ(p.major, 9);
  EXPECT_EQ(p.multiProcessorCount, 132);
  EXPECT_EQ(p.warpSize, 32);
  EXPECT_EQ(p.maxThreadsDim[2], 64);
  EXPECT_EQ(p.maxGridSize[1], 65535);
  EXPECT_EQ(p.sharedMemPerBlockOptin, 232448u);
  EXPECT_EQ(p.l2CacheSize, 60 << 20);
  for (const auto& [attribute, expected] : {std::pair{cudaDevAttrMultiProcessorCount, p.multiProcessorCount},
                                            {cudaDevAttrMaxThreadsPerBlock, 1024},
                                            {cudaDevAttrMaxSharedMemoryPerMultiprocessor, 233472},
                                            {cudaDevAttrComputeCapabilityMajor, 9},
                                            {cudaDevAttrMemoryPoolsSupported, 1},
                                            {cudaDevAttrClusterLaunch, 1},
                                            {cudaDevAttrPageableMemoryAccess, 0}}) {
    OK(cudaDeviceGetAttribute(&value, attribute, 0));
    EXPECT_EQ(value, expected) << attribute;
  }
  IS(cudaDeviceGetAttribute(&value, cudaDeviceAttr(9999), 0), cudaErrorInvalidValue);
  IS(cudaGetDeviceProperties(&p, 1), cudaErrorInvalidDevice);
  OK(cudaRuntimeGetVersion(&value));
  EXPECT_EQ(value, 13000);
}

TEST_F(Runtime, HandlesAreChecked) {
  cudaStream_t stream;
  cudaEvent_t event;
  OK(cudaStreamCreate(&stream));
  OK(cudaEventCreate(&event));
  OK(cudaStreamDestroy(stream));
  OK(cudaEventDestroy(event));
  IS(cudaStreamSynchronize(stream), cudaErrorInvalidResourceHandle);
  IS(cudaStreamDestroy(stream), cudaErrorInvalidResourceHandle);
  IS(cudaEventRecord(event, nullptr), cudaErrorInvalidResourceHandle);
  OK(cudaStreamSynchronize(cudaStreamLegacy));
  OK(cudaStreamSynchronize(cudaStreamPerThread));
}

TEST_F(Runtime, EventsMeasureTime) {
  cudaEvent_t start, stop;
  OK(cudaEventCreate(&start));
  OK(cudaEventCreate(&stop));
  float milliseconds;
  IS(cudaEventElapsedTime(&milliseconds, start, stop), cudaErrorInvalidResourceHandle);  // not recorded
  OK(cudaEventRecord(start, nullptr));
  std::this_thread::sleep_for(std::chrono::milliseconds(5));
  OK(cudaEventRecord(stop, nullptr));
  OK(cudaEventSynchronize(stop));
  OK(cudaEventElapsedTime(&milliseconds, start, stop));
  EXPECT_GE(milliseconds, 5);
  OK(cudaEventDestroy(start));
  OK(cudaEventDestroy(stop));
}

TEST_F(Runtime, HostFunctionsRunInOrderAndMayNotCall) {
  std::vector<int> seen;
  cudaStream_t stream;
  OK(cudaStreamCreate(&stream));
  OK(cudaLaunchHostFunc(
      stream,
      [](void* data) {
        void* pointer;
        static_cast<std::vector<int>*>(data)->push_back(cudaMalloc(&pointer, 8));
      },
      &seen));
  OK(cudaStreamAddCallback(
      stream,
      [](cudaStream_t, cudaError_t status, void* data) { static_cast<std::vector<int>*>(data)->push_back(status); },
      &seen, 0));
  OK(cudaStreamSynchronize(stream));
  EXPECT_EQ(seen, (std::vector<int>{cudaErrorNotPermitted, cudaSuccess}));
  OK(cudaStreamDestroy(stream));
}

// --- capture and graphs ------------------------------------------------------------------------------------

class Capture : public Runtime {
 protected:
  void SetUp() override {
    OK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    OK(cudaMalloc(&memory, 64));
  }
  void TearDown() override {
    OK(cudaStreamDestroy(stream));
    OK(cudaFree(memory));
    Runtime::TearDown();
  }
  cudaStream_t stream;
  int* memory;
};

TEST_F(Capture, RunsNothingUntilLaunched) {
  OK(cudaMemset(memory, 0, 64));
  OK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
  OK(cudaMemsetAsync(memory, 1, 64, stream));
  cudaGraph_t graph;
  OK(cudaStreamEndCapture(stream, &graph));
  int value;
  OK(cudaMemcpy(&value, memory, 4, cudaMemcpyDeviceToHost));
  EXPECT_EQ(value, 0);
  cudaGraphExec_t executable;
  OK(cudaGraphInstantiate(&executable, graph, 0));
  OK(cudaGraphDestroy(graph));  // the executable graph has its own copy
  OK(cudaGraphLaunch(executable, stream));
  OK(cudaStreamSynchronize(stream));
  OK(cudaMemcpy(&value, memory, 4, cudaMemcpyDeviceToHost));
  EXPECT_EQ(value, 0x01010101);
  OK(cudaGraphExecDestroy(executable));
  IS(cudaGraphLaunch(executable, stream), cudaErrorInvalidValue);
}

TEST_F(Capture, AnUnjoinedStreamIsAnError) {
  cudaStream_t side;
  cudaEvent_t event;
  OK(cudaStreamCreateWithFlags(&side, cudaStreamNonBlocking));
  OK(cudaEventCreate(&event));
  OK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
  OK(cudaEventRecord(event, stream));
  OK(cudaStreamWaitEvent(side, event, 0));
  OK(cudaMemsetAsync(memory, 1, 64, side));
  cudaGraph_t graph;
  IS(cudaStreamEndCapture(side, &graph), cudaErrorStreamCaptureUnmatched);
  IS(cudaStreamEndCapture(stream, &graph), cudaErrorStreamCaptureInvalidated);

  OK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
  OK(cudaEventRecord(event, stream));
  OK(cudaStreamWaitEvent(side, event, 0));
  OK(cudaMemsetAsync(memory, 1, 64, side));
  IS(cudaStreamEndCapture(stream, &graph), cudaErrorStreamCaptureUnjoined);
  EXPECT_EQ(graph, nullptr);
  OK(cudaStreamDestroy(side));
  OK(cudaEventDestroy(event));
}

TEST_F(Capture, AStreamMayBeDestroyedBeforeItsEnd) {
  cudaEvent_t event;
  OK(cudaEventCreate(&event));
  for (const bool joined : {true, false}) {
    cudaStream_t side;
    OK(cudaStreamCreateWithFlags(&side, cudaStreamNonBlocking));
    OK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    OK(cudaEventRecord(event, stream));
    OK(cudaStreamWaitEvent(side, event, 0));
    OK(cudaMemsetAsync(memory, 1, 64, side));
    OK(cudaEventRecord(event, side));
    OK(cudaStreamDestroy(side));
    if (joined) OK(cudaStreamWaitEvent(stream, event, 0));
    cudaGraph_t graph;
    IS(cudaStreamEndCapture(stream, &graph), joined ? cudaSuccess : cudaErrorStreamCaptureUnjoined);
    if (joined) OK(cudaGraphDestroy(graph));
  }
  OK(cudaEventDestroy(event));
}

TEST_F(Capture, WhatWaitsForTheDeviceSpoilsIt) {
  const auto spoilt = [&](auto call, cudaStreamCaptureMode mode, cudaError_t expected) {
    cudaGraph_t graph;
    OK(cudaStreamBeginCapture(stream, mode));
    IS(call(), expected);
    const auto end = cudaStreamEndCapture(stream, &graph);
    IS(end, expected == cudaSuccess ? cudaSuccess : cudaErrorStreamCaptureInvalidated);
    if (end == cudaSuccess) OK(cudaGraphDestroy(graph));
  };
  const auto allocate = [] {
    void* pointer = nullptr;
    const auto error = cudaMalloc(&pointer, 16);
    if (error == cudaSuccess) (void)cudaFree(pointer);
    return error;
  };
  spoilt(allocate, cudaStreamCaptureModeGlobal, cudaErrorStreamCaptureUnsupported);
  spoilt(allocate, cudaStreamCaptureModeThreadLocal, cudaErrorStreamCaptureUnsupported);
  spoilt(allocate, cudaStreamCaptureModeRelaxed, cudaSuccess);
  spoilt([] { return cudaDeviceSynchronize(); }, cudaStreamCaptureModeGlobal, cudaErrorStreamCaptureUnsupported);
  spoilt([&] { return cudaStreamQuery(stream); }, cudaStreamCaptureModeRelaxed, cudaErrorStreamCaptureUnsupported);
  // From another thread only a global capture minds.
  const auto elsewhere = [&] {
    cudaError_t error = cudaSuccess;
    std::thread([&] { error = allocate(); }).join();
    return error;
  };
  spoilt(elsewhere, cudaStreamCaptureModeGlobal, cudaErrorStreamCaptureUnsupported);
  spoilt(elsewhere, cudaStreamCaptureModeThreadLocal, cudaSuccess);
}

TEST_F(Capture, CopiesOfVariablesAndMemoryNodesReplay) {
  OK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
  int *temporary, result[2] = {};
  OK(cudaMallocAsync(&temporary, 8, stream));
  OK(cudaMemsetAsync(temporary, 2, 8, stream));
  OK(cudaMemcpyAsync(result, temporary, 8, cudaMemcpyDeviceToHost, stream));
  OK(cudaFreeAsync(temporary, stream));
  cudaGraph_t graph;
  cudaGraphExec_t executable;
  OK(cudaStreamEndCapture(stream, &graph));
  OK(cudaGraphInstantiate(&executable, graph, 0));
  for (int i = 0; i < 3; ++i) {
    result[1] = 0;
    OK(cudaGraphLaunch(executable, stream));
    OK(cudaStreamSynchronize(stream));
    EXPECT_EQ(result[1], 0x02020202);
  }
  OK(cudaGraphExecDestroy(executable));
  OK(cudaGraphDestroy(graph));
}

TEST_F(Capture, WhatAGraphAllocatesMayBeFreedOutside) {
  OK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
  int* inside;
  OK(cudaMallocAsync(&inside, 64, stream));
  OK(cudaMemsetAsync(inside, 1, 64, stream));
  cudaGraph_t graph;
  OK(cudaStreamEndCapture(stream, &graph));
  cudaGraphExec_t executable;
  OK(cudaGraphInstantiate(&executable, graph, 0));
  for (int round = 0; round < 3; ++round) {
    OK(cudaGraphLaunch(executable, stream));
    OK(cudaStreamSynchronize(stream));
    int value = 0;
    OK(cudaMemcpy(&value, inside, 4, cudaMemcpyDeviceToHost));
    EXPECT_EQ(value, 0x01010101);
    OK(round == 1 ? cudaFreeAsync(inside, stream) : cudaFree(inside));
  }
  OK(cudaGraphExecDestroy(executable));
  OK(cudaGraphDestroy(graph));
}

TEST_F(Capture, EdgesByHand) {
  cudaGraph_t graph;
  OK(cudaGraphCreate(&graph, 0));
  cudaGraphNode_t a, b, c;
  OK(cudaGraphAddEmptyNode(&a, graph, nullptr, 0));
  OK(cudaGraphAddEmptyNode(&b, graph, &a, 1));
  OK(cudaGraphAddEmptyNode(&c, graph, &b, 1));
  size_t count = 2;
  cudaGraphNode_t found[2];
  OK(cudaGraphNodeGetDependentNodes(a, found, nullptr, &count));
  EXPECT_EQ(count, 1u);
  EXPECT_EQ(found[0], b);
  IS(cudaGraphAddDependencies(graph, &a, &b, nullptr, 1), cudaErrorInvalidValue);  // it is there
  OK(cudaGraphAddDependencies(graph, &c, &a, nullptr, 1));
  cudaGraphExec_t executable;
  IS(cudaGraphInstantiate(&executable, graph, 0), cudaErrorInvalidValue);  // a cycle
  OK(cudaGraphRemoveDependencies(graph, &c, &a, nullptr, 1));
  OK(cudaGraphDestroyNode(b));
  count = 0;
  OK(cudaGraphGetEdges(graph, nullptr, nullptr, nullptr, &count));
  EXPECT_EQ(count, 0u);
  IS(cudaGraphDestroyNode(b), cudaErrorInvalidValue);
  OK(cudaGraphDestroy(graph));
}

TEST_F(Capture, UserObjectsLiveAsLongAsTheirGraphs) {
  int destroyed = 0;
  cudaUserObject_t object;
  cudaGraph_t graph, clone;
  OK(cudaGraphCreate(&graph, 0));
  OK(cudaUserObjectCreate(
      &object, &destroyed, [](void* data) { ++*static_cast<int*>(data); }, 1, cudaUserObjectNoDestructorSync));
  OK(cudaGraphRetainUserObject(graph, object, 1, cudaGraphUserObjectMove));
  OK(cudaGraphClone(&clone, graph));
  OK(cudaGraphDestroy(graph));
  EXPECT_EQ(destroyed, 0);
  OK(cudaGraphDestroy(clone));
  EXPECT_EQ(destroyed, 1);
}

TEST_F(Runtime, WhatIsNotEmulatedSaysSoByName) {
  testing::internal::CaptureStderr();
  cudaExternalMemory_t memory = nullptr;
  IS(cudaDestroyExternalMemory(memory), cudaErrorNotSupported);
  IS(cudaDestroyExternalMemory(memory), cudaErrorNotSupported);
  const auto said = testing::internal::GetCapturedStderr();
  EXPECT_EQ(said, "vgpu: cudaDestroyExternalMemory is not emulated; it returns cudaErrorNotSupported\n");
}

TEST(RuntimeDeathTest, TheHostCannotFollowADevicePointer) {
#ifdef __SANITIZE_ADDRESS__
  GTEST_SKIP() << "the sanitizer handles SIGSEGV itself";
#endif
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  EXPECT_EXIT(
      {
        int* a;
        if (cudaMalloc(&a, 400) == cudaSuccess) *const_cast<volatile int*>(a + 3) = 1;
      },
      testing::KilledBySignal(SIGSEGV), "E08");
}

}  // namespace
#endif
