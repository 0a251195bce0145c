#include "runtime/graph_node.h"

#include <algorithm>

#include "runtime/context.h"
#include "runtime/pool.h"

namespace vgpu {

Error make_node(const CopyNodeParameters& parameters, Operation& result) {
  result = CopyOperation{parameters.copy};
  return check(std::get<CopyOperation>(result));
}

Error make_node(const Copy3D& copy, Operation& result) {
  result = CopyOperation{copy};
  return check(std::get<CopyOperation>(result));
}

Error make_node(const Fill2D& fill, Operation& result) {
  result = FillOperation{fill};
  return check(std::get<FillOperation>(result));
}

Error make_node(const HostNodeParameters& host, Operation& result) {
  result = HostOperation{host.function, host.data};
  return host.function ? Error::Success : Error::InvalidValue;
}

Error make_node(AllocationNodeParameters& parameters, Operation& result) {
  const auto& location = parameters.pool.location;
  if (!parameters.bytes || location.type != MemoryLocation::Type::Device || !is_device(location.id)) {
    return Error::InvalidValue;
  }
  for (size_t i = 0; i < parameters.access_count; ++i) {
    if (parameters.access[i].location.id == location.id) continue;
    Context::get().say("a graph's memory that another device may access is not emulated");
    return Error::NotSupported;
  }
  AllocateOperation operation{&default_pool(location.id), parameters.bytes, nullptr};
  const Error error = place(operation);
  parameters.pointer = operation.pointer;
  result = operation;
  return error;
}

Error make_node(Graph* handle, Operation& result) {
  const auto child = find_graph(handle);
  if (!child) return Error::InvalidValue;
  result = GraphOperation{child->clone()};
  return Error::Success;
}

Error make_node(NodeParameters& parameters, Operation& result) {
  switch (parameters.type) {
    case NodeType::Kernel: {
      KernelOperation kernel;
      const Error error = make_kernel(parameters.kernel, this_thread().site, kernel);
      result = std::move(kernel);
      return error;
    }
    case NodeType::Memcpy: return make_node(parameters.copy, result);
    case NodeType::Memset: return make_node(parameters.fill, result);
    case NodeType::Host: return make_node(parameters.host, result);
    case NodeType::Graph: return make_node(parameters.child.graph, result);
    case NodeType::Empty: result = EmptyOperation{}; return Error::Success;
    case NodeType::WaitEvent:
      result = WaitOperation{parameters.event};
      return is_event(parameters.event) ? Error::Success : Error::InvalidValue;
    case NodeType::EventRecord:
      result = RecordOperation{parameters.event};
      return is_event(parameters.event) ? Error::Success : Error::InvalidValue;
    case NodeType::MemAlloc: return make_node(parameters.allocation, result);
    case NodeType::MemFree:
      result = FreeOperation{parameters.freed};
      return parameters.freed ? Error::Success : Error::InvalidValue;
    default:
      Context::get().say("graph nodes of type " + std::to_string(int(parameters.type)) +
                         " (semaphores, conditions) are not emulated");
      return Error::NotSupported;
  }
}

Error add_node(GraphNode** result, Graph* handle, GraphNode* const* dependencies, size_t count, Operation operation) {
  const auto graph = find_graph(handle);
  if (!graph || !result || (count && !dependencies)) return Error::InvalidValue;
  std::vector<GraphNode*> before(dependencies, dependencies + count);
  for (size_t i = 0; i < count; ++i) {
    if (!graph->has(before[i]) || std::count(before.begin(), before.begin() + i, before[i])) return Error::InvalidValue;
  }
  *result = graph->add(std::move(operation), std::move(before));
  return Error::Success;
}

Error replace_node(GraphNode* node, Operation operation) {
  if (!node || type_of(node->operation) != type_of(operation)) return Error::InvalidValue;
  node->operation = std::move(operation);
  return Error::Success;
}

Error replace_kernel(GraphNode* node, const KernelNodeParameters* parameters) {
  auto* old = node ? std::get_if<KernelOperation>(&node->operation) : nullptr;
  if (!old || !parameters) return Error::InvalidValue;
  KernelOperation kernel;
  kernel.device = old->device;
  kernel.cluster = old->cluster;
  kernel.cooperative = old->cooperative;
  kernel.priority = old->priority;
  const Error error = make_kernel(*parameters, this_thread().site, kernel);
  if (error == Error::Success) *old = std::move(kernel);
  return error;
}

Edges edges_of(const Graph& graph) {
  Edges edges;
  for (const auto& node : graph.nodes()) {
    for (GraphNode* before : node->dependencies) {
      edges.from.push_back(before);
      edges.to.push_back(node.get());
    }
  }
  return edges;
}

}  // namespace vgpu
