// The operations of graph nodes, from the parameters that the API takes.
#pragma once

#include <utility>

#include "runtime/graph.h"
#include "runtime/stream.h"

namespace vgpu {

Error make_node(const Copy3D& copy, Operation& result);
Error make_node(const CopyNodeParameters& parameters, Operation& result);
Error make_node(const Fill2D& fill, Operation& result);
Error make_node(const HostNodeParameters& host, Operation& result);
Error make_node(AllocationNodeParameters& parameters, Operation& result);  // tells the caller the address
Error make_node(Graph* child, Operation& result);
Error make_node(NodeParameters& parameters, Operation& result);  // of any type; a launch site is the call's own

Error add_node(GraphNode** result, Graph* graph, GraphNode* const* dependencies, size_t count, Operation operation);

// Gives a node, of a graph or of an executable one, an operation of the type that it has. Null is no node.
Error replace_node(GraphNode* node, Operation operation);
Error replace_kernel(GraphNode* node, const KernelNodeParameters* parameters);

template <class Parameters>
Error add_made(GraphNode** result, Graph* graph, GraphNode* const* dependencies, size_t count,
               Parameters&& parameters) {
  Operation operation;
  if (const Error error = make_node(parameters, operation); error != Error::Success) return error;
  return add_node(result, graph, dependencies, count, std::move(operation));
}

template <class Parameters>
Error replace_made(GraphNode* node, Parameters&& parameters) {
  Operation operation;
  const Error error = make_node(parameters, operation);
  return error == Error::Success ? replace_node(node, std::move(operation)) : error;
}

template <class O>
O* operation_of(GraphNode* node) {
  return is_node(node) ? std::get_if<O>(&node->operation) : nullptr;
}

struct Edges {
  std::vector<GraphNode*> from, to;
};
Edges edges_of(const Graph& graph);

}  // namespace vgpu
