#include "check/findings.h"

#include <algorithm>

#include "report/names.h"
#include "report/source.h"

namespace vgpu {

Dim3 index_in(uint64_t linear, const Dim3& shape) {
  return {uint32_t(linear % shape.x), uint32_t(linear / shape.x % shape.y),
          uint32_t(linear / (uint64_t{shape.x} * shape.y))};
}

Diagnostic Findings::about(const Launch& launch, const char* code) const {
  Diagnostic d;
  d.code = code;
  d.kernel = short_name(launch.function->name);
  d.launched = host_line(launch.host_site);
  if (memory_.devices() > 1) d.device = launch.owner.device;
  return d;
}

Spot Findings::spot(const Launch& launch, const ptx::Function* function, const ptx::Instruction* instruction,
                    uint32_t block, uint32_t thread, std::string did) const {
  return {launch.module, function, instruction, index_in(block, launch.grid), index_in(thread, launch.block),
          std::move(did)};
}

Spot Findings::spot(const Place& place, uint32_t lane, std::string did) const {
  return spot(*place.launch, place.function, place.instruction, place.block, place.warp * 32 + lane, std::move(did));
}

std::string Findings::object(const Launch& launch, ptx::Space space, uint64_t address) const {
  const Named named = name_at(launch, memory_, space, address);
  return named.found ? "byte " + std::to_string(named.offset) + " of " + named.object : "";
}

std::vector<Diagnostic> Findings::take() {
  std::vector<Diagnostic> found;
  found.swap(found_);
  auto races = [](const Diagnostic& d) { return d.code == "E03" || d.code == "E04"; };
  std::vector<const ptx::Instruction*> racing;
  for (const Diagnostic& d : found) {
    if (!races(d)) continue;
    for (const Spot& spot : d.spots) racing.push_back(spot.instruction);
  }
  std::erase_if(found, [&](const Diagnostic& d) {
    return d.code == "E07" && std::find(racing.begin(), racing.end(), d.spots[0].instruction) != racing.end();
  });
  // What a block does after its barrier came apart says nothing more.
  const auto apart = std::find_if(found.begin(), found.end(), [](const Diagnostic& d) { return d.code == "E05"; });
  if (apart != found.end()) {
    found.erase(std::remove_if(apart + 1, found.end(), [](const Diagnostic& d) { return !d.ends_launch; }),
                found.end());
  }
  return found;
}

}  // namespace vgpu
