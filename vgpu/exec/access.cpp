#include "exec/access.h"

#include <cstdio>

#include "exec/block.h"
#include "exec/grid.h"

namespace vgpu {
namespace {

using ptx::Space;

// A group of lanes whose addresses lie in one space, and one block's part of it.
struct Target {
  Space space;
  uint32_t rank = 0;    // shared: the block of the cluster
  bool other = false;   // shared: named by its rank
  uint64_t origin = 0;  // what to subtract for the address in the space

  bool operator==(const Target&) const = default;
};

Target target_of(Space space, uint64_t address) {
  uint64_t window = 0;
  if (space == Space::generic) {
    switch (address >> 56) {
      case kSharedWindow >> 56: space = Space::shared, window = kSharedWindow; break;
      case kLocalWindow >> 56: return {Space::local, 0, false, kLocalWindow};
      case kParamWindow >> 56: return {Space::param, 0, false, kParamWindow};
      default: return {Space::global, 0, false, 0};
    }
  }
  if (space == Space::shared) {
    const uint64_t block = (address - window) / kSharedStride;
    if (block) return {space, static_cast<uint32_t>(block - 1), true, window + block * kSharedStride};
  }
  return {space, 0, false, window};
}

std::string hex(uint64_t value) {
  char text[24];
  std::snprintf(text, sizeof text, "0x%llx", static_cast<unsigned long long>(value));
  return text;
}

// The host address of one lane's access; null if it may not be: then the fault says why. `in` is the allocation reached
// last, and now.
std::byte* locate(Warp& w, int lane, const Target& t, uint64_t address, uint32_t bytes, bool write,
                  const Allocation*& in, Fault& f) {
  const uint64_t at = address - t.origin;
  const auto fail = [&](Fault::Kind kind, const std::string& why) -> std::byte* {
    f.kind = kind;
    f.space = t.space;
    f.address = at;
    f.bytes = bytes;
    f.is_write = write;
    f.what = (write ? "writes " : "reads ") + std::to_string(bytes) + (bytes == 1 ? " byte at " : " bytes at ") +
             hex(at) + why;
    return nullptr;
  };
  if (at & (bytes - 1)) return fail(Fault::Kind::misaligned, ", which is no multiple of " + std::to_string(bytes));
  const auto within = [&](std::byte* base, uint64_t size, const char* what) {
    if (at <= size && size - at >= bytes) return base + at;
    return fail(Fault::Kind::out_of_bounds, ", outside of the " + std::to_string(size) + " bytes of " + what);
  };
  Block& block = w.block;
  switch (t.space) {
    case Space::shared: {
      const Cluster& cluster = *block.cluster;
      if (t.other && t.rank >= cluster.blocks.size())
        return fail(Fault::Kind::out_of_bounds, " of block " + std::to_string(t.rank) + " of a cluster of " +
                                                    std::to_string(cluster.blocks.size()));
      Block& owner = t.other ? *cluster.blocks[t.rank] : block;
      if (!owner.live)
        return fail(Fault::Kind::out_of_bounds, " of the shared memory of block " + std::to_string(t.rank) +
                                                    " of the cluster, which has ended: there must be a barrier of the "
                                                    "cluster behind the last access");
      return within(owner.shared, owner.shared_bytes, "shared memory of the block");
    }
    case Space::local:
      return within(w.local + static_cast<uint64_t>(lane) * w.local_stride, w.local_stride,
                    "local memory of the thread");
    case Space::param: {
      const std::span<const std::byte> params = block.grid.launch.params;
      if (write) return fail(Fault::Kind::out_of_bounds, ": a parameter cannot be written");
      return within(const_cast<std::byte*>(params.data()), params.size(), "parameters");
    }
    default: break;
  }
  const Memory& memory = block.grid.memory;
  if (!in || address - in->address >= in->bytes) in = memory.find(address);
  if (!in) {
    constexpr uint64_t kFirstHost = uint64_t{1} << 16, kLastHost = uint64_t{1} << 47;
    if (!memory.in_device_range(address) && address >= kFirstHost && address < kLastHost)
      return fail(Fault::Kind::host_pointer, ", an address of the host");
    return fail(Fault::Kind::out_of_bounds,
                address < kFirstHost ? ", a null pointer" : ", outside of every allocation");
  }
  if (in->freed) {
    f.freed = true;
    return fail(Fault::Kind::out_of_bounds, " of memory that has been freed");
  }
  if (in->owner.reach && !(*in->owner.reach >> block.grid.launch.owner.device & 1))
    return fail(Fault::Kind::other_device, " of another device, to which this one has no access");
  if (in->bytes - (address - in->address) < bytes)
    return fail(Fault::Kind::out_of_bounds,
                ", across the end of an allocation of " + std::to_string(in->bytes) + " bytes");
  return memory.host(*in, address);
}

void report(Warp& w, const Decoded& d, Mask lanes, const Target& t, const uint64_t* address) {
  if (t.space == Space::param) return;
  uint64_t in_space[kLanes];
  for (int l = 0; l < kLanes; ++l) in_space[l] = address[l] - t.origin;
  const Site& site = *d.site;
  const Access access{w.place(d), t.space,    d.access,
                      site.order, site.scope, lanes,
                      d.bytes,    in_space,   t.other ? w.block.cluster->blocks[t.rank]->index : w.block.index,
                      site.async};
  for (Observer* o : w.block.grid.observers) o->access(access);
}

}  // namespace

void report_access(Warp& w, const Decoded& d, Mask lanes, const uint64_t* address) {
  report(w, d, lanes, target_of(d.space, address[std::countr_zero(lanes)]), address);
}

void report_even(Warp& w, const Decoded& d, Mask lanes, uint64_t first, uint64_t stride) {
  uint64_t address[kLanes];
  for (uint64_t l = 0; l < kLanes; ++l) address[l] = first + l * stride;
  report_access(w, d, lanes, address);
}

bool reach(Warp& w, const Decoded& d, Mask lanes, uint64_t* address) {
  const bool write = d.access != AccessKind::load;
  uint64_t host[kLanes];
  const Allocation *in = nullptr, *first = nullptr;
  bool one_allocation = true;
  Fault fault;
  // Everything is checked before anything is reported: what observers see takes place.
  for (Mask m = lanes; m; m &= m - 1) {
    const int l = std::countr_zero(m);
    const Target target = target_of(d.space, address[l]);
    const std::byte* const place = locate(w, l, target, address[l], d.bytes, write, in, fault);
    if (!place) {
      w.fault(d, l, std::move(fault));
      return false;
    }
    if (!first) first = in;
    one_allocation =
        one_allocation && in == first && (target.space == Space::global || target.space == Space::constant);
    host[l] = reinterpret_cast<uint64_t>(place);
  }
  if (w.observed) {
    for (Mask left = lanes; left;) {
      const Target target = target_of(d.space, address[std::countr_zero(left)]);
      Mask group = 0;
      for (Mask m = left; m; m &= m - 1) {
        const int l = std::countr_zero(m);
        group |= static_cast<Mask>(target_of(d.space, address[l]) == target) << l;
      }
      report(w, d, group, target, address);
      left &= ~group;
    }
  }
  if (one_allocation)
    w.windows[d.window] = {static_cast<int64_t>(in->address), static_cast<int64_t>(in->address + in->bytes) - d.bytes,
                           in->shift};
  const uint64_t other = host[std::countr_zero(lanes)];
  for (int l = 0; l < kLanes; ++l) address[l] = lanes >> l & 1 ? host[l] : other;
  return true;
}

std::byte* reach_one(Warp& w, const Decoded& d, int lane, uint64_t generic, uint32_t bytes, bool write) {
  const Allocation* in = nullptr;
  Fault fault;
  std::byte* const place = locate(w, lane, target_of(Space::generic, generic), generic, bytes, write, in, fault);
  if (!place) w.fault(d, lane, std::move(fault));
  return place;
}

}  // namespace vgpu
