// Which calls a stream capture permits: each call below is made while a stream is capturing, in a capture of its own.
// Of each the program prints the call's error code, what became of the capture (a: active, i: invalidated) and the code
// with which it ends; 0 a 0 is a call that does no harm.
#include <thread>
#include <utility>

#include "check.h"

__device__ int variable;
__global__ void kernel(int* x) { *x = 1; }
__global__ void never_used(int* x) { *x = 2; }

struct Way {
  const char* name;
  cudaStreamCaptureMode capture;
  cudaStreamCaptureMode thread;  // by cudaThreadExchangeStreamCaptureMode, of the thread that calls
  bool from_another_thread, blocking;
};
constexpr auto kGlobal = cudaStreamCaptureModeGlobal, kThread = cudaStreamCaptureModeThreadLocal,
               kRelaxed = cudaStreamCaptureModeRelaxed;
constexpr Way kWays[] = {
    {"global", kGlobal, kGlobal, false, false},
    {"global, blocking stream", kGlobal, kGlobal, false, true},
    {"global, relaxed thread", kGlobal, kRelaxed, false, false},
    {"thread-local", kThread, kGlobal, false, false},
    {"relaxed", kRelaxed, kGlobal, false, false},
    {"global, another thread", kGlobal, kGlobal, true, false},
    {"global, another thread-local thread", kGlobal, kThread, true, false},
    {"thread-local, another thread", kThread, kGlobal, true, false},
};

char page[4096];  // of the host

cudaMemPoolProps of_device() {
  cudaMemPoolProps properties{};
  properties.allocType = cudaMemAllocationTypePinned;
  properties.location = {cudaMemLocationTypeDevice, 0};
  return properties;
}

// What the calls need, made before the capture begins.
struct Scene {
  cudaStream_t stream;        // captures
  cudaStream_t other;         // does not
  cudaEvent_t before, after;  // recorded in `other`
  cudaEvent_t captured;       // recorded in the capture
  cudaMemPool_t pool, spare;
  void *device, *pooled, *pinned, *more;
  char pageable[64];

  void make(const Way& way) {
    CUDA(cudaStreamCreateWithFlags(&stream, way.blocking ? cudaStreamDefault : cudaStreamNonBlocking));
    CUDA(cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking));
    for (cudaEvent_t* event : {&before, &after}) {
      CUDA(cudaEventCreate(event));
      CUDA(cudaEventRecord(*event, other));
    }
    CUDA(cudaEventCreate(&captured));
    const auto properties = of_device();
    CUDA(cudaMemPoolCreate(&pool, &properties));
    CUDA(cudaMemPoolCreate(&spare, &properties));
    CUDA(cudaMalloc(&device, 64));
    CUDA(cudaMallocFromPoolAsync(&pooled, 64, pool, other));
    CUDA(cudaMallocHost(&pinned, 64));
    CUDA(cudaDeviceSynchronize());
  }

  // All but what the call has destroyed, or may have.
  void destroy() {
    CUDA(cudaFree(device));
    CUDA(cudaFree(pooled));
    CUDA(cudaFreeHost(pinned));
    for (cudaEvent_t event : {before, after, captured}) {
      if (event) CUDA(cudaEventDestroy(event));
    }
    for (cudaStream_t one : {stream, other}) {
      if (one) CUDA(cudaStreamDestroy(one));
    }
    for (cudaMemPool_t one : {pool, spare}) {
      if (one) CUDA(cudaMemPoolDestroy(one));
    }
    cudaHostUnregister(page);  // where it was registered
    cudaGetLastError();
  }
};

struct Probe {
  const char* name;
  cudaError_t (*call)(Scene&);
};

// The first failure of a few calls.
template <class... Codes>
cudaError_t first(Codes... codes) {
  cudaError_t result = cudaSuccess;
  for (const cudaError_t code : {codes...}) result = result == cudaSuccess ? code : result;
  return result;
}

unsigned long long number;
int integer;
size_t size, total;
float milliseconds;
cudaFuncAttributes function_attributes;
cudaDeviceProp properties;
cudaPointerAttributes pointer_attributes;
cudaGraph_t graph;
cudaStream_t new_stream;
cudaEvent_t new_event;
cudaMemPool_t new_pool;

