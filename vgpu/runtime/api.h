// The binary interface of the CUDA 13.0 runtime, as far as it is emulated: values and layouts that compiled programs
// rely on, in our own words. tests/layout_test.cpp holds them against the toolkit's headers where there is a toolkit.
//
// Handles (cudaStream_t, cudaGraph_t, …) are opaque to programs, so here they are pointers to our own classes.
#pragma once

#include <cstddef>
#include <cstdint>

#include "exec/engine.h"
#include "runtime/error.h"

// An exported function. Its body is one call(…) (see context.h).
#define VGPU_API(name, ...) extern "C" __attribute__((visibility("default"))) Error name(__VA_ARGS__)

namespace vgpu {

class Stream;
class Event;
class MemoryPool;
class Graph;
class GraphNode;
class GraphExec;
class Function;  // of a program: what cudaKernel_t, cudaFunction_t and the address of a __global__ function lead to
class Library;
class UserObject;

using HostFunction = void (*)(void* data);
using StreamCallback = void (*)(Stream* stream, Error status, void* data);

constexpr int kVersion = 13000;  // of runtime and driver
constexpr int kCpu = -1, kInvalidDevice = -2;

// --- memory ------------------------------------------------------------------------------------------------

enum class CopyKind : int { HostToHost, HostToDevice, DeviceToHost, DeviceToDevice, Default };
enum class MemoryType : int { Unregistered, Host, Device, Managed };

struct PitchedPointer {
  void* pointer;
  size_t pitch, width, height;
};
struct Extent {
  size_t width, height, depth;
};
struct Position {
  size_t x, y, z;
};
struct Copy3D {  // cudaMemcpy3DParms
  void* from_array;
  Position from_position;
  PitchedPointer from;
  void* to_array;
  Position to_position;
  PitchedPointer to;
  Extent extent;
  CopyKind kind;
};
struct PeerCopy3D {  // cudaMemcpy3DPeerParms
  void* from_array;
  Position from_position;
  PitchedPointer from;
  int from_device;
  void* to_array;
  Position to_position;
  PitchedPointer to;
  int to_device;
  Extent extent;
};
struct Fill2D {  // cudaMemsetParams
  void* to;
  size_t pitch;
  uint32_t value, element_bytes;
  size_t width, height;  // in elements, in rows
};
struct PointerAttributes {
  MemoryType type;
  int device;
  void* device_pointer;
  void* host_pointer;
  long reserved[8];
};
struct MemoryLocation {
  enum class Type : int { None, Device, Host, HostNuma, HostNumaCurrent } type;
  int id;
};
enum class MemoryAdvice : int {
  SetReadMostly = 1,
  UnsetReadMostly,
  SetPreferredLocation,
  UnsetPreferredLocation,
  SetAccessedBy,
  UnsetAccessedBy
};
enum class RangeAttribute : int {
  ReadMostly = 1,
  PreferredLocation,
  AccessedBy,
  LastPrefetchLocation,
  PreferredLocationType,
  PreferredLocationId,
  LastPrefetchLocationType,
  LastPrefetchLocationId
};
struct PoolProperties {
  int allocation_type;  // 1: pinned
  int handle_types;
  MemoryLocation location;
  void* security_attributes;
  size_t max_bytes;
  uint16_t usage;
  uint8_t reserved[54];
};
enum class PoolAttribute : int {
  ReuseFollowEventDependencies = 1,
  ReuseAllowOpportunistic,
  ReuseAllowInternalDependencies,
  ReleaseThreshold,
  ReservedMemCurrent,
  ReservedMemHigh,
  UsedMemCurrent,
  UsedMemHigh
};
struct AccessDescription {
  MemoryLocation location;
  int flags;
};

// --- launches ----------------------------------------------------------------------------------------------

struct FunctionAttributes {
  size_t shared_bytes, constant_bytes, local_bytes;
  int max_threads, registers, ptx_version, binary_version, cache_mode, max_dynamic_shared, carveout,
      cluster_must_be_set, cluster_width, cluster_height, cluster_depth, cluster_policy, nonportable_cluster;
  int reserved[16];
};
enum class FunctionAttribute : int {
  MaxDynamicShared = 8,
  PreferredCarveout,
  ClusterMustBeSet,
  ClusterWidth,
  ClusterHeight,
  ClusterDepth,
  NonPortableCluster,
  ClusterPolicy
};

// cudaLaunchAttribute: of launches, kernel nodes and streams alike.
struct LaunchAttribute {
  enum class Id : int {
    Ignore,
    AccessPolicyWindow,
    Cooperative,
    SynchronizationPolicy,
    ClusterDimension,
    ClusterSchedulingPolicy,
    ProgrammaticStreamSerialization,
    ProgrammaticEvent,
    Priority,
    MemSyncDomainMap,
    MemSyncDomain,
    PreferredClusterDimension,
    LaunchCompletionEvent,
    DeviceUpdatableKernelNode,
    PreferredCarveout,
    NvlinkUtilCentricScheduling = 16
  } id;
  uint32_t padding;
  union Value {
    char bytes[64];
    struct {
      void* base;
      size_t bytes;
      float hit_ratio;
      int hit, miss;
    } window;
    int number;  // cooperative, priority, policies
    Dim3 dimension;
    struct {
      Event* event;
      int flags, at_block_start;
    } event;
    Value() : bytes{} {}
  } value;
};
struct LaunchConfiguration {
  Dim3 grid, block;
  size_t dynamic_shared;
  Stream* stream;
  LaunchAttribute* attributes;
  uint32_t attribute_count;
};

// --- graphs ------------------------------------------------------------------------------------------------

struct KernelNodeParameters {
  void* function;
  Dim3 grid, block;
  uint32_t dynamic_shared;
  void** arguments;
  void** extra;
};
struct HostNodeParameters {
  HostFunction function;
  void* data;
};
struct AllocationNodeParameters {
  PoolProperties pool;
  const AccessDescription* access;
  size_t access_count, bytes;
  void* pointer;
};
struct CopyNodeParameters {
  int flags, reserved[3];
  Copy3D copy;
};
enum class NodeType : int {
  Kernel,
  Memcpy,
  Memset,
  Host,
  Graph,
  Empty,
  WaitEvent,
  EventRecord,
  SemaphoreSignal,
  SemaphoreWait,
  MemAlloc,
  MemFree,
  Conditional = 13
};
struct NodeParameters {  // cudaGraphNodeParams
  NodeType type;
  int reserved0[3];
  union {
    long long reserved1[29];
    KernelNodeParameters kernel;
    CopyNodeParameters copy;
    Fill2D fill;
    HostNodeParameters host;
    struct {
      Graph* graph;
      int ownership;  // 0: cloned, 1: moved
    } child;
    Event* event;
    AllocationNodeParameters allocation;
    void* freed;
  };
  long long reserved2;
};
struct EdgeData {
  uint8_t from_port, to_port, type, reserved[5];
};
struct InstantiateParameters {
  unsigned long long flags;
  Stream* upload_stream;
  GraphNode* error_node;
  int result;
};
enum class UpdateResult : int {
  Success,
  Error,
  TopologyChanged,
  NodeTypeChanged,
  FunctionChanged,
  ParametersChanged,
  NotSupported,
  UnsupportedFunctionChange,
  AttributesChanged
};
struct UpdateResultInfo {
  UpdateResult result;
  GraphNode* error_node;
  GraphNode* error_from_node;
};
enum class CaptureStatus : int { None, Active, Invalidated };
enum class CaptureMode : int { Global, ThreadLocal, Relaxed };

// --- device ------------------------------------------------------------------------------------------------

struct DeviceProperties {  // cudaDeviceProp
  char name[256];
  char uuid[16];
  char luid[8];
  uint32_t luid_node_mask;
  size_t global_memory, shared_per_block;
  int registers_per_block, warp_size;
  size_t max_pitch;
  int threads_per_block, block[3], grid[3];
  size_t constant_memory;
  int major, minor;
  size_t texture_alignment, texture_pitch_alignment;
  int multiprocessors, integrated, can_map_host_memory;
  int texture_1d, texture_1d_mipmap, texture_2d[2], texture_2d_mipmap[2], texture_2d_linear[3], texture_2d_gather[2],
      texture_3d[3], texture_3d_alternate[3], texture_cubemap, texture_1d_layered[2], texture_2d_layered[3],
      texture_cubemap_layered[2];
  int surface_1d, surface_2d[2], surface_3d[3], surface_1d_layered[2], surface_2d_layered[3], surface_cubemap,
      surface_cubemap_layered[2];
  size_t surface_alignment;
  int concurrent_kernels, ecc, pci_bus, pci_device, pci_domain, tcc_driver, async_engines, unified_addressing,
      memory_bus_width, l2_bytes, persisting_l2_bytes, threads_per_multiprocessor, stream_priorities, global_l1_cache,
      local_l1_cache;
  size_t shared_per_multiprocessor;
  int registers_per_multiprocessor, managed_memory, multi_gpu_board, multi_gpu_board_group, host_native_atomics,
      pageable_access, concurrent_managed_access, compute_preemption, host_pointer_for_registered, cooperative_launch;
  size_t shared_per_block_optin;
  int pageable_access_uses_host_tables, direct_managed_access_from_host, blocks_per_multiprocessor,
      access_policy_window_bytes;
  size_t reserved_shared_per_block;
  int host_register, sparse_arrays, host_register_read_only, timeline_semaphores, memory_pools, direct_rdma;
  uint32_t direct_rdma_flush_options;
  int direct_rdma_ordering;
  uint32_t pool_handle_types;
  int deferred_mapping_arrays, ipc_events, cluster_launch, unified_function_pointers, numa_config, numa_id, mps,
      host_numa_id;
  uint32_t pci_device_id, pci_subsystem_id;
  int host_numa_multinode_ipc;
  int reserved[56];
};

}  // namespace vgpu
