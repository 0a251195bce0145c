// E06: a *.sync intrinsic whose mask is not what runs it: a lane executes it that its mask does not name, a named lane
// that has not exited never comes, or a shuffle reads from a lane that does not take part.
#pragma once

#include <set>
#include <unordered_map>
#include <vector>

#include "exec/observer.h"

namespace vgpu {

class Findings;

class WarpCheck : public Observer {
 public:
  explicit WarpCheck(Findings& findings) : findings_(findings) {}
  void begin(const Launch& launch) override;
  void block_begin(const Launch& launch, uint32_t block, uint64_t shared_bytes) override;
  void block_end(const Launch& launch, uint32_t block) override;
  void warp_sync(const Place& place, uint32_t lanes, uint32_t mask, uint32_t read) override;
  void exit(const Place& place, uint32_t lanes) override;

 private:
  Findings& findings_;
  std::unordered_map<uint32_t, std::vector<uint32_t>> live_;  // by block and warp: lanes that have not exited
  std::set<const ptx::Instruction*> reported_;
};

}  // namespace vgpu
