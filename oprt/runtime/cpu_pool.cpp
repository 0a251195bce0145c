// The CPU's memory pool: freed blocks wait in one list per size. Sizes are rounded up to eight steps an octave, so that
// at most an eighth of a block is wasted and a size that comes back finds the block it left.
#include <algorithm>
#include <bit>
#include <cstdlib>
#include <map>
#include <memory>
#include <mutex>
#include <unordered_map>

#include "oprt/core/text.h"
#include "oprt/runtime/cpu_memory.h"

namespace oprt {
namespace {

constexpr size_t kLargest = size_t{1} << 62;  // beyond, rounding up could overflow; no machine has it

size_t rounded(size_t bytes) {
  const size_t step = std::max(kHostAlignment, std::bit_floor(bytes) / 8);
  return (bytes + step - 1) / step * step;
}

class CpuPool final : public oprt_memory_pool {
 public:
  CpuPool(oprt_device_t device, uint64_t limit_bytes)
      : oprt_memory_pool(device), limit_(limit_bytes ? limit_bytes : UINT64_MAX) {}

  ~CpuPool() override {
    for (const auto& [data, block] : blocks_) std::free(data);
  }

  Status alloc(size_t bytes, oprt_stream_t, void** data) override {
    std::lock_guard lock(mutex_);
    if (bytes > kLargest) return out_of_memory(bytes);
    const size_t size = rounded(bytes);
    Block*& list = cached_[size];
    const bool hit = list != nullptr;
    if (!hit) OPRT_TRY(reserve(size, &list));
    Block* block = list;
    list = block->next;
    block->used = true;
    stats_.used_bytes += size;
    stats_.used_peak = std::max(stats_.used_peak, stats_.used_bytes);
    stats_.allocations += 1;
    stats_.hits += hit;
    *data = block->data;
    return {};
  }

  Status free(void* data, oprt_stream_t) override {
    std::lock_guard lock(mutex_);
    Block* block = find(data);
    if (!block) return not_a_block("memory_pool_free", data);
    block->used = false;
    stats_.used_bytes -= block->size;
    Block*& list = cached_.find(block->size)->second;  // made when the block was reserved
    block->next = list;
    list = block;
    if (stats_.reserved_bytes > threshold_) release_to(threshold_);
    return {};
  }

  // Work on a CPU stream is done when its submission returns: nothing to remember.
  Status use(void* data, oprt_stream_t) override {
    std::lock_guard lock(mutex_);
    return find(data) ? Status{} : not_a_block("memory_pool_use", data);
  }

  Status trim(uint64_t keep_bytes) override {
    std::lock_guard lock(mutex_);
    release_to(keep_bytes);
    return {};
  }

  Status set_release_threshold(uint64_t bytes) override {
    std::lock_guard lock(mutex_);
    threshold_ = bytes;
    release_to(bytes);
    return {};
  }

  oprt_memory_pool_stats_t stats() override {
    std::lock_guard lock(mutex_);
    return stats_;
  }

 private:
  struct Block {
    void* data;
    size_t size;
    bool used;
    Block* next;  // in its size's list, while not used
  };

  Block* find(void* data) {
    const auto found = blocks_.find(data);
    return found != blocks_.end() && found->second.used ? &found->second : nullptr;
  }

  // A new block from the system, at the head of its list. Cached blocks make room for it where they must.
  Status reserve(size_t size, Block** list) {
    if (size > limit_) return out_of_memory(size);
    release_to(limit_ - size);
    if (stats_.reserved_bytes > limit_ - size) return out_of_memory(size);
    void* data;
    if (!host_alloc("memory_pool_alloc", size, &data).ok()) {
      release_to(0);
      OPRT_TRY(host_alloc("memory_pool_alloc", size, &data));
    }
    std::unique_ptr<void, void (*)(void*)> owner(data, std::free);
    Block& block = blocks_[data];
    owner.release();
    block = {data, size, false, *list};
    *list = &block;
    stats_.reserved_bytes += size;
    stats_.reserved_peak = std::max(stats_.reserved_peak, stats_.reserved_bytes);
    return {};
  }

  // The largest cached blocks go first, until at most keep_bytes are reserved or none is cached.
  void release_to(uint64_t keep_bytes) {
    for (auto at = cached_.rbegin(); at != cached_.rend() && stats_.reserved_bytes > keep_bytes; ++at) {
      Block*& list = at->second;
      while (list && stats_.reserved_bytes > keep_bytes) {
        void* data = list->data;
        stats_.reserved_bytes -= list->size;
        list = list->next;
        blocks_.erase(data);
        std::free(data);
      }
    }
  }

  Status out_of_memory(size_t bytes) const {
    const std::string limit = limit_ == UINT64_MAX ? "no limit" : "a limit of " + std::to_string(limit_);
    return fail(OPRT_ERR_OUT_OF_MEMORY, "memory_pool_alloc",
                std::to_string(bytes) + " bytes do not fit a pool with " + limit + " and " +
                    std::to_string(stats_.used_bytes) + " bytes in use");
  }

  static Status not_a_block(const char* what, const void* data) {
    return invalid(what, "data", "a block of this pool in use", address(data));
  }

  std::mutex mutex_;
  std::unordered_map<void*, Block> blocks_;  // all that is reserved
  std::map<size_t, Block*> cached_;          // lists of what is not used, by size
  const uint64_t limit_;
  uint64_t threshold_ = UINT64_MAX;
  oprt_memory_pool_stats_t stats_ = {};
};

}  // namespace

Status make_cpu_pool(oprt_device_t device, uint64_t limit_bytes, oprt_memory_pool** pool) {
  *pool = new CpuPool(device, limit_bytes);
  return {};
}

}  // namespace oprt
