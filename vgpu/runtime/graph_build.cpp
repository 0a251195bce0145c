// Building graphs by hand: nodes, and the edges between them.
#include <algorithm>

#include "runtime/context.h"
#include "runtime/graph_node.h"

namespace vgpu {
namespace {

Error change_edges(Graph* handle, GraphNode* const* from, GraphNode* const* to, size_t count, bool adding) {
  const auto graph = find_graph(handle);
  if (!graph || (count && (!from || !to))) return Error::InvalidValue;
  for (size_t i = 0; i < count; ++i) {
    if (!graph->has(from[i]) || !graph->has(to[i]) || from[i] == to[i]) return Error::InvalidValue;
    auto& before = to[i]->dependencies;
    const auto there = std::find(before.begin(), before.end(), from[i]);
    if ((there != before.end()) == adding) return Error::InvalidValue;
    if (adding) {
      before.push_back(from[i]);
    } else {
      before.erase(there);
    }
  }
  return Error::Success;
}

}  // namespace

VGPU_API(cudaGraphCreate, Graph** result, unsigned flags) {
  return call([&] {
    if (!result || flags) return Error::InvalidValue;
    *result = adopt(std::make_shared<Graph>());
    return Error::Success;
  });
}
VGPU_API(cudaGraphDestroy, Graph* graph) {
  return call([&] { return disown(graph) ? Error::Success : Error::InvalidValue; });
}
VGPU_API(cudaGraphClone, Graph** result, Graph* handle) {
  return call([&] {
    const auto graph = find_graph(handle);
    if (!result || !graph) return Error::InvalidValue;
    *result = adopt(graph->clone());
    return Error::Success;
  });
}
VGPU_API(cudaGraphAddNode, GraphNode** result, Graph* graph, GraphNode* const* dependencies, const EdgeData*,
         size_t count, NodeParameters* parameters) {
  return call(
      [&] { return parameters ? add_made(result, graph, dependencies, count, *parameters) : Error::InvalidValue; });
}
VGPU_API(cudaGraphAddKernelNode, GraphNode** result, Graph* graph, GraphNode* const* dependencies, size_t count,
         const KernelNodeParameters* parameters) {
  return call([&] {
    if (!parameters) return Error::InvalidValue;
    KernelOperation kernel;
    const Error error = make_kernel(*parameters, this_thread().site, kernel);
    if (error != Error::Success) return error;
    return add_node(result, graph, dependencies, count, std::move(kernel));
  });
}
VGPU_API(cudaGraphAddMemcpyNode, GraphNode** result, Graph* graph, GraphNode* const* dependencies, size_t count,
         const Copy3D* copy) {
  return call([&] { return copy ? add_made(result, graph, dependencies, count, *copy) : Error::InvalidValue; });
}
VGPU_API(cudaGraphAddMemcpyNode1D, GraphNode** result, Graph* graph, GraphNode* const* dependencies, size_t count,
         void* to, const void* from, size_t bytes, CopyKind kind) {
  return call([&] { return add_made(result, graph, dependencies, count, linear_copy(to, from, bytes, kind)); });
}
VGPU_API(cudaGraphAddMemcpyNodeToSymbol, GraphNode** result, Graph* graph, GraphNode* const* dependencies, size_t count,
         const void* symbol, const void* from, size_t bytes, size_t offset, CopyKind kind) {
  return call([&] {
    Copy3D copy{};
    const Error error = copy_to_symbol(symbol, from, bytes, offset, kind, copy);
    return error == Error::Success ? add_made(result, graph, dependencies, count, copy) : error;
  });
}
VGPU_API(cudaGraphAddMemcpyNodeFromSymbol, GraphNode** result, Graph* graph, GraphNode* const* dependencies,
         size_t count, void* to, const void* symbol, size_t bytes, size_t offset, CopyKind kind) {
  return call([&] {
    Copy3D copy{};
    const Error error = copy_from_symbol(to, symbol, bytes, offset, kind, copy);
    return error == Error::Success ? add_made(result, graph, dependencies, count, copy) : error;
  });
}
VGPU_API(cudaGraphAddMemsetNode, GraphNode** result, Graph* graph, GraphNode* const* dependencies, size_t count,
         const Fill2D* fill) {
  return call([&] { return fill ? add_made(result, graph, dependencies, count, *fill) : Error::InvalidValue; });
}
VGPU_API(cudaGraphAddHostNode, GraphNode** result, Graph* graph, GraphNode* const* dependencies, size_t count,
         const HostNodeParameters* host) {
  return call([&] { return host ? add_made(result, graph, dependencies, count, *host) : Error::InvalidValue; });
}
VGPU_API(cudaGraphAddChildGraphNode, GraphNode** result, Graph* graph, GraphNode* const* dependencies, size_t count,
         Graph* child) {
  return call([&] { return add_made(result, graph, dependencies, count, child); });
}
VGPU_API(cudaGraphAddEmptyNode, GraphNode** result, Graph* graph, GraphNode* const* dependencies, size_t count) {
  return call([&] { return add_node(result, graph, dependencies, count, EmptyOperation{}); });
}
VGPU_API(cudaGraphAddEventRecordNode, GraphNode** result, Graph* graph, GraphNode* const* dependencies, size_t count,
         Event* event) {
  return call([&] {
    return is_event(event) ? add_node(result, graph, dependencies, count, RecordOperation{event}) : Error::InvalidValue;
  });
}
VGPU_API(cudaGraphAddEventWaitNode, GraphNode** result, Graph* graph, GraphNode* const* dependencies, size_t count,
         Event* event) {
  return call([&] {
    return is_event(event) ? add_node(result, graph, dependencies, count, WaitOperation{event}) : Error::InvalidValue;
  });
}
VGPU_API(cudaGraphAddMemAllocNode, GraphNode** result, Graph* graph, GraphNode* const* dependencies, size_t count,
         AllocationNodeParameters* parameters) {
  return call(
      [&] { return parameters ? add_made(result, graph, dependencies, count, *parameters) : Error::InvalidValue; });
}
VGPU_API(cudaGraphAddMemFreeNode, GraphNode** result, Graph* graph, GraphNode* const* dependencies, size_t count,
         void* pointer) {
  return call([&] {
    return pointer ? add_node(result, graph, dependencies, count, FreeOperation{pointer}) : Error::InvalidValue;
  });
}
VGPU_API(cudaGraphDestroyNode, GraphNode* node) {
  return call([&] {
    if (!is_node(node)) return Error::InvalidValue;
    node->graph.remove(node);
    return Error::Success;
  });
}
VGPU_API(cudaGraphAddDependencies, Graph* graph, GraphNode* const* from, GraphNode* const* to, const EdgeData*,
         size_t count) {
  return call([&] { return change_edges(graph, from, to, count, true); });
}
VGPU_API(cudaGraphRemoveDependencies, Graph* graph, GraphNode* const* from, GraphNode* const* to, const EdgeData*,
         size_t count) {
  return call([&] { return change_edges(graph, from, to, count, false); });
}

}  // namespace vgpu
