#include "check/barrier.h"

#include <algorithm>
#include <bit>

#include "check/findings.h"

namespace vgpu {
namespace {

bool aligned(const ptx::Instruction& instruction) {
  return instruction.opcode() == "bar" || instruction.has("aligned");
}

uint64_t key(uint32_t block, int id) { return uint64_t{block} << 8 | uint64_t(id); }

}  // namespace

void BarrierCheck::begin(const Launch&) {
  waiting_.clear();
  reported_.clear();
}

void BarrierCheck::arrive(const Place& place, uint32_t lanes, int id, bool) {
  if (id >= 16) return;  // the cluster's
  waiting_[key(place.block, id)].push_back({place, lanes});
}

void BarrierCheck::open(const Launch& launch, uint32_t block, int id) {
  auto& parts = waiting_[key(block, id)];
  // Of each warp the first that came; barriers come by warp, so that this is short.
  for (size_t i = 0; i < parts.size(); ++i) {
    for (size_t k = 0; k < i; ++k) {
      const Part *a = &parts[k], *b = &parts[i];
      if (a->place.warp != b->place.warp || a->place.instruction == b->place.instruction) continue;
      if (!aligned(*a->place.instruction) || !aligned(*b->place.instruction)) continue;
      if (a->place.instruction > b->place.instruction) std::swap(a, b);
      if (!reported_.insert(a->place.instruction).second) continue;
      Diagnostic d = findings_.about(launch, "E05");
      d.what = "the lanes of a warp wait at two different barriers at once";
      for (const Part* part : {a, b}) {
        const int others = std::popcount(part->lanes) - 1;
        d.spots.push_back(findings_.spot(
            part->place, uint32_t(std::countr_zero(part->lanes)),
            others ? "waits here, with " + std::to_string(others) + " lanes more" : std::string("waits here")));
      }
      d.reason =
          "all lanes of a warp must come to the same __syncthreads(); what happens else is undefined, and differs by "
          "GPU";
      d.hint = "move the barrier out of the branch: guard the work, not the barrier";
      findings_.add(std::move(d));
    }
  }
  parts.clear();
}

}  // namespace vgpu
