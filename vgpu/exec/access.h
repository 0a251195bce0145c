// From the addresses that lanes compute to bytes on the host, or to the fault that they are.
#pragma once

#include <cstring>

#include "exec/warp.h"

namespace vgpu {

// What a memory instruction may reach without a closer look. Shared and local memory and parameters are a window each;
// of global memory a worker remembers, for each instruction, the allocation that it reached last: most stay in one.
// Then 32 lanes are checked by two subtractions each.
struct Window {
  int64_t first = 1, last = 0;  // addresses at which an access of the instruction's size may begin
  int64_t shift = 0;            // from there to the host
};

// Replaces the lanes' addresses by host addresses, where all may be accessed as the instruction says; tells observers.
// Lanes that take no part must hold the address of one that does. False: the launch has ended with a fault.
bool reach(Warp& w, const Decoded& d, Mask lanes, uint64_t* address);

// Tells observers of an access whose lanes are all in one place: the block's own shared memory, or global memory.
void report_access(Warp& w, const Decoded& d, Mask lanes, const uint64_t* address);
void report_even(Warp& w, const Decoded& d, Mask lanes, uint64_t first, uint64_t stride);

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

// The window of the instruction's space.
VGPU_INLINE Window window_of(const Warp& w, const Decoded& d) {
  const auto all_of = [&](const std::byte* first, uint64_t bytes) -> Window {
    return {0, static_cast<int64_t>(bytes) - d.bytes, reinterpret_cast<int64_t>(first)};
  };
  switch (d.space) {
    case ptx::Space::shared: return all_of(w.shared, w.shared_bytes);
    case ptx::Space::local: return all_of(w.local, w.local_stride);
    case ptx::Space::param: return d.access == AccessKind::load ? all_of(w.params, w.params_bytes) : Window();
    default: return w.windows[d.window];
  }
}

// Negative where one of the addresses is outside.
VGPU_INLINE int64_t outside(const Window& window, uint64_t lowest, uint64_t highest) {
  return static_cast<int64_t>(lowest - static_cast<uint64_t>(window.first)) |
         static_cast<int64_t>(static_cast<uint64_t>(window.last) - highest);
}

// Lanes whose bytes lie evenly on the host: lane l's at first + l * stride. No first: they do not, or one may not
// reach.
struct Even {
  std::byte* first = nullptr;
  uint64_t stride = 0;
};

// Whether lane l holds base[0] + l * stride.
template <class T>
VGPU_INLINE bool holds_multiples(const T* base, T stride) {
  T expected = base[0], differs = 0;
  for (int l = 0; l < kLanes; ++l, expected += stride) differs |= base[l] ^ expected;
  return !differs;
}

// The common cases, in which one look serves 32 lanes and the access is one copy: all lanes take part, each right
// behind the one before; or (kPoint) all are at one place. `bytes` is d.bytes, which mostly the compiler knows.
template <bool kPoint>
VGPU_INLINE Even evenly(Warp& w, const Decoded& d, Mask lanes, uint32_t bytes) {
  if (d.space == ptx::Space::local) return {};
  const uint32_t* narrow = w.lanes<uint32_t>(d.a);
  const uint64_t* wide = w.lanes<uint64_t>(d.a);
  const uint64_t stride = d.narrow ? narrow[1] - narrow[0] : wide[1] - wide[0];
  if (!(kPoint && stride == 0) && !(lanes == kAllLanes && stride == bytes)) return {};
  if (!(d.narrow ? holds_multiples(narrow, static_cast<uint32_t>(stride)) : holds_multiples(wide, stride))) return {};
  const uint64_t offset = static_cast<uint64_t>(d.offset);
  const uint64_t first = d.narrow ? static_cast<uint32_t>(narrow[0] + offset) : wide[0] + offset;
  const Window window = window_of(w, d);
  if (outside(window, first, first + (kLanes - 1) * stride) < 0 || first & (bytes - 1)) return {};
  w.polled |= d.strong;
  w.wrote |= d.access == AccessKind::store;
  if (w.observed && d.space != ptx::Space::param) report_even(w, d, lanes, first, stride);
  return {reinterpret_cast<std::byte*>(first + static_cast<uint64_t>(window.shift)), stride};
}

// Any case, for an instruction that addresses by operand a. `address` is the handler's array of 32: host addresses.
// A function of each object file's own, compiled for its processor; as part of every handler it would be half of what
// there is to build.
[[gnu::noinline, maybe_unused]] static bool host_addresses(Warp& w, const Decoded& d, Mask lanes, uint64_t* address) {
  w.polled |= d.strong;
  w.wrote |= d.access == AccessKind::store;
  compute_addresses(w, d, lanes, address);
  const Window window = window_of(w, d);
  int64_t out = 0;
  uint64_t bits = 0;
  for (int l = 0; l < kLanes; ++l) {
    out |= outside(window, address[l], address[l]);
    bits |= address[l];
  }
  if (out < 0 || bits & (d.bytes - 1)) return reach(w, d, lanes, address);
  if (w.observed && d.space != ptx::Space::param) report_access(w, d, lanes, address);
  for (int l = 0; l < kLanes; ++l) address[l] += static_cast<uint64_t>(window.shift);
  if (d.space == ptx::Space::local)
    for (uint64_t l = 0; l < kLanes; ++l) address[l] += l * w.local_stride;
  return true;
}

// The host address of one lane's bytes at a generic address, for what is no plain access (printf). Null: a fault.
std::byte* reach_one(Warp& w, const Decoded& d, int lane, uint64_t generic, uint32_t bytes, bool write);

}  // namespace vgpu
