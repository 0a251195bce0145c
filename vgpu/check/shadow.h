// Shadow memory of the race check: for each piece of memory who wrote it last and who read it last.
//
// A page shadows 4 KiB in pieces of one size, 1 to 16 bytes. It begins as coarse as its first access and is split when
// a finer one comes, so a byte is exact and a float4 costs one entry.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

#include "check/clock.h"

namespace vgpu {

// Threads of one warp at one instruction. `first` and `last` are the outermost of the lanes that touched the piece:
// where they differ, every lane has another beside it, and more is not asked.
struct Entry {
  static constexpr Time kCopy = Time{1} << 31;  // in `time`: made by cp.async, which lands only at a wait
  Time time = 0;                                // of the segment; 0: nobody
  uint32_t first : 5 = 0, last : 5 = 0;
  uint32_t strong : 1 = 0, is_volatile : 1 = 0;  // strong: atomic, relaxed, volatile and the like
  uint32_t site : 20 = 0;                        // of the instruction
};
static_assert(sizeof(Entry) == 8);

class ShadowPage {
 public:
  static constexpr int kShift = 12;
  static constexpr uint64_t kBytes = uint64_t{1} << kShift;

  // Log2 of the bytes of a piece.
  int grain() const { return grain_; }
  void split(int grain) {
    if (grain_ < 0) {
      grain_ = grain;
    } else if (grain < grain_) {
      for (auto* plane : {&write_, &read_, &other_warp_, &other_block_}) {
        if (!*plane) continue;
        auto finer = std::make_unique<Entry[]>(kBytes >> grain);
        for (uint64_t piece = 0; piece < kBytes >> grain; ++piece) finer[piece] = (*plane)[piece >> (grain_ - grain)];
        *plane = std::move(finer);
      }
      grain_ = grain;
    }
  }

  Entry other_warp(uint64_t piece) const { return other_warp_ ? other_warp_[piece] : Entry{}; }
  Entry other_block(uint64_t piece) const { return other_block_ ? other_block_[piece] : Entry{}; }
  Entry* writes() { return plane(write_); }
  Entry* reads() { return plane(read_); }  // the newest reader
  // The newest of another warp of the newest reader's block, and of another block, so that whoever writes next, one of
  // the three is somebody else's if any reader is.
  Entry* other_warps() { return plane(other_warp_); }
  Entry* other_blocks() { return plane(other_block_); }
  bool has_writes() const { return write_ != nullptr; }
  bool has_reads() const { return read_ != nullptr; }
  // Whether nobody has written the pieces, or touched them at all, later than at `time`.
  bool unwritten_since(Time time, uint64_t piece, uint64_t count) const { return newest(write_, piece, count) <= time; }
  bool untouched_since(Time time, uint64_t piece, uint64_t count) const {
    return unwritten_since(time, piece, count) && newest(read_, piece, count) <= time &&
           newest(other_warp_, piece, count) <= time && newest(other_block_, piece, count) <= time;
  }

 private:
  static Time newest(const std::unique_ptr<Entry[]>& entries, uint64_t piece, uint64_t count) {
    Time newest = 0;
    if (entries)
      for (uint64_t k = piece; k < piece + count; ++k) newest = std::max(newest, entries[k].time);
    return newest;
  }
  Entry* plane(std::unique_ptr<Entry[]>& entries) {
    if (!entries) entries = std::make_unique<Entry[]>(kBytes >> grain_);
    return entries.get();
  }
  int grain_ = -1;
  std::unique_ptr<Entry[]> write_, read_, other_warp_, other_block_;
};

// Of global memory: pages by address.
class SparseShadow {
 public:
  ShadowPage& page(uint64_t address) {
    const uint64_t number = address >> ShadowPage::kShift;
    auto& [cached, page] = recent_[number % kRecent];
    if (cached != number || !page) {
      cached = number;
      page = &pages_[number];
    }
    return *page;
  }
  size_t pages() const { return pages_.size(); }
  void clear() {
    pages_.clear();
    std::fill(std::begin(recent_), std::end(recent_), Recent{});
  }

 private:
  static constexpr size_t kRecent = 64;
  struct Recent {
    uint64_t number = 0;
    ShadowPage* page = nullptr;
  };
  std::unordered_map<uint64_t, ShadowPage> pages_;
  Recent recent_[kRecent];
};

// Of a block's shared memory: pages by offset.
class DenseShadow {
 public:
  void reach(uint64_t bytes) {
    const size_t pages = (bytes + ShadowPage::kBytes - 1) >> ShadowPage::kShift;
    if (pages > pages_.size()) pages_.resize(pages);
  }
  ShadowPage& page(uint64_t offset) { return pages_[offset >> ShadowPage::kShift]; }

 private:
  std::vector<ShadowPage> pages_;
};

}  // namespace vgpu
