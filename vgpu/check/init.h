// E07: a thread reads memory that nothing wrote: shared, local, or global from cudaMalloc.
//
// One bit a byte. A load is reported where none of its thread's bytes was ever written: padding inside a struct that is
// copied whole, and the spare elements of a row that is read in vectors, are read by correct programs too. Memory that
// the host can write without a call (pinned, managed) and module variables count as written.
#pragma once

#include <cstdlib>
#include <map>
#include <memory>
#include <set>
#include <unordered_map>
#include <vector>

#include "exec/observer.h"

namespace vgpu {

class Findings;

class WrittenBits {
 public:
  explicit WrittenBits(uint64_t bytes)
      : bytes_(bytes), words_(static_cast<uint64_t*>(std::calloc(bytes / 64 + 1, 8)), &std::free) {}
  bool there() const { return words_ != nullptr; }  // false: the host has no memory for them
  uint64_t bytes() const { return bytes_; }
  void set(uint64_t from, uint64_t bytes, bool value = true);
  bool all(uint64_t from, uint64_t bytes) const;
  bool any(uint64_t from, uint64_t bytes) const;
  bool at(uint64_t byte) const { return words_[byte / 64] >> byte % 64 & 1; }

 private:
  uint64_t bytes_;
  std::unique_ptr<uint64_t[], void (*)(void*)> words_;  // from calloc: what is not touched costs nothing
};

class InitCheck : public Observer {
 public:
  explicit InitCheck(Findings& findings) : findings_(findings) {}

  void allocated(uint64_t address, uint64_t bytes);
  void freed(uint64_t address);
  void written(uint64_t address, uint64_t bytes);
  void copied(uint64_t to, uint64_t from, uint64_t bytes);

  void begin(const Launch& launch) override;
  void block_begin(const Launch& launch, uint32_t block, uint64_t shared_bytes) override;
  void block_end(const Launch& launch, uint32_t block) override;
  void access(const Access& access) override;

 private:
  struct Block {
    WrittenBits shared;
    std::unordered_map<uint32_t, WrittenBits> local;  // by thread
  };
  struct Found {
    uint64_t start;
    WrittenBits* bits;  // null: memory that is not watched
  };
  Found global(uint64_t address);
  WrittenBits& local(Block& block, uint32_t thread, uint64_t end);
  void check(const Access& access, uint32_t lane, const WrittenBits& bits, uint64_t from);

  Findings& findings_;
  std::map<uint64_t, WrittenBits> global_;  // by address
  Found recent_{0, nullptr};
  std::unordered_map<uint32_t, Block> blocks_;
  std::set<const ptx::Instruction*> reported_;
};

}  // namespace vgpu
