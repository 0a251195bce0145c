// What graphs and their nodes are made of.
#include <algorithm>
#include <cstdio>

#include "runtime/context.h"
#include "runtime/graph_node.h"
#include "runtime/registry.h"

namespace vgpu {
namespace {

// A list of handles as the API returns it: `count` says how many fit, and is told how many there are.
template <class T>
Error give(const std::vector<T>& list, T* out, size_t* count) {
  if (!count) return Error::InvalidValue;
  if (out) {
    const size_t fit = std::min(*count, list.size());
    std::copy_n(list.begin(), fit, out);
    std::fill(out + fit, out + *count, nullptr);
  }
  *count = out ? std::min(*count, list.size()) : list.size();
  return Error::Success;
}

const char* word(NodeType type) {
  static const char* words[] = {"kernel",
                                "memcpy",
                                "memset",
                                "host",
                                "graph",
                                "empty",
                                "wait for event",
                                "record event",
                                "signal",
                                "wait",
                                "memory allocation",
                                "memory free"};
  return size_t(type) < std::size(words) ? words[size_t(type)] : "node";
}

}  // namespace

VGPU_API(cudaGraphGetNodes, Graph* handle, GraphNode** nodes, size_t* count) {
  return call([&] {
    const auto graph = find_graph(handle);
    if (!graph) return Error::InvalidValue;
    std::vector<GraphNode*> all;
    for (const auto& node : graph->nodes()) all.push_back(node.get());
    return give(all, nodes, count);
  });
}
VGPU_API(cudaGraphGetRootNodes, Graph* handle, GraphNode** nodes, size_t* count) {
  return call([&] {
    const auto graph = find_graph(handle);
    if (!graph) return Error::InvalidValue;
    std::vector<GraphNode*> roots;
    for (const auto& node : graph->nodes()) {
      if (node->dependencies.empty()) roots.push_back(node.get());
    }
    return give(roots, nodes, count);
  });
}
VGPU_API(cudaGraphGetEdges, Graph* handle, GraphNode** from, GraphNode** to, EdgeData* data, size_t* count) {
  return call([&] {
    const auto graph = find_graph(handle);
    if (!graph || !count || !from != !to) return Error::InvalidValue;
    const auto edges = edges_of(*graph);
    if (data && from) std::fill_n(data, *count, EdgeData{});
    size_t same = *count;
    const Error error = give(edges.from, from, &same);
    return error == Error::Success ? give(edges.to, to, count) : error;
  });
}
VGPU_API(cudaGraphNodeGetDependencies, GraphNode* node, GraphNode** nodes, EdgeData* data, size_t* count) {
  return call([&] {
    if (!is_node(node) || !count) return Error::InvalidValue;
    if (data) std::fill_n(data, *count, EdgeData{});
    return give(node->dependencies, nodes, count);
  });
}
VGPU_API(cudaGraphNodeGetDependentNodes, GraphNode* node, GraphNode** nodes, EdgeData* data, size_t* count) {
  return call([&] {
    if (!is_node(node) || !count) return Error::InvalidValue;
    if (data) std::fill_n(data, *count, EdgeData{});
    const auto edges = edges_of(node->graph);
    std::vector<GraphNode*> dependents;
    for (size_t i = 0; i < edges.from.size(); ++i) {
      if (edges.from[i] == node) dependents.push_back(edges.to[i]);
    }
    return give(dependents, nodes, count);
  });
}
VGPU_API(cudaGraphNodeGetType, GraphNode* node, NodeType* type) {
  return call([&] {
    if (!is_node(node) || !type) return Error::InvalidValue;
    *type = type_of(node->operation);
    return Error::Success;
  });
}
VGPU_API(cudaGraphNodeFindInClone, GraphNode** result, GraphNode* original, Graph* handle) {
  return call([&] {
    const auto clone = find_graph(handle);
    if (!clone || !result) return Error::InvalidValue;
    *result = clone->clone_of(original);
    return *result ? Error::Success : Error::InvalidValue;
  });
}
VGPU_API(cudaGraphChildGraphNodeGetGraph, GraphNode* node, Graph** result) {
  return call([&] {
    const auto* child = operation_of<GraphOperation>(node);
    if (!child || !result) return Error::InvalidValue;
    *result = child->graph.get();
    return Error::Success;
  });
}
VGPU_API(cudaGraphDebugDotPrint, Graph* handle, const char* path, unsigned) {
  return call([&] {
    const auto graph = find_graph(handle);
    if (!graph || !path) return Error::InvalidValue;
    FILE* file = std::fopen(path, "w");
    if (!file) return Error::OperatingSystem;
    std::fputs("digraph {\n", file);
    for (const auto& node : graph->nodes()) {
      const auto* kernel = std::get_if<KernelOperation>(&node->operation);
      std::fprintf(file, "  n%p [label=\"%s%s%s\"];\n", static_cast<void*>(node.get()), word(type_of(node->operation)),
                   kernel ? " " : "", kernel ? kernel->function->name.c_str() : "");
    }
    const auto edges = edges_of(*graph);
    for (size_t i = 0; i < edges.from.size(); ++i) {
      std::fprintf(file, "  n%p -> n%p;\n", static_cast<void*>(edges.from[i]), static_cast<void*>(edges.to[i]));
    }
    std::fputs("}\n", file);
    std::fclose(file);
    return Error::Success;
  });
}

}  // namespace vgpu
