#include "check/clock.h"

#include <algorithm>

namespace vgpu {
namespace {

bool before(const Known& a, const Known& b) { return a.block != b.block ? a.block < b.block : a.unit < b.unit; }

}  // namespace

bool Clock::knows(uint32_t block, uint32_t warp, uint32_t lane, Time time) const {
  if (time <= everything_) return true;
  auto fact = std::lower_bound(facts_.begin(), facts_.end(), Known{block, Known::kWholeBlock, 0, 0}, before);
  for (; fact != facts_.end() && fact->block == block && fact->unit <= warp + 1; ++fact) {
    if (fact->time < time) continue;
    if (fact->unit == Known::kWholeBlock || (fact->unit == warp + 1 && fact->lanes >> lane & 1)) return true;
  }
  return false;
}

Time Clock::whole_block(uint32_t block) const {
  auto fact = std::lower_bound(facts_.begin(), facts_.end(), Known{block, Known::kWholeBlock, 0, 0}, before);
  const bool found = fact != facts_.end() && fact->block == block && fact->unit == Known::kWholeBlock;
  return found ? std::max(fact->time, everything_) : everything_;
}

bool Clock::ignores(uint32_t block, Time time) const {
  if (time <= everything_) return false;
  auto fact = std::lower_bound(facts_.begin(), facts_.end(), Known{block, Known::kWholeBlock, 0, 0}, before);
  for (; fact != facts_.end() && fact->block == block; ++fact) {
    if (fact->time >= time) return false;
  }
  return true;
}

void Clock::learn(Known fact) {
  if (fact.time <= everything_) return;
  auto [first, last] = std::equal_range(facts_.begin(), facts_.end(), fact, before);
  if (fact.unit == Known::kWholeBlock) {
    if (first != last) {
      first->time = std::max(first->time, fact.time);
    } else {
      first = facts_.insert(first, fact);
    }
    // What was known of single warps of the block up to then is said by this one.
    const Known whole = *first++;
    last = first;
    while (last != facts_.end() && last->block == whole.block) ++last;
    facts_.erase(std::remove_if(first, last, [&](const Known& f) { return f.time <= whole.time; }), last);
  } else {
    if (fact.time <= whole_block(fact.block)) return;
    for (auto f = first; f != last; ++f) {
      if (f->time <= fact.time) f->lanes &= ~fact.lanes;
      if (f->time > fact.time) fact.lanes &= ~f->lanes;
    }
    auto kept = std::remove_if(first, last, [](const Known& f) { return f.lanes == 0; });
    auto at = facts_.erase(kept, last);
    if (fact.lanes) facts_.insert(at, fact);
  }
  if (facts_.size() > kMost) {
    for (const Known& f : facts_) everything_ = std::max(everything_, f.time);
    facts_.clear();
  }
}

void Clock::learn(const Clock& other) {
  if (other.facts_.size() > facts_.size()) {
    std::vector<Known> mine = other.facts_;
    mine.swap(facts_);
    for (const Known& fact : mine) learn(fact);
  } else {
    for (const Known& fact : other.facts_) learn(fact);
  }
  everything_ = std::max(everything_, other.everything_);
}

}  // namespace vgpu
