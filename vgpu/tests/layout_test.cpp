// runtime/api.h against the toolkit's own headers: sizes, offsets, error numbers and names.
#if __has_include(<cuda_runtime_api.h>)
#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include "runtime/api.h"

namespace {

#define SAME_SIZE(ours, theirs) static_assert(sizeof(vgpu::ours) == sizeof(theirs))
#define SAME_PLACE(ours, our_field, theirs, their_field) \
  static_assert(offsetof(vgpu::ours, our_field) == offsetof(theirs, their_field))

SAME_SIZE(Dim3, dim3);
SAME_SIZE(Copy3D, cudaMemcpy3DParms);
SAME_PLACE(Copy3D, to_array, cudaMemcpy3DParms, dstArray);
SAME_PLACE(Copy3D, kind, cudaMemcpy3DParms, kind);
SAME_SIZE(PeerCopy3D, cudaMemcpy3DPeerParms);
SAME_PLACE(PeerCopy3D, extent, cudaMemcpy3DPeerParms, extent);
SAME_SIZE(Fill2D, cudaMemsetParams);
SAME_PLACE(Fill2D, width, cudaMemsetParams, width);
SAME_SIZE(PointerAttributes, cudaPointerAttributes);
SAME_PLACE(PointerAttributes, host_pointer, cudaPointerAttributes, hostPointer);
SAME_SIZE(MemoryLocation, cudaMemLocation);
SAME_SIZE(PoolProperties, cudaMemPoolProps);
SAME_PLACE(PoolProperties, max_bytes, cudaMemPoolProps, maxSize);
SAME_SIZE(AccessDescription, cudaMemAccessDesc);
SAME_SIZE(FunctionAttributes, cudaFuncAttributes);
SAME_PLACE(FunctionAttributes, max_dynamic_shared, cudaFuncAttributes, maxDynamicSharedSizeBytes);
SAME_PLACE(FunctionAttributes, nonportable_cluster, cudaFuncAttributes, nonPortableClusterSizeAllowed);
SAME_SIZE(LaunchAttribute, cudaLaunchAttribute);
SAME_PLACE(LaunchAttribute, value, cudaLaunchAttribute, val);
SAME_SIZE(LaunchConfiguration, cudaLaunchConfig_t);
SAME_PLACE(LaunchConfiguration, attributes, cudaLaunchConfig_t, attrs);
SAME_SIZE(KernelNodeParameters, cudaKernelNodeParams);
SAME_PLACE(KernelNodeParameters, arguments, cudaKernelNodeParams, kernelParams);
SAME_SIZE(HostNodeParameters, cudaHostNodeParams);
SAME_SIZE(AllocationNodeParameters, cudaMemAllocNodeParams);
SAME_PLACE(AllocationNodeParameters, pointer, cudaMemAllocNodeParams, dptr);
SAME_SIZE(NodeParameters, cudaGraphNodeParams);
SAME_PLACE(NodeParameters, kernel, cudaGraphNodeParams, kernel);
SAME_PLACE(NodeParameters, reserved2, cudaGraphNodeParams, reserved2);
SAME_SIZE(EdgeData, cudaGraphEdgeData);
SAME_SIZE(InstantiateParameters, cudaGraphInstantiateParams);
SAME_SIZE(UpdateResultInfo, cudaGraphExecUpdateResultInfo);
SAME_PLACE(UpdateResultInfo, error_from_node, cudaGraphExecUpdateResultInfo, errorFromNode);
SAME_SIZE(DeviceProperties, cudaDeviceProp);
SAME_PLACE(DeviceProperties, global_memory, cudaDeviceProp, totalGlobalMem);
SAME_PLACE(DeviceProperties, multiprocessors, cudaDeviceProp, multiProcessorCount);
SAME_PLACE(DeviceProperties, texture_cubemap_layered, cudaDeviceProp, maxTextureCubemapLayered);
SAME_PLACE(DeviceProperties, surface_alignment, cudaDeviceProp, surfaceAlignment);
SAME_PLACE(DeviceProperties, l2_bytes, cudaDeviceProp, l2CacheSize);
SAME_PLACE(DeviceProperties, cooperative_launch, cudaDeviceProp, cooperativeLaunch);
SAME_PLACE(DeviceProperties, shared_per_block_optin, cudaDeviceProp, sharedMemPerBlockOptin);
SAME_PLACE(DeviceProperties, memory_pools, cudaDeviceProp, memoryPoolsSupported);
SAME_PLACE(DeviceProperties, cluster_launch, cudaDeviceProp, clusterLaunch);
SAME_PLACE(DeviceProperties, host_numa_multinode_ipc, cudaDeviceProp, hostNumaMultinodeIpcSupported);

#define SAME_VALUE(ours, theirs) static_assert(static_cast<int>(vgpu::ours) == static_cast<int>(theirs))

constexpr auto cudaErrorSuccess = cudaSuccess;

SAME_VALUE(CopyKind::Default, cudaMemcpyDefault);
SAME_VALUE(MemoryType::Managed, cudaMemoryTypeManaged);
SAME_VALUE(MemoryAdvice::UnsetAccessedBy, cudaMemAdviseUnsetAccessedBy);
SAME_VALUE(RangeAttribute::LastPrefetchLocationId, cudaMemRangeAttributeLastPrefetchLocationId);
SAME_VALUE(PoolAttribute::UsedMemHigh, cudaMemPoolAttrUsedMemHigh);
SAME_VALUE(FunctionAttribute::ClusterPolicy, cudaFuncAttributeClusterSchedulingPolicyPreference);
SAME_VALUE(LaunchAttribute::Id::PreferredCarveout, cudaLaunchAttributePreferredSharedMemoryCarveout);
SAME_VALUE(LaunchAttribute::Id::ProgrammaticEvent, cudaLaunchAttributeProgrammaticEvent);
SAME_VALUE(NodeType::MemFree, cudaGraphNodeTypeMemFree);
SAME_VALUE(NodeType::Conditional, cudaGraphNodeTypeConditional);
SAME_VALUE(UpdateResult::AttributesChanged, cudaGraphExecUpdateErrorAttributesChanged);
SAME_VALUE(CaptureStatus::Invalidated, cudaStreamCaptureStatusInvalidated);
SAME_VALUE(CaptureMode::Relaxed, cudaStreamCaptureModeRelaxed);

#define X(name, number, text) SAME_VALUE(Error::name, cudaError##name);
VGPU_ERRORS(X)
#undef X

TEST(Layout, ErrorsHaveTheirNames) {
#define X(name, number, text) \
  EXPECT_STREQ(cudaGetErrorName(cudaError_t(number)), number ? "cudaError" #name : "cudaSuccess");
  VGPU_ERRORS(X)
#undef X
  EXPECT_STREQ(cudaGetErrorString(cudaErrorIllegalAddress), "an illegal memory access was encountered");
  EXPECT_STREQ(cudaGetErrorString(cudaError_t(12345)), "unrecognized error code");
}

}  // namespace
#endif
