// The parameters of nodes, read and changed.
#include "runtime/context.h"
#include "runtime/graph_node.h"
#include "runtime/pool.h"
#include "runtime/registry.h"

namespace vgpu {
namespace {

Error attribute_of(GraphNode* node, LaunchAttribute::Id id, LaunchAttribute::Value* value) {
  const auto* kernel = operation_of<KernelOperation>(node);
  if (!kernel || !value) return Error::InvalidValue;
  *value = {};
  if (id == LaunchAttribute::Id::Cooperative) value->number = kernel->cooperative;
  if (id == LaunchAttribute::Id::ClusterDimension) value->dimension = kernel->cluster;
  if (id == LaunchAttribute::Id::Priority) value->number = kernel->priority;
  return Error::Success;
}

}  // namespace

VGPU_API(cudaGraphKernelNodeGetParams, GraphNode* node, KernelNodeParameters* result) {
  return call([&] {
    auto* kernel = operation_of<KernelOperation>(node);
    if (!kernel || !result) return Error::InvalidValue;
    node->arguments.clear();
    for (size_t i = 0; i < kernel->function->info.params.size(); ++i) {
      node->arguments.push_back(kernel->parameters.data() + parameter_offset(*kernel->function, i));
    }
    *result = {kernel->function, kernel->grid, kernel->block, kernel->dynamic_shared, node->arguments.data(), nullptr};
    return Error::Success;
  });
}
VGPU_API(cudaGraphKernelNodeSetParams, GraphNode* node, const KernelNodeParameters* parameters) {
  return call([&] { return replace_kernel(is_node(node) ? node : nullptr, parameters); });
}
VGPU_API(cudaGraphKernelNodeGetAttribute, GraphNode* node, LaunchAttribute::Id id, LaunchAttribute::Value* value) {
  return call([&] { return attribute_of(node, id, value); });
}
VGPU_API(cudaGraphKernelNodeSetAttribute, GraphNode* node, LaunchAttribute::Id id,
         const LaunchAttribute::Value* value) {
  return call([&] {
    auto* kernel = operation_of<KernelOperation>(node);
    if (!kernel || !value) return Error::InvalidValue;
    set_attribute(*kernel, id, *value);
    return Error::Success;
  });
}
VGPU_API(cudaGraphKernelNodeCopyAttributes, GraphNode* to, GraphNode* from) {
  return call([&] {
    auto *target = operation_of<KernelOperation>(to), *source = operation_of<KernelOperation>(from);
    if (!target || !source) return Error::InvalidValue;
    target->cooperative = source->cooperative;
    target->cluster = source->cluster;
    target->priority = source->priority;
    return Error::Success;
  });
}
VGPU_API(cudaGraphMemcpyNodeGetParams, GraphNode* node, Copy3D* result) {
  return call([&] {
    const auto* operation = operation_of<CopyOperation>(node);
    if (!operation || !result) return Error::InvalidValue;
    *result = operation->copy;
    return Error::Success;
  });
}
VGPU_API(cudaGraphMemcpyNodeSetParams, GraphNode* node, const Copy3D* copy) {
  return call([&] { return is_node(node) && copy ? replace_made(node, *copy) : Error::InvalidValue; });
}
VGPU_API(cudaGraphMemcpyNodeSetParams1D, GraphNode* node, void* to, const void* from, size_t bytes, CopyKind kind) {
  return call(
      [&] { return is_node(node) ? replace_made(node, linear_copy(to, from, bytes, kind)) : Error::InvalidValue; });
}
VGPU_API(cudaGraphMemcpyNodeSetParamsToSymbol, GraphNode* node, const void* symbol, const void* from, size_t bytes,
         size_t offset, CopyKind kind) {
  return call([&] {
    Copy3D copy{};
    if (!is_node(node)) return Error::InvalidValue;
    const Error error = copy_to_symbol(symbol, from, bytes, offset, kind, copy);
    return error == Error::Success ? replace_made(node, copy) : error;
  });
}
VGPU_API(cudaGraphMemcpyNodeSetParamsFromSymbol, GraphNode* node, void* to, const void* symbol, size_t bytes,
         size_t offset, CopyKind kind) {
  return call([&] {
    Copy3D copy{};
    if (!is_node(node)) return Error::InvalidValue;
    const Error error = copy_from_symbol(to, symbol, bytes, offset, kind, copy);
    return error == Error::Success ? replace_made(node, copy) : error;
  });
}
VGPU_API(cudaGraphMemsetNodeGetParams, GraphNode* node, Fill2D* result) {
  return call([&] {
    const auto* operation = operation_of<FillOperation>(node);
    if (!operation || !result) return Error::InvalidValue;
    *result = operation->fill;
    return Error::Success;
  });
}
VGPU_API(cudaGraphMemsetNodeSetParams, GraphNode* node, const Fill2D* fill) {
  return call([&] { return is_node(node) && fill ? replace_made(node, *fill) : Error::InvalidValue; });
}
VGPU_API(cudaGraphHostNodeGetParams, GraphNode* node, HostNodeParameters* result) {
  return call([&] {
    const auto* host = operation_of<HostOperation>(node);
    if (!host || !result) return Error::InvalidValue;
    *result = {host->function, host->data};
    return Error::Success;
  });
}
VGPU_API(cudaGraphHostNodeSetParams, GraphNode* node, const HostNodeParameters* host) {
  return call([&] { return is_node(node) && host ? replace_made(node, *host) : Error::InvalidValue; });
}
VGPU_API(cudaGraphEventRecordNodeGetEvent, GraphNode* node, Event** result) {
  return call([&] {
    const auto* record = operation_of<RecordOperation>(node);
    if (!record || !result) return Error::InvalidValue;
    *result = record->event;
    return Error::Success;
  });
}
VGPU_API(cudaGraphEventRecordNodeSetEvent, GraphNode* node, Event* event) {
  return call([&] {
    return is_node(node) && is_event(event) ? replace_node(node, RecordOperation{event}) : Error::InvalidValue;
  });
}
VGPU_API(cudaGraphEventWaitNodeGetEvent, GraphNode* node, Event** result) {
  return call([&] {
    const auto* wait = operation_of<WaitOperation>(node);
    if (!wait || !result) return Error::InvalidValue;
    *result = wait->event;
    return Error::Success;
  });
}
VGPU_API(cudaGraphEventWaitNodeSetEvent, GraphNode* node, Event* event) {
  return call([&] {
    return is_node(node) && is_event(event) ? replace_node(node, WaitOperation{event}) : Error::InvalidValue;
  });
}
VGPU_API(cudaGraphMemAllocNodeGetParams, GraphNode* node, AllocationNodeParameters* result) {
  return call([&] {
    const auto* allocation = operation_of<AllocateOperation>(node);
    if (!allocation || !result) return Error::InvalidValue;
    *result = {allocation->pool->properties, nullptr, 0, allocation->bytes, allocation->pointer};
    return Error::Success;
  });
}
VGPU_API(cudaGraphMemFreeNodeGetParams, GraphNode* node, void* result) {
  return call([&] {
    const auto* freed = operation_of<FreeOperation>(node);
    if (!freed || !result) return Error::InvalidValue;
    *static_cast<void**>(result) = freed->pointer;
    return Error::Success;
  });
}
VGPU_API(cudaGraphNodeSetParams, GraphNode* node, NodeParameters* parameters) {
  return call([&] {
    if (!is_node(node) || !parameters) return Error::InvalidValue;
    if (parameters->type == NodeType::Kernel) return replace_kernel(node, &parameters->kernel);
    return replace_made(node, *parameters);
  });
}

}  // namespace vgpu
