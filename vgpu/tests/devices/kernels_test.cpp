// Kernels on several devices: which memory they reach, their variables and attributes, graphs, and what the report
// says.
#if __has_include(<cuda_runtime.h>)
#include "devices.h"
#include "report/report.h"

namespace vgpu {
namespace {

using test::Devices;

TEST_F(Devices, AnswerWhetherTheyArePeers) {
  int can;
  OK(cudaDeviceCanAccessPeer(&can, 0, 2));
  EXPECT_EQ(can, 1);
  OK(cudaDeviceCanAccessPeer(&can, 1, 1));
  EXPECT_EQ(can, 0);
  IS(cudaDeviceCanAccessPeer(&can, 0, 3), cudaErrorInvalidDevice);
  OK(cudaDeviceGetP2PAttribute(&can, cudaDevP2PAttrAccessSupported, 0, 1));
  EXPECT_EQ(can, 1);
  IS(cudaDeviceGetP2PAttribute(&can, cudaDevP2PAttrAccessSupported, 1, 1), cudaErrorInvalidDevice);
  IS(cudaDeviceDisablePeerAccess(1), cudaErrorPeerAccessNotEnabled);
  OK(cudaDeviceEnablePeerAccess(1, 0));
  IS(cudaDeviceEnablePeerAccess(1, 0), cudaErrorPeerAccessAlreadyEnabled);
  IS(cudaDeviceEnablePeerAccess(2, 1), cudaErrorInvalidValue);
  IS(cudaDeviceEnablePeerAccess(0, 0), cudaErrorInvalidDevice);
  IS(cudaDeviceEnablePeerAccess(3, 0), cudaErrorInvalidDevice);
  OK(cudaSetDevice(1));
  IS(cudaDeviceDisablePeerAccess(0), cudaErrorPeerAccessNotEnabled);  // it is one way
  IS(cudaDeviceDisablePeerAccess(1), cudaErrorInvalidDevice);
  OK(cudaSetDevice(0));
  OK(cudaDeviceReset());
  IS(cudaDeviceDisablePeerAccess(1), cudaErrorPeerAccessNotEnabled);
}

TEST_F(Devices, ReachMemoryOfAPeerOnly) {
  unsigned *here = number(0, 1), *there = number(1, 2);
  OK(copy(here, there));
  EXPECT_EQ(Context::get().sticky, Error::IllegalAddress);
  auto found = newest();
  EXPECT_EQ(found.code, "E08");
  EXPECT_EQ(found.device, 0);
  EXPECT_EQ(found.what, "a kernel on device 0 reads memory of device 1, to which it has no access");
  EXPECT_EQ(found.object.find("argument 2, 4 bytes, on device 1, from cudaMalloc"), 0u) << found.object;
  EXPECT_EQ(value(here), 1u);
  OK(cudaDeviceEnablePeerAccess(1, 0));
  OK(copy(here, there));
  OK(cudaDeviceSynchronize());
  EXPECT_EQ(value(here), 2u);
  OK(cudaSetDevice(1));  // it is one way
  OK(count(here));
  EXPECT_EQ(newest().what, "a kernel on device 1 writes to memory of device 0, to which it has no access");
  EXPECT_EQ(value(here), 2u);
  OK(cudaSetDevice(0));
  OK(cudaDeviceDisablePeerAccess(1));
  const auto before = times("E08");
  OK(copy(here, there));
  newest();
  EXPECT_EQ(times("E08"), before + 1);
  OK(cudaFree(here));
  OK(cudaFree(there));
}

TEST_F(Devices, ShareManagedAndPinnedMemory) {
  unsigned *managed, *pinned, *there = number(1, 0);
  OK(cudaMallocManaged(&managed, 4));
  OK(cudaMallocHost(&pinned, 4));
  *managed = 5;
  OK(cudaSetDevice(1));
  OK(copy(there, managed));
  OK(copy(pinned, there));
  OK(cudaDeviceSynchronize());
  EXPECT_EQ(*pinned, 5u);
  OK(cudaFree(managed));
  OK(cudaFreeHost(pinned));
  OK(cudaFree(there));
}

TEST_F(Devices, ReachWhatIsInAPoolAsThePoolSays) {
  unsigned *here = number(0, 1), *there;
  cudaMemPool_t pool;
  OK(cudaDeviceGetDefaultMemPool(&pool, 1));
  const cudaStream_t side = stream_of(1);
  OK(cudaMallocFromPoolAsync(&there, 4, pool, side));
  OK(cudaStreamDestroy(side));
  OK(cudaMemset(there, 0, 4));
  OK(cudaDeviceEnablePeerAccess(1, 0));  // has no say here
  cudaMemAccessDesc access{{cudaMemLocationTypeDevice, 0}, cudaMemAccessFlagsProtReadWrite};
  cudaMemAccessFlags flags;
  OK(cudaMemPoolGetAccess(&flags, pool, &access.location));
  EXPECT_EQ(flags, cudaMemAccessFlagsProtNone);
  const auto before = times("E08");
  OK(copy(there, here));
  newest();
  EXPECT_EQ(times("E08"), before + 1);
  OK(cudaMemPoolSetAccess(pool, &access, 1));
  OK(cudaMemPoolGetAccess(&flags, pool, &access.location));
  EXPECT_EQ(flags, cudaMemAccessFlagsProtReadWrite);
  OK(copy(there, here));
  OK(cudaDeviceSynchronize());
  EXPECT_EQ(value(there), 1u);
  access.flags = cudaMemAccessFlagsProtNone;
  OK(cudaMemPoolSetAccess(pool, &access, 1));
  OK(copy(there, here));
  newest();
  EXPECT_EQ(times("E08"), before + 2);
  access.location.id = 1;
  IS(cudaMemPoolSetAccess(pool, &access, 1), cudaErrorInvalidValue);  // its own memory
  access.location.id = 3;
  IS(cudaMemPoolSetAccess(pool, &access, 1), cudaErrorInvalidDevice);
  OK(cudaDeviceDisablePeerAccess(1));
  OK(cudaFree(here));
  OK(cudaFree(there));
}

TEST_F(Devices, HaveVariablesEachButForManagedOnes) {
  unsigned* counted[3];
  void* addresses[3];
  for (int d = 0; d < 3; ++d) {
    counted[d] = number(d, 0);
    OK(cudaFree(counted[d]));
    OK(cudaSetDevice(d));
    OK(cudaMalloc(&counted[d], 8));
    OK(cudaGetSymbolAddress(&addresses[d], &program().own));
    EXPECT_EQ(device_of(addresses[d]), d);
  }
  EXPECT_NE(addresses[0], addresses[1]);
  const unsigned set = 100;
  OK(cudaSetDevice(1));
  OK(cudaMemcpyToSymbol(&program().own, &set, 4));
  for (int round = 1; round <= 2; ++round) {
    for (unsigned d = 0; d < 3; ++d) {
      OK(cudaSetDevice(int(d)));
      OK(count(counted[d]));
      EXPECT_EQ(value(counted[d]), (d == 1 ? 100 : 7) + unsigned(round));
      EXPECT_EQ(value(counted[d] + 1), 5 + 3 * unsigned(round - 1) + d + 1);
    }
  }
  unsigned own;
  OK(cudaMemcpyFromSymbol(&own, &program().own, 4));
  EXPECT_EQ(own, 9u);  // the third's
  OK(cudaSetDevice(0));
  OK(cudaGetSymbolAddress(&addresses[0], &program().common));
  OK(cudaSetDevice(2));
  OK(cudaGetSymbolAddress(&addresses[2], &program().common));
  EXPECT_EQ(addresses[0], addresses[2]);
  for (unsigned* pointer : counted) OK(cudaFree(pointer));
}

TEST_F(Devices, KeepAttributesOfKernelsEach) {
  constexpr int kLarge = 60 * 1024;
  unsigned *here = number(0, 1), *there = number(1, 2);
  OK(cudaFuncSetAttribute(&program().copy, cudaFuncAttributeMaxDynamicSharedMemorySize, kLarge));
  OK(copy(here, here, nullptr, kLarge));
  cudaFuncAttributes attributes;
  OK(cudaSetDevice(1));
  OK(cudaFuncGetAttributes(&attributes, &program().copy));
  EXPECT_EQ(attributes.maxDynamicSharedSizeBytes, 48 * 1024);
  IS(copy(there, there, nullptr, kLarge), cudaErrorInvalidValue);
  EXPECT_EQ(newest().code, "E10");
  EXPECT_EQ(newest().device, 1);
  cudaKernel_t kernel;
  OK(cudaGetKernel(&kernel, &program().copy));
  IS(cudaKernelSetAttributeForDevice(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, kLarge, 3),
     cudaErrorInvalidDevice);
  OK(cudaKernelSetAttributeForDevice(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, kLarge, 1));
  OK(copy(there, there, nullptr, kLarge));
  OK(cudaFree(here));
  OK(cudaFree(there));
}

// --- graphs ------------------------------------------------------------------------------------------------

TEST_F(Devices, RunWhatWasCapturedOnThem) {
  unsigned *here = number(0, 1), *there = number(1, 2), *also_there = number(1, 0);
  const cudaStream_t first = stream_of(0), second = stream_of(1);
  cudaEvent_t fork, join;
  OK(cudaEventCreate(&fork));
  OK(cudaSetDevice(1));
  OK(cudaEventCreate(&join));
  OK(cudaSetDevice(0));
  OK(cudaStreamBeginCapture(first, cudaStreamCaptureModeThreadLocal));
  OK(copy(here, here, first));
  OK(cudaEventRecord(fork, first));
  OK(cudaStreamWaitEvent(second, fork, 0));
  OK(cudaMemcpyAsync(there, here, 4, cudaMemcpyDeviceToDevice, second));
  OK(cudaSetDevice(1));
  OK(copy(also_there, there, second));  // memory that device 0 has no access to
  OK(cudaEventRecord(join, second));
  OK(cudaSetDevice(0));
  OK(cudaStreamWaitEvent(first, join, 0));
  cudaGraph_t graph;
  cudaGraphExec_t executable;
  OK(cudaStreamEndCapture(first, &graph));
  OK(cudaGraphInstantiate(&executable, graph, 0));
  EXPECT_EQ(value(also_there), 0u);
  OK(cudaSetDevice(2));
  OK(cudaGraphLaunch(executable, nullptr));
  OK(cudaDeviceSynchronize());
  EXPECT_EQ(value(also_there), 1u);
  OK(cudaGraphExecDestroy(executable));
  OK(cudaGraphDestroy(graph));

  OK(cudaSetDevice(0));
  OK(cudaStreamBeginCapture(second, cudaStreamCaptureModeThreadLocal));
  IS(copy(also_there, there, second), cudaErrorInvalidResourceHandle);
  IS(cudaStreamEndCapture(second, &graph), cudaErrorStreamCaptureInvalidated);
  for (cudaStream_t stream : {first, second}) OK(cudaStreamDestroy(stream));
  for (cudaEvent_t event : {fork, join}) OK(cudaEventDestroy(event));
  for (unsigned* pointer : {here, there, also_there}) OK(cudaFree(pointer));
}

TEST_F(Devices, RunTheNodesThatWereMadeOnThem) {
  unsigned *there = number(1, 2), *also_there = number(1, 0);
  cudaGraph_t graph, other;
  cudaGraphNode_t node;
  void* arguments[] = {&also_there, &there};
  cudaKernelNodeParams parameters{};
  parameters.func = &program().copy;
  parameters.gridDim = parameters.blockDim = dim3(1);
  parameters.kernelParams = arguments;
  OK(cudaSetDevice(1));
  OK(cudaGraphCreate(&graph, 0));
  OK(cudaGraphAddKernelNode(&node, graph, nullptr, 0, &parameters));
  OK(cudaSetDevice(0));
  OK(cudaGraphKernelNodeSetParams(node, &parameters));  // it stays there
  cudaGraphExec_t executable;
  OK(cudaGraphInstantiate(&executable, graph, 0));
  OK(cudaGraphLaunch(executable, nullptr));
  OK(cudaDeviceSynchronize());
  EXPECT_EQ(value(also_there), 2u);
  OK(cudaGraphCreate(&other, 0));
  OK(cudaGraphAddKernelNode(&node, other, nullptr, 0, &parameters));
  cudaGraphExecUpdateResultInfo info;
  IS(cudaGraphExecUpdate(executable, other, &info), cudaErrorGraphExecUpdateFailure);
  EXPECT_EQ(info.result, cudaGraphExecUpdateErrorUnsupportedFunctionChange);

  cudaMemAllocNodeParams allocation{};
  allocation.poolProps.allocType = cudaMemAllocationTypePinned;
  allocation.poolProps.location = {cudaMemLocationTypeDevice, 2};
  allocation.bytesize = 64;
  OK(cudaGraphAddMemAllocNode(&node, other, nullptr, 0, &allocation));
  EXPECT_EQ(device_of(allocation.dptr), 2);
  const cudaMemAccessDesc access{{cudaMemLocationTypeDevice, 0}, cudaMemAccessFlagsProtReadWrite};
  allocation.accessDescs = &access;
  allocation.accessDescCount = 1;
  IS(cudaGraphAddMemAllocNode(&node, other, nullptr, 0, &allocation), cudaErrorNotSupported);  // and says so
  OK(cudaGraphExecDestroy(executable));
  OK(cudaGraphDestroy(graph));
  OK(cudaGraphDestroy(other));
  OK(cudaFree(there));
  OK(cudaFree(also_there));
}

TEST_F(Devices, KeepTheCopiesAndFillsOfExecutableGraphs) {
  unsigned *here = number(0, 1), *also_here = number(0, 2), *there = number(1, 3);
  cudaGraph_t graph, other;
  cudaGraphNode_t copied, filled, node;
  cudaGraphExec_t executable;
  cudaMemsetParams fill{};
  fill.dst = here;
  fill.elementSize = 4;
  fill.width = fill.height = 1;
  OK(cudaGraphCreate(&graph, 0));
  OK(cudaGraphAddMemsetNode(&filled, graph, nullptr, 0, &fill));
  OK(cudaGraphAddMemcpyNode1D(&copied, graph, &filled, 1, there, here, 4, cudaMemcpyDeviceToDevice));
  OK(cudaGraphInstantiate(&executable, graph, 0));
  OK(cudaGraphExecMemcpyNodeSetParams1D(executable, copied, there, also_here, 4, cudaMemcpyDeviceToDevice));
  IS(cudaGraphExecMemcpyNodeSetParams1D(executable, copied, here, also_here, 4, cudaMemcpyDeviceToDevice),
     cudaErrorInvalidValue);
  fill.dst = there;
  IS(cudaGraphExecMemsetNodeSetParams(executable, filled, &fill), cudaErrorInvalidValue);
  OK(cudaGraphLaunch(executable, nullptr));
  EXPECT_EQ(value(there), 2u);
  OK(cudaGraphCreate(&other, 0));
  OK(cudaGraphAddMemsetNode(&node, other, nullptr, 0, &fill));
  OK(cudaGraphAddMemcpyNode1D(&node, other, &node, 1, there, here, 4, cudaMemcpyDeviceToDevice));
  cudaGraphExecUpdateResultInfo info;
  IS(cudaGraphExecUpdate(executable, other, &info), cudaErrorGraphExecUpdateFailure);
  EXPECT_EQ(info.result, cudaGraphExecUpdateErrorParametersChanged);
  OK(cudaGraphExecDestroy(executable));
  OK(cudaGraphDestroy(graph));
  OK(cudaGraphDestroy(other));
  for (unsigned* pointer : {here, also_here, there}) OK(cudaFree(pointer));
}

// --- the report --------------------------------------------------------------------------------------------

TEST_F(Devices, AreNamedInReports) {
  OK(cudaSetDevice(2));
  unsigned* two = number(2, 1);
  OK(copy(two, two + 1));
  const auto found = newest();
  EXPECT_EQ(found.code, "E01");
  EXPECT_EQ(found.device, 2);
  const std::string text = text_of(found);
  EXPECT_NE(text.find("in kernel `copy`, on device 2"), std::string::npos) << text;
  EXPECT_NE(text.find("4 bytes, on device 2, from cudaMalloc"), std::string::npos) << text;
  Diagnostics all;
  all.add(found);
  const std::string json = json_of({all, {}, 1, {}});
  EXPECT_NE(json.find("\"device\": 2, "), std::string::npos) << json;
  IS(cudaMemset(two, 0, 5), cudaErrorInvalidValue);
  EXPECT_NE(newest().object.find("4 bytes, on device 2, from cudaMalloc"), std::string::npos) << newest().object;
  OK(cudaFree(two));
}
}  // namespace
}  // namespace vgpu
#endif