cudaError_t launch(int* x, cudaStream_t stream) {
  void* arguments[] = {&x};
  return cudaLaunchKernel(reinterpret_cast<const void*>(kernel), 1, 1, arguments, 0, stream);
}
int* ints(void* pointer) { return static_cast<int*>(pointer); }
void nothing(void*) {}
void nothing_more(cudaStream_t, cudaError_t, void*) {}

const Probe kProbes[] = {
    // pools
    {"cudaMemPoolGetAttribute(ReservedMemCurrent)",
     [](Scene& s) { return cudaMemPoolGetAttribute(s.pool, cudaMemPoolAttrReservedMemCurrent, &number); }},
    {"cudaMemPoolGetAttribute(ReleaseThreshold)",
     [](Scene& s) { return cudaMemPoolGetAttribute(s.pool, cudaMemPoolAttrReleaseThreshold, &number); }},
    {"cudaMemPoolSetAttribute(ReleaseThreshold)",
     [](Scene& s) { return cudaMemPoolSetAttribute(s.pool, cudaMemPoolAttrReleaseThreshold, &(number = 1 << 20)); }},
    {"cudaMemPoolSetAttribute(UsedMemHigh)",
     [](Scene& s) { return cudaMemPoolSetAttribute(s.pool, cudaMemPoolAttrUsedMemHigh, &(number = 0)); }},
    {"cudaMemPoolTrimTo", [](Scene& s) { return cudaMemPoolTrimTo(s.pool, 0); }},
    {"cudaMemPoolCreate",
     [](Scene&) {
       const auto pool = of_device();
       return cudaMemPoolCreate(&new_pool, &pool);
     }},
    {"cudaMemPoolDestroy", [](Scene& s) { return cudaMemPoolDestroy(std::exchange(s.spare, nullptr)); }},
    {"cudaMemPoolSetAccess",
     [](Scene& s) {
       const cudaMemAccessDesc access{{cudaMemLocationTypeDevice, 0}, cudaMemAccessFlagsProtReadWrite};
       return cudaMemPoolSetAccess(s.pool, &access, 1);
     }},
    {"cudaDeviceGetDefaultMemPool", [](Scene&) { return cudaDeviceGetDefaultMemPool(&new_pool, 0); }},
    {"cudaDeviceGetMemPool", [](Scene&) { return cudaDeviceGetMemPool(&new_pool, 0); }},
    {"cudaMallocFromPoolAsync", [](Scene& s) { return cudaMallocFromPoolAsync(&s.more, 64, s.pool, s.stream); }},
    {"cudaMallocFromPoolAsync, cudaFreeAsync",
     [](Scene& s) {
       const cudaError_t code = cudaMallocFromPoolAsync(&s.more, 64, s.pool, s.stream);
       return first(code, cudaFreeAsync(s.more, s.stream));
     }},
    {"cudaMallocAsync, cudaFreeAsync",
     [](Scene& s) {
       const cudaError_t code = cudaMallocAsync(&s.more, 64, s.stream);
       return first(code, cudaFreeAsync(s.more, s.stream));
     }},
    {"cudaFreeAsync of what is older", [](Scene& s) { return cudaFreeAsync(s.pooled, s.stream); }},
    {"cudaMallocFromPoolAsync in another stream",
     [](Scene& s) { return cudaMallocFromPoolAsync(&s.more, 64, s.pool, s.other); }},
    {"cudaFreeAsync in another stream",
     [](Scene& s) { return cudaFreeAsync(std::exchange(s.pooled, nullptr), s.other); }},
    {"cudaFree of a pool's memory", [](Scene& s) { return cudaFree(std::exchange(s.pooled, nullptr)); }},
    // memory
    {"cudaMalloc", [](Scene& s) { return cudaMalloc(&s.more, 64); }},
    {"cudaMalloc of nothing", [](Scene& s) { return cudaMalloc(&s.more, 0); }},
    {"cudaMallocManaged", [](Scene& s) { return cudaMallocManaged(&s.more, 64); }},
    {"cudaMallocHost", [](Scene& s) { return cudaMallocHost(&s.more, 64); }},
    {"cudaFree", [](Scene& s) { return cudaFree(std::exchange(s.device, nullptr)); }},
    {"cudaFree of nothing", [](Scene&) { return cudaFree(nullptr); }},
    {"cudaFreeHost", [](Scene& s) { return cudaFreeHost(std::exchange(s.pinned, nullptr)); }},
    {"cudaHostRegister", [](Scene&) { return cudaHostRegister(page, sizeof page, 0); }},
    {"cudaHostGetDevicePointer", [](Scene& s) { return cudaHostGetDevicePointer(&s.more, s.pinned, 0); }},
    {"cudaMemGetInfo", [](Scene&) { return cudaMemGetInfo(&size, &total); }},
    {"cudaPointerGetAttributes", [](Scene& s) { return cudaPointerGetAttributes(&pointer_attributes, s.device); }},
    {"cudaGetSymbolAddress", [](Scene& s) { return cudaGetSymbolAddress(&s.more, variable); }},
    // copies
    {"cudaMemcpy", [](Scene& s) { return cudaMemcpy(s.device, s.pageable, 64, cudaMemcpyHostToDevice); }},
    {"cudaMemcpy in the device", [](Scene& s) { return cudaMemcpy(s.device, s.pooled, 64, cudaMemcpyDeviceToDevice); }},
    {"cudaMemcpyToSymbol", [](Scene&) { return cudaMemcpyToSymbol(variable, &integer, sizeof integer); }},
    {"cudaMemset", [](Scene& s) { return cudaMemset(s.device, 0, 64); }},
    {"cudaMemcpyAsync of pageable memory",
     [](Scene& s) { return cudaMemcpyAsync(s.device, s.pageable, 64, cudaMemcpyHostToDevice, s.stream); }},
    {"cudaMemcpyAsync in another stream",
     [](Scene& s) { return cudaMemcpyAsync(s.device, s.pinned, 64, cudaMemcpyHostToDevice, s.other); }},
    // the device and its functions
    {"cudaDeviceGetAttribute",
     [](Scene&) { return cudaDeviceGetAttribute(&integer, cudaDevAttrMultiProcessorCount, 0); }},
    {"cudaGetDeviceProperties", [](Scene&) { return cudaGetDeviceProperties(&properties, 0); }},
    {"cudaSetDevice", [](Scene&) { return cudaSetDevice(0); }},
    {"cudaDeviceSynchronize", [](Scene&) { return cudaDeviceSynchronize(); }},
    {"cudaDeviceGetLimit", [](Scene&) { return cudaDeviceGetLimit(&size, cudaLimitStackSize); }},
    {"cudaDeviceSetLimit", [](Scene&) { return cudaDeviceSetLimit(cudaLimitStackSize, size); }},
    {"cudaFuncGetAttributes", [](Scene&) { return cudaFuncGetAttributes(&function_attributes, kernel); }},
    {"cudaFuncGetAttributes of a new kernel",
     [](Scene&) { return cudaFuncGetAttributes(&function_attributes, never_used); }},
    {"cudaFuncSetAttribute",
     [](Scene&) { return cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, 65536); }},
    {"cudaOccupancyMaxActiveBlocksPerMultiprocessor",
     [](Scene&) { return cudaOccupancyMaxActiveBlocksPerMultiprocessor(&integer, kernel, 64, 0); }},
    // launches
    {"a launch", [](Scene& s) { return launch(ints(s.device), s.stream); }},
    {"a launch in another stream", [](Scene& s) { return launch(ints(s.device), s.other); }},
    {"a launch in the legacy stream", [](Scene& s) { return launch(ints(s.device), cudaStreamLegacy); }},
    {"cudaLaunchHostFunc", [](Scene& s) { return cudaLaunchHostFunc(s.stream, nothing, nullptr); }},
    {"cudaStreamAddCallback", [](Scene& s) { return cudaStreamAddCallback(s.stream, nothing_more, nullptr, 0); }},
    // streams and events
    {"cudaStreamCreate", [](Scene&) { return cudaStreamCreate(&new_stream); }},
    {"cudaStreamQuery", [](Scene& s) { return cudaStreamQuery(s.stream); }},
    {"cudaStreamQuery of another stream", [](Scene& s) { return cudaStreamQuery(s.other); }},
    {"cudaStreamQuery of the legacy stream", [](Scene&) { return cudaStreamQuery(cudaStreamLegacy); }},
    {"cudaStreamSynchronize", [](Scene& s) { return cudaStreamSynchronize(s.stream); }},
    {"cudaStreamSynchronize with another stream", [](Scene& s) { return cudaStreamSynchronize(s.other); }},
    {"cudaStreamDestroy of another stream",
     [](Scene& s) { return cudaStreamDestroy(std::exchange(s.other, nullptr)); }},
    {"cudaEventCreate", [](Scene&) { return cudaEventCreate(&new_event); }},
    {"cudaEventDestroy", [](Scene& s) { return cudaEventDestroy(std::exchange(s.before, nullptr)); }},
    {"cudaEventQuery", [](Scene& s) { return cudaEventQuery(s.before); }},
    {"cudaEventSynchronize", [](Scene& s) { return cudaEventSynchronize(s.before); }},
    {"cudaEventElapsedTime", [](Scene& s) { return cudaEventElapsedTime(&milliseconds, s.before, s.after); }},
    {"cudaEventQuery of a captured event", [](Scene& s) { return cudaEventQuery(s.captured); }},
    {"cudaEventSynchronize with a captured event", [](Scene& s) { return cudaEventSynchronize(s.captured); }},
    {"cudaStreamWaitEvent for what is older", [](Scene& s) { return cudaStreamWaitEvent(s.stream, s.before, 0); }},
    // graphs
    {"cudaGraphCreate", [](Scene&) { return cudaGraphCreate(&graph, 0); }},
    {"cudaGraphInstantiate",
     [](Scene&) {
       cudaGraph_t empty;
       cudaGraphExec_t executable;
       const cudaError_t code = cudaGraphCreate(&empty, 0);
       return first(code, cudaGraphInstantiate(&executable, empty, 0));
     }},
};

