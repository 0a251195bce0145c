// What the checks have found in the running launch, until the launch ends and it is known which finding explains which.
#pragma once

#include <string>
#include <vector>

#include "exec/memory.h"
#include "exec/observer.h"
#include "report/diagnostic.h"

namespace vgpu {

Dim3 index_in(uint64_t linear, const Dim3& shape);

class Findings {
 public:
  explicit Findings(const Memory& memory) : memory_(memory) {}

  // A diagnostic's beginnings: its code and kernel.
  Diagnostic about(const Launch& launch, const char* code) const;
  Spot spot(const Place& place, uint32_t lane, std::string did) const;
  Spot spot(const Launch& launch, const ptx::Function* function, const ptx::Instruction* instruction, uint32_t block,
            uint32_t thread, std::string did) const;
  // "byte 128 of argument 1 `src`, 4096 bytes, …"
  std::string object(const Launch& launch, ptx::Space space, uint64_t address) const;
  const Memory& memory() const { return memory_; }

  void add(Diagnostic d) { found_.push_back(std::move(d)); }
  bool empty() const { return found_.empty(); }
  // Root causes only: not that a read is of uninitialised memory where it races, nor what comes after a barrier that
  // came apart. Empties the list.
  std::vector<Diagnostic> take();

 private:
  const Memory& memory_;
  std::vector<Diagnostic> found_;
};

}  // namespace vgpu
