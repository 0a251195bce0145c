// Three devices, as programs use them: what is a device's own of memory, pools, streams and events.
#if __has_include(<cuda_runtime.h>)
#include "devices.h"

#include <cstdlib>
#include <cstring>
#include <set>
#include <thread>
#include <vector>

namespace vgpu {
namespace {

// Before the first call, which makes the devices.
const int three_devices = setenv("VGPU_DEVICES", "3", 1);

using test::Devices;

TEST_F(Devices, AThreadHasItsOwnCurrentOne) {
  int number;
  OK(cudaGetDeviceCount(&number));
  EXPECT_EQ(number, 3);
  EXPECT_EQ(current(), 0);
  OK(cudaSetDevice(2));
  std::thread([] {
    EXPECT_EQ(current(), 0);
    EXPECT_EQ(cudaSetDevice(1), cudaSuccess);
    EXPECT_EQ(current(), 1);
  }).join();
  EXPECT_EQ(current(), 2);
  IS(cudaSetDevice(3), cudaErrorInvalidDevice);
  IS(cudaSetDevice(-1), cudaErrorInvalidDevice);
  OK(cudaInitDevice(1, 0, 0));
  IS(cudaInitDevice(3, 0, 0), cudaErrorInvalidDevice);
  EXPECT_EQ(current(), 2);
}

TEST_F(Devices, ValidOnesAreTriedInTheirOrder) {
  int order[] = {2, 1}, wrong[] = {0, 7}, many[] = {0, 1, 2, 0};
  const auto of_a_new_thread = [] {
    int device = -1;
    std::thread([&] { device = current(); }).join();
    return device;
  };
  OK(cudaSetValidDevices(order, 2));
  EXPECT_EQ(of_a_new_thread(), 2);
  EXPECT_EQ(current(), 0);  // chosen by cudaSetDevice
  IS(cudaSetValidDevices(wrong, 2), cudaErrorInvalidDevice);
  IS(cudaSetValidDevices(many, 4), cudaErrorInvalidValue);
  IS(cudaSetValidDevices(nullptr, 1), cudaErrorInvalidValue);
  EXPECT_EQ(of_a_new_thread(), 2);
  OK(cudaSetValidDevices(nullptr, 0));
  EXPECT_EQ(of_a_new_thread(), 0);
}

TEST_F(Devices, AreAlikeButForWhatTellsThemApart) {
  cudaDeviceProp first, other;
  OK(cudaGetDeviceProperties(&first, 0));
  std::set<std::string> uuids, bus_ids;
  for (int d = 0; d < 3; ++d) {
    OK(cudaGetDeviceProperties(&other, d));
    int value;
    OK(cudaDeviceGetAttribute(&value, cudaDevAttrPciBusId, d));
    EXPECT_EQ(value, other.pciBusID);
    EXPECT_EQ(value, d + 1);
    uuids.emplace(other.uuid.bytes, sizeof other.uuid.bytes);
    char id[16];
    OK(cudaDeviceGetPCIBusId(id, sizeof id, d));
    bus_ids.insert(id);
    OK(cudaDeviceGetByPCIBusId(&value, id));
    EXPECT_EQ(value, d);
    OK(cudaDeviceGetByPCIBusId(&value, id + 5));
    EXPECT_EQ(value, d);
    other.uuid = first.uuid;
    other.pciBusID = first.pciBusID;
    EXPECT_EQ(std::memcmp(&other, &first, sizeof first), 0);
    OK(cudaChooseDevice(&value, &other));
    EXPECT_EQ(value, 0);
  }
  EXPECT_EQ(uuids.size(), 3u);
  EXPECT_EQ(bus_ids.size(), 3u);
  int value;
  IS(cudaDeviceGetByPCIBusId(&value, "0000:04:00.0"), cudaErrorInvalidDevice);
  IS(cudaGetDeviceProperties(&other, 3), cudaErrorInvalidDevice);
  IS(cudaDeviceGetAttribute(&value, cudaDevAttrPciBusId, -1), cudaErrorInvalidDevice);
}

TEST_F(Devices, HaveTheirOwnLimitsAndFlags) {
  OK(cudaSetDevice(1));
  OK(cudaDeviceSetLimit(cudaLimitStackSize, 2048));
  OK(cudaDeviceSetCacheConfig(cudaFuncCachePreferL1));
  OK(cudaSetDeviceFlags(cudaDeviceScheduleSpin));
  OK(cudaInitDevice(2, cudaDeviceScheduleYield, cudaInitDeviceFlagsAreValid));
  for (int d = 0; d < 3; ++d) {
    OK(cudaSetDevice(d));
    size_t stack;
    cudaFuncCache cache;
    unsigned flags;
    OK(cudaDeviceGetLimit(&stack, cudaLimitStackSize));
    OK(cudaDeviceGetCacheConfig(&cache));
    OK(cudaGetDeviceFlags(&flags));
    EXPECT_EQ(stack, d == 1 ? 2048u : 1024u);
    EXPECT_EQ(cache, d == 1 ? cudaFuncCachePreferL1 : cudaFuncCachePreferNone);
    EXPECT_EQ(flags & cudaDeviceScheduleMask,
              (std::vector<unsigned>{0, cudaDeviceScheduleSpin, cudaDeviceScheduleYield}[d]));
  }
}

// --- memory ------------------------------------------------------------------------------------------------

TEST_F(Devices, HaveMemoryEach) {
  size_t free, total, other;
  void *most, *more;
  OK(cudaMemGetInfo(&free, &total));
  OK(cudaMalloc(&most, free - 1024));
  IS(cudaMalloc(&more, 4096), cudaErrorMemoryAllocation);
  OK(cudaMemGetInfo(&other, &total));
  EXPECT_EQ(other, 1024u);
  OK(cudaSetDevice(1));
  OK(cudaMemGetInfo(&other, &total));
  EXPECT_EQ(other, free);
  OK(cudaMalloc(&more, 4096));
  OK(cudaFree(most));  // from any device
  OK(cudaFree(more));
  OK(cudaSetDevice(0));
  OK(cudaMemGetInfo(&other, &total));
  EXPECT_EQ(other, free);
}

TEST_F(Devices, PointersTellWhoseTheyAre) {
  static int registered[64];
  for (int d : {2, 0, 1}) {
    OK(cudaSetDevice(d));
    void *plain, *pitched, *managed, *pinned;
    cudaPitchedPtr three;
    size_t pitch;
    OK(cudaMalloc(&plain, 100));
    OK(cudaMallocPitch(&pitched, &pitch, 100, 2));
    OK(cudaMalloc3D(&three, {100, 2, 2}));
    OK(cudaMallocManaged(&managed, 100));
    OK(cudaMallocHost(&pinned, 100));
    OK(cudaHostRegister(registered, sizeof registered, 0));
    OK(cudaSetDevice(0));
    for (void* pointer : {plain, pitched, three.ptr, managed, pinned, static_cast<void*>(registered)}) {
      EXPECT_EQ(device_of(pointer), d);
    }
    OK(cudaHostUnregister(registered));
    OK(cudaFreeHost(pinned));
    for (void* pointer : {plain, pitched, three.ptr, managed}) OK(cudaFree(pointer));
  }
}

TEST_F(Devices, CopyToOneAnotherWithoutAccess) {
  unsigned *a = number(0, 42), *b = number(1, 1), *c = number(2, 2);
  OK(cudaMemcpyPeer(b, 1, a, 0, 4));
  EXPECT_EQ(value(b), 42u);
  OK(cudaMemcpy(c, b, 4, cudaMemcpyDeviceToDevice));
  EXPECT_EQ(value(c), 42u);
  OK(cudaMemset(b, 1, 4));  // of another device
  EXPECT_EQ(value(b), 0x01010101u);
  const cudaStream_t side = stream_of(2);
  OK(cudaMemcpyPeerAsync(a, 0, b, 1, 4, side));
  OK(cudaStreamDestroy(side));
  EXPECT_EQ(value(a), 0x01010101u);
  cudaMemcpy3DPeerParms parameters{};
  parameters.srcPtr = make_cudaPitchedPtr(c, 4, 4, 1);
  parameters.srcDevice = 2;
  parameters.dstPtr = make_cudaPitchedPtr(a, 4, 4, 1);
  parameters.dstDevice = 0;
  parameters.extent = make_cudaExtent(4, 1, 1);
  OK(cudaMemcpy3DPeer(&parameters));
  EXPECT_EQ(value(a), 42u);
  parameters.srcDevice = 3;
  IS(cudaMemcpy3DPeer(&parameters), cudaErrorInvalidDevice);
  IS(cudaMemcpyPeer(b, 3, a, 0, 4), cudaErrorInvalidDevice);
  IS(cudaMemcpyPeerAsync(b, 1, a, -1, 4, nullptr), cudaErrorInvalidDevice);
  for (unsigned* pointer : {a, b, c}) OK(cudaFree(pointer));
}

TEST_F(Devices, HavePoolsEach) {
  cudaMemPool_t defaults[3], pool;
  for (int d = 0; d < 3; ++d) {
    OK(cudaDeviceGetDefaultMemPool(&defaults[d], d));
    cudaMemPool_t current;
    OK(cudaDeviceGetMemPool(&current, d));
    EXPECT_EQ(current, defaults[d]);
  }
  EXPECT_NE(defaults[0], defaults[1]);
  IS(cudaDeviceGetDefaultMemPool(&pool, 3), cudaErrorInvalidDevice);
  const cudaStream_t side = stream_of(1);
  void* pointer;
  OK(cudaMallocAsync(&pointer, 100, side));  // of the stream's device
  EXPECT_EQ(device_of(pointer), 1);
  uint64_t used;
  OK(cudaMemPoolGetAttribute(defaults[1], cudaMemPoolAttrUsedMemCurrent, &used));
  EXPECT_EQ(used, 100u);
  OK(cudaMemPoolGetAttribute(defaults[0], cudaMemPoolAttrUsedMemCurrent, &used));
  EXPECT_EQ(used, 0u);
  OK(cudaFreeAsync(pointer, nullptr));  // in a stream of another
  OK(cudaMallocAsync(&pointer, 100, nullptr));
  EXPECT_EQ(device_of(pointer), 0);
  OK(cudaFreeAsync(pointer, side));

  cudaMemPoolProps properties{};
  properties.allocType = cudaMemAllocationTypePinned;
  properties.location = {cudaMemLocationTypeDevice, 3};
  IS(cudaMemPoolCreate(&pool, &properties), cudaErrorInvalidValue);
  properties.location.id = 2;
  OK(cudaMemPoolCreate(&pool, &properties));
  OK(cudaMallocFromPoolAsync(&pointer, 100, pool, side));
  EXPECT_EQ(device_of(pointer), 2);
  OK(cudaFree(pointer));
  IS(cudaDeviceSetMemPool(1, pool), cudaErrorInvalidValue);
  IS(cudaDeviceSetMemPool(3, pool), cudaErrorInvalidDevice);
  OK(cudaDeviceSetMemPool(2, pool));
  cudaMemPool_t current;
  OK(cudaDeviceGetMemPool(&current, 2));
  EXPECT_EQ(current, pool);
  OK(cudaDeviceGetMemPool(&current, 1));
  EXPECT_EQ(current, defaults[1]);
  OK(cudaStreamDestroy(side));
  OK(cudaMemPoolDestroy(pool));
  OK(cudaDeviceGetMemPool(&current, 2));
  EXPECT_EQ(current, defaults[2]);
}

// --- streams and events ------------------------------------------------------------------------------------

TEST_F(Devices, OwnTheirStreams) {
  const cudaStream_t side = stream_of(1);
  int device;
  OK(cudaStreamGetDevice(side, &device));
  EXPECT_EQ(device, 1);
  for (int d = 0; d < 3; ++d) {
    OK(cudaSetDevice(d));
    unsigned long long legacy, own;
    static std::set<unsigned long long> ids;
    OK(cudaStreamGetId(cudaStreamLegacy, &legacy));
    OK(cudaStreamGetId(cudaStreamPerThread, &own));
    EXPECT_TRUE(ids.insert(legacy).second && ids.insert(own).second);
    for (cudaStream_t stream : {cudaStream_t{}, cudaStreamLegacy, cudaStreamPerThread}) {
      OK(cudaStreamGetDevice(stream, &device));
      EXPECT_EQ(device, d);
    }
  }
  OK(cudaSetDevice(0));
  unsigned *here = number(0, 3), *there = number(1, 4), *also_there = number(1, 0);
  // A launch needs the stream's device to be current; nothing else does.
  IS(copy(also_there, there, side), cudaErrorInvalidResourceHandle);
  EXPECT_EQ(value(also_there), 0u);
  OK(cudaMemcpyAsync(there, here, 4, cudaMemcpyDeviceToDevice, side));
  EXPECT_EQ(value(there), 3u);
  OK(cudaMemsetAsync(there, 2, 4, side));
  EXPECT_EQ(value(there), 0x02020202u);
  OK(cudaLaunchHostFunc(side, [](void*) {}, nullptr));
  OK(cudaStreamSynchronize(side));
  OK(cudaStreamQuery(side));
  OK(cudaSetDevice(1));
  OK(copy(also_there, there, side));
  EXPECT_EQ(value(also_there), 0x02020202u);
  OK(cudaSetDevice(2));
  OK(cudaStreamDestroy(side));
  for (unsigned* pointer : {here, there, also_there}) OK(cudaFree(pointer));
}

TEST_F(Devices, OwnTheirEvents) {
  const cudaStream_t here = stream_of(0), there = stream_of(1);
  cudaEvent_t first, second;
  OK(cudaEventCreate(&first));
  OK(cudaSetDevice(1));
  OK(cudaEventCreate(&second));
  OK(cudaSetDevice(0));
  OK(cudaEventRecord(first, here));
  IS(cudaEventRecord(first, there), cudaErrorInvalidResourceHandle);
  OK(cudaEventRecord(second, there));
  IS(cudaEventRecord(second, nullptr), cudaErrorInvalidResourceHandle);
  OK(cudaStreamWaitEvent(there, first, 0));
  OK(cudaStreamWaitEvent(nullptr, second, 0));
  OK(cudaEventQuery(second));
  OK(cudaEventSynchronize(second));
  float milliseconds;
  IS(cudaEventElapsedTime(&milliseconds, first, second), cudaErrorInvalidResourceHandle);
  OK(cudaSetDevice(2));
  OK(cudaEventDestroy(first));
  OK(cudaEventDestroy(second));
  OK(cudaStreamDestroy(here));
  OK(cudaStreamDestroy(there));
}
}  // namespace
}  // namespace vgpu
#endif
