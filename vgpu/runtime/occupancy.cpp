#include "runtime/occupancy.h"

#include <algorithm>

#include "runtime/context.h"

namespace vgpu {
namespace {

constexpr uint32_t kReservedShared = 1024;  // bytes that the system takes of each block's shared memory
constexpr uint32_t kSharedUnit = 128, kWarp = 32;

uint64_t rounded_up(uint64_t value, uint64_t unit) { return (value + unit - 1) / unit * unit; }

Error blocks(int* result, const void* key, int threads, size_t dynamic_shared) {
  Function* function = registry().function(key);
  if (!function) return Error::InvalidDeviceFunction;
  if (!result || threads <= 0) return Error::InvalidValue;
  if (const Error error = function->load(current_device()); error != Error::Success) return error;
  *result = int(blocks_per_multiprocessor(*function, uint64_t(threads), dynamic_shared, Context::get().limits));
  return Error::Success;
}

Dim3 cluster_of(const LaunchConfiguration& configuration) {
  for (uint32_t i = 0; i < configuration.attribute_count; ++i) {
    const auto& attribute = configuration.attributes[i];
    if (attribute.id == LaunchAttribute::Id::ClusterDimension) return attribute.value.dimension;
  }
  return {};
}

}  // namespace

uint32_t blocks_per_multiprocessor(const Function& function, uint64_t threads, uint64_t dynamic_shared,
                                   const DeviceLimits& limits) {
  const uint64_t shared = function.info.static_shared + dynamic_shared;
  if (threads == 0 || threads > function.info.max_threads || threads > limits.threads_per_block ||
      shared > limits.shared_per_block_optin) {
    return 0;
  }
  const uint64_t by_threads = limits.threads_per_multiprocessor / rounded_up(threads, kWarp);
  const uint64_t by_shared = limits.shared_per_multiprocessor / rounded_up(shared + kReservedShared, kSharedUnit);
  return uint32_t(std::min({by_threads, by_shared, uint64_t{limits.blocks_per_multiprocessor}}));
}

VGPU_API(cudaOccupancyMaxActiveBlocksPerMultiprocessor, int* result, const void* function, int threads, size_t shared) {
  return call([&] { return blocks(result, function, threads, shared); });
}
VGPU_API(cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags, int* result, const void* function, int threads,
         size_t shared, unsigned flags) {
  return call([&] { return flags > 1 ? Error::InvalidValue : blocks(result, function, threads, shared); });
}
VGPU_API(cudaOccupancyAvailableDynamicSMemPerBlock, size_t* result, const void* key, int count, int threads) {
  return call([&] {
    Function* function = registry().function(key);
    if (!function) return Error::InvalidDeviceFunction;
    if (!result || count <= 0 || threads <= 0) return Error::InvalidValue;
    if (const Error error = function->load(current_device()); error != Error::Success) return error;
    const auto& limits = Context::get().limits;
    const uint64_t each = limits.shared_per_multiprocessor / uint64_t(count) / kSharedUnit * kSharedUnit;
    const uint64_t taken = function->info.static_shared + kReservedShared;
    const uint64_t most = limits.shared_per_block_optin - function->info.static_shared;
    *result = each > taken ? std::min(each - taken, most) : 0;
    return Error::Success;
  });
}
VGPU_API(cudaOccupancyMaxPotentialClusterSize, int* result, const void* key, const LaunchConfiguration* configuration) {
  return call([&] {
    Function* function = registry().function(key);
    if (!function) return Error::InvalidDeviceFunction;
    if (!result || !configuration) return Error::InvalidValue;
    if (const Error error = function->load(current_device()); error != Error::Success) return error;
    const auto& limits = Context::get().limits;
    *result = int(function->on(current_device()).nonportable_cluster ? limits.cluster_blocks_nonportable
                                                                     : limits.cluster_blocks);
    return Error::Success;
  });
}
VGPU_API(cudaOccupancyMaxActiveClusters, int* result, const void* key, const LaunchConfiguration* configuration) {
  return call([&] {
    if (!result || !configuration) return Error::InvalidValue;
    int each = 0;
    const Error error = blocks(&each, key, int(configuration->block.count()), configuration->dynamic_shared);
    const uint64_t all = uint64_t(each) * Context::get().limits.multiprocessors;
    *result = int(all / std::max<uint64_t>(cluster_of(*configuration).count(), 1));
    return error;
  });
}

}  // namespace vgpu
