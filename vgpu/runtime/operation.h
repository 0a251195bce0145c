// What a stream executes and a graph holds: one operation, checked when it is made and executed at once or later.
#pragma once

#include <cstddef>
#include <memory>
#include <variant>
#include <vector>

#include "runtime/api.h"

namespace vgpu {

struct KernelOperation {
  Function* function = nullptr;
  int device = -1;                     // that runs it; until it is made, -1: the current one
  Dim3 grid, block, cluster{0, 0, 0};  // cluster 0: none
  uint32_t dynamic_shared = 0;
  bool cooperative = false;
  int priority = 0;
  std::vector<std::byte> parameters;  // the parameter space, filled
  void* site = nullptr;
};
struct CopyOperation {
  Copy3D copy;
};
struct FillOperation {
  Fill2D fill;
};
struct HostOperation {
  HostFunction function;
  void* data;
};
struct CallbackOperation {  // cudaStreamAddCallback
  StreamCallback callback;
  void* data;
  Stream* stream;
};
struct RecordOperation {
  Event* event;
};
struct WaitOperation {
  Event* event;
};
struct AllocateOperation {
  MemoryPool* pool;
  size_t bytes;
  void* pointer;
  std::shared_ptr<void> kept = nullptr;  // of a graph's node: frees the memory with the last copy
};
struct FreeOperation {
  void* pointer;
};
struct GraphOperation {
  std::shared_ptr<Graph> graph;  // the node's own
};
struct EmptyOperation {};

using Operation =
    std::variant<KernelOperation, CopyOperation, FillOperation, HostOperation, CallbackOperation, RecordOperation,
                 WaitOperation, AllocateOperation, FreeOperation, GraphOperation, EmptyOperation>;

NodeType type_of(const Operation& operation);

// Makes the operation of a launch: finds the function, checks the shape against every limit (E10), copies the
// arguments.
Error make_kernel(const LaunchConfiguration& configuration, const void* function, void** arguments, void* site,
                  KernelOperation& result);
Error make_kernel(const KernelNodeParameters& parameters, void* site, KernelOperation& result);
void set_attribute(KernelOperation& operation, LaunchAttribute::Id id, const LaunchAttribute::Value& value);
size_t parameter_offset(const Function& function, size_t index);  // in the parameter space

// Plain copies as the general one.
Copy3D linear_copy(void* to, const void* from, size_t bytes, CopyKind kind);
Copy3D pitched_copy(void* to, size_t to_pitch, const void* from, size_t from_pitch, size_t width, size_t height,
                    CopyKind kind);
Error copy_to_symbol(const void* symbol, const void* from, size_t bytes, size_t offset, CopyKind kind, Copy3D& result);
Error copy_from_symbol(void* to, const void* symbol, size_t bytes, size_t offset, CopyKind kind, Copy3D& result);
Error place(AllocateOperation& operation);  // finds it an address
void keep_for_replay(AllocateOperation& operation);
// Checks pointers, pitches and kind.
Error check(const CopyOperation& operation);
Error check(const FillOperation& operation);

// Executes it to its end, in the stream it was put into.
Error execute(const Operation& operation, Stream& stream);
Error execute(const KernelOperation& operation, Stream& stream);
Error execute(const CopyOperation& operation, Stream& stream);
Error execute(const FillOperation& operation, Stream& stream);
Error execute(const AllocateOperation& operation, Stream& stream);
Error execute(const FreeOperation& operation, Stream& stream);

}  // namespace vgpu
