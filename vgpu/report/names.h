// What the program calls a piece of memory.
#pragma once

#include <cstdint>
#include <string>

#include "exec/engine.h"
#include "exec/memory.h"

namespace vgpu {

struct Named {
  std::string name;    // "argument 1 `src`", "shared variable `tile`"
  std::string object;  // "argument 1 `src`, 4096 bytes, from cudaMalloc at main.cu:12"
  uint64_t bytes = 0;
  int64_t offset = 0;  // of the address in it; past its end or negative where it lies outside
  bool found = false, inside = false, freed = false;
};

// The object at an address of the space, or the nearest one below it.
Named name_at(const Launch& launch, const Memory& memory, ptx::Space space, uint64_t address);

// "`x`", the name of a kernel's parameter in its source; empty where the source is not at hand.
std::string parameter_name(const ptx::Module& module, const ptx::Function& kernel, size_t index);

// ", on device 1"; empty where there is only one device, or the memory is on the host.
std::string device_of(const Memory& memory, const Allocation& allocation);

// "1 byte", "4 bytes"
std::string count_of(uint64_t count, const char* what);

}  // namespace vgpu
