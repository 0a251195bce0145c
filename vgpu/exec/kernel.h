// A kernel that can be launched: its decoded functions, and how its memory is laid out.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "exec/code.h"
#include "exec/engine.h"
#include "exec/special.h"

namespace vgpu {

// What a call takes of the stack beside its local variables: the least that the machine's calls save.
constexpr uint32_t kCallBytes = 16;

class Kernel {
 public:
  Kernel(const ptx::Module& module, const ptx::Function& function) : module(module), function(function) {}

  // The decoded function that has this generic address; null if none does.
  const Code* function_at(uint64_t address) const;

  const ptx::Module& module;
  const ptx::Function& function;
  KernelInfo info;

  // What decoding makes.
  const Code* entry = nullptr;
  std::vector<std::unique_ptr<Code>> codes;
  std::vector<const Code*> by_function;  // by index in the module; null where no instruction reaches it
  std::vector<std::byte> constants;      // the launch bank: LaunchSpecials, then immediates and addresses
  std::vector<Placed> shared;
  uint32_t windows = 0;      // memory instructions
  uint64_t local_bytes = 0;  // of a thread, with the frames of its calls, none twice
  bool recurses = false;     // or calls through registers: how deep is not known, and the launch's stack bounds it
  // The result may depend on the order in which blocks run: atomics, memory that others change, output. Such a kernel
  // runs on one worker.
  bool order_matters = false;

  // prepare() runs once; its outcome stays.
  std::once_flag once;
  std::string error;
};

// Where variables and functions of a module lie.
struct Symbols {
  std::vector<const Allocation*> variables;  // by index in Module::variables; null for .shared
};

// Decodes the kernel and all that it may call. False with one sentence in kernel.error.
bool decode(Kernel& kernel, const Symbols& symbols);

}  // namespace vgpu
