// Memory: allocation, what a pointer is, and what may be advised about it.
#include <algorithm>
#include <climits>
#include <cstring>
#include <map>

#include "report/names.h"
#include "runtime/context.h"
#include "runtime/pool.h"
#include "runtime/stream.h"

namespace vgpu {
namespace {

constexpr size_t kPitchUnit = 512;  // bytes that the pitch of an allocation is a multiple of

std::map<uint64_t, unsigned>& host_flags() {  // of cudaHostAlloc and cudaHostRegister, by address
  static auto* flags = new std::map<uint64_t, unsigned>;
  return *flags;
}

uint64_t number(const void* pointer) { return reinterpret_cast<uint64_t>(pointer); }

const Allocation* live(const void* pointer) {
  const Allocation* allocation = Context::get().memory.find(number(pointer));
  return allocation && !allocation->freed ? allocation : nullptr;
}

Error allocate(void** result, size_t bytes, MemoryKind kind) {
  if (!result) return Error::InvalidValue;
  *result = nullptr;
  if (bytes == 0) return Error::Success;
  if (const Error error = refuse_in_capture(); error != Error::Success) return error;
  auto& context = Context::get();
  Owner owner = context.owner(current_device());
  if (kind != MemoryKind::device) owner.reach = nullptr;
  const Allocation* allocation = context.memory.allocate(bytes, kind, this_thread().name, this_thread().site, owner);
  if (!allocation) return Error::MemoryAllocation;
  context.session.allocated(*allocation);
  *result = reinterpret_cast<void*>(allocation->address);
  return Error::Success;
}

Error allocate_host(void** result, size_t bytes, unsigned flags) {
  constexpr unsigned kKnown = 7;  // portable, mapped, write-combined
  if (flags & ~kKnown) return Error::InvalidValue;
  const Error error = allocate(result, bytes, MemoryKind::pinned);
  if (error == Error::Success && *result) host_flags()[number(*result)] = flags | 2;  // all of it is mapped
  return error;
}

// The allocations that a pointer belongs to for cudaFree and its relatives.
Error release(void* pointer, bool host) {
  if (const Error error = refuse_in_capture(); error != Error::Success) return error;
  if (!pointer) return Error::Success;
  auto& context = Context::get();
  const char* name = this_thread().name;
  const Allocation* allocation = context.memory.find(number(pointer));
  if (!allocation && !context.memory.in_device_range(number(pointer))) {
    context.found("E08", std::string(name) + ": the pointer is one of the host", "it came from no CUDA allocation",
                  "free it with what allocated it: free, delete, or nothing");
    return Error::InvalidValue;
  }
  if (!allocation || allocation->address != number(pointer) || allocation->kind == MemoryKind::symbol) {
    context.found("E01", std::string(name) + ": the pointer is not the first byte of an allocation",
                  "only what an allocating call returned can be freed", "keep the pointer that cudaMalloc gave");
    return Error::InvalidValue;
  }
  if (allocation->freed) {
    context.found("E02", std::string(name) + ": the memory was freed before", "it is freed twice",
                  "set the pointer to null when it is freed",
                  std::to_string(allocation->bytes) + " bytes" + device_of(context.memory, *allocation) + ", from " +
                      allocation->made_by);
    return Error::InvalidValue;
  }
  if ((allocation->kind == MemoryKind::pinned) != host) {
    context.found("E08",
                  std::string(name) + ": the memory came from " + allocation->made_by + ", which another call frees",
                  host ? "this call frees pinned host memory" : "this call frees memory of the device",
                  host ? "use cudaFree" : "use cudaFreeHost");
    return Error::InvalidValue;
  }
  release_from_pool(number(pointer));
  if (kept_by_graph(number(pointer))) return Error::Success;
  context.session.freed(*allocation);
  host_flags().erase(number(pointer));
  context.memory.free(number(pointer));
  return Error::Success;
}

Error range_attribute(void* data, size_t bytes, RangeAttribute attribute, const void* pointer, size_t count) {
  const Allocation* allocation = live(pointer);
  if (!data || !count || !allocation || allocation->kind != MemoryKind::managed) return Error::InvalidValue;
  if (attribute < RangeAttribute::ReadMostly || attribute > RangeAttribute::LastPrefetchLocationId) {
    return Error::InvalidValue;
  }
  // Nothing migrates here, and advice is not kept: no location is preferred or was prefetched to.
  const bool location = attribute == RangeAttribute::PreferredLocation || attribute == RangeAttribute::AccessedBy ||
                        attribute == RangeAttribute::LastPrefetchLocation;
  const int value = location ? kInvalidDevice : 0;
  if (bytes < sizeof value || bytes % sizeof value) return Error::InvalidValue;
  for (size_t i = 0; i < bytes; i += sizeof value) std::memcpy(static_cast<char*>(data) + i, &value, sizeof value);
  return Error::Success;
}

// Advice and prefetches change where managed memory lies, never what it holds: here there is one place.
Error is_managed_range(const void* pointer, size_t bytes) {
  const Allocation* allocation = live(pointer);
  if (!allocation || allocation->kind != MemoryKind::managed || !bytes) return Error::InvalidValue;
  return bytes <= allocation->address + allocation->bytes - number(pointer) ? Error::Success : Error::InvalidValue;
}

Error is_location(const MemoryLocation& location) {
  if (location.type == MemoryLocation::Type::Device) {
    return is_device(location.id) ? Error::Success : Error::InvalidDevice;
  }
  return location.type == MemoryLocation::Type::None ? Error::InvalidValue : Error::Success;
}

}  // namespace

VGPU_API(cudaMalloc, void** result, size_t bytes) {
  return call([&] { return allocate(result, bytes, MemoryKind::device); });
}
VGPU_API(cudaMallocManaged, void** result, size_t bytes, unsigned flags) {
  return call([&] {
    if ((flags != 1 && flags != 2) || !bytes) return Error::InvalidValue;  // attached to all, or to the host
    return allocate(result, bytes, MemoryKind::managed);
  });
}
VGPU_API(cudaMallocHost, void** result, size_t bytes) {
  return call([&] { return allocate_host(result, bytes, 0); });
}
VGPU_API(cudaHostAlloc, void** result, size_t bytes, unsigned flags) {
  return call([&] { return allocate_host(result, bytes, flags); });
}
VGPU_API(cudaMallocPitch, void** result, size_t* pitch, size_t width, size_t height) {
  return call([&] {
    if (!result || !pitch) return Error::InvalidValue;
    *pitch = (width + kPitchUnit - 1) / kPitchUnit * kPitchUnit;
    return allocate(result, *pitch * height, MemoryKind::device);
  });
}
VGPU_API(cudaMalloc3D, PitchedPointer* result, Extent extent) {
  return call([&] {
    if (!result) return Error::InvalidValue;
    const size_t pitch = (extent.width + kPitchUnit - 1) / kPitchUnit * kPitchUnit;
    *result = {nullptr, pitch, extent.width, extent.height};
    return allocate(&result->pointer, pitch * extent.height * extent.depth, MemoryKind::device);
  });
}
VGPU_API(cudaFree, void* pointer) {
  return call([&] { return release(pointer, false); });
}
VGPU_API(cudaFreeHost, void* pointer) {
  return call([&] { return release(pointer, true); });
}
VGPU_API(cudaHostRegister, void* pointer, size_t bytes, unsigned flags) {
  return call([&] {
    constexpr unsigned kKnown = 15;  // portable, mapped, I/O, read only
    if (!pointer || !bytes || flags & ~kKnown) return Error::InvalidValue;
    if (const Error error = refuse_in_capture(); error != Error::Success) return error;
    auto& context = Context::get();
    if (context.memory.in_device_range(number(pointer))) return Error::InvalidValue;
    const Allocation* below = context.memory.nearest_below(number(pointer) + bytes - 1);
    if (below && !below->freed && below->address + below->bytes > number(pointer)) {
      return Error::HostMemoryAlreadyRegistered;
    }
    const Allocation* allocation = context.memory.adopt(pointer, bytes, MemoryKind::pinned, this_thread().name,
                                                        this_thread().site, {current_device(), nullptr});
    if (!allocation) return Error::MemoryAllocation;
    context.session.allocated(*allocation);
    context.session.written(allocation->address, bytes);  // the host's bytes are taken for initialised
    host_flags()[number(pointer)] = flags | 2;
    return Error::Success;
  });
}
VGPU_API(cudaHostUnregister, void* pointer) {
  return call([&] {
    const Allocation* allocation = live(pointer);
    if (!allocation || allocation->address != number(pointer) || allocation->made_by != "cudaHostRegister") {
      return Error::HostMemoryNotRegistered;
    }
    auto& context = Context::get();
    context.session.freed(*allocation);
    host_flags().erase(number(pointer));
    context.memory.free(number(pointer));
    return Error::Success;
  });
}
VGPU_API(cudaHostGetDevicePointer, void** result, void* pointer, unsigned flags) {
  return call([&] {
    const Allocation* allocation = live(pointer);
    if (!result || flags || !allocation || allocation->kind != MemoryKind::pinned) return Error::InvalidValue;
    *result = pointer;  // one address space
    return Error::Success;
  });
}
VGPU_API(cudaHostGetFlags, unsigned* result, void* pointer) {
  return call([&] {
    const auto flags = host_flags().find(number(pointer));
    if (!result || flags == host_flags().end()) return Error::InvalidValue;
    *result = flags->second;
    return Error::Success;
  });
}
VGPU_API(cudaMemGetInfo, size_t* free, size_t* total) {
  return call([&] {
    if (!free || !total) return Error::InvalidValue;
    const auto& memory = Context::get().memory;
    *total = memory.capacity();
    *free = memory.capacity() - std::min(memory.used(current_device()), memory.capacity());
    return Error::Success;
  });
}
VGPU_API(cudaPointerGetAttributes, PointerAttributes* result, const void* pointer) {
  return call([&] {
    if (!result) return Error::InvalidValue;
    *result = {};
    const Allocation* allocation = live(pointer);
    void* address = const_cast<void*>(pointer);
    if (!allocation) {
      result->type = MemoryType::Unregistered;
      result->device = kInvalidDevice;
      result->host_pointer = address;
      return Context::get().memory.in_device_range(number(pointer)) ? Error::InvalidValue : Error::Success;
    }
    result->device = allocation->owner.device;
    result->device_pointer = address;
    if (allocation->kind == MemoryKind::device || allocation->kind == MemoryKind::symbol) {
      result->type = MemoryType::Device;
    } else {
      result->type = allocation->kind == MemoryKind::managed ? MemoryType::Managed : MemoryType::Host;
      result->host_pointer = address;
    }
    return Error::Success;
  });
}

// --- managed memory ----------------------------------------------------------------------------------------

VGPU_API(cudaMemAdvise, const void* pointer, size_t bytes, MemoryAdvice advice, MemoryLocation location) {
  return call([&] {
    if (advice < MemoryAdvice::SetReadMostly || advice > MemoryAdvice::UnsetAccessedBy) return Error::InvalidValue;
    const bool located = advice == MemoryAdvice::SetPreferredLocation || advice >= MemoryAdvice::SetAccessedBy;
    if (located) {
      if (const Error error = is_location(location); error != Error::Success) return error;
    }
    return is_managed_range(pointer, bytes);
  });
}
VGPU_API(cudaMemPrefetchAsync, const void* pointer, size_t bytes, MemoryLocation location, unsigned flags,
         Stream* stream) {
  return call([&] {
    if (!find_stream(stream)) return Error::InvalidResourceHandle;
    if (flags) return Error::InvalidValue;
    const Error error = is_location(location);
    return error == Error::Success ? is_managed_range(pointer, bytes) : error;
  });
}
VGPU_API(cudaMemRangeGetAttribute, void* data, size_t bytes, RangeAttribute attribute, const void* pointer,
         size_t count) {
  return call([&] { return range_attribute(data, bytes, attribute, pointer, count); });
}
VGPU_API(cudaMemRangeGetAttributes, void** data, size_t* bytes, RangeAttribute* attributes, size_t attribute_count,
         const void* pointer, size_t count) {
  return call([&] {
    if (!data || !bytes || !attributes) return Error::InvalidValue;
    for (size_t i = 0; i < attribute_count; ++i) {
      const Error error = range_attribute(data[i], bytes[i], attributes[i], pointer, count);
      if (error != Error::Success) return error;
    }
    return Error::Success;
  });
}

}  // namespace vgpu
