#include "runtime/graph.h"

#include <algorithm>
#include <set>

#include "runtime/user_object.h"

namespace vgpu {
namespace {

std::set<Graph*>& alive() {
  static auto* graphs = new std::set<Graph*>;
  return *graphs;
}

std::set<const GraphNode*>& alive_nodes() {
  static auto* nodes = new std::set<const GraphNode*>;
  return *nodes;
}

std::map<Graph*, std::shared_ptr<Graph>>& owned_by_program() {
  static auto* graphs = new std::map<Graph*, std::shared_ptr<Graph>>;
  return *graphs;
}

// A copy of an operation for another graph: a child graph belongs to one node alone.
Operation copy_of(const Operation& operation) {
  if (const auto* child = std::get_if<GraphOperation>(&operation)) return GraphOperation{child->graph->clone()};
  return operation;
}

}  // namespace

GraphNode::GraphNode(Graph& graph, Operation operation) : graph(graph), operation(std::move(operation)) {
  alive_nodes().insert(this);
}

GraphNode::~GraphNode() { alive_nodes().erase(this); }

Graph::Graph() { alive().insert(this); }

Graph::~Graph() {
  alive().erase(this);
  for (const auto& [object, count] : user_objects) release(object, count);
}

GraphNode* Graph::add(Operation operation, std::vector<GraphNode*> dependencies) {
  auto* node = nodes_.emplace_back(std::make_unique<GraphNode>(*this, std::move(operation))).get();
  node->dependencies = std::move(dependencies);
  if (auto* allocation = std::get_if<AllocateOperation>(&node->operation)) keep_for_replay(*allocation);
  return node;
}

void Graph::remove(GraphNode* node) {
  for (auto& other : nodes_) std::erase(other->dependencies, node);
  std::erase_if(nodes_, [node](const auto& owned) { return owned.get() == node; });
}

bool Graph::has(const GraphNode* node) const { return is_node(node) && &node->graph == this; }

std::vector<GraphNode*> Graph::order() const {
  std::map<const GraphNode*, size_t> waits_for;
  std::map<const GraphNode*, std::vector<GraphNode*>> dependents;
  std::map<const GraphNode*, size_t> made;
  for (size_t i = 0; i < nodes_.size(); ++i) {
    made[nodes_[i].get()] = i;
    waits_for[nodes_[i].get()] = nodes_[i]->dependencies.size();
    for (GraphNode* before : nodes_[i]->dependencies) dependents[before].push_back(nodes_[i].get());
  }
  std::map<size_t, GraphNode*> ready;
  for (const auto& node : nodes_) {
    if (node->dependencies.empty()) ready[made[node.get()]] = node.get();
  }
  std::vector<GraphNode*> result;
  while (!ready.empty()) {
    GraphNode* node = ready.begin()->second;
    ready.erase(ready.begin());
    result.push_back(node);
    for (GraphNode* dependent : dependents[node]) {
      if (--waits_for[dependent] == 0) ready[made[dependent]] = dependent;
    }
  }
  if (result.size() != nodes_.size()) result.clear();
  return result;
}

std::shared_ptr<Graph> Graph::clone() const {
  auto copy = std::make_shared<Graph>();
  std::map<const GraphNode*, GraphNode*> copies;
  for (const auto& node : nodes_) {
    copies[node.get()] = copy->add(copy_of(node->operation), {});
    copies[node.get()]->cloned_from = node.get();
    copies[node.get()]->enabled = node->enabled;
  }
  for (const auto& node : nodes_) {
    for (GraphNode* before : node->dependencies) copies[node.get()]->dependencies.push_back(copies[before]);
  }
  for (const auto& [object, count] : user_objects) {
    retain(object, count);
    copy->user_objects[object] = count;
  }
  return copy;
}

GraphNode* Graph::clone_of(const GraphNode* original) const {
  for (const auto& node : nodes_) {
    if (node->cloned_from == original) return node.get();
  }
  return nullptr;
}

Graph* adopt(std::shared_ptr<Graph> graph) {
  Graph* handle = graph.get();
  owned_by_program()[handle] = std::move(graph);
  return handle;
}

bool disown(Graph* handle) { return owned_by_program().erase(handle) != 0; }

std::shared_ptr<Graph> find_graph(Graph* handle) {
  return alive().contains(handle) ? handle->shared_from_this() : nullptr;
}

bool is_node(const GraphNode* handle) { return alive_nodes().contains(handle); }

bool reaches(const GraphNode& node, const std::vector<GraphNode*>& from) {
  std::set<const GraphNode*> seen;
  std::vector<const GraphNode*> todo(from.begin(), from.end());
  while (!todo.empty()) {
    const GraphNode* next = todo.back();
    todo.pop_back();
    if (next == &node) return true;
    if (seen.insert(next).second) todo.insert(todo.end(), next->dependencies.begin(), next->dependencies.end());
  }
  return false;
}

}  // namespace vgpu
