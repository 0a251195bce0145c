// The _ptsz and _ptds twins, which programs built with --default-stream per-thread call: stream 0 is the calling
// thread's. Calls that wait for what they do (_ptds) differ in nothing else: everything is done when a call returns.
#include "runtime/context.h"
#include "runtime/stream.h"

#define TWIN(name, suffix, arguments, ...)                                           \
  extern "C" Error name(__VA_ARGS__);                                                \
  VGPU_API(name##suffix, __VA_ARGS__) {                                              \
    return call([&] { return name arguments; }, #name, __builtin_return_address(0)); \
  }

namespace vgpu {

TWIN(cudaMemcpy, _ptds, (to, from, bytes, kind), void* to, const void* from, size_t bytes, CopyKind kind)
TWIN(cudaMemcpy2D, _ptds, (to, to_pitch, from, from_pitch, width, height, kind), void* to, size_t to_pitch,
     const void* from, size_t from_pitch, size_t width, size_t height, CopyKind kind)
TWIN(cudaMemcpy3D, _ptds, (copy), const Copy3D* copy)
TWIN(cudaMemcpy3DPeer, _ptds, (copy), const PeerCopy3D* copy)
TWIN(cudaMemcpyToSymbol, _ptds, (symbol, from, bytes, offset, kind), const void* symbol, const void* from, size_t bytes,
     size_t offset, CopyKind kind)
TWIN(cudaMemcpyFromSymbol, _ptds, (to, symbol, bytes, offset, kind), void* to, const void* symbol, size_t bytes,
     size_t offset, CopyKind kind)
TWIN(cudaMemset, _ptds, (to, value, bytes), void* to, int value, size_t bytes)
TWIN(cudaMemset2D, _ptds, (to, pitch, value, width, height), void* to, size_t pitch, int value, size_t width,
     size_t height)
TWIN(cudaMemset3D, _ptds, (to, value, extent), PitchedPointer to, int value, Extent extent)

TWIN(cudaMemcpyAsync, _ptsz, (to, from, bytes, kind, per_thread(stream)), void* to, const void* from, size_t bytes,
     CopyKind kind, Stream* stream)
TWIN(cudaMemcpy2DAsync, _ptsz, (to, to_pitch, from, from_pitch, width, height, kind, per_thread(stream)), void* to,
     size_t to_pitch, const void* from, size_t from_pitch, size_t width, size_t height, CopyKind kind, Stream* stream)
TWIN(cudaMemcpy3DAsync, _ptsz, (copy, per_thread(stream)), const Copy3D* copy, Stream* stream)
TWIN(cudaMemcpy3DPeerAsync, _ptsz, (copy, per_thread(stream)), const PeerCopy3D* copy, Stream* stream)
TWIN(cudaMemcpyBatchAsync, _ptsz, (to, from, bytes, count, attributes, indices, attribute_count, per_thread(stream)),
     void* const* to, const void* const* from, const size_t* bytes, size_t count, void* attributes, size_t* indices,
     size_t attribute_count, Stream* stream)
TWIN(cudaMemcpyToSymbolAsync, _ptsz, (symbol, from, bytes, offset, kind, per_thread(stream)), const void* symbol,
     const void* from, size_t bytes, size_t offset, CopyKind kind, Stream* stream)
TWIN(cudaMemcpyFromSymbolAsync, _ptsz, (to, symbol, bytes, offset, kind, per_thread(stream)), void* to,
     const void* symbol, size_t bytes, size_t offset, CopyKind kind, Stream* stream)
TWIN(cudaMemsetAsync, _ptsz, (to, value, bytes, per_thread(stream)), void* to, int value, size_t bytes, Stream* stream)
TWIN(cudaMemset2DAsync, _ptsz, (to, pitch, value, width, height, per_thread(stream)), void* to, size_t pitch, int value,
     size_t width, size_t height, Stream* stream)
TWIN(cudaMemset3DAsync, _ptsz, (to, value, extent, per_thread(stream)), PitchedPointer to, int value, Extent extent,
     Stream* stream)

TWIN(cudaMallocAsync, _ptsz, (result, bytes, per_thread(stream)), void** result, size_t bytes, Stream* stream)
TWIN(cudaMallocFromPoolAsync, _ptsz, (result, bytes, pool, per_thread(stream)), void** result, size_t bytes,
     MemoryPool* pool, Stream* stream)
TWIN(cudaFreeAsync, _ptsz, (pointer, per_thread(stream)), void* pointer, Stream* stream)
TWIN(cudaMemPrefetchAsync, _ptsz, (pointer, bytes, location, flags, per_thread(stream)), const void* pointer,
     size_t bytes, MemoryLocation location, unsigned flags, Stream* stream)
TWIN(cudaStreamAttachMemAsync, _ptsz, (per_thread(stream), pointer, bytes, flags), Stream* stream, void* pointer,
     size_t bytes, unsigned flags)

TWIN(cudaEventRecord, _ptsz, (event, per_thread(stream)), Event* event, Stream* stream)
TWIN(cudaEventRecordWithFlags, _ptsz, (event, per_thread(stream), flags), Event* event, Stream* stream, unsigned flags)
TWIN(cudaStreamWaitEvent, _ptsz, (per_thread(stream), event, flags), Stream* stream, Event* event, unsigned flags)
TWIN(cudaStreamSynchronize, _ptsz, (per_thread(stream)), Stream* stream)
TWIN(cudaStreamQuery, _ptsz, (per_thread(stream)), Stream* stream)
TWIN(cudaStreamAddCallback, _ptsz, (per_thread(stream), callback, data, flags), Stream* stream, StreamCallback callback,
     void* data, unsigned flags)
TWIN(cudaLaunchHostFunc, _ptsz, (per_thread(stream), function, data), Stream* stream, HostFunction function, void* data)
TWIN(cudaStreamGetPriority, _ptsz, (per_thread(stream), priority), Stream* stream, int* priority)
TWIN(cudaStreamGetFlags, _ptsz, (per_thread(stream), flags), Stream* stream, unsigned* flags)
TWIN(cudaStreamGetId, _ptsz, (per_thread(stream), id), Stream* stream, unsigned long long* id)
TWIN(cudaStreamGetDevice, _ptsz, (per_thread(stream), device), Stream* stream, int* device)
TWIN(cudaStreamGetAttribute, _ptsz, (per_thread(stream), id, value), Stream* stream, LaunchAttribute::Id id,
     LaunchAttribute::Value* value)
TWIN(cudaStreamSetAttribute, _ptsz, (per_thread(stream), id, value), Stream* stream, LaunchAttribute::Id id,
     const LaunchAttribute::Value* value)
TWIN(cudaStreamCopyAttributes, _ptsz, (per_thread(to), per_thread(from)), Stream* to, Stream* from)

TWIN(cudaStreamBeginCapture, _ptsz, (per_thread(stream), mode), Stream* stream, CaptureMode mode)
TWIN(cudaStreamBeginCaptureToGraph, _ptsz, (per_thread(stream), graph, dependencies, edges, count, mode),
     Stream* stream, Graph* graph, GraphNode* const* dependencies, const EdgeData* edges, size_t count,
     CaptureMode mode)
TWIN(cudaStreamEndCapture, _ptsz, (per_thread(stream), graph), Stream* stream, Graph** graph)
TWIN(cudaStreamIsCapturing, _ptsz, (per_thread(stream), status), Stream* stream, CaptureStatus* status)
TWIN(cudaStreamGetCaptureInfo, _ptsz, (per_thread(stream), status, id, graph, dependencies, edges, count),
     Stream* stream, CaptureStatus* status, unsigned long long* id, Graph** graph, GraphNode* const** dependencies,
     const EdgeData** edges, size_t* count)
TWIN(cudaStreamUpdateCaptureDependencies, _ptsz, (per_thread(stream), dependencies, edges, count, flags),
     Stream* stream, GraphNode** dependencies, const EdgeData* edges, size_t count, unsigned flags)
TWIN(cudaGetDriverEntryPoint, _ptsz, (symbol, result, flags, status), const char* symbol, void** result,
     unsigned long long flags, int* status)
TWIN(cudaGetDriverEntryPointByVersion, _ptsz, (symbol, result, version, flags, status), const char* symbol,
     void** result, unsigned version, unsigned long long flags, int* status)
TWIN(cudaGraphInstantiateWithParams, _ptsz, (result, graph, parameters), GraphExec** result, Graph* graph,
     InstantiateParameters* parameters)
TWIN(cudaGraphUpload, _ptsz, (executable, per_thread(stream)), GraphExec* executable, Stream* stream)
TWIN(cudaGraphLaunch, _ptsz, (executable, per_thread(stream)), GraphExec* executable, Stream* stream)

TWIN(cudaLaunchKernel, _ptsz, (function, grid, block, arguments, shared, per_thread(stream)), const void* function,
     Dim3 grid, Dim3 block, void** arguments, size_t shared, Stream* stream)
TWIN(__cudaLaunchKernel, _ptsz, (function, grid, block, arguments, shared, per_thread(stream)), Function* function,
     Dim3 grid, Dim3 block, void** arguments, size_t shared, Stream* stream)
TWIN(cudaLaunchCooperativeKernel, _ptsz, (function, grid, block, arguments, shared, per_thread(stream)),
     const void* function, Dim3 grid, Dim3 block, void** arguments, size_t shared, Stream* stream)

extern "C" Error cudaLaunchKernelExC(const LaunchConfiguration*, const void*, void**);
VGPU_API(cudaLaunchKernelExC_ptsz, const LaunchConfiguration* configuration, const void* function, void** arguments) {
  return call(
      [&] {
        if (!configuration) return Error::InvalidValue;
        auto copy = *configuration;
        copy.stream = per_thread(copy.stream);
        return cudaLaunchKernelExC(&copy, function, arguments);
      },
      "cudaLaunchKernelExC", __builtin_return_address(0));
}

}  // namespace vgpu
