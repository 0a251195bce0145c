#include "exec/memory.h"

#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <vector>

namespace vgpu {
namespace {

constexpr uint64_t kAlign = 256, kPage = 4096;
// Addresses are handed out in ascending order and reused only when the range has been walked through once, so that a
// stale pointer hits a freed allocation rather than a new one. Reserving costs nothing but address space.
constexpr uint64_t kRange = uint64_t{1} << 42;

uint64_t round_up(uint64_t value, uint64_t to) { return (value + to - 1) / to * to; }

std::byte* reserve(uint64_t bytes, int protection) {
  void* p = mmap(nullptr, bytes, protection, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  return p == MAP_FAILED ? nullptr : static_cast<std::byte*>(p);
}

bool has_own_address(MemoryKind kind) { return kind == MemoryKind::pinned || kind == MemoryKind::managed; }

}  // namespace

struct Memory::State {
  struct Entry {
    Allocation allocation;
    bool adopted = false;  // the program's own memory
  };

  uint64_t capacity = 0, serial = 0;
  std::vector<uint64_t> used;      // of each device
  std::byte* addresses = nullptr;  // the device range: what the program sees, never mapped
  std::byte* bytes = nullptr;      // what the emulator sees
  uint64_t range = 0, next = 0;    // offset at which the search for room begins
  std::map<uint64_t, Entry> entries;
  std::atomic<uint64_t> version{1};
  mutable std::mutex mutex;

  uint64_t base() const { return reinterpret_cast<uint64_t>(addresses); }

  // The entry that begins at or below the address, or end().
  std::map<uint64_t, Entry>::const_iterator below(uint64_t address) const {
    auto it = entries.upper_bound(address);
    return it == entries.begin() ? entries.end() : std::prev(it);
  }

  // Room for `size` bytes of the device range, from `next` on; what was freed there is forgotten. 0: none.
  uint64_t take(uint64_t size) {
    for (int round = 0; round < 2; ++round) {
      uint64_t at = next;
      while (at + size <= range) {
        auto live = std::find_if(entries.lower_bound(base() + at), entries.lower_bound(base() + at + size),
                                 [](const auto& entry) { return !entry.second.allocation.freed; });
        if (live == entries.lower_bound(base() + at + size)) {
          entries.erase(entries.lower_bound(base() + at), live);
          next = at + size;
          return base() + at;
        }
        at = live->first - base() + room(live->second.allocation.bytes);
      }
      next = kAlign;  // offset 0 stays free: nothing lies just below the first allocation
    }
    return 0;
  }

  // With a gap of at least one alignment, so that one element past the end is in no allocation.
  static uint64_t room(uint64_t bytes) { return round_up(bytes, kAlign) + kAlign; }

