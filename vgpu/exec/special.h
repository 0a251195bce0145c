// Special registers: the lane arrays that hold them.
#pragma once

#include <string_view>

#include "exec/code.h"

namespace vgpu {

template <class T>
using LaneArray = T[kLanes];
template <class T>
using LaneArray3 = LaneArray<T>[3];  // .x .y .z

// The beginnings of the banks. `all` is the guard of an instruction without one.
struct alignas(64) LaunchSpecials {
  Mask all, none, explicit_cluster, unused[13];
  LaneArray3<uint32_t> ntid, nctaid, nclusterid, cluster_nctaid;
  LaneArray<uint32_t> cluster_nctarank, nwarpid, nsmid, dynamic_smem_size, total_smem_size, zero, workspace_high,
      workspace_low;
  LaneArray<uint64_t> gridid, zero64;
};
struct alignas(64) BlockSpecials {
  LaneArray3<uint32_t> ctaid, clusterid, cluster_ctaid;
  LaneArray<uint32_t> cluster_ctarank, smid;
};
struct alignas(64) WarpSpecials {
  LaneArray3<uint32_t> tid;
  LaneArray<uint32_t> laneid, warpid, mask_eq, mask_le, mask_lt, mask_ge, mask_gt;
};

struct Special {
  Ref ref;
  ptx::Type type = ptx::Type::none;  // none: there is no such register
  // Of a register that changes while the warp runs: reads it into d.
  Handler read = nullptr;
};
Special special(std::string_view name);

template <class T>
void fill(LaneArray<T>& lanes, T value) {
  for (T& lane : lanes) lane = value;
}

}  // namespace vgpu
