// What programs ask and set of kernels.
#include "runtime/context.h"
#include "runtime/operation.h"
#include "runtime/registry.h"

namespace vgpu {
namespace {

Error find(const void* key, Function*& function, int device) {
  function = registry().function(key);
  return function ? function->load(device) : Error::InvalidDeviceFunction;
}

Error set(const void* key, FunctionAttribute attribute, int value, int device) {
  Function* found = nullptr;
  if (const Error error = find(key, found, device); error != Error::Success) return error;
  auto& function = found->on(device);
  const auto& limits = Context::get().limits;
  switch (attribute) {
    case FunctionAttribute::MaxDynamicShared: {
      const int most = int(limits.shared_per_block_optin) - int(found->info.static_shared);
      if (value < 0 || value > most) {
        Context::get().found("E10", std::to_string(value) + " bytes of dynamic shared memory are not possible",
                             "a block of this device has at most " + std::to_string(most) +
                                 " bytes beside the kernel's static shared memory",
                             "use smaller tiles");
        return Error::InvalidValue;
      }
      function.max_dynamic_shared = value;
      return Error::Success;
    }
    case FunctionAttribute::PreferredCarveout:
      if (value < -1 || value > 100) return Error::InvalidValue;
      function.carveout = value;
      return Error::Success;
    case FunctionAttribute::ClusterWidth:
    case FunctionAttribute::ClusterHeight:
    case FunctionAttribute::ClusterDepth: {
      if (value < 0 || limits.sm < 90) return Error::InvalidValue;
      auto& size = attribute == FunctionAttribute::ClusterWidth    ? function.cluster.x
                   : attribute == FunctionAttribute::ClusterHeight ? function.cluster.y
                                                                   : function.cluster.z;
      size = uint32_t(value);
      return Error::Success;
    }
    case FunctionAttribute::NonPortableCluster:
      if (limits.sm < 90) return Error::InvalidValue;
      function.nonportable_cluster = value != 0;
      return Error::Success;
    case FunctionAttribute::ClusterPolicy:
      if (value < 0 || value > 2) return Error::InvalidValue;
      function.cluster_policy = value;
      return Error::Success;
    case FunctionAttribute::ClusterMustBeSet: break;  // to be read only
  }
  return Error::InvalidValue;
}

}  // namespace

VGPU_API(cudaFuncGetAttributes, FunctionAttributes* result, const void* key) {
  return call([&] {
    Function* function = nullptr;
    const int device = current_device();
    if (const Error error = find(key, function, device); error != Error::Success) return error;
    if (!result) return Error::InvalidValue;
    const auto& info = function->info;
    const auto& here = function->on(device);
    *result = {};
    result->shared_bytes = info.static_shared;
    result->constant_bytes = info.constant_bytes;
    result->local_bytes = info.local_bytes;
    result->max_threads = int(info.max_threads);
    result->registers = int(info.registers);
    result->ptx_version = function->image.module().sm;
    result->binary_version = Context::get().limits.sm;
    result->max_dynamic_shared = here.max_dynamic_shared;
    result->carveout = here.carveout;
    result->cluster_must_be_set = here.cluster.x != 0;
    result->cluster_width = int(here.cluster.x);
    result->cluster_height = int(here.cluster.y);
    result->cluster_depth = int(here.cluster.z);
    result->cluster_policy = here.cluster_policy;
    result->nonportable_cluster = here.nonportable_cluster;
    return Error::Success;
  });
}
VGPU_API(cudaFuncSetAttribute, const void* key, FunctionAttribute attribute, int value) {
  return call([&] { return set(key, attribute, value, current_device()); });
}
VGPU_API(cudaKernelSetAttributeForDevice, Function* key, FunctionAttribute attribute, int value, int device) {
  return call([&] { return is_device(device) ? set(key, attribute, value, device) : Error::InvalidDevice; });
}
// Preferences between cache and shared memory: there is room for both.
VGPU_API(cudaFuncSetCacheConfig, const void* key, int) {
  return call([&] { return registry().function(key) ? Error::Success : Error::InvalidDeviceFunction; });
}
VGPU_API(cudaFuncSetSharedMemConfig, const void* key, int) {
  return call([&] { return registry().function(key) ? Error::Success : Error::InvalidDeviceFunction; });
}
VGPU_API(cudaFuncGetName, const char** name, const void* key) {
  return call([&] {
    Function* function = registry().function(key);
    if (!function) return Error::InvalidDeviceFunction;
    if (!name) return Error::InvalidValue;
    *name = function->name.c_str();
    return Error::Success;
  });
}
VGPU_API(cudaFuncGetParamInfo, const void* key, size_t index, size_t* offset, size_t* bytes) {
  return call([&] {
    Function* function = nullptr;
    if (const Error error = find(key, function, current_device()); error != Error::Success) return error;
    if (!offset || index >= function->info.params.size()) return Error::InvalidValue;
    *offset = parameter_offset(*function, index);
    if (bytes) *bytes = function->info.params[index].bytes;
    return Error::Success;
  });
}
VGPU_API(cudaGetKernel, Function** result, const void* key) {
  return call([&] {
    if (!result) return Error::InvalidValue;
    *result = registry().function(key);
    return *result ? Error::Success : Error::InvalidDeviceFunction;
  });
}
VGPU_API(cudaGetFuncBySymbol, Function** result, const void* key) {
  return call([&] {
    if (!result) return Error::InvalidValue;
    *result = registry().function(key);
    return *result ? Error::Success : Error::InvalidDeviceFunction;
  });
}

}  // namespace vgpu
