// E05 where nothing hangs: the lanes of a warp come to one opening of a barrier from different instructions.
//
// __syncthreads() is bar.sync, "aligned": the PTX manual wants all lanes of a warp at the same one, and leaves
// undefined what happens else. Different warps may come from different lines, as long as the count is right. (A barrier
// that never opens is the engine's to find.)
#pragma once

#include <map>
#include <set>
#include <unordered_map>

#include "exec/observer.h"

namespace vgpu {

class Findings;

class BarrierCheck : public Observer {
 public:
  explicit BarrierCheck(Findings& findings) : findings_(findings) {}
  void begin(const Launch& launch) override;
  void arrive(const Place& place, uint32_t lanes, int id, bool waits) override;
  void open(const Launch& launch, uint32_t block, int id) override;

 private:
  struct Part {
    Place place;
    uint32_t lanes;
  };
  Findings& findings_;
  std::unordered_map<uint64_t, std::vector<Part>> waiting_;  // by block and barrier
  std::set<const ptx::Instruction*> reported_;
};

}  // namespace vgpu
