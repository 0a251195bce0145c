#include "check/footprint.h"

#include <algorithm>

namespace vgpu {

Footprint sectors_of(const Access& access) {
  // Lanes' accesses are of one size and aligned to it: two are the same bytes or disjoint.
  if (in_a_row(access)) {
    const uint64_t first = access.address[0], bytes = 32 * uint64_t{access.bytes};
    return {uint32_t((first + bytes - 1) / 32 - first / 32 + 1), uint32_t((bytes + 31) / 32), uint32_t(bytes)};
  }
  uint64_t addresses[32];
  uint32_t count = 0;
  bool rising = true;
  for_each_lane(access.lanes, [&](uint32_t lane) {
    const uint64_t address = access.address[lane];
    if (count && address == addresses[count - 1]) return;
    rising &= !count || address > addresses[count - 1];
    addresses[count++] = address;
  });
  if (!rising) {
    std::sort(addresses, addresses + count);
    count = uint32_t(std::unique(addresses, addresses + count) - addresses);
  }
  Footprint footprint;
  uint64_t next = 0;  // the first sector that is not counted yet
  for (uint32_t k = 0; k < count; ++k) {
    const uint64_t first = std::max(addresses[k] / 32, next), last = (addresses[k] + access.bytes - 1) / 32;
    if (last + 1 > first) footprint.sectors += uint32_t(last + 1 - first);
    next = std::max(next, last + 1);
  }
  footprint.bytes = count * access.bytes;
  footprint.ideal = (footprint.bytes + 31) / 32;
  return footprint;
}

Wavefronts wavefronts_of(const Access& access) {
  const uint32_t words = std::max(access.bytes / 4, 1u), group = 32 / std::min(words, 32u);
  Wavefronts sum;
  const bool alone = one_place(access) || (in_a_row(access) && access.address[0] % 4 == 0);  // no two lanes conflict
  for (uint32_t first = 0; first < 32; first += group) {
    const uint32_t lanes = access.lanes >> first & (group == 32 ? ~0u : (1u << group) - 1);
    if (!lanes) continue;
    ++sum.ideal;
    if (alone) {
      ++sum.wavefronts;
      continue;
    }
    uint64_t seen[32][32];  // by bank
    uint8_t count[32] = {};
    uint32_t most = 1;
    for_each_lane(lanes, [&](uint32_t lane) {
      for (uint32_t w = 0; w < words; ++w) {
        const uint64_t word = access.address[first + lane] / 4 + w;
        uint64_t* bank = seen[word % 32];
        uint8_t& size = count[word % 32];
        if (std::find(bank, bank + size, word) != bank + size) continue;
        bank[size++] = word;
        most = std::max<uint32_t>(most, size);
      }
    });
    sum.wavefronts += most;
  }
  return sum;
}

}  // namespace vgpu
