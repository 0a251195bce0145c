// What the decoder adds between two instructions: an operand is brought to another width.
#pragma once

#include <cstdint>

#include "exec/warp.h"

namespace vgpu {

template <class To, class From>
const Decoded* resize(Warp& w, const Decoded& d, Mask lanes) {
  const From* in = w.lanes<From>(d.a);
  To* out = w.lanes<To>(d.d);
  for_each_lane(lanes, [&](int l) { out[l] = static_cast<To>(in[l]); });
  return &d + 1;
}
template <class From>
Handler resize_from(int to) {
  switch (to) {
    case 1: return resize<uint8_t, From>;
    case 2: return resize<uint16_t, From>;
    case 4: return resize<uint32_t, From>;
    case 8: return resize<uint64_t, From>;
    default: return nullptr;
  }
}

// From one width to another, in bytes; null where there is no such width.
inline Handler resize_handler(int from, int to, bool with_sign) {
  switch (from) {
    case 1: return with_sign ? resize_from<int8_t>(to) : resize_from<uint8_t>(to);
    case 2: return with_sign ? resize_from<int16_t>(to) : resize_from<uint16_t>(to);
    case 4: return with_sign ? resize_from<int32_t>(to) : resize_from<uint32_t>(to);
    case 8: return resize_from<uint64_t>(to);
    default: return nullptr;
  }
}

}  // namespace vgpu
