// Happens-before, kept as vector clocks that threads share.
//
// Time is one counter for the whole program. A warp's stretch between two synchronising events is a *segment*, named by
// the time at which it began, so an access is stamped with a segment's number alone. To know a thread "up to t" is to
// be ordered after all its segments numbered t or less. A clock is the list of what is known; threads that left the
// same barrier share one clock, so a barrier costs a pointer a lane.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace vgpu {

using Time = uint32_t;

// Threads `lanes` of one warp, or a whole block, are known up to `time`.
struct Known {
  static constexpr uint32_t kWholeBlock = 0;
  uint32_t block;
  uint32_t unit;  // kWholeBlock or 1 + the warp
  uint32_t lanes;
  Time time;
};

class Clock {
 public:
  // Beyond so many entries a clock forgives: it counts everything up to its newest entry as known, and so misses races
  // but invents none. A launch of 4,000 blocks that hand results on one by one stays exact.
  static constexpr size_t kMost = 4096;

  bool knows(uint32_t block, uint32_t warp, uint32_t lane, Time time) const;
  Time whole_block(uint32_t block) const;         // up to when all of the block is known
  bool ignores(uint32_t block, Time time) const;  // whether no thread of the block is known up to then
  void learn(Known fact);
  void learn(const Clock& other);
  bool empty() const { return facts_.empty() && everything_ == 0; }

 private:
  std::vector<Known> facts_;  // by block, then unit
  Time everything_ = 0;
  friend class ClockRef;
  uint32_t owners_ = 0;
};

// A shared, immutable clock: null knows nothing. One thread at a time uses all clocks of a launch, so that the count
// needs no atomics.
class ClockRef {
 public:
  ClockRef() = default;
  explicit ClockRef(Clock clock) : clock_(new Clock(std::move(clock))) { clock_->owners_ = 1; }
  ClockRef(const ClockRef& other) : clock_(other.clock_) {
    if (clock_) ++clock_->owners_;
  }
  ClockRef(ClockRef&& other) noexcept : clock_(other.clock_) { other.clock_ = nullptr; }
  ClockRef& operator=(ClockRef other) noexcept {
    std::swap(clock_, other.clock_);
    return *this;
  }
  ~ClockRef() {
    if (clock_ && --clock_->owners_ == 0) delete clock_;
  }
  explicit operator bool() const { return clock_; }
  bool operator==(const ClockRef& other) const { return clock_ == other.clock_; }
  const Clock* operator->() const { return clock_; }
  const Clock& operator*() const { return *clock_; }
  // The clock to write to, after a copy where others own it too.
  Clock& own() {
    if (!clock_) {
      *this = ClockRef(Clock());
    } else if (clock_->owners_ > 1) {
      *this = ClockRef(Clock(*clock_));
    }
    return *clock_;
  }

 private:
  Clock* clock_ = nullptr;
};

}  // namespace vgpu
