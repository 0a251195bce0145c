// Executable graphs: made, updated, launched.
#include <algorithm>
#include <array>
#include <set>

#include "runtime/context.h"
#include "runtime/graph_node.h"
#include "runtime/pool.h"

namespace vgpu {
namespace {

std::map<GraphExec*, std::unique_ptr<GraphExec>>& executables() {
  static auto* graphs = new std::map<GraphExec*, std::unique_ptr<GraphExec>>;
  return *graphs;
}

// The node of an executable graph that came from a node of the graph it was made of.
GraphNode* instance_of(GraphExec* executable, const GraphNode* node) {
  return executables().contains(executable) ? executable->graph->clone_of(node) : nullptr;
}

Error instantiate(GraphExec** result, Graph* handle, unsigned long long flags) {
  const auto graph = find_graph(handle);
  if (!result || !graph || flags > 15) return Error::InvalidValue;
  if (const Error error = refuse_in_capture(); error != Error::Success) return error;
  if (!graph->nodes().empty() && graph->order().empty()) return Error::InvalidValue;  // a cycle
  auto executable = std::make_unique<GraphExec>(graph->clone(), flags);
  *result = executable.get();
  executables()[*result] = std::move(executable);
  return Error::Success;
}

// The devices whose memory a copy or a fill touches, from and to; -1: memory that is no device's own, or none.
std::array<int, 2> devices_of(const Operation& operation) {
  const auto device = [](const void* pointer) {
    const Allocation* allocation = Context::get().memory.find(reinterpret_cast<uint64_t>(pointer));
    return allocation && allocation->owner.reach ? allocation->owner.device : -1;
  };
  const auto* copy = std::get_if<CopyOperation>(&operation);
  const auto* fill = std::get_if<FillOperation>(&operation);
  if (copy) return {device(copy->copy.from.pointer), device(copy->copy.to.pointer)};
  return {-1, fill ? device(fill->fill.to) : -1};
}

// Whether a node of an executable graph may become the other, which may not bring it to another device.
bool stays_on_device(const Operation& was, const Operation& is) {
  const auto before = devices_of(was), after = devices_of(is);
  for (size_t i = 0; i < before.size(); ++i) {
    if (before[i] >= 0 && after[i] >= 0 && before[i] != after[i]) return false;
  }
  return true;
}

template <class Parameters>
Error replace_instance(GraphExec* executable, const GraphNode* node, Parameters&& parameters) {
  GraphNode* instance = instance_of(executable, node);
  Operation operation;
  if (const Error error = make_node(parameters, operation); error != Error::Success) return error;
  if (instance && !stays_on_device(instance->operation, operation)) return Error::InvalidValue;
  return replace_node(instance, std::move(operation));
}

// Positions of what a node depends on, in the order in which nodes were made.
std::set<size_t> positions(const Graph& graph, const GraphNode& node) {
  std::set<size_t> result;
  for (size_t i = 0; i < graph.nodes().size(); ++i) {
    const auto& before = node.dependencies;
    if (std::find(before.begin(), before.end(), graph.nodes()[i].get()) != before.end()) result.insert(i);
  }
  return result;
}

UpdateResultInfo update(Graph& old, const Graph& fresh) {
  if (old.nodes().size() != fresh.nodes().size()) return {UpdateResult::TopologyChanged, nullptr, nullptr};
  for (size_t i = 0; i < old.nodes().size(); ++i) {
    const auto &was = *old.nodes()[i], &is = *fresh.nodes()[i];
    auto* error_node = fresh.nodes()[i].get();
    if (type_of(was.operation) != type_of(is.operation)) return {UpdateResult::NodeTypeChanged, error_node, nullptr};
    if (positions(old, was) != positions(fresh, is)) return {UpdateResult::TopologyChanged, error_node, nullptr};
    const auto *was_kernel = std::get_if<KernelOperation>(&was.operation),
               *is_kernel = std::get_if<KernelOperation>(&is.operation);
    if (was_kernel && was_kernel->device != is_kernel->device) {
      return {UpdateResult::UnsupportedFunctionChange, error_node, nullptr};
    }
    if (!stays_on_device(was.operation, is.operation)) return {UpdateResult::ParametersChanged, error_node, nullptr};
    if (was_kernel && was_kernel->cooperative != is_kernel->cooperative) {
      return {UpdateResult::AttributesChanged, error_node, nullptr};
    }
    if (const auto* child = std::get_if<GraphOperation>(&was.operation)) {
      const auto inner = update(*child->graph, *std::get<GraphOperation>(is.operation).graph);
      if (inner.result != UpdateResult::Success) return inner;
    }
    if (std::holds_alternative<AllocateOperation>(was.operation)) {
      return {UpdateResult::NotSupported, error_node, nullptr};
    }
  }
  for (size_t i = 0; i < old.nodes().size(); ++i) {
    if (std::holds_alternative<GraphOperation>(old.nodes()[i]->operation)) continue;  // its nodes are updated already
    old.nodes()[i]->operation = fresh.nodes()[i]->operation;
  }
  return {UpdateResult::Success, nullptr, nullptr};
}

}  // namespace

VGPU_API(cudaGraphInstantiate, GraphExec** result, Graph* graph, unsigned long long flags) {
  return call([&] { return instantiate(result, graph, flags); });
}
VGPU_API(cudaGraphInstantiateWithFlags, GraphExec** result, Graph* graph, unsigned long long flags) {
  return call([&] { return instantiate(result, graph, flags); });
}
VGPU_API(cudaGraphInstantiateWithParams, GraphExec** result, Graph* graph, InstantiateParameters* parameters) {
  return call([&] {
    if (!parameters) return Error::InvalidValue;
    const Error error = instantiate(result, graph, parameters->flags);
    parameters->error_node = nullptr;
    parameters->result = error == Error::Success ? 0 : 1;
    return error;
  });
}
VGPU_API(cudaGraphExecDestroy, GraphExec* executable) {
  return call([&] { return executables().erase(executable) ? Error::Success : Error::InvalidValue; });
}
VGPU_API(cudaGraphExecGetFlags, GraphExec* executable, unsigned long long* flags) {
  return call([&] {
    if (!executables().contains(executable) || !flags) return Error::InvalidValue;
    *flags = executable->flags;
    return Error::Success;
  });
}
VGPU_API(cudaGraphUpload, GraphExec* executable, Stream* stream) {
  return call([&] {
    if (!find_stream(stream)) return Error::InvalidResourceHandle;
    return executables().contains(executable) ? Error::Success : Error::InvalidValue;
  });
}
VGPU_API(cudaGraphLaunch, GraphExec* executable, Stream* stream) {
  return call([&] {
    Stream* target = find_stream(stream);
    if (!target) return Error::InvalidResourceHandle;
    if (!executables().contains(executable)) return Error::InvalidValue;
    // Captured, it is a child graph: as it is now, whatever becomes of the executable one.
    return submit(stream, GraphOperation{target->capture ? executable->graph->clone() : executable->graph});
  });
}
VGPU_API(cudaGraphExecUpdate, GraphExec* executable, Graph* handle, UpdateResultInfo* info) {
  return call([&] {
    const auto graph = find_graph(handle);
    if (!graph || !executables().contains(executable)) return Error::InvalidValue;
    const auto result = update(*executable->graph, *graph);
    if (info) *info = result;
    return result.result == UpdateResult::Success ? Error::Success : Error::GraphExecUpdateFailure;
  });
}
VGPU_API(cudaGraphExecKernelNodeSetParams, GraphExec* executable, GraphNode* node,
         const KernelNodeParameters* parameters) {
  return call([&] { return replace_kernel(instance_of(executable, node), parameters); });
}
VGPU_API(cudaGraphExecMemcpyNodeSetParams, GraphExec* executable, GraphNode* node, const Copy3D* copy) {
  return call([&] { return copy ? replace_instance(executable, node, *copy) : Error::InvalidValue; });
}
VGPU_API(cudaGraphExecMemcpyNodeSetParams1D, GraphExec* executable, GraphNode* node, void* to, const void* from,
         size_t bytes, CopyKind kind) {
  return call([&] { return replace_instance(executable, node, linear_copy(to, from, bytes, kind)); });
}
VGPU_API(cudaGraphExecMemcpyNodeSetParamsToSymbol, GraphExec* executable, GraphNode* node, const void* symbol,
         const void* from, size_t bytes, size_t offset, CopyKind kind) {
  return call([&] {
    Copy3D copy{};
    const Error error = copy_to_symbol(symbol, from, bytes, offset, kind, copy);
    return error == Error::Success ? replace_instance(executable, node, copy) : error;
  });
}
VGPU_API(cudaGraphExecMemcpyNodeSetParamsFromSymbol, GraphExec* executable, GraphNode* node, void* to,
         const void* symbol, size_t bytes, size_t offset, CopyKind kind) {
  return call([&] {
    Copy3D copy{};
    const Error error = copy_from_symbol(to, symbol, bytes, offset, kind, copy);
    return error == Error::Success ? replace_instance(executable, node, copy) : error;
  });
}
VGPU_API(cudaGraphExecMemsetNodeSetParams, GraphExec* executable, GraphNode* node, const Fill2D* fill) {
  return call([&] { return fill ? replace_instance(executable, node, *fill) : Error::InvalidValue; });
}
VGPU_API(cudaGraphExecHostNodeSetParams, GraphExec* executable, GraphNode* node, const HostNodeParameters* host) {
  return call([&] { return host ? replace_instance(executable, node, *host) : Error::InvalidValue; });
}
VGPU_API(cudaGraphExecChildGraphNodeSetParams, GraphExec* executable, GraphNode* node, Graph* handle) {
  return call([&] {
    GraphNode* instance = instance_of(executable, node);
    const auto* child = instance ? std::get_if<GraphOperation>(&instance->operation) : nullptr;
    const auto graph = find_graph(handle);
    if (!child || !graph) return Error::InvalidValue;
    const auto result = update(*child->graph, *graph);
    return result.result == UpdateResult::Success ? Error::Success : Error::GraphExecUpdateFailure;
  });
}
VGPU_API(cudaGraphExecEventRecordNodeSetEvent, GraphExec* executable, GraphNode* node, Event* event) {
  return call([&] {
    return is_event(event) ? replace_node(instance_of(executable, node), RecordOperation{event}) : Error::InvalidValue;
  });
}
VGPU_API(cudaGraphExecEventWaitNodeSetEvent, GraphExec* executable, GraphNode* node, Event* event) {
  return call([&] {
    return is_event(event) ? replace_node(instance_of(executable, node), WaitOperation{event}) : Error::InvalidValue;
  });
}
VGPU_API(cudaGraphExecNodeSetParams, GraphExec* executable, GraphNode* node, NodeParameters* parameters) {
  return call([&] {
    GraphNode* instance = instance_of(executable, node);
    if (!instance || !parameters) return Error::InvalidValue;
    if (parameters->type == NodeType::Kernel) return replace_kernel(instance, &parameters->kernel);
    return replace_instance(executable, node, *parameters);
  });
}
VGPU_API(cudaGraphNodeSetEnabled, GraphExec* executable, GraphNode* node, unsigned enabled) {
  return call([&] {
    GraphNode* instance = instance_of(executable, node);
    if (!instance) return Error::InvalidValue;
    const NodeType type = type_of(instance->operation);
    if (type != NodeType::Kernel && type != NodeType::Memcpy && type != NodeType::Memset) return Error::InvalidValue;
    instance->enabled = enabled != 0;
    return Error::Success;
  });
}
VGPU_API(cudaGraphNodeGetEnabled, GraphExec* executable, GraphNode* node, unsigned* enabled) {
  return call([&] {
    GraphNode* instance = instance_of(executable, node);
    if (!instance || !enabled) return Error::InvalidValue;
    *enabled = instance->enabled;
    return Error::Success;
  });
}

// --- the memory of graphs ----------------------------------------------------------------------------------

VGPU_API(cudaDeviceGraphMemTrim, int device) {
  return call([&] { return is_device(device) ? Error::Success : Error::InvalidDevice; });
}
VGPU_API(cudaDeviceGetGraphMemAttribute, int device, int attribute, void* value) {
  return call([&] {
    if (!is_device(device)) return Error::InvalidDevice;
    if (attribute < 0 || attribute > 3 || !value) return Error::InvalidValue;
    const auto& pool = default_pool(device);
    const uint64_t answers[] = {pool.used, pool.used_high, pool.reserved, pool.reserved_high};
    *static_cast<uint64_t*>(value) = answers[attribute];
    return Error::Success;
  });
}
VGPU_API(cudaDeviceSetGraphMemAttribute, int device, int attribute, void* value) {
  return call([&] {
    constexpr int kUsedHigh = 1, kReservedHigh = 3;  // what can be set back, to 0
    if (!is_device(device)) return Error::InvalidDevice;
    if (!value || *static_cast<uint64_t*>(value)) return Error::InvalidValue;
    auto& pool = default_pool(device);
    if (attribute == kUsedHigh) {
      pool.used_high = pool.used;
    } else if (attribute == kReservedHigh) {
      pool.reserved_high = pool.reserved;
    } else {
      return Error::InvalidValue;
    }
    return Error::Success;
  });
}

}  // namespace vgpu
