#include "runtime/pool.h"

#include <algorithm>
#include <map>
#include <set>

#include "runtime/context.h"
#include "runtime/operation.h"
#include "runtime/stream.h"

namespace vgpu {
namespace {

constexpr uint64_t kPage = 2 << 20;  // the driver reserves memory by these

std::set<MemoryPool*>& pools() {
  static auto* pools = new std::set<MemoryPool*>;
  return *pools;
}

std::map<uint64_t, std::pair<MemoryPool*, uint64_t>>& owners() {  // of live allocations, by address
  static auto* owners = new std::map<uint64_t, std::pair<MemoryPool*, uint64_t>>;
  return *owners;
}

std::set<uint64_t>& kept_by_graphs() {
  static auto* addresses = new std::set<uint64_t>;
  return *addresses;
}

MemoryPool* chosen[kMostDevices];  // by cudaDeviceSetMemPool; null: the default

constexpr int kPinned = 1;
constexpr int kNoAccess = 0, kReadWrite = 3;

// Pools are out of bounds while a capture is under way, but for the nodes that it captures.
Error refuse_beside_capture(Stream* handle) {
  const Stream* stream = find_stream(handle);
  if (!stream) return Error::InvalidResourceHandle;
  return stream->capture ? Error::Success : refuse_in_capture();
}

// From the pool, or (null) the one that is current on the stream's device.
Error allocate(void** result, size_t bytes, MemoryPool* pool, Stream* stream) {
  if (const Error error = refuse_beside_capture(stream); error != Error::Success) return error;
  if (!pool) pool = &current_pool(find_stream(stream)->device);
  if (!result || !is_pool(pool)) return Error::InvalidValue;
  if (bytes == 0) {
    *result = nullptr;
    return Error::Success;
  }
  AllocateOperation operation{pool, bytes, nullptr};
  if (const Error error = place(operation); error != Error::Success) return error;
  *result = operation.pointer;
  return submit(stream, operation);
}

bool on_device(const MemoryLocation& location) {
  return location.type == MemoryLocation::Type::Device && is_device(location.id);
}

// Of a pool: on a device, and made of what pools can be made of.
bool possible(const MemoryLocation* location, int type) { return location && on_device(*location) && type == kPinned; }

Error choose(int device, MemoryPool* pool) {
  if (!is_pool(pool) || pool->device != device) return Error::InvalidValue;
  chosen[device] = pool;
  return Error::Success;
}

}  // namespace

void MemoryPool::took(uint64_t bytes) {
  used += bytes;
  used_high = std::max(used_high, used);
  reserved = std::max(reserved, (used + kPage - 1) / kPage * kPage);
  reserved_high = std::max(reserved_high, reserved);
}

void MemoryPool::gave_back(uint64_t bytes) { used -= bytes; }

void MemoryPool::trim(uint64_t keep) {
  if (keep < reserved) reserved = std::min(reserved, (std::max(used, keep) + kPage - 1) / kPage * kPage);
}

MemoryPool& default_pool(int device) {
  static MemoryPool* defaults[kMostDevices];
  MemoryPool*& pool = defaults[device];
  if (!pool) pool = new MemoryPool({kPinned, 0, {MemoryLocation::Type::Device, device}, nullptr, 0, 0, {}});
  return *pool;
}

MemoryPool& current_pool(int device) { return chosen[device] ? *chosen[device] : default_pool(device); }

void trim_pools(int device) {
  default_pool(device).trim(default_pool(device).release_threshold);
  for (MemoryPool* pool : pools()) {
    if (pool->device == device) pool->trim(pool->release_threshold);
  }
}

bool is_default_pool(const MemoryPool* pool) {
  for (int d = 0; d < Context::get().configuration.devices; ++d) {
    if (pool == &default_pool(d)) return true;
  }
  return false;
}

bool is_pool(MemoryPool* pool) { return is_default_pool(pool) || (pools().contains(pool) && !pool->destroyed); }

Error place(AllocateOperation& operation) {
  const MemoryPool& pool = *operation.pool;
  const Allocation* allocation = Context::get().memory.allocate(operation.bytes, MemoryKind::device, this_thread().name,
                                                                this_thread().site, {pool.device, &pool.reach});
  if (!allocation) return Error::MemoryAllocation;
  operation.pointer = reinterpret_cast<void*>(allocation->address);
  return Error::Success;
}

// Graphs are replayed, always at the same addresses: what a node allocates stays until the last copy of the node is
// gone, and a free in between only gives the bytes back to the pool's books.
void keep_for_replay(AllocateOperation& operation) {
  if (operation.kept) return;
  const auto address = reinterpret_cast<uint64_t>(operation.pointer);
  kept_by_graphs().insert(address);
  operation.kept = std::shared_ptr<void>(operation.pointer, [address](void*) {
    auto& context = Context::get();
    kept_by_graphs().erase(address);
    release_from_pool(address);
    const Allocation* allocation = context.memory.find(address);
    if (!allocation || allocation->freed) return;
    context.session.freed(*allocation);
    context.memory.free(address);
  });
}

Error execute(const AllocateOperation& operation, Stream&) {
  const auto address = reinterpret_cast<uint64_t>(operation.pointer);
  const Allocation* allocation = Context::get().memory.find(address);
  if (!allocation || allocation->freed) return Error::InvalidValue;
  release_from_pool(address);                     // of a replay whose graph does not free
  Context::get().session.allocated(*allocation);  // of a replay: nothing in it counts as written
  owners()[address] = {operation.pool, operation.bytes};
  operation.pool->took(operation.bytes);
  return Error::Success;
}

Error execute(const FreeOperation& operation, Stream&) {
  auto& context = Context::get();
  const auto address = reinterpret_cast<uint64_t>(operation.pointer);
  const Allocation* allocation = context.memory.find(address);
  if (!allocation || allocation->address != address || allocation->freed || allocation->kind != MemoryKind::device) {
    const bool twice = allocation && allocation->address == address && allocation->freed;
    context.found(twice ? "E02" : "E01",
                  std::string(this_thread().name) + (twice ? ": the memory was freed before"
                                                           : ": the pointer is not the first byte of an allocation"),
                  twice ? "it is freed twice" : "only what an allocating call returned can be freed",
                  "free each allocation once, by the pointer that was returned");
    return Error::InvalidValue;
  }
  release_from_pool(address);
  if (kept_by_graph(address)) return Error::Success;
  context.session.freed(*allocation);
  context.memory.free(address);
  return Error::Success;
}

bool kept_by_graph(uint64_t address) { return kept_by_graphs().contains(address); }

void release_from_pool(uint64_t address) {
  const auto owner = owners().find(address);
  if (owner == owners().end()) return;
  owner->second.first->gave_back(owner->second.second);
  owners().erase(owner);
}

VGPU_API(cudaMallocAsync, void** result, size_t bytes, Stream* stream) {
  return call([&] { return allocate(result, bytes, nullptr, stream); });
}
VGPU_API(cudaMallocFromPoolAsync, void** result, size_t bytes, MemoryPool* pool, Stream* stream) {
  return call([&] { return pool ? allocate(result, bytes, pool, stream) : Error::InvalidValue; });
}
VGPU_API(cudaFreeAsync, void* pointer, Stream* stream) {
  return call([&] {
    if (const Error error = refuse_beside_capture(stream); error != Error::Success) return error;
    if (!pointer) return Error::Success;
    // A graph frees what a graph allocates.
    if (find_stream(stream)->capture && !kept_by_graph(reinterpret_cast<uint64_t>(pointer))) return Error::InvalidValue;
    return submit(stream, FreeOperation{pointer});
  });
}

VGPU_API(cudaMemPoolCreate, MemoryPool** result, const PoolProperties* properties) {
  return call([&] {
    if (!result || !properties || !possible(&properties->location, properties->allocation_type))
      return Error::InvalidValue;
    if (properties->handle_types) return Error::NotSupported;  // there is nobody to share a handle with
    if (const Error error = refuse_in_capture(); error != Error::Success) return error;
    *result = new MemoryPool(*properties);
    pools().insert(*result);
    return Error::Success;
  });
}
VGPU_API(cudaMemPoolDestroy, MemoryPool* pool) {
  return call([&] {
    if (!is_pool(pool) || is_default_pool(pool)) return Error::InvalidValue;
    if (const Error error = refuse_in_capture(); error != Error::Success) return error;
    pool->destroyed = true;
    if (chosen[pool->device] == pool) chosen[pool->device] = nullptr;
    return Error::Success;
  });
}
VGPU_API(cudaMemPoolTrimTo, MemoryPool* pool, size_t keep) {
  return call([&] {
    if (!is_pool(pool)) return Error::InvalidValue;
    if (const Error error = refuse_in_capture(); error != Error::Success) return error;
    pool->trim(keep);
    return Error::Success;
  });
}
VGPU_API(cudaMemPoolGetAttribute, MemoryPool* pool, PoolAttribute attribute, void* value) {
  return call([&] {
    if (!is_pool(pool) || !value) return Error::InvalidValue;
    if (const Error error = refuse_in_capture(); error != Error::Success) return error;
    const auto answer = [value](uint64_t number) {
      *static_cast<uint64_t*>(value) = number;
      return Error::Success;
    };
    switch (attribute) {
      case PoolAttribute::ReuseFollowEventDependencies:
      case PoolAttribute::ReuseAllowOpportunistic:
      case PoolAttribute::ReuseAllowInternalDependencies:
        *static_cast<int*>(value) = pool->reuse[int(attribute) - 1];
        return Error::Success;
      case PoolAttribute::ReleaseThreshold: return answer(pool->release_threshold);
      case PoolAttribute::ReservedMemCurrent: return answer(pool->reserved);
      case PoolAttribute::ReservedMemHigh: return answer(pool->reserved_high);
      case PoolAttribute::UsedMemCurrent: return answer(pool->used);
      case PoolAttribute::UsedMemHigh: return answer(pool->used_high);
    }
    return Error::InvalidValue;
  });
}
VGPU_API(cudaMemPoolSetAttribute, MemoryPool* pool, PoolAttribute attribute, void* value) {
  return call([&] {
    if (!is_pool(pool) || !value) return Error::InvalidValue;
    if (const Error error = refuse_in_capture(); error != Error::Success) return error;
    switch (attribute) {
      case PoolAttribute::ReuseFollowEventDependencies:
      case PoolAttribute::ReuseAllowOpportunistic:
      case PoolAttribute::ReuseAllowInternalDependencies:
        pool->reuse[int(attribute) - 1] = *static_cast<int*>(value);
        return Error::Success;
      case PoolAttribute::ReleaseThreshold:
        pool->release_threshold = *static_cast<uint64_t*>(value);
        return Error::Success;
      case PoolAttribute::ReservedMemHigh:  // high-water marks can be set back to where things are, by writing 0
        if (*static_cast<uint64_t*>(value)) return Error::InvalidValue;
        pool->reserved_high = pool->reserved;
        return Error::Success;
      case PoolAttribute::UsedMemHigh:
        if (*static_cast<uint64_t*>(value)) return Error::InvalidValue;
        pool->used_high = pool->used;
        return Error::Success;
      default: return Error::InvalidValue;
    }
  });
}
VGPU_API(cudaMemPoolSetAccess, MemoryPool* pool, const AccessDescription* list, size_t count) {
  return call([&] {
    if (!is_pool(pool) || (count && !list)) return Error::InvalidValue;
    if (const Error error = refuse_in_capture(); error != Error::Success) return error;
    for (size_t i = 0; i < count; ++i) {
      const auto& [location, flags] = list[i];
      if (!on_device(location)) return Error::InvalidDevice;
      // A device cannot be refused its own memory, and access to another's is whole or none.
      if (flags != kReadWrite && (flags != kNoAccess || location.id == pool->device)) return Error::InvalidValue;
    }
    for (size_t i = 0; i < count; ++i) {
      const uint32_t bit = 1u << list[i].location.id;
      pool->reach = list[i].flags == kReadWrite ? pool->reach | bit : pool->reach & ~bit;
    }
    return Error::Success;
  });
}
VGPU_API(cudaMemPoolGetAccess, int* flags, MemoryPool* pool, MemoryLocation* location) {
  return call([&] {
    if (!flags || !is_pool(pool)) return Error::InvalidValue;
    *flags = location && on_device(*location) && pool->reach >> location->id & 1 ? kReadWrite : kNoAccess;
    return Error::Success;
  });
}
VGPU_API(cudaDeviceGetDefaultMemPool, MemoryPool** result, int device) {
  return call([&] {
    if (!is_device(device)) return Error::InvalidDevice;
    *result = &default_pool(device);
    return Error::Success;
  });
}
VGPU_API(cudaDeviceGetMemPool, MemoryPool** result, int device) {
  return call([&] {
    if (!is_device(device)) return Error::InvalidDevice;
    *result = &current_pool(device);
    return Error::Success;
  });
}
VGPU_API(cudaDeviceSetMemPool, int device, MemoryPool* pool) {
  return call([&] { return is_device(device) ? choose(device, pool) : Error::InvalidDevice; });
}
VGPU_API(cudaMemGetDefaultMemPool, MemoryPool** result, MemoryLocation* location, int type) {
  return call([&] {
    if (!result || !possible(location, type)) return Error::InvalidValue;
    *result = &default_pool(location->id);
    return Error::Success;
  });
}
VGPU_API(cudaMemGetMemPool, MemoryPool** result, MemoryLocation* location, int type) {
  return call([&] {
    if (!result || !possible(location, type)) return Error::InvalidValue;
    *result = &current_pool(location->id);
    return Error::Success;
  });
}
VGPU_API(cudaMemSetMemPool, MemoryLocation* location, int type, MemoryPool* pool) {
  return call([&] { return possible(location, type) ? choose(location->id, pool) : Error::InvalidValue; });
}

}  // namespace vgpu
