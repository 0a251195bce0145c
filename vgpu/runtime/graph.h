// Graphs: operations and the order between them, built by hand or by capture, and their executable copies.
#pragma once

#include <map>
#include <memory>
#include <vector>

#include "runtime/api.h"
#include "runtime/operation.h"

namespace vgpu {

class GraphNode {
 public:
  GraphNode(Graph& graph, Operation operation);
  ~GraphNode();
  GraphNode(const GraphNode&) = delete;

  Graph& graph;
  Operation operation;
  std::vector<GraphNode*> dependencies;    // in the same graph
  const GraphNode* cloned_from = nullptr;  // only to be compared: it may be gone
  bool enabled = true;
  std::vector<void*> arguments;  // into a kernel's parameters, when they were asked for
};

class Graph : public std::enable_shared_from_this<Graph> {
 public:
  Graph();
  ~Graph();
  Graph(const Graph&) = delete;

  const std::vector<std::unique_ptr<GraphNode>>& nodes() const { return nodes_; }
  GraphNode* add(Operation operation, std::vector<GraphNode*> dependencies);
  void remove(GraphNode* node);
  bool has(const GraphNode* node) const;
  // Every node after all that it depends on, otherwise in the order of their making. Empty where there is a cycle.
  std::vector<GraphNode*> order() const;
  std::shared_ptr<Graph> clone() const;
  GraphNode* clone_of(const GraphNode* original) const;

  std::map<UserObject*, unsigned> user_objects;  // references that the graph holds

 private:
  std::vector<std::unique_ptr<GraphNode>> nodes_;
};

class GraphExec {
 public:
  GraphExec(std::shared_ptr<Graph> graph, unsigned long long flags) : graph(std::move(graph)), flags(flags) {}
  const std::shared_ptr<Graph> graph;  // its own copy
  const unsigned long long flags;
};

// A graph as a handle of the program, which destroys it.
Graph* adopt(std::shared_ptr<Graph> graph);
bool disown(Graph* handle);  // false where it is no such handle
// The live graph of a handle, a child graph's too; null if it is none.
std::shared_ptr<Graph> find_graph(Graph* handle);
bool is_node(const GraphNode* handle);

// True if `node` is one of `from` or what they depend on, directly or not.
bool reaches(const GraphNode& node, const std::vector<GraphNode*>& from);

}  // namespace vgpu