void run(const Probe& probe, const Way& way) {
  Scene scene;
  scene.make(way);
  CUDA(cudaStreamBeginCapture(scene.stream, way.capture));
  CUDA(cudaEventRecord(scene.captured, scene.stream));
  cudaError_t code = cudaSuccess;
  const auto call = [&] {
    auto mode = way.thread;
    CUDA(cudaThreadExchangeStreamCaptureMode(&mode));
    code = probe.call(scene);
    cudaGetLastError();  // which forgets it
    CUDA(cudaThreadExchangeStreamCaptureMode(&mode));
  };
  if (way.from_another_thread) {
    std::thread(call).join();
  } else {
    call();
  }
  cudaStreamCaptureStatus status, also;
  CUDA(cudaStreamIsCapturing(scene.stream, &status));
  CUDA(cudaStreamGetCaptureInfo(scene.stream, &also, nullptr));
  EXPECT(status == also);
  cudaGraph_t captured = nullptr;
  const cudaError_t end = cudaStreamEndCapture(scene.stream, &captured);
  cudaGetLastError();
  std::printf("  %d %c %d", code, status == cudaStreamCaptureStatusActive ? 'a' : 'i', end);
  if (captured) CUDA(cudaGraphDestroy(captured));
  CUDA(cudaDeviceSynchronize());
  scene.destroy();
}

int main() {
  int* x;
  CUDA(cudaMalloc(&x, sizeof *x));
  CUDA(launch(x, nullptr));
  CUDA(cudaDeviceGetLimit(&size, cudaLimitStackSize));
  for (const Way& way : kWays) std::printf("%d: %s\n", int(&way - kWays) + 1, way.name);
  for (const Probe& probe : kProbes) {
    std::printf("%s\n   ", probe.name);
    for (const Way& way : kWays) run(probe, way);
    std::printf("\n");
    std::fflush(stdout);
  }
}
