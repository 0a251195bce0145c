#include "check/init.h"

#include <algorithm>
#include <bit>

#include "check/findings.h"
#include "check/footprint.h"

namespace vgpu {
namespace {

// Calls what(word, mask) for the words that hold bits [from, from + count), until it answers false.
template <class Do>
bool each_word(uint64_t from, uint64_t count, Do&& what) {
  for (const uint64_t end = from + count; from < end;) {
    const uint64_t bit = from % 64, width = std::min(64 - bit, end - from);
    const uint64_t mask = (width == 64 ? ~uint64_t{0} : (uint64_t{1} << width) - 1) << bit;
    if (!what(from / 64, mask)) return false;
    from += width;
  }
  return true;
}

}  // namespace

void WrittenBits::set(uint64_t from, uint64_t bytes, bool value) {
  each_word(from, bytes, [&](uint64_t word, uint64_t mask) {
    words_[word] = value ? words_[word] | mask : words_[word] & ~mask;
    return true;
  });
}

bool WrittenBits::all(uint64_t from, uint64_t bytes) const {
  return each_word(from, bytes, [&](uint64_t word, uint64_t mask) { return (words_[word] & mask) == mask; });
}

bool WrittenBits::any(uint64_t from, uint64_t bytes) const {
  return !each_word(from, bytes, [&](uint64_t word, uint64_t mask) { return (words_[word] & mask) == 0; });
}

// --- outside of kernels ------------------------------------------------------------------------------------

void InitCheck::allocated(uint64_t address, uint64_t bytes) {
  recent_ = {};
  WrittenBits bits(bytes);
  if (bits.there()) global_.insert_or_assign(address, std::move(bits));
}

void InitCheck::freed(uint64_t address) {
  recent_ = {};
  global_.erase(address);
}

InitCheck::Found InitCheck::global(uint64_t address) {
  if (recent_.bits && address - recent_.start < recent_.bits->bytes()) return recent_;
  auto next = global_.upper_bound(address);
  if (next == global_.begin()) return {0, nullptr};
  auto& [start, bits] = *std::prev(next);
  if (address - start >= bits.bytes()) return {0, nullptr};
  return recent_ = {start, &bits};
}

void InitCheck::written(uint64_t address, uint64_t bytes) {
  const Found found = global(address);
  if (found.bits) found.bits->set(address - found.start, std::min(bytes, found.start + found.bits->bytes() - address));
}

void InitCheck::copied(uint64_t to, uint64_t from, uint64_t bytes) {
  const Found source = global(from), target = global(to);
  if (!target.bits) return;
  if (!source.bits) return written(to, bytes);
  bytes = std::min({bytes, source.start + source.bits->bytes() - from, target.start + target.bits->bytes() - to});
  if (source.bits->all(from - source.start, bytes)) return target.bits->set(to - target.start, bytes);
  for (uint64_t k = 0; k < bytes; ++k) {
    target.bits->set(to - target.start + k, 1, source.bits->at(from - source.start + k));
  }
}

// --- inside ------------------------------------------------------------------------------------------------

void InitCheck::begin(const Launch&) {
  blocks_.clear();
  reported_.clear();
}

void InitCheck::block_begin(const Launch&, uint32_t block, uint64_t shared_bytes) {
  blocks_.insert_or_assign(block, Block{WrittenBits(shared_bytes), {}});
}

void InitCheck::block_end(const Launch&, uint32_t block) { blocks_.erase(block); }

WrittenBits& InitCheck::local(Block& block, uint32_t thread, uint64_t end) {
  auto [entry, is_new] = block.local.try_emplace(thread, end);
  if (entry->second.bytes() < end) {  // a callee's frame lies above
    WrittenBits larger(2 * end);
    for (uint64_t k = 0; k < entry->second.bytes(); ++k) {
      if (entry->second.at(k)) larger.set(k, 1);
    }
    entry->second = std::move(larger);
  }
  return entry->second;
}

void InitCheck::check(const Access& access, uint32_t lane, const WrittenBits& bits, uint64_t from) {
  if (bits.any(from, access.bytes) || !reported_.insert(access.place.instruction).second) return;
  const Launch& launch = *access.place.launch;
  Diagnostic d = findings_.about(launch, "E07");
  d.what = "a thread reads " + std::string(name_of(access.space)) + " memory that nothing has written";
  d.spots = {findings_.spot(access.place, lane, "read it")};
  d.object = findings_.object(launch, access.space, access.address[lane]);
  if (access.space == ptx::Space::global) {
    d.reason = "cudaMalloc does not clear memory: it holds whatever was there before";
    d.hint = "cudaMemset it, copy to it, or write it in a kernel before this one; check the index too";
  } else if (access.space == ptx::Space::shared) {
    d.reason = "shared memory holds at a block's start what other blocks left there";
    d.hint = "write every element that is read, also where the input is shorter than the tile";
  } else {
    d.reason = "a local array starts with whatever its memory held";
    d.hint = "initialise it: float a[8] = {};";
  }
  findings_.add(std::move(d));
}

void InitCheck::access(const Access& access) {
  const bool reads = access.kind != AccessKind::store, writes = access.kind != AccessKind::load;
  if (access.space == ptx::Space::local) {
    Block& block = blocks_.at(access.place.block);
    for_each_lane(access.lanes, [&](uint32_t lane) {
      const uint64_t from = access.address[lane];
      WrittenBits& bits = local(block, access.place.warp * 32 + lane, from + access.bytes);
      if (reads) check(access, lane, bits, from);
      if (writes) bits.set(from, access.bytes);
    });
    return;
  }
  const bool shared = access.space == ptx::Space::shared;
  if (!shared && access.space != ptx::Space::global) return;
  Found found{0, nullptr};
  const uint32_t first = std::countr_zero(access.lanes);
  if (shared) {
    found.bits = &blocks_.at(access.owner_block).shared;
  } else {
    found = global(access.address[first]);
  }
  if (found.bits && in_a_row(access)) {
    const uint64_t from = access.address[0] - found.start, bytes = 32 * uint64_t{access.bytes};
    if (from + bytes <= found.bits->bytes()) {
      if (!reads) return found.bits->set(from, bytes);
      if (!writes && found.bits->all(from, bytes)) return;
    }
  }
  const bool once = !writes && one_place(access);  // for all lanes
  for_each_lane(once ? 1u << first : access.lanes, [&](uint32_t lane) {
    const Found own = shared ? found : global(access.address[lane]);
    if (!own.bits) return;
    const uint64_t from = access.address[lane] - own.start;
    if (from + access.bytes > own.bits->bytes()) return;
    if (reads) check(access, lane, *own.bits, from);
    if (writes) own.bits->set(from, access.bytes);
  });
}

}  // namespace vgpu
