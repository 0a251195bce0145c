#include "check/warp.h"

#include <bit>

#include "check/findings.h"

namespace vgpu {
namespace {

// "0-15, 17"
std::string list_of(uint32_t lanes) {
  std::string text;
  for (uint32_t lane = 0; lane < 32; ++lane) {
    if (!(lanes >> lane & 1)) continue;
    const uint32_t run = std::countr_one(lanes >> lane);
    if (!text.empty()) text += ", ";
    text += std::to_string(lane);
    if (run > 1) text += "-" + std::to_string(lane + run - 1);
    lane += run;
  }
  return text;
}

std::string lanes_text(uint32_t lanes) { return (std::popcount(lanes) == 1 ? "lane " : "lanes ") + list_of(lanes); }

}  // namespace

void WarpCheck::begin(const Launch&) {
  live_.clear();
  reported_.clear();
}

void WarpCheck::block_begin(const Launch& launch, uint32_t block, uint64_t) {
  const uint32_t threads = uint32_t(launch.block.count());
  std::vector<uint32_t> live(threads / 32, ~0u);
  if (threads % 32) live.push_back((1u << threads % 32) - 1);
  live_[block] = std::move(live);
}

void WarpCheck::block_end(const Launch&, uint32_t block) { live_.erase(block); }

void WarpCheck::exit(const Place& place, uint32_t lanes) { live_.at(place.block)[place.warp] &= ~lanes; }

void WarpCheck::warp_sync(const Place& place, uint32_t lanes, uint32_t mask, uint32_t read) {
  const uint32_t unnamed = lanes & ~mask, absent = mask & ~lanes & live_.at(place.block)[place.warp],
                 gone = read & ~lanes;
  if (!(unnamed | absent | gone) || !reported_.insert(place.instruction).second) return;
  Diagnostic d = findings_.about(*place.launch, "E06");
  char hex[16];
  std::snprintf(hex, sizeof hex, "0x%08x", mask);
  if (unnamed) {
    d.what = lanes_text(unnamed) + " of the warp runs this with a mask, " + hex + ", that does not name it";
    d.hint = "name every lane that gets here: compute the mask with __ballot_sync before the branch";
  } else if (absent) {
    d.what = std::string("the mask ") + hex + " names " + lanes_text(absent) + ", which did not come here";
    d.hint = "let every named lane take part: move this out of the branch, or narrow the mask to the lanes inside it";
  } else {
    d.what = "the shuffle takes a value from " + lanes_text(gone) + ", gone or not taking part";
    d.hint = "keep all lanes until the last shuffle (guard the loads, not the return), or narrow the width";
  }
  d.reason =
      "the hardware waits for the named lanes and exchanges their registers; what a lane that is not there gives is "
      "undefined";
  d.spots = {findings_.spot(place, uint32_t(std::countr_zero(unnamed ? unnamed : lanes)),
                            "with " + lanes_text(lanes) + " together")};
  findings_.add(std::move(d));
}

}  // namespace vgpu
