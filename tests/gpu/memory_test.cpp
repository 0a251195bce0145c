// Memory on a GPU when it runs short, and when other streams use it. Every k-th allocation, on the host and on the
// device, is made to fail: each failure is a status, nothing is lost, and everything works afterwards. The build hands
// this program's cudaMalloc and its like to the functions below (-Wl,--wrap), and operator new is replaced: it fails
// for callers in this program, of which the library is a part here, and not for those in the driver.
#include <cuda_runtime_api.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <new>
#include <thread>

#include "device_call.h"

// ---- allocations that fail ----

namespace {

std::atomic<int> host_until_failure{0}, device_until_failure{0};  // the k-th from now fails; 0: none
std::atomic<int64_t> on_host{0}, on_device{0};                    // blocks in use; here, this program's

std::atomic<bool> events_fail{false}, pool_fails_again{false}, launches_fail{false};

bool fails(std::atomic<int>& until) { return until > 0 && until.fetch_sub(1) == 1; }

extern "C" char __executable_start, etext;  // the linker's: where this program's code begins and ends

constexpr size_t kHeader = 16;  // bytes before a block, of which the first says whether it is counted

void* allocate(size_t bytes, const void* caller) {
  const bool is_ours = caller >= &__executable_start && caller < &etext;
  if (is_ours && fails(host_until_failure)) return nullptr;
  auto* const header = static_cast<char*>(std::malloc(kHeader + bytes));
  if (!header) return nullptr;
  *header = is_ours;
  on_host += is_ours;
  return header + kHeader;
}

void release(void* block) {
  if (!block) return;
  char* const header = static_cast<char*>(block) - kHeader;
  on_host -= *header;
  std::free(header);
}

}  // namespace

void* operator new(size_t bytes) {
  if (void* block = allocate(bytes, __builtin_return_address(0))) return block;
  throw std::bad_alloc();
}
// Whoever asks so can do without, as std::stable_sort does: such a request fails whenever another is about to.
void* operator new(size_t bytes, const std::nothrow_t&) noexcept {
  return host_until_failure > 0 ? nullptr : allocate(bytes, nullptr);
}
void operator delete(void* block) noexcept { release(block); }
void operator delete(void* block, size_t) noexcept { release(block); }

#define OPRT_COUNTED(name, parameters, ...)                            \
  extern "C" cudaError_t __real_##name parameters;                     \
  extern "C" cudaError_t __wrap_##name parameters {                    \
    if (fails(device_until_failure)) return cudaErrorMemoryAllocation; \
    const cudaError_t error = __real_##name(__VA_ARGS__);              \
    on_device += error == cudaSuccess;                                 \
    return error;                                                      \
  }
#define OPRT_RETURNED(name, parameters, ...)              \
  extern "C" cudaError_t __real_##name parameters;        \
  extern "C" cudaError_t __wrap_##name parameters {       \
    const cudaError_t error = __real_##name(__VA_ARGS__); \
    on_device -= error == cudaSuccess;                    \
    return error;                                         \
  }
OPRT_COUNTED(cudaMalloc, (void** block, size_t bytes), block, bytes)
OPRT_COUNTED(cudaHostAlloc, (void** block, size_t bytes, unsigned flags), block, bytes, flags)
// Tried again once what other streams have freed is there, so it fails twice.
extern "C" cudaError_t __real_cudaMallocFromPoolAsync(void** block, size_t bytes, cudaMemPool_t pool,
                                                      cudaStream_t stream);
extern "C" cudaError_t __wrap_cudaMallocFromPoolAsync(void** block, size_t bytes, cudaMemPool_t pool,
                                                      cudaStream_t stream) {
  if (pool_fails_again.exchange(false)) return cudaErrorMemoryAllocation;
  if (fails(device_until_failure)) {
    pool_fails_again = true;
    return cudaErrorMemoryAllocation;
  }
  const cudaError_t error = __real_cudaMallocFromPoolAsync(block, bytes, pool, stream);
  on_device += error == cudaSuccess;
  return error;
}
extern "C" cudaError_t __real_cudaEventCreateWithFlags(cudaEvent_t* event, unsigned flags);
extern "C" cudaError_t __wrap_cudaEventCreateWithFlags(cudaEvent_t* event, unsigned flags) {
  if (events_fail) return cudaErrorMemoryAllocation;
  const cudaError_t error = __real_cudaEventCreateWithFlags(event, flags);
  on_device += error == cudaSuccess;
  return error;
}
OPRT_COUNTED(cudaMemPoolCreate, (cudaMemPool_t * pool, const cudaMemPoolProps* properties), pool, properties)
OPRT_COUNTED(cudaStreamCreateWithFlags, (cudaStream_t * stream, unsigned flags), stream, flags)
OPRT_COUNTED(cudaEventCreate, (cudaEvent_t * event), event)
extern "C" cudaError_t __real_cudaLaunchKernelExC(const cudaLaunchConfig_t* config, const void* kernel,
                                                  void** arguments);
