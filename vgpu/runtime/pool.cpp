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

MemoryPool* chosen = nullptr;  // by cudaDeviceSetMemPool; null: the default

constexpr int kPinned = 1;

// Pools are out of bounds while a capture is under way, but for the nodes that it captures.
Error refuse_beside_capture(Stream* handle) {
  const Stream* stream = find_stream(handle);
  if (!stream) return Error::InvalidResourceHandle;
  return stream->capture ? Error::Success : refuse_in_capture();
}

Error allocate(void** result, size_t bytes, MemoryPool* pool, Stream* stream) {
  if (const Error error = refuse_beside_capture(stream); error != Error::Success) return error;
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

bool same(const MemoryLocation* location, int type) {
  constexpr auto kDevice = MemoryLocation::Type::Device;
  return location && location->type == kDevice && location->id == 0 && type == kPinned;
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

MemoryPool& default_pool() {
  static auto* pool = new MemoryPool({kPinned, 0, {MemoryLocation::Type::Device, 0}, nullptr, 0, 0, {}});
  return *pool;
}

MemoryPool& current_pool() { return chosen ? *chosen : default_pool(); }

void trim_pools() {
  default_pool().trim(default_pool().release_threshold);
  for (MemoryPool* pool : pools()) pool->trim(pool->release_threshold);
}

bool is_pool(MemoryPool* pool) { return pool == &default_pool() || (pools().contains(pool) && !pool->destroyed); }

Error place(AllocateOperation& operation) {
  auto& context = Context::get();
  const Allocation* allocation =
      context.memory.allocate(operation.bytes, MemoryKind::device, this_thread().name, this_thread().site);
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
  return call([&] { return allocate(result, bytes, &current_pool(), stream); });
}
VGPU_API(cudaMallocFromPoolAsync, void** result, size_t bytes, MemoryPool* pool, Stream* stream) {
  return call([&] { return allocate(result, bytes, pool, stream); });
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
    if (!result || !properties || !same(&properties->location, properties->allocation_type)) return Error::InvalidValue;
    if (properties->handle_types) return Error::NotSupported;  // there is nobody to share a handle with
    if (const Error error = refuse_in_capture(); error != Error::Success) return error;
    *result = new MemoryPool(*properties);
    pools().insert(*result);
    return Error::Success;
  });
}
VGPU_API(cudaMemPoolDestroy, MemoryPool* pool) {
  return call([&] {
    if (!is_pool(pool) || pool == &default_pool()) return Error::InvalidValue;
    if (const Error error = refuse_in_capture(); error != Error::Success) return error;
    pool->destroyed = true;
    if (chosen == pool) chosen = nullptr;
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
      // A device cannot be refused its own memory.
      if (!same(&list[i].location, kPinned)) return Error::InvalidDevice;
      if (list[i].flags != 3) return Error::InvalidValue;
    }
    return Error::Success;
  });
}
VGPU_API(cudaMemPoolGetAccess, int* flags, MemoryPool* pool, MemoryLocation* location) {
  return call([&] {
    if (!flags || !is_pool(pool)) return Error::InvalidValue;
    *flags = same(location, kPinned) ? pool->access : 0;
    return Error::Success;
  });
}
VGPU_API(cudaDeviceGetDefaultMemPool, MemoryPool** result, int device) {
  return call([&] {
    if (device) return Error::InvalidDevice;
    *result = &default_pool();
    return Error::Success;
  });
}
VGPU_API(cudaDeviceGetMemPool, MemoryPool** result, int device) {
  return call([&] {
    if (device) return Error::InvalidDevice;
    *result = &current_pool();
    return Error::Success;
  });
}
VGPU_API(cudaDeviceSetMemPool, int device, MemoryPool* pool) {
  return call([&] {
    if (device) return Error::InvalidDevice;
    if (!is_pool(pool)) return Error::InvalidValue;
    chosen = pool;
    return Error::Success;
  });
}
VGPU_API(cudaMemGetDefaultMemPool, MemoryPool** result, MemoryLocation* location, int type) {
  return call([&] {
    if (!result || !same(location, type)) return Error::InvalidValue;
    *result = &default_pool();
    return Error::Success;
  });
}
VGPU_API(cudaMemGetMemPool, MemoryPool** result, MemoryLocation* location, int type) {
  return call([&] {
    if (!result || !same(location, type)) return Error::InvalidValue;
    *result = &current_pool();
    return Error::Success;
  });
}
VGPU_API(cudaMemSetMemPool, MemoryLocation* location, int type, MemoryPool* pool) {
  return call([&] {
    if (!same(location, type) || !is_pool(pool)) return Error::InvalidValue;
    chosen = pool;
    return Error::Success;
  });
}

}  // namespace vgpu
