// P01 to P04: what the counters of a launch say about how well it uses the memory and the lanes.
#pragma once

#include "check/counters.h"
#include "check/findings.h"

namespace vgpu {

// When a finding is worth a reader's time. Ratios are of what was spent to what the same bytes or lanes need.
struct PerfThresholds {
  // P01: half of every sector that crosses is thrown away. A row that starts off a sector's edge costs 5 for 4: silent.
  double sectors = 2.0;
  // P02: every access takes two turns or more.
  double wavefronts = 2.0;
  // Below so many sectors or wavefronts too many in a launch the finding is about nothing: a block's leader, a tail.
  uint64_t least = 64;
  // P03: of a warp instruction's lanes fewer than this work, over the whole kernel. A block's leader and a tree's last
  // steps stay well above; a branch that every warp's lanes disagree on does not.
  double active = 0.8;
  // P04: lanes of the block's warps that no thread has: a tenth, which 33 to 63 threads exceed and 250 do not.
  double idle = 0.1;
  // P04: a launch of fewer warps would not fill the machine at any shape.
  uint64_t warps = 16;
};

void find_perf(const KernelCounters& counters, const Launch& launch, Findings& findings,
               const PerfThresholds& thresholds = {});

}  // namespace vgpu
