// Copies and fills: which side of a copy is which, whether it stays inside its allocations, and the doing.
#include <algorithm>
#include <cstring>

#include "report/names.h"
#include "runtime/context.h"
#include "runtime/operation.h"
#include "runtime/registry.h"
#include "runtime/stream.h"

namespace vgpu {
namespace {

uint64_t number(const void* pointer) { return reinterpret_cast<uint64_t>(pointer); }

// One side of a copy: `height * depth` rows of `width` bytes.
struct Rows {
  uint64_t address;
  size_t pitch, slice;  // bytes from row to row, from slice to slice
  Extent extent;
  // From the first byte to behind the last; 0 if nothing is touched.
  uint64_t span() const {
    if (!extent.width || !extent.height || !extent.depth) return 0;
    return (extent.depth - 1) * slice + (extent.height - 1) * pitch + extent.width;
  }
};

Rows rows(const PitchedPointer& side, const Position& at, const Extent& extent) {
  const size_t slice = side.pitch * side.height;
  return {number(side.pointer) + at.z * slice + at.y * side.pitch + at.x, side.pitch, slice, extent};
}

enum class Place { host, device, both };  // both: pinned and managed memory

Place place_of(uint64_t address, const Allocation** found = nullptr) {
  const auto& memory = Context::get().memory;
  const Allocation* allocation = memory.find(address);
  if (found) *found = allocation;
  if (memory.in_device_range(address)) return Place::device;
  if (!allocation || allocation->freed) return Place::host;
  return allocation->kind == MemoryKind::device || allocation->kind == MemoryKind::symbol ? Place::device : Place::both;
}

std::string describe(const Allocation& allocation) {
  const std::string size = std::to_string(allocation.bytes) + " bytes" + device_of(Context::get().memory, allocation);
  return allocation.name.empty() ? size + ", from " + allocation.made_by
                                 : "variable `" + allocation.name + "`, " + size;
}

// A side that the call says is (or may be) of the device. Reports what is wrong with it.
Error check_side(const Rows& side, const char* which, bool device_wanted, bool host_wanted) {
  auto& context = Context::get();
  if (side.span() == 0) return Error::Success;
  const Allocation* allocation = nullptr;
  const Place place = place_of(side.address, &allocation);
  const char* name = this_thread().name;
  if (place == Place::host && !host_wanted) {
    context.found("E08", std::string(name) + ": the " + which + " is a host pointer, where one of the device is meant",
                  "only memory from cudaMalloc, cudaMallocManaged or cudaMallocHost is known to the device",
                  "check the order of the arguments and the direction of the copy");
    return Error::InvalidValue;
  }
  if (place == Place::device && !device_wanted) {
    context.found("E08", std::string(name) + ": the " + which + " is a device pointer, where one of the host is meant",
                  "the call says that this side is host memory",
                  "check the direction of the copy, or use cudaMemcpyDefault", allocation ? describe(*allocation) : "");
    return Error::InvalidValue;
  }
  if (place != Place::device) return Error::Success;
  if (allocation && allocation->freed) {
    context.found("E02", std::string(name) + ": the " + which + " lies in memory that was freed",
                  "the pointer was used after its cudaFree", "free it after its last use", describe(*allocation));
    return Error::InvalidValue;
  }
  if (!allocation) {
    context.found("E01", std::string(name) + ": the " + which + " is a device address that no allocation holds",
                  "the pointer was moved out of its allocation", "check the offset added to it");
    return Error::InvalidValue;
  }
  const uint64_t offset = side.address - allocation->address;
  if (side.span() > allocation->bytes - offset) {
    context.found(
        "E01",
        std::string(name) + ": the " + which + " reaches " + std::to_string(offset + side.span() - allocation->bytes) +
            " bytes past the end of its allocation",
        "the call touches " + std::to_string(side.span()) + " bytes from byte " + std::to_string(offset) + " on",
        "sizes are in bytes: multiply elements by sizeof", describe(*allocation));
    return Error::InvalidValue;
  }
  return Error::Success;
}

// Where the emulator reaches the bytes.
std::byte* reach(uint64_t address) {
  const auto& memory = Context::get().memory;
  const Allocation* allocation = memory.find(address);
  return allocation && !allocation->freed ? memory.host(*allocation, address) : reinterpret_cast<std::byte*>(address);
}

bool known_to_device(uint64_t address) { return place_of(address) != Place::host; }

// Calls body(address of a row, its number) for every row; rows that follow each other without a gap are one.
template <class Body>
void for_rows(const Extent& extent, bool dense, Body body) {
  if (!extent.width || !extent.height || !extent.depth) return;
  if (dense) return body(0, 0, extent.width * extent.height * extent.depth);
  for (size_t z = 0; z < extent.depth; ++z) {
    for (size_t y = 0; y < extent.height; ++y) body(y, z, extent.width);
  }
}

bool is_dense(const Rows& side) {
  return (side.extent.height <= 1 || side.pitch == side.extent.width) &&
         (side.extent.depth <= 1 || side.slice == side.extent.width * side.extent.height);
}

Error check(const Copy3D& copy) {
  if (copy.kind < CopyKind::HostToHost || copy.kind > CopyKind::Default) return Error::InvalidMemcpyDirection;
  if (copy.from_array || copy.to_array) return Error::NotSupported;
  const auto from = rows(copy.from, copy.from_position, copy.extent);
  const auto to = rows(copy.to, copy.to_position, copy.extent);
  if (from.span() == 0) return Error::Success;
  if (!copy.from.pointer || !copy.to.pointer) return Error::InvalidValue;
  const bool many = copy.extent.height > 1 || copy.extent.depth > 1;
  if (many && (copy.extent.width > from.pitch || copy.extent.width > to.pitch)) return Error::InvalidPitchValue;
  const bool any = copy.kind == CopyKind::Default;
  const bool from_device = copy.kind == CopyKind::DeviceToHost || copy.kind == CopyKind::DeviceToDevice;
  const bool to_device = copy.kind == CopyKind::HostToDevice || copy.kind == CopyKind::DeviceToDevice;
  const Error error = check_side(to, "destination", any || to_device, any || !to_device);
  return error != Error::Success ? error : check_side(from, "source", any || from_device, any || !from_device);
}

Error check(const Fill2D& fill) {
  const bool known = fill.element_bytes == 1 || fill.element_bytes == 2 || fill.element_bytes == 4;
  if (!known) return Error::InvalidValue;
  const size_t width = fill.width * fill.element_bytes;
  if (!width || !fill.height) return Error::Success;
  if (!fill.to) return Error::InvalidValue;
  if (fill.height > 1 && width > fill.pitch) return Error::InvalidPitchValue;
  return check_side({number(fill.to), fill.pitch, 0, {width, fill.height, 1}}, "destination", true, false);
}

Error copy(const Copy3D& what, Stream* stream) {
  CopyOperation operation{what};
  if (const Error error = check(operation); error != Error::Success) return error;
  return submit(stream, operation);
}

Error fill(void* to, size_t pitch, int value, size_t width, size_t height, Stream* stream) {
  FillOperation operation{{to, pitch, uint32_t(value) & 0xff, 1, width, height}};
  if (const Error error = check(operation); error != Error::Success) return error;
  return submit(stream, operation);
}

Error fill(const PitchedPointer& to, int value, const Extent& extent, Stream* stream) {
  for (size_t z = 0; z < extent.depth; ++z) {
    auto* slice = static_cast<std::byte*>(to.pointer) + z * to.pitch * to.height;
    const Error error = fill(slice, to.pitch, value, extent.width, extent.height, stream);
    if (error != Error::Success) return error;
  }
  return Error::Success;
}

// The part of a variable that a copy to or from it names.
Error part_of(const void* shadow, size_t offset, size_t bytes, void*& address) {
  const Symbol* symbol = registry().symbol(shadow);
  if (!symbol) return Error::InvalidSymbol;
  const Allocation* allocation = nullptr;
  if (const Error error = address_of(*symbol, allocation); error != Error::Success) return error;
  if (offset > allocation->bytes || bytes > allocation->bytes - offset) {
    Context::get().found("E01",
                         std::string(this_thread().name) + ": " + std::to_string(bytes) + " bytes from byte " +
                             std::to_string(offset) + " on are more than the variable has",
                         "the copy would reach past the end of the variable", "sizes are in bytes",
                         describe(*allocation));
    return Error::InvalidValue;
  }
  address = reinterpret_cast<void*>(allocation->address + offset);
  return Error::Success;
}

Error to_symbol(const void* symbol, const void* from, size_t bytes, size_t offset, CopyKind kind, Stream* stream) {
  Copy3D what{};
  if (const Error error = copy_to_symbol(symbol, from, bytes, offset, kind, what); error != Error::Success)
    return error;
  return copy(what, stream);
}

Error from_symbol(void* to, const void* symbol, size_t bytes, size_t offset, CopyKind kind, Stream* stream) {
  Copy3D what{};
  if (const Error error = copy_from_symbol(to, symbol, bytes, offset, kind, what); error != Error::Success)
    return error;
  return copy(what, stream);
}

// Copies between devices need no access of one to the other: without it they go through the host.
Error peer_copy(void* to, int to_device, const void* from, int from_device, size_t bytes, Stream* stream) {
  if (!is_device(to_device) || !is_device(from_device)) return Error::InvalidDevice;
  return copy(linear_copy(to, from, bytes, CopyKind::Default), stream);
}

Error peer_copy(const PeerCopy3D* what, Stream* stream) {
  if (!what) return Error::InvalidValue;
  if (!is_device(what->to_device) || !is_device(what->from_device)) return Error::InvalidDevice;
  return copy({what->from_array, what->from_position, what->from, what->to_array, what->to_position, what->to,
               what->extent, CopyKind::Default},
              stream);
}

}  // namespace

Copy3D linear_copy(void* to, const void* from, size_t bytes, CopyKind kind) {
  return pitched_copy(to, bytes, from, bytes, bytes, 1, kind);
}

Copy3D pitched_copy(void* to, size_t to_pitch, const void* from, size_t from_pitch, size_t width, size_t height,
                    CopyKind kind) {
  Copy3D copy{};
  copy.to = {to, to_pitch, width, height};
  copy.from = {const_cast<void*>(from), from_pitch, width, height};
  copy.extent = {width, height, 1};
  copy.kind = kind;
  return copy;
}

Error copy_to_symbol(const void* symbol, const void* from, size_t bytes, size_t offset, CopyKind kind, Copy3D& result) {
  if (kind != CopyKind::HostToDevice && kind != CopyKind::DeviceToDevice && kind != CopyKind::Default) {
    return Error::InvalidMemcpyDirection;
  }
  void* to = nullptr;
  const Error error = part_of(symbol, offset, bytes, to);
  result = linear_copy(to, from, bytes, kind);
  return error;
}

Error copy_from_symbol(void* to, const void* symbol, size_t bytes, size_t offset, CopyKind kind, Copy3D& result) {
  if (kind != CopyKind::DeviceToHost && kind != CopyKind::DeviceToDevice && kind != CopyKind::Default) {
    return Error::InvalidMemcpyDirection;
  }
  void* from = nullptr;
  const Error error = part_of(symbol, offset, bytes, from);
  result = linear_copy(to, from, bytes, kind);
  return error;
}

Error check(const CopyOperation& operation) { return check(operation.copy); }
Error check(const FillOperation& operation) { return check(operation.fill); }

Error execute(const CopyOperation& operation, Stream&) {
  // Memory may have been freed since a graph was made.
  if (const Error error = check(operation); error != Error::Success) return error;
  const auto& copy = operation.copy;
  const auto from = rows(copy.from, copy.from_position, copy.extent);
  const auto to = rows(copy.to, copy.to_position, copy.extent);
  if (from.span() == 0) return Error::Success;
  auto& session = Context::get().session;
  const bool from_device = known_to_device(from.address), to_device = known_to_device(to.address);
  std::byte* const to_bytes = reach(to.address);
  const std::byte* const from_bytes = reach(from.address);
  for_rows(copy.extent, is_dense(from) && is_dense(to), [&](size_t y, size_t z, size_t width) {
    const uint64_t to_offset = z * to.slice + y * to.pitch, from_offset = z * from.slice + y * from.pitch;
    std::memmove(to_bytes + to_offset, from_bytes + from_offset, width);
    if (to_device && from_device) {
      session.copied(to.address + to_offset, from.address + from_offset, width);
    } else if (to_device) {
      session.written(to.address + to_offset, width);
    }
  });
  return Error::Success;
}

Error execute(const FillOperation& operation, Stream&) {
  if (const Error error = check(operation); error != Error::Success) return error;
  const auto& fill = operation.fill;
  const Extent extent{fill.width * fill.element_bytes, fill.height, 1};
  const Rows to{number(fill.to), fill.pitch, 0, extent};
  if (to.span() == 0) return Error::Success;
  std::byte* const bytes = reach(to.address);
  for_rows(extent, is_dense(to), [&](size_t y, size_t, size_t width) {
    std::byte* row = bytes + y * to.pitch;
    if (fill.element_bytes == 1) {
      std::memset(row, int(fill.value), width);
    } else {
      for (size_t i = 0; i < width; i += fill.element_bytes) std::memcpy(row + i, &fill.value, fill.element_bytes);
    }
    Context::get().session.written(to.address + y * to.pitch, width);
  });
  return Error::Success;
}

// --- copies ------------------------------------------------------------------------------------------------

VGPU_API(cudaMemcpy, void* to, const void* from, size_t bytes, CopyKind kind) {
  return call([&] { return copy(linear_copy(to, from, bytes, kind), nullptr); });
}
VGPU_API(cudaMemcpyAsync, void* to, const void* from, size_t bytes, CopyKind kind, Stream* stream) {
  return call([&] { return copy(linear_copy(to, from, bytes, kind), stream); });
}
VGPU_API(cudaMemcpyPeer, void* to, int to_device, const void* from, int from_device, size_t bytes) {
  return call([&] { return peer_copy(to, to_device, from, from_device, bytes, nullptr); });
}
VGPU_API(cudaMemcpyPeerAsync, void* to, int to_device, const void* from, int from_device, size_t bytes,
         Stream* stream) {
  return call([&] { return peer_copy(to, to_device, from, from_device, bytes, stream); });
}
VGPU_API(cudaMemcpy2D, void* to, size_t to_pitch, const void* from, size_t from_pitch, size_t width, size_t height,
         CopyKind kind) {
  return call([&] { return copy(pitched_copy(to, to_pitch, from, from_pitch, width, height, kind), nullptr); });
}
VGPU_API(cudaMemcpy2DAsync, void* to, size_t to_pitch, const void* from, size_t from_pitch, size_t width, size_t height,
         CopyKind kind, Stream* stream) {
  return call([&] { return copy(pitched_copy(to, to_pitch, from, from_pitch, width, height, kind), stream); });
}
VGPU_API(cudaMemcpy3D, const Copy3D* what) {
  return call([&] { return what ? copy(*what, nullptr) : Error::InvalidValue; });
}
VGPU_API(cudaMemcpy3DAsync, const Copy3D* what, Stream* stream) {
  return call([&] { return what ? copy(*what, stream) : Error::InvalidValue; });
}
VGPU_API(cudaMemcpy3DPeer, const PeerCopy3D* what) {
  return call([&] { return peer_copy(what, nullptr); });
}
VGPU_API(cudaMemcpy3DPeerAsync, const PeerCopy3D* what, Stream* stream) {
  return call([&] { return peer_copy(what, stream); });
}
VGPU_API(cudaMemcpyBatchAsync, void* const* to, const void* const* from, const size_t* bytes, size_t count, void*,
         size_t*, size_t, Stream* stream) {
  return call([&] {
    if (!to || !from || !bytes) return Error::InvalidValue;
    for (size_t i = 0; i < count; ++i) {
      const Error error = copy(linear_copy(to[i], from[i], bytes[i], CopyKind::Default), stream);
      if (error != Error::Success) return error;
    }
    return Error::Success;
  });
}

// --- variables ---------------------------------------------------------------------------------------------

VGPU_API(cudaMemcpyToSymbol, const void* symbol, const void* from, size_t bytes, size_t offset, CopyKind kind) {
  return call([&] { return to_symbol(symbol, from, bytes, offset, kind, nullptr); });
}
VGPU_API(cudaMemcpyToSymbolAsync, const void* symbol, const void* from, size_t bytes, size_t offset, CopyKind kind,
         Stream* stream) {
  return call([&] { return to_symbol(symbol, from, bytes, offset, kind, stream); });
}
VGPU_API(cudaMemcpyFromSymbol, void* to, const void* symbol, size_t bytes, size_t offset, CopyKind kind) {
  return call([&] { return from_symbol(to, symbol, bytes, offset, kind, nullptr); });
}
VGPU_API(cudaMemcpyFromSymbolAsync, void* to, const void* symbol, size_t bytes, size_t offset, CopyKind kind,
         Stream* stream) {
  return call([&] { return from_symbol(to, symbol, bytes, offset, kind, stream); });
}
VGPU_API(cudaGetSymbolAddress, void** result, const void* symbol) {
  return call([&] { return result ? part_of(symbol, 0, 0, *result) : Error::InvalidValue; });
}
VGPU_API(cudaGetSymbolSize, size_t* result, const void* shadow) {
  return call([&] {
    const Symbol* symbol = registry().symbol(shadow);
    if (!symbol) return Error::InvalidSymbol;
    if (!result) return Error::InvalidValue;
    *result = symbol->bytes;
    return Error::Success;
  });
}

// --- fills -------------------------------------------------------------------------------------------------

VGPU_API(cudaMemset, void* to, int value, size_t bytes) {
  return call([&] { return fill(to, bytes, value, bytes, 1, nullptr); });
}
VGPU_API(cudaMemsetAsync, void* to, int value, size_t bytes, Stream* stream) {
  return call([&] { return fill(to, bytes, value, bytes, 1, stream); });
}
VGPU_API(cudaMemset2D, void* to, size_t pitch, int value, size_t width, size_t height) {
  return call([&] { return fill(to, pitch, value, width, height, nullptr); });
}
VGPU_API(cudaMemset2DAsync, void* to, size_t pitch, int value, size_t width, size_t height, Stream* stream) {
  return call([&] { return fill(to, pitch, value, width, height, stream); });
}
VGPU_API(cudaMemset3D, PitchedPointer to, int value, Extent extent) {
  return call([&] { return fill(to, value, extent, nullptr); });
}
VGPU_API(cudaMemset3DAsync, PitchedPointer to, int value, Extent extent, Stream* stream) {
  return call([&] { return fill(to, value, extent, stream); });
}

}  // namespace vgpu
