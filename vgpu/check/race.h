// E03, E04: two threads, the same byte, a write among them, not both atomic, and nothing that orders one before the
// other.
//
// What orders:                                                      what does not:
//   a barrier, for the threads that take part                         a shuffle or vote (the CUDA guide: no memory
//   order)
//   __syncwarp, for the lanes in its mask                             being in the same warp
//   fence, then an atomic or volatile write, whose value another      volatile alone
//     thread reads, then a fence or barrier there                     cp.async before its wait
//   release and acquire operations, mbarriers, cluster barriers
//
// Where the manual and code that everybody writes differ, code wins: a barrier after a relaxed read acquires (the CUDA
// guide's "last block" example has no fence there), and what a thread fenced before a barrier, any thread may publish
// after it. A race is reported for one pair of lines once, at the line that reads where one does.
#pragma once

#include <array>
#include <memory>
#include <set>
#include <unordered_map>
#include <vector>

#include "check/clock.h"
#include "check/shadow.h"
#include "exec/observer.h"
#include "report/diagnostic.h"

namespace vgpu {

class Findings;

class RaceCheck : public Observer {
 public:
  explicit RaceCheck(Findings& findings) : findings_(findings) {}

  void begin(const Launch& launch) override;
  void end(const Launch& launch) override;
  void block_begin(const Launch& launch, uint32_t block, uint64_t shared_bytes) override;
  void block_end(const Launch& launch, uint32_t block) override;
  void access(const Access& access) override;
  void arrive(const Place& place, uint32_t lanes, int id, bool waits) override;
  void open(const Launch& launch, uint32_t block, int id) override;
  void cluster_open(const Launch& launch, uint32_t first_block, uint32_t blocks) override;
  void warp_sync(const Place& place, uint32_t lanes, uint32_t mask, uint32_t read) override;
  void fence(const Place& place, uint32_t lanes, Scope scope) override;
  void async_commit(const Place& place, uint32_t lanes) override;
  void async_wait(const Place& place, uint32_t lanes, uint32_t in_flight, bool all) override;
  void mbarrier(const Place& place, uint32_t lanes, uint32_t owner_block, const uint64_t* address,
                bool acquire) override;
  void exit(const Place& place, uint32_t lanes) override;

 private:
  // What a thread can hand on: what it knew, and itself, at some moment.
  struct View {
    ClockRef clock;
    Time warp = 0;  // all lanes of its warp, up to
    Time self = 0;  // itself, up to
    bool there = false;
  };
  // What its fences have prepared for publishing, and what relaxed reads have found and a fence will make known. Each
  // twice: for every block, and for the own block alone (fences and atomics of scope cta).
  struct Fences {
    View all, block;
    ClockRef found_all, found_block;
  };
  struct Warp {
    uint32_t block, index;
    uint32_t live = 0;            // lanes that exist and have not exited
    Time segment = 0;             // 0: begins at the next access
    Time copies = 0;              // the open group of cp.async, 0: none
    std::vector<Time> groups;     // committed and still in flight, oldest first
    Time settled = 0;             // up to here all lanes know all of the block
    ClockRef clock[32];           // what each lane knows
    std::array<Time, 32> warp{};  // and of its own warp, all lanes, up to
    std::unique_ptr<std::array<Fences, 32>> fences;
  };
  struct Barrier {
    struct Part {
      uint32_t warp, lanes;
      Time time;
      bool waits;
    };
    std::vector<Part> parts;
    ClockRef gathered, last;  // `last`: learned already
    Clock fenced_all, fenced_block;
  };
  struct Block {
    uint32_t index = 0;
    Time born = 0;
    uint32_t live = 0;  // threads
    std::vector<Warp> warps;
    std::unordered_map<int, Barrier> barriers;
    DenseShadow shadow;
  };
  // By time: who acted then, or (`copies`) whose copies landed when.
  struct Segment {
    uint32_t block = 0;
    uint16_t warp = 0;
    bool copies = false;
    Time landed = 0;
  };
  // A place through which threads publish: the clocks its last write carries.
  struct Location {
    ClockRef all, block;
    uint32_t owner = 0;  // of `block`
  };
  // One access of one lane, ready to be compared.
  struct Now {
    const Access& access;
    Warp& warp;
    Time oldest;   // what shadow memory holds from then or before is of another launch or block
    Time settled;  // and up to here it is known to all lanes
    Entry mine;
    bool reads, writes;
  };

  // race.cpp
  template <class Page>
  void lanes(const Access& access, Now& now, Page page_at);
  bool run(Now& now, ShadowPage& page, uint64_t piece, uint32_t first_lane, uint32_t end_lane);
  bool read_by_others(const Now& now, ShadowPage& page, uint64_t piece, uint64_t count);
  void load(Now& now, ShadowPage& page, uint64_t piece, uint64_t address);
  void store(Now& now, ShadowPage& page, uint64_t piece, uint64_t address);
  bool ordered(const Now& now, Entry entry) const;
  bool conflicts(const Now& now, Entry entry) const;
  void report(const Now& now, Entry entry, bool entry_wrote, uint64_t address);
  uint32_t site(const Place& place);
  Place place_of(const Entry& entry, const Launch& launch) const;

  // race_order.cpp
  Time tick(Segment segment);
  Warp& warp_of(const Place& place) { return block(place.block).warps[place.warp]; }
  Block& block(uint32_t index);
  Time segment(Warp& warp);
  void settle(Warp& warp);
  void tell(Clock& into, const Warp& warp, uint32_t lane, const View& view) const;
  void gather(ClockRef& into, ClockRef& last, const Warp& warp, uint32_t lanes) const;
  void gather_fences(Clock& all, Clock& block, const Warp& warp, uint32_t lanes) const;
  void give_fences(Warp& warp, uint32_t lanes, const Clock& all, const Clock& block);
  void take_found(Warp& warp, uint32_t lanes, Scope scope);
  void synchronise(const Access& access, Warp& warp);
  void acquire(Warp& warp, uint32_t lane, const Location& location, bool at_once, Scope scope);
  bool publish(Warp& warp, uint32_t lane, Location& location, bool current, Scope scope) const;

  Findings& findings_;
  Time now_ = 0, begun_ = 0;
  std::vector<Segment> segments_;  // of this launch: [time - begun_ - 1]
  SparseShadow global_;
  std::unordered_map<uint32_t, std::unique_ptr<Block>> blocks_;
  std::vector<std::unique_ptr<Block>> spare_;
  Block* recent_ = nullptr;
  std::unordered_map<uint64_t, Location> locations_;  // by address; of shared memory: by window, block and offset
  // Instructions are numbered from 0 through the functions that were met.
  std::vector<std::pair<const ptx::Function*, uint32_t>> functions_;  // and its first number
  uint32_t sites_ = 0;
  std::set<std::pair<uint32_t, uint32_t>> reported_;  // sites
};

}  // namespace vgpu
