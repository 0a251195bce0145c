// Three devices, as programs use them: what is a device's own, what reaches another's, and what the report says.
#if __has_include(<cuda_runtime.h>)
#include <cuda_runtime.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <set>
#include <thread>
#include <vector>

#include "registered.h"
#include "report/report.h"
#include "runtime/context.h"

namespace vgpu {
namespace {

// Before the first call, which makes the devices.
const int three_devices = setenv("VGPU_DEVICES", "3", 1);

#define OK(call) ASSERT_EQ(call, cudaSuccess)
#define IS(call, error)       \
  do {                        \
    EXPECT_EQ(call, error);   \
    (void)cudaGetLastError(); \
  } while (false)

const char* const kText = R"(
.version 8.0
.target sm_80
.address_size 64
.visible .global .align 4 .u32 own = 7;
.visible .global .attribute(.managed) .align 4 .u32 common = 5;

.visible .entry copy(.param .u64 to, .param .u64 from)
{
  .reg .b64 %rd<3>;
  .reg .b32 %r<2>;
  ld.param.u64 %rd1, [to];
  ld.param.u64 %rd2, [from];
  ld.global.u32 %r1, [%rd2];
  st.global.u32 [%rd1], %r1;
  ret;
}
// to[0] = ++own, to[1] = ++common
.visible .entry count(.param .u64 to)
{
  .reg .b64 %rd<2>;
  .reg .b32 %r<2>;
  ld.param.u64 %rd1, [to];
  ld.global.u32 %r1, [own];
  add.u32 %r1, %r1, 1;
  st.global.u32 [own], %r1;
  st.global.u32 [%rd1], %r1;
  ld.global.u32 %r1, [common];
  add.u32 %r1, %r1, 1;
  st.global.u32 [common], %r1;
  st.global.u32 [%rd1+4], %r1;
  ret;
}
)";

// What the program above is to its host.
struct Program {
  char copy, count, own;  // their addresses are names
  unsigned* common = nullptr;

  Program() {
    void** handle = test::registered(test::fat_binary(kText));
    __cudaRegisterFunction(handle, &copy, nullptr, "copy", -1, nullptr, nullptr, nullptr, nullptr, nullptr);
    __cudaRegisterFunction(handle, &count, nullptr, "count", -1, nullptr, nullptr, nullptr, nullptr, nullptr);
    __cudaRegisterVar(handle, &own, nullptr, "own", 0, 4, 0, 0);
    __cudaRegisterManagedVar(handle, reinterpret_cast<void**>(&common), nullptr, "common", 0, 4, 0, 0);
    __cudaRegisterFatBinaryEnd(handle);
  }
};

class Devices : public testing::Test {
 protected:
  void SetUp() override { OK(cudaSetDevice(0)); }
  void TearDown() override {
    EXPECT_EQ(cudaGetLastError(), cudaSuccess);
    OK(cudaSetDevice(0));
  }

  static Program& program() {
    static auto* program = new Program;
    return *program;
  }
  static cudaError_t copy(unsigned* to, const unsigned* from, cudaStream_t stream = nullptr, size_t shared = 0) {
    void* arguments[] = {&to, &from};
    return cudaLaunchKernel(&program().copy, dim3(1), dim3(1), arguments, shared, stream);
  }
  static cudaError_t count(unsigned* to) {
    void* arguments[] = {&to};
    return cudaLaunchKernel(&program().count, dim3(1), dim3(1), arguments, 0, nullptr);
  }
  // One number in memory of a device; the current device stays.
  static unsigned* number(int device, unsigned value) {
    int before;
    unsigned* made = nullptr;
    EXPECT_EQ(cudaGetDevice(&before), cudaSuccess);
    EXPECT_EQ(cudaSetDevice(device), cudaSuccess);
    EXPECT_EQ(cudaMalloc(&made, 4), cudaSuccess);
    EXPECT_EQ(cudaMemcpy(made, &value, 4, cudaMemcpyHostToDevice), cudaSuccess);
    EXPECT_EQ(cudaSetDevice(before), cudaSuccess);
    return made;
  }
  static unsigned value(const unsigned* of) {
    unsigned value = ~0u;
    EXPECT_EQ(cudaMemcpy(&value, of, 4, cudaMemcpyDefault), cudaSuccess);
    return value;
  }
  static int current() {
    int device = -1;
    EXPECT_EQ(cudaGetDevice(&device), cudaSuccess);
    return device;
  }
  static int device_of(const void* pointer) {
    cudaPointerAttributes attributes{};
    EXPECT_EQ(cudaPointerGetAttributes(&attributes, pointer), cudaSuccess);
    return attributes.device;
  }
  static cudaStream_t stream_of(int device, unsigned flags = cudaStreamNonBlocking) {
    const int before = current();
    cudaStream_t stream = nullptr;
    EXPECT_EQ(cudaSetDevice(device), cudaSuccess);
    EXPECT_EQ(cudaStreamCreateWithFlags(&stream, flags), cudaSuccess);
    EXPECT_EQ(cudaSetDevice(before), cudaSuccess);
    return stream;
  }
  static uint64_t times(const std::string& code) {
    uint64_t times = 0;
    for (const Diagnostic& d : Context::get().session.diagnostics().all()) times += d.code == code ? d.times : 0;
    return times;
  }
  // The newest finding; the error that it left behind is forgotten, so that the other tests can go on.
  static Diagnostic newest() {
    auto& context = Context::get();
    context.sticky = Error::Success;
    context.sticky_seen = false;
    (void)cudaGetLastError();
    const auto& all = context.session.diagnostics().all();
    return all.empty() ? Diagnostic{} : all.back();
  }
};

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
  OK(cudaMemcpyPeerAsync(a, 0, b, 1, 4, stream_of(2)));
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

// --- kernels -----------------------------------------------------------------------------------------------

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
  EXPECT_EQ(found.object, "argument 2, 4 bytes, on device 1, from cudaMalloc");
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
  OK(cudaMallocFromPoolAsync(&there, 4, pool, stream_of(1)));
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
  OK(cudaGraphExecDestroy(executable));
  OK(cudaGraphDestroy(graph));
  OK(cudaGraphDestroy(other));
  OK(cudaFree(there));
  OK(cudaFree(also_there));
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
