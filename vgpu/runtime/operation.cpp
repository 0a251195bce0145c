#include "runtime/operation.h"

#include "runtime/context.h"
#include "runtime/graph.h"
#include "runtime/stream.h"

namespace vgpu {
namespace {

// Host functions run on the calling thread, outside of the lock: they may wait for other threads that are in a call.
template <class Body>
Error on_host(Body body) {
  auto& thread = this_thread();
  auto& mutex = runtime_mutex();
  const int held = thread.depth;
  thread.in_host_function = true;
  for (int i = 0; i < held; ++i) mutex.unlock();
  body();
  for (int i = 0; i < held; ++i) mutex.lock();
  thread.in_host_function = false;
  return Error::Success;
}

Error run_each(const Graph& graph, Stream& stream) {
  for (GraphNode* node : graph.order()) {
    if (!node->enabled) continue;
    if (const Error error = execute(node->operation, stream); error != Error::Success) return error;
    if (Context::get().sticky != Error::Success) break;  // the rest of the graph is not run
  }
  return Error::Success;
}

struct Executor {
  Stream& stream;

  template <class O>
  Error operator()(const O& operation) const {
    return execute(operation, stream);
  }
  Error operator()(const HostOperation& host) const {
    return on_host([&] { host.function(host.data); });
  }
  Error operator()(const CallbackOperation& host) const {
    return on_host([&] { host.callback(host.stream, Error::Success, host.data); });
  }
  Error operator()(const RecordOperation& record) const {
    if (!is_event(record.event)) return Error::InvalidResourceHandle;
    record.event->recorded = true;
    record.event->time = std::chrono::steady_clock::now();
    record.event->capture = nullptr;
    return Error::Success;
  }
  Error operator()(const WaitOperation& wait) const {
    return is_event(wait.event) ? Error::Success : Error::InvalidResourceHandle;  // what was recorded has been executed
  }
  Error operator()(const GraphOperation& child) const { return run_each(*child.graph, stream); }
  Error operator()(const EmptyOperation&) const { return Error::Success; }
};

}  // namespace

NodeType type_of(const Operation& operation) {
  struct Visitor {
    NodeType operator()(const KernelOperation&) { return NodeType::Kernel; }
    NodeType operator()(const CopyOperation&) { return NodeType::Memcpy; }
    NodeType operator()(const FillOperation&) { return NodeType::Memset; }
    NodeType operator()(const HostOperation&) { return NodeType::Host; }
    NodeType operator()(const CallbackOperation&) { return NodeType::Host; }
    NodeType operator()(const RecordOperation&) { return NodeType::EventRecord; }
    NodeType operator()(const WaitOperation&) { return NodeType::WaitEvent; }
    NodeType operator()(const AllocateOperation&) { return NodeType::MemAlloc; }
    NodeType operator()(const FreeOperation&) { return NodeType::MemFree; }
    NodeType operator()(const GraphOperation&) { return NodeType::Graph; }
    NodeType operator()(const EmptyOperation&) { return NodeType::Empty; }
  };
  return std::visit(Visitor{}, operation);
}

Error execute(const Operation& operation, Stream& stream) { return std::visit(Executor{stream}, operation); }

}  // namespace vgpu
