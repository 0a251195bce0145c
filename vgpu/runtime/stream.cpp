#include "runtime/stream.h"

#include <algorithm>
#include <atomic>
#include <set>

#include "runtime/context.h"
#include "runtime/graph.h"
#include "runtime/pool.h"

namespace vgpu {
namespace {

std::set<Stream*> streams;  // made by the program and alive
std::set<Event*> events;
std::vector<std::weak_ptr<Capture>> captures;  // under way, or forgotten

unsigned long long next_number() {
  static std::atomic<unsigned long long> number{0};
  return ++number;
}

// The default streams of a device, and of the calling thread on it.
Stream& legacy_stream(int device) {
  static Stream* streams[kMostDevices];
  if (!streams[device]) streams[device] = new Stream(device);
  return *streams[device];
}

Stream& thread_stream(int device) {
  thread_local Stream* streams[kMostDevices];
  if (!streams[device]) streams[device] = new Stream(device);
  return *streams[device];
}

bool is_legacy(const Stream* stream) { return stream == &legacy_stream(stream->device); }

void spoil(Capture& capture) {
  if (capture.status == CaptureStatus::Active) capture.status = CaptureStatus::Invalidated;
}

// The legacy stream waits for all blocking streams of its device, which one that captures cannot do.
Error refuse_legacy(int device) {
  for (const auto& weak : captures) {
    const auto capture = weak.lock();
    if (!capture || capture->status != CaptureStatus::Active || capture->mode == CaptureMode::Relaxed) continue;
    if (!capture->origin->blocking() || capture->origin->device != device) continue;
    spoil(*capture);
    return Error::StreamCaptureImplicit;
  }
  return Error::Success;
}

// A question about what a stream has done, or a wait for it. The stream may not be capturing; nor may another be.
Error ask(Stream* handle) {
  Stream* stream = find_stream(handle);
  if (!stream) return Error::InvalidResourceHandle;
  if (stream->capture) {
    spoil(*stream->capture);
    return Error::StreamCaptureUnsupported;
  }
  if (is_legacy(stream)) {
    if (const Error error = refuse_legacy(stream->device); error != Error::Success) return error;
  }
  return refuse_in_capture();
}

Error begin_capture(Stream* handle, CaptureMode mode, std::shared_ptr<Graph> graph, std::vector<GraphNode*> frontier) {
  Stream* stream = find_stream(handle);
  if (!stream) return Error::InvalidResourceHandle;
  if (mode < CaptureMode::Global || mode > CaptureMode::Relaxed) return Error::InvalidValue;
  if (is_legacy(stream)) return Error::StreamCaptureUnsupported;
  if (stream->capture) return Error::IllegalState;
  auto capture = std::make_shared<Capture>();
  capture->graph = std::move(graph);
  capture->mode = mode;
  capture->id = next_number();
  capture->origin = stream;
  capture->thread = std::this_thread::get_id();
  std::erase_if(captures, [](const auto& weak) { return weak.expired(); });
  captures.push_back(capture);
  stream->capture = std::move(capture);
  stream->frontier = std::move(frontier);
  return Error::Success;
}

Error end_capture(Stream* handle, Graph** result) {
  Stream* stream = find_stream(handle);
  if (!stream) return Error::InvalidResourceHandle;
  if (!stream->capture) return Error::IllegalState;
  auto capture = stream->capture;
  if (capture->origin != stream) {
    spoil(*capture);
    return Error::StreamCaptureUnmatched;
  }
  if (capture->mode != CaptureMode::Relaxed && capture->thread != std::this_thread::get_id()) {
    return Error::StreamCaptureWrongThread;
  }
  Error error = capture->status == CaptureStatus::Invalidated ? Error::StreamCaptureInvalidated : Error::Success;
  const auto join = [&](const std::vector<GraphNode*>& nodes) {
    for (const GraphNode* node : nodes) {
      if (error == Error::Success && !reaches(*node, stream->frontier)) error = Error::StreamCaptureUnjoined;
    }
  };
  const auto leave = [&](Stream* other) {
    if (other->capture != capture) return;
    if (other != stream) join(other->frontier);
    other->capture = nullptr;
  };
  join(capture->left);
  for (Stream* other : streams) leave(other);
  for (int d = 0; d < Context::get().configuration.devices; ++d) leave(&thread_stream(d));
  stream->frontier.clear();
  capture->status = CaptureStatus::None;
  *result = error == Error::Success ? adopt(capture->graph) : nullptr;
  return error;
}

Error record(Event* event, Stream* handle, unsigned flags) {
  Stream* stream = find_stream(handle);
  if (!stream || !is_event(event) || event->device != stream->device) return Error::InvalidResourceHandle;
  if (flags > 1) return Error::InvalidValue;
  if (stream->capture && flags == 0) {  // inside a capture an event is an edge, no node
    if (stream->capture->status != CaptureStatus::Active) return Error::StreamCaptureInvalidated;
    event->capture = stream->capture;
    event->frontier = stream->frontier;
    return Error::Success;
  }
  return submit(handle, RecordOperation{event});
}

Error wait(Stream* handle, Event* event, unsigned flags) {
  Stream* stream = find_stream(handle);
  if (!stream || !is_event(event)) return Error::InvalidResourceHandle;
  if (flags > 1) return Error::InvalidValue;
  if (stream->capture && flags == 1) return submit(handle, WaitOperation{event});
  if (!event->capture || event->capture->status == CaptureStatus::None) {
    if (!stream->capture) return Error::Success;  // what was recorded has been executed
    if (!event->recorded) return Error::Success;
    spoil(*stream->capture);
    return Error::StreamCaptureIsolation;
  }
  if (is_legacy(stream)) {
    spoil(*event->capture);
    return Error::StreamCaptureImplicit;
  }
  if (stream->capture && stream->capture != event->capture) {
    spoil(*stream->capture);
    spoil(*event->capture);
    return Error::StreamCaptureMerge;
  }
  if (!stream->capture) stream->frontier.clear();
  stream->capture = event->capture;
  for (GraphNode* node : event->frontier) {
    if (std::find(stream->frontier.begin(), stream->frontier.end(), node) == stream->frontier.end()) {
      stream->frontier.push_back(node);
    }
  }
  return Error::Success;
}

Error make_stream(Stream** result, unsigned flags, int priority) {
  if (!result || flags > 1) return Error::InvalidValue;
  *result = new Stream(current_device(), flags, std::clamp(priority, kHighestPriority, kLowestPriority));
  streams.insert(*result);
  return Error::Success;
}

Error make_event(Event** result, unsigned flags) {
  constexpr unsigned kDisableTiming = 2, kInterprocess = 4, kKnown = 7;
  if (!result || flags & ~kKnown || (flags & kInterprocess && !(flags & kDisableTiming))) return Error::InvalidValue;
  *result = new Event(current_device(), flags);
  events.insert(*result);
  return Error::Success;
}

// An event whose time can be asked for: one that was not recorded in a capture.
Error executed(Event* event) {
  if (!is_event(event)) return Error::InvalidResourceHandle;
  if (event->capture && event->capture->status != CaptureStatus::None) {
    spoil(*event->capture);
    return Error::CapturedEvent;
  }
  return Error::Success;
}

// A question about an event, or a wait for it: done at once, since what was recorded has been executed.
Error ask(Event* event) {
  const Error error = executed(event);
  return error == Error::Success ? refuse_in_capture() : error;
}

}  // namespace

Stream::Stream(int device, unsigned flags, int priority)
    : device(device), flags(flags), id(next_number()), priority(priority) {
  attributes[int(LaunchAttribute::Id::SynchronizationPolicy)].number = 1;  // automatic
  attributes[int(LaunchAttribute::Id::Priority)].number = priority;
}

Stream* find_stream(Stream* handle) {
  const auto value = reinterpret_cast<uintptr_t>(handle);
  if (value <= kLegacyStream) return &legacy_stream(current_device());
  if (value == kPerThreadStream) return &thread_stream(current_device());
  return streams.contains(handle) ? handle : nullptr;
}

bool is_event(Event* event) { return events.contains(event); }

Error submit(Stream* handle, Operation operation) {
  Stream* stream = find_stream(handle);
  if (!stream) return Error::InvalidResourceHandle;
  if (!stream->capture) {
    if (is_legacy(stream)) {
      if (const Error error = refuse_legacy(stream->device); error != Error::Success) return error;
    }
    return execute(operation, *stream);
  }
  if (stream->capture->status != CaptureStatus::Active) return Error::StreamCaptureInvalidated;
  GraphNode* node = stream->capture->graph->add(std::move(operation), stream->frontier);
  stream->frontier = {node};
  return Error::Success;
}

void spoil_capture(Stream* handle) {
  const Stream* stream = find_stream(handle);
  if (stream && stream->capture) spoil(*stream->capture);
}

Error refuse_in_any_capture() {
  Error error = Error::Success;
  for (const auto& weak : captures) {
    const auto capture = weak.lock();
    if (!capture || capture->status != CaptureStatus::Active) continue;
    spoil(*capture);
    error = Error::StreamCaptureUnsupported;
  }
  return error;
}

Error refuse_in_capture() {
  const auto& thread = this_thread();
  if (thread.capture_mode == CaptureMode::Relaxed) return Error::Success;
  for (const auto& weak : captures) {
    const auto capture = weak.lock();
    if (!capture || capture->status != CaptureStatus::Active || capture->mode == CaptureMode::Relaxed) continue;
    const bool own = capture->thread == std::this_thread::get_id();
    if (!own && (capture->mode == CaptureMode::ThreadLocal || thread.capture_mode == CaptureMode::ThreadLocal))
      continue;
    spoil(*capture);
    return Error::StreamCaptureUnsupported;
  }
  return Error::Success;
}

// --- streams -----------------------------------------------------------------------------------------------

VGPU_API(cudaStreamCreate, Stream** result) {
  return call([&] { return make_stream(result, 0, 0); });
}
VGPU_API(cudaStreamCreateWithFlags, Stream** result, unsigned flags) {
  return call([&] { return make_stream(result, flags, 0); });
}
VGPU_API(cudaStreamCreateWithPriority, Stream** result, unsigned flags, int priority) {
  return call([&] { return make_stream(result, flags, priority); });
}
VGPU_API(cudaStreamDestroy, Stream* stream) {
  return call([&] {
    if (!streams.contains(stream)) return Error::InvalidResourceHandle;
    if (const auto capture = stream->capture; capture && capture->origin == stream) {
      spoil(*capture);
    } else if (capture) {
      capture->left.insert(capture->left.end(), stream->frontier.begin(), stream->frontier.end());
    }
    streams.erase(stream);
    delete stream;
    return Error::Success;
  });
}
VGPU_API(cudaStreamSynchronize, Stream* handle) {
  return call([&] {
    if (const Error error = ask(handle); error != Error::Success) return error;
    trim_pools(find_stream(handle)->device);
    return Error::Success;
  });
}
VGPU_API(cudaStreamQuery, Stream* handle) {
  return call([&] { return ask(handle); });
}
VGPU_API(cudaStreamGetPriority, Stream* handle, int* priority) {
  return call([&] {
    Stream* stream = find_stream(handle);
    if (!stream) return Error::InvalidResourceHandle;
    *priority = stream->priority;
    return Error::Success;
  });
}
VGPU_API(cudaStreamGetFlags, Stream* handle, unsigned* flags) {
  return call([&] {
    Stream* stream = find_stream(handle);
    if (!stream) return Error::InvalidResourceHandle;
    *flags = stream->flags;
    return Error::Success;
  });
}
VGPU_API(cudaStreamGetId, Stream* handle, unsigned long long* id) {
  return call([&] {
    Stream* stream = find_stream(handle);
    if (!stream) return Error::InvalidResourceHandle;
    *id = stream->id;
    return Error::Success;
  });
}
VGPU_API(cudaStreamGetDevice, Stream* handle, int* device) {
  return call([&] {
    const Stream* stream = find_stream(handle);
    if (!stream) return Error::InvalidResourceHandle;
    if (!device) return Error::InvalidValue;
    *device = stream->device;
    return Error::Success;
  });
}
VGPU_API(cudaStreamGetAttribute, Stream* handle, LaunchAttribute::Id id, LaunchAttribute::Value* value) {
  return call([&] {
    Stream* stream = find_stream(handle);
    if (!stream) return Error::InvalidResourceHandle;
    if (unsigned(id) >= std::size(stream->attributes) || !value) return Error::InvalidValue;
    *value = stream->attributes[int(id)];
    return Error::Success;
  });
}
VGPU_API(cudaStreamSetAttribute, Stream* handle, LaunchAttribute::Id id, const LaunchAttribute::Value* value) {
  return call([&] {
    Stream* stream = find_stream(handle);
    if (!stream) return Error::InvalidResourceHandle;
    if (unsigned(id) >= std::size(stream->attributes) || !value) return Error::InvalidValue;
    stream->attributes[int(id)] = *value;
    if (id == LaunchAttribute::Id::Priority) stream->priority = value->number;
    return Error::Success;
  });
}
VGPU_API(cudaStreamCopyAttributes, Stream* to_handle, Stream* from_handle) {
  return call([&] {
    Stream *to = find_stream(to_handle), *from = find_stream(from_handle);
    if (!to || !from) return Error::InvalidResourceHandle;
    std::copy(std::begin(from->attributes), std::end(from->attributes), to->attributes);
    to->priority = from->priority;
    return Error::Success;
  });
}
VGPU_API(cudaStreamWaitEvent, Stream* stream, Event* event, unsigned flags) {
  return call([&] { return wait(stream, event, flags); });
}
VGPU_API(cudaStreamAddCallback, Stream* handle, StreamCallback callback, void* data, unsigned flags) {
  return call([&] {
    Stream* stream = find_stream(handle);
    if (!stream) return Error::InvalidResourceHandle;
    if (!callback || flags) return Error::InvalidValue;
    if (stream->capture) {
      spoil(*stream->capture);
      return Error::StreamCaptureUnsupported;
    }
    return submit(handle, CallbackOperation{callback, data, handle});
  });
}
VGPU_API(cudaLaunchHostFunc, Stream* stream, HostFunction function, void* data) {
  return call([&] {
    if (!function) return Error::InvalidValue;
    return submit(stream, HostOperation{function, data});
  });
}
VGPU_API(cudaStreamAttachMemAsync, Stream* stream, void* pointer, size_t, unsigned) {
  return call([&] {
    if (!find_stream(stream)) return Error::InvalidResourceHandle;
    const Allocation* allocation = Context::get().memory.find(reinterpret_cast<uint64_t>(pointer));
    const bool managed = allocation && !allocation->freed && allocation->kind == MemoryKind::managed;
    return managed ? Error::Success : Error::InvalidValue;
  });
}

// --- capture -----------------------------------------------------------------------------------------------

VGPU_API(cudaStreamBeginCapture, Stream* stream, CaptureMode mode) {
  return call([&] { return begin_capture(stream, mode, std::make_shared<Graph>(), {}); });
}
VGPU_API(cudaStreamBeginCaptureToGraph, Stream* stream, Graph* graph, GraphNode* const* dependencies, const EdgeData*,
         size_t count, CaptureMode mode) {
  return call([&] {
    auto owner = find_graph(graph);
    if (!owner || (count && !dependencies)) return Error::InvalidValue;
    std::vector<GraphNode*> frontier(dependencies, dependencies + count);
    for (GraphNode* node : frontier) {
      if (!owner->has(node)) return Error::InvalidValue;
    }
    return begin_capture(stream, mode, std::move(owner), std::move(frontier));
  });
}
VGPU_API(cudaStreamEndCapture, Stream* stream, Graph** graph) {
  return call([&] { return graph ? end_capture(stream, graph) : Error::InvalidValue; });
}
VGPU_API(cudaStreamIsCapturing, Stream* handle, CaptureStatus* status) {
  return call([&] {
    Stream* stream = find_stream(handle);
    if (!stream) return Error::InvalidResourceHandle;
    if (is_legacy(stream)) {
      if (const Error error = refuse_legacy(stream->device); error != Error::Success) return error;
    }
    *status = stream->capture ? stream->capture->status : CaptureStatus::None;
    return Error::Success;
  });
}
VGPU_API(cudaStreamGetCaptureInfo, Stream* handle, CaptureStatus* status, unsigned long long* id, Graph** graph,
         GraphNode* const** dependencies, const EdgeData** edges, size_t* count) {
  return call([&] {
    Stream* stream = find_stream(handle);
    if (!stream) return Error::InvalidResourceHandle;
    *status = stream->capture ? stream->capture->status : CaptureStatus::None;
    if (edges) *edges = nullptr;
    if (*status != CaptureStatus::Active) return Error::Success;
    if (id) *id = stream->capture->id;
    if (graph) *graph = stream->capture->graph.get();
    if (dependencies) *dependencies = stream->frontier.data();
    if (count) *count = stream->frontier.size();
    return Error::Success;
  });
}
VGPU_API(cudaStreamUpdateCaptureDependencies, Stream* handle, GraphNode** dependencies, const EdgeData*, size_t count,
         unsigned flags) {
  return call([&] {
    Stream* stream = find_stream(handle);
    if (!stream) return Error::InvalidResourceHandle;
    if (!stream->capture) return Error::IllegalState;
    if (flags > 1 || (count && !dependencies)) return Error::InvalidValue;
    for (size_t i = 0; i < count; ++i) {
      if (!stream->capture->graph->has(dependencies[i])) return Error::InvalidValue;
    }
    if (flags == 1) stream->frontier.clear();  // set; else add
    stream->frontier.insert(stream->frontier.end(), dependencies, dependencies + count);
    return Error::Success;
  });
}
VGPU_API(cudaThreadExchangeStreamCaptureMode, CaptureMode* mode) {
  return call([&] {
    if (!mode || *mode < CaptureMode::Global || *mode > CaptureMode::Relaxed) return Error::InvalidValue;
    std::swap(*mode, this_thread().capture_mode);
    return Error::Success;
  });
}

// --- events ------------------------------------------------------------------------------------------------

VGPU_API(cudaEventCreate, Event** result) {
  return call([&] { return make_event(result, 0); });
}
VGPU_API(cudaEventCreateWithFlags, Event** result, unsigned flags) {
  return call([&] { return make_event(result, flags); });
}
VGPU_API(cudaEventDestroy, Event* event) {
  return call([&] {
    if (!events.erase(event)) return Error::InvalidResourceHandle;
    delete event;
    return Error::Success;
  });
}
VGPU_API(cudaEventRecord, Event* event, Stream* stream) {
  return call([&] { return record(event, stream, 0); });
}
VGPU_API(cudaEventRecordWithFlags, Event* event, Stream* stream, unsigned flags) {
  return call([&] { return record(event, stream, flags); });
}
VGPU_API(cudaEventQuery, Event* event) {
  return call([&] { return ask(event); });
}
VGPU_API(cudaEventSynchronize, Event* event) {
  return call([&] { return ask(event); });
}
// The time that the emulation took: plausible, and of no other meaning.
VGPU_API(cudaEventElapsedTime, float* milliseconds, Event* start, Event* end) {
  return call([&] {
    if (!milliseconds) return Error::InvalidValue;
    for (Event* event : {start, end}) {
      if (const Error error = executed(event); error != Error::Success) return error;
      constexpr unsigned kDisableTiming = 2;
      if (!event->recorded || event->flags & kDisableTiming) return Error::InvalidResourceHandle;
    }
    if (start->device != end->device) return Error::InvalidResourceHandle;
    *milliseconds = std::chrono::duration<float, std::milli>(end->time - start->time).count();
    return Error::Success;
  });
}

}  // namespace vgpu