extern "C" cudaError_t __wrap_cudaLaunchKernelExC(const cudaLaunchConfig_t* config, const void* kernel,
                                                  void** arguments) {
  if (launches_fail) return cudaErrorLaunchOutOfResources;
  return __real_cudaLaunchKernelExC(config, kernel, arguments);
}
OPRT_RETURNED(cudaFree, (void* block), block)
OPRT_RETURNED(cudaFreeHost, (void* block), block)
OPRT_RETURNED(cudaFreeAsync, (void* block, cudaStream_t stream), block, stream)
OPRT_RETURNED(cudaMemPoolDestroy, (cudaMemPool_t pool), pool)
OPRT_RETURNED(cudaStreamDestroy, (cudaStream_t stream), stream)
OPRT_RETURNED(cudaEventDestroy, (cudaEvent_t event), event)

namespace oprt_test {
namespace {

using oprt::Device;
using oprt::DeviceBuffer;
using oprt::MemoryPool;
using oprt::PinnedBuffer;
using oprt::Stream;

constexpr int kMostAllocations = 50;

class Memory : public testing::Test {
 protected:
  void SetUp() override {
    if (gpu_count() == 0) GTEST_SKIP() << "no GPU";
  }
};

// Something of every kind that allocates on the device. Throws what the library says.
void use_everything() {
  const Device device(kGpu);
  const Stream stream(device), other(device);
  DeviceBuffer block(3000, device);
  PinnedBuffer pinned(3000, device);
  std::memset(pinned.data(), 7, pinned.bytes());
  MemoryPool pool(device);
  DeviceBuffer first = pool.allocate(5000, stream), second = pool.allocate(3000, stream);
  second.also_used_on(other);
  block.copy_from(pinned, stream);
  second.copy_from(block, stream);
  second.copy_to(pinned, stream);
  oprt::Event event(device);
  event.record(stream);
  event.synchronize();
  stream.synchronize();
  if (static_cast<char*>(pinned.data())[2999] != 7) throw std::runtime_error("a copy is wrong");
}

oprt_status_t status_of(void (*body)()) {
  try {
    body();
  } catch (const oprt::Error& error) {
    return error.status();
  } catch (const std::bad_alloc&) {  // of this program's own objects
    return OPRT_ERR_OUT_OF_MEMORY;
  }
  return OPRT_SUCCESS;
}

TEST_F(Memory, EveryAllocationOfTheRuntimeMayFail) {
  ASSERT_EQ(status_of(use_everything), OPRT_SUCCESS) << oprt_last_error_message();  // what is made once is made
  for (std::atomic<int>* kind : {&device_until_failure, &host_until_failure}) {
    int failures = 0;
    for (int k = 1; k <= kMostAllocations; ++k) {
      const int64_t host = on_host, device = on_device;
      *kind = k;
      const oprt_status_t status = status_of(use_everything);
      const bool failed = *kind == 0;
      *kind = 0;
      failures += failed;
      EXPECT_EQ(status, failed ? OPRT_ERR_OUT_OF_MEMORY : OPRT_SUCCESS) << "allocation " << k;
      EXPECT_EQ(on_device, device) << "allocation " << k;
      EXPECT_EQ(cudaPeekAtLastError(), cudaSuccess) << "allocation " << k;
      EXPECT_LE(on_host - host, 2) << "allocation " << k;  // the thread's message may be a longer one
      ASSERT_EQ(status_of(use_everything), OPRT_SUCCESS) << oprt_last_error_message();
    }
    EXPECT_GE(failures, 5) << "the hook does not reach the library";
  }
}

class FailingOperator : public EachOperator {};

TEST_P(FailingOperator, IsAStatusAndNothingIsLost) {
  DeviceCall call(op(), example(op(), 100));
  oprt_operator_descriptor_t desc = nullptr;
  ASSERT_EQ(call.create(&desc), OPRT_SUCCESS) << oprt_last_error_message();
  call.take_workspace(desc);
  op().destroy(desc);
  int host_failures = 0;
  for (std::atomic<int>* kind : {&device_until_failure, &host_until_failure})
    for (int k = 1; k <= kMostAllocations; ++k) {
      const int64_t host = on_host, device = on_device;
      *kind = k;
      oprt_status_t status = call.create(&desc);
      if (status == OPRT_SUCCESS) status = call.execute(desc);
      const bool failed = *kind == 0;
      *kind = 0;
      if (kind == &host_until_failure) host_failures += failed;
      const std::string message = oprt_last_error_message();
      EXPECT_EQ(status, failed ? OPRT_ERR_OUT_OF_MEMORY : OPRT_SUCCESS) << "allocation " << k << ": " << message;
      EXPECT_EQ(op().destroy(desc), OPRT_SUCCESS);
      desc = nullptr;
      EXPECT_EQ(on_device, device) << "allocation " << k;
      EXPECT_LE(on_host - host, 2) << "allocation " << k;
    }
  EXPECT_GE(host_failures, 1) << "the hook does not reach the library";
  call.put();
  ASSERT_EQ(call.create(&desc), OPRT_SUCCESS) << oprt_last_error_message();
  const int64_t host = on_host, device = on_device;
  host_until_failure = device_until_failure = 1;  // execute allocates nothing
  const oprt_status_t status = call.execute(desc);
  host_until_failure = device_until_failure = 0;
  EXPECT_EQ(status, OPRT_SUCCESS) << oprt_last_error_message();
  EXPECT_EQ(on_host, host);
  EXPECT_EQ(on_device, device);
  EXPECT_EQ(call.wrong(), "");
  op().destroy(desc);
}

// C33: a launch that is refused is the status of that very call, and the next one is right.
TEST_P(FailingOperator, SaysThatItsLaunchWasRefused) {
  DeviceCall call(op(), example(op(), 100));
  oprt_operator_descriptor_t desc = nullptr;
  ASSERT_EQ(call.create(&desc), OPRT_SUCCESS) << oprt_last_error_message();
  call.take_workspace(desc);
  launches_fail = true;
  const oprt_status_t status = call.execute(desc);
  launches_fail = false;
  if (std::string(oprt_descriptor_kernel(desc)) != "matmul_library") {  // another library's launch
    EXPECT_EQ(status, OPRT_ERR_RUNTIME);
    EXPECT_NE(std::string(oprt_last_error_message()).find("cudaErrorLaunchOutOfResources"), std::string::npos);
    EXPECT_EQ(cudaPeekAtLastError(), cudaSuccess);
  }
  EXPECT_EQ(call.execute(desc), OPRT_SUCCESS) << oprt_last_error_message();
  EXPECT_EQ(call.wrong(), "");
  op().destroy(desc);
}

OPRT_EACH_OPERATOR(FailingOperator);

// ---- streams ----

void wait_a_while(void*) { std::this_thread::sleep_for(std::chrono::milliseconds(50)); }

// Work on the stream from now on begins 50 ms later.
void delay(const Stream& stream) {
  ASSERT_EQ(cudaLaunchHostFunc(static_cast<cudaStream_t>(stream.c()), wait_a_while, nullptr), cudaSuccess);
}

// C36: a block that a second stream was said to use is not given out again before that stream is done.
TEST_F(Memory, OfAPoolWaitsForTheSecondStream) {
  constexpr size_t kBytes = size_t{1} << 20;
  const Device device(kGpu);
  const Stream home(device), side(device);
  MemoryPool pool(device);
  PinnedBuffer ones(kBytes, device), nines(kBytes, device), seen(kBytes, device);
  std::memset(ones.data(), 1, kBytes);
  std::memset(nines.data(), 9, kBytes);
  for (int i = 0; i < 5; ++i) {
    {
      DeviceBuffer block = pool.allocate(kBytes, home);
      block.copy_from(ones, home);
      home.synchronize();
      delay(side);
      block.also_used_on(side);
      block.copy_to(seen, side);
    }
    DeviceBuffer next = pool.allocate(kBytes, home);
    next.copy_from(nines, home);
    home.synchronize();
    side.synchronize();
    for (size_t at = 0; at < kBytes; at += 4096) ASSERT_EQ(static_cast<char*>(seen.data())[at], 1) << at;
  }
}

// C34: a call takes its place on the caller's stream: it finds there what a busy stream brings late.
class LateInputs : public EachOperator {};

TEST_P(LateInputs, AreWaitedFor) {
  const Device device(kGpu);
  const Stream stream(device);
  DeviceCall call(op(), example(op(), 100), device);
  oprt_operator_descriptor_t desc = nullptr;
  ASSERT_EQ(call.create(&desc), OPRT_SUCCESS) << oprt_last_error_message();
  call.take_workspace(desc);
  std::vector<PinnedBuffer> inputs;
  for (size_t i = static_cast<size_t>(op().outputs); i < call.views.size(); ++i) {
    inputs.emplace_back(call.host.bytes(i), device);
    std::memcpy(inputs.back().data(), call.host.data[i], call.host.bytes(i));
    call.buffers[i].zero();
  }
  delay(stream);
  for (size_t i = 0; i < inputs.size(); ++i)
    call.buffers[i + static_cast<size_t>(op().outputs)].copy_from(inputs[i], stream);
  ASSERT_EQ(call.execute(desc, stream.c()), OPRT_SUCCESS) << oprt_last_error_message();
  stream.synchronize();
  EXPECT_EQ(call.wrong(), "");
  op().destroy(desc);
}

OPRT_EACH_OPERATOR(LateInputs);

// Without an event to wait by, a free waits itself.
TEST_F(Memory, OfAPoolIsFreedWithoutAnEvent) {
  const Device device(kGpu);
  const Stream home(device), side(device);
  MemoryPool pool(device);
  events_fail = true;
  {
    DeviceBuffer block = pool.allocate(1000, home);
    delay(side);
    block.also_used_on(side);
  }
  events_fail = false;
  EXPECT_EQ(cudaStreamQuery(static_cast<cudaStream_t>(side.c())), cudaSuccess);
  EXPECT_EQ(pool.stats().used_bytes, 0u);
  EXPECT_EQ(cudaPeekAtLastError(), cudaSuccess);
}

// What a first call needs is had while its stream is captured: pools and memory, their books and their end.
TEST_F(Memory, MayBeAskedForDuringACapture) {
  constexpr size_t kBytes = 1000;
  const Device device(kGpu);
  const Stream stream(device);
  const auto native = static_cast<cudaStream_t>(stream.c());
  ASSERT_EQ(cudaStreamBeginCapture(native, cudaStreamCaptureModeGlobal), cudaSuccess);
  MemoryPool pool(device);
  const PinnedBuffer pinned(kBytes, device);  // its end waits for the device, which no capture allows
  {
    DeviceBuffer block = pool.allocate(kBytes, stream);
    block.zero(stream);
    EXPECT_GT(pool.stats().used_bytes, 0u);
    const DeviceBuffer plain(kBytes, device);
    cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
    ASSERT_EQ(cudaStreamIsCapturing(native, &status), cudaSuccess);
    EXPECT_EQ(status, cudaStreamCaptureStatusActive);
  }
  cudaGraph_t graph = nullptr;
  ASSERT_EQ(cudaStreamEndCapture(native, &graph), cudaSuccess);
  cudaGraphExec_t replay = nullptr;
  ASSERT_EQ(cudaGraphInstantiate(&replay, graph, 0), cudaSuccess);
  for (int i = 0; i < 3; ++i) ASSERT_EQ(cudaGraphLaunch(replay, native), cudaSuccess);
  stream.synchronize();
  cudaGraphExecDestroy(replay);
  cudaGraphDestroy(graph);
}

// C37: pinned memory that is freed while a copy still reads it is not the next owner's before that copy is done.
TEST_F(Memory, PinnedWaitsForItsCopy) {
  constexpr size_t kBytes = size_t{1} << 20;
  const Device device(kGpu);
  const Stream stream(device);
  DeviceBuffer to(kBytes, device);
  {
    PinnedBuffer from(kBytes, device);
    std::memset(from.data(), 1, kBytes);
    delay(stream);
    to.copy_from(from, stream);
  }
  PinnedBuffer next(kBytes, device);
  std::memset(next.data(), 9, kBytes);
  stream.synchronize();
  std::string seen(kBytes, '\0');
  to.copy_to(seen.data(), kBytes);
  EXPECT_TRUE(seen == std::string(kBytes, '\1'));
}

}  // namespace
}  // namespace oprt_test
