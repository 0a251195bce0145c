// From the addresses that lanes compute to bytes on the host, or to the fault that they are.
#pragma once

#include <cstring>

#include "exec/warp.h"

namespace vgpu {

// What a worker remembers of a global memory instruction: the allocation that it reached last. Most instructions stay
// in one, and then 32 lanes are checked by two subtractions each.
struct Window {
  int64_t first = 1, last = 0;  // addresses at which an access of the instruction's size may begin
  int64_t shift = 0;            // from there to the host
};

// Replaces the lanes' addresses by host addresses, where all may be accessed as the instruction says; tells observers.
// Lanes that take no part must hold the address of one that does. False: the launch has ended with a fault.
bool reach(Warp& w, const Decoded& d, Mask lanes, uint64_t* address);

// Tells observers of an access whose lanes are all in one place: the block's own shared memory, or global memory.
void report_access(Warp& w, const Decoded& d, Mask lanes, const uint64_t* address);

// The lanes' addresses: register + offset; a lane that takes no part gets the first one's.
VGPU_INLINE void compute_addresses(Warp& w, const Decoded& d, Mask lanes, uint64_t* address) {
  if (d.narrow) {
    const uint32_t* base = w.lanes<uint32_t>(d.a);
    for (int l = 0; l < kLanes; ++l) address[l] = static_cast<uint32_t>(base[l] + d.offset);
  } else {
    const uint64_t* base = w.lanes<uint64_t>(d.a);
    for (int l = 0; l < kLanes; ++l) address[l] = base[l] + d.offset;
  }
  if (lanes != kAllLanes) {
    const uint64_t other = address[std::countr_zero(lanes)];
    for (int l = 0; l < kLanes; ++l) address[l] = lanes >> l & 1 ? address[l] : other;
  }
}

// Both, for an instruction that addresses by operand a. `address` is the handler's array of 32.
VGPU_INLINE bool host_addresses(Warp& w, const Decoded& d, Mask lanes, uint64_t* address) {
  w.polled |= d.strong;
  w.wrote |= d.access == AccessKind::store;
  compute_addresses(w, d, lanes, address);
  int64_t outside = 0;
  uint64_t bits = 0;
  if (d.space == ptx::Space::shared) {
    const int64_t last = static_cast<int64_t>(w.shared_bytes) - d.bytes;
    for (int l = 0; l < kLanes; ++l) {
      outside |= (last - static_cast<int64_t>(address[l])) | static_cast<int64_t>(address[l]);
      bits |= address[l];
    }
    if (outside >= 0 && !(bits & (d.bytes - 1))) {
      if (w.observed) report_access(w, d, lanes, address);
      for (int l = 0; l < kLanes; ++l) address[l] += reinterpret_cast<uint64_t>(w.shared);
      return true;
    }
  } else if (d.space == ptx::Space::local) {
    const int64_t last = static_cast<int64_t>(w.local_stride) - d.bytes;
    for (int l = 0; l < kLanes; ++l) {
      outside |= (last - static_cast<int64_t>(address[l])) | static_cast<int64_t>(address[l]);
      bits |= address[l];
    }
    if (outside >= 0 && !(bits & (d.bytes - 1))) {
      if (w.observed) report_access(w, d, lanes, address);
      for (uint64_t l = 0; l < kLanes; ++l) address[l] += reinterpret_cast<uint64_t>(w.local) + l * w.local_stride;
      return true;
    }
  } else {
    const Window window = w.windows[d.window];
    for (int l = 0; l < kLanes; ++l) {
      outside |= (static_cast<int64_t>(address[l]) - window.first) | (window.last - static_cast<int64_t>(address[l]));
      bits |= address[l];
    }
    if (outside >= 0 && !(bits & (d.bytes - 1))) {
      if (w.observed) report_access(w, d, lanes, address);
      for (int l = 0; l < kLanes; ++l) address[l] += static_cast<uint64_t>(window.shift);
      return true;
    }
  }
  return reach(w, d, lanes, address);
}

// The host address of one lane's bytes at a generic address, for what is no plain access (printf). Null: a fault.
std::byte* reach_one(Warp& w, const Decoded& d, int lane, uint64_t generic, uint32_t bytes, bool write);

}  // namespace vgpu