  const Allocation* insert(Allocation a, bool adopted) {
    a.serial = ++serial;
    ++version;
    // What was freed inside the new allocation is forgotten (addresses of host memory come back at any time).
    auto inside = entries.lower_bound(a.address);
    while (inside != entries.end() && inside->first < a.address + a.bytes && inside->second.allocation.freed)
      inside = entries.erase(inside);
    Entry& entry = entries[a.address];
    entry = {std::move(a), adopted};
    return &entry.allocation;
  }
};

Memory::Memory(uint64_t capacity, int devices) : state_(std::make_unique<State>()) {
  State& s = *state_;
  s.capacity = capacity;
  s.used.resize(static_cast<size_t>(devices));
  s.next = kAlign;
  for (s.range = kRange; s.range >= uint64_t{1} << 32; s.range /= 2) {  // a limited address space gets a smaller range
    s.addresses = reserve(s.range, PROT_NONE);
    s.bytes = s.addresses ? reserve(s.range, PROT_READ | PROT_WRITE) : nullptr;
    if (s.bytes) break;
    if (s.addresses) munmap(s.addresses, s.range);
    s.addresses = nullptr;
  }
  if (!s.bytes) s.range = 0;
  if (s.bytes) madvise(s.bytes, s.range, MADV_DONTDUMP);
}

Memory::~Memory() {
  for (const auto& [address, entry] : state_->entries)
    if (has_own_address(entry.allocation.kind) && !entry.adopted && !entry.allocation.freed)
      munmap(reinterpret_cast<void*>(address), std::max(round_up(entry.allocation.bytes, kPage), kPage));
  if (state_->bytes) munmap(state_->bytes, state_->range);
  if (state_->addresses) munmap(state_->addresses, state_->range);
}

const Allocation* Memory::allocate(uint64_t bytes, MemoryKind kind, const char* made_by, void* host_site, Owner owner,
                                   std::string name) {
  State& s = *state_;
  std::lock_guard lock(s.mutex);
  uint64_t& used = s.used[static_cast<size_t>(owner.device)];
  Allocation a;
  a.bytes = bytes;
  a.kind = kind;
  a.owner = owner;
  a.made_by = made_by;
  a.host_site = host_site;
  a.name = std::move(name);
  if (has_own_address(kind)) {
    if (bytes > s.capacity) return nullptr;
    std::byte* host = reserve(std::max(round_up(bytes, kPage), kPage), PROT_READ | PROT_WRITE);
    if (!host) return nullptr;
    a.address = reinterpret_cast<uint64_t>(host);
  } else {
    if (bytes > s.capacity - used) return nullptr;
    a.address = s.take(State::room(bytes));
    if (!a.address) return nullptr;
    a.shift = s.bytes - s.addresses;
    used += bytes;
  }
  return s.insert(std::move(a), false);
}

const Allocation* Memory::adopt(void* host, uint64_t bytes, MemoryKind kind, const char* made_by, void* host_site,
                                Owner owner) {
  std::lock_guard lock(state_->mutex);
  Allocation a;
  a.address = reinterpret_cast<uint64_t>(host);
  a.bytes = bytes;
  a.kind = kind;
  a.owner = owner;
  a.made_by = made_by;
  a.host_site = host_site;
  auto old = state_->entries.find(a.address);
  if (old != state_->entries.end() && !old->second.allocation.freed) return nullptr;  // registered already
  return state_->insert(std::move(a), true);
}

bool Memory::free(uint64_t address) {
  State& s = *state_;
  std::lock_guard lock(s.mutex);
  auto it = s.entries.find(address);
  if (it == s.entries.end() || it->second.allocation.freed) return false;
  Allocation& a = it->second.allocation;
  a.freed = true;
  ++s.version;
  if (it->second.adopted) return true;
  if (has_own_address(a.kind)) {
    munmap(reinterpret_cast<void*>(address), std::max(round_up(a.bytes, kPage), kPage));
    return true;
  }
  s.used[static_cast<size_t>(a.owner.device)] -= a.bytes;
  const uint64_t from = round_up(address + a.shift, kPage), to = (address + a.shift + a.bytes) / kPage * kPage;
  if (from < to) madvise(reinterpret_cast<void*>(from), to - from, MADV_DONTNEED);
  return true;
}

const Allocation* Memory::find(uint64_t address) const {
  std::lock_guard lock(state_->mutex);
  auto it = state_->below(address);
  if (it == state_->entries.end()) return nullptr;
  const Allocation& a = it->second.allocation;
  return address - a.address < a.bytes ? &a : nullptr;
}

const Allocation* Memory::nearest_below(uint64_t address) const {
  std::lock_guard lock(state_->mutex);
  auto it = state_->below(address);
  return it == state_->entries.end() ? nullptr : &it->second.allocation;
}

bool Memory::in_device_range(uint64_t address) const { return address - state_->base() < state_->range; }

int Memory::devices() const { return static_cast<int>(state_->used.size()); }

uint64_t Memory::used(int device) const {
  std::lock_guard lock(state_->mutex);
  return state_->used[static_cast<size_t>(device)];
}

uint64_t Memory::capacity() const { return state_->capacity; }
uint64_t Memory::version() const { return state_->version; }

}  // namespace vgpu
