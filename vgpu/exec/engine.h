// The engine: prepares a module's kernels and runs launches of them to their end or their first fault.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "exec/memory.h"
#include "ptx/module.h"

namespace vgpu {

class Observer;
struct Executed;

struct Dim3 {
  uint32_t x = 1, y = 1, z = 1;
  uint64_t count() const { return uint64_t{x} * y * z; }
};

// What the emulated device is: an H200's numbers unless a field says otherwise.
struct DeviceLimits {
  int sm = 90;
  uint32_t threads_per_block = 1024, threads_per_multiprocessor = 2048, multiprocessors = 132,
           blocks_per_multiprocessor = 32;
  Dim3 block{1024, 1024, 64};
  Dim3 grid{2147483647u, 65535, 65535};
  uint32_t shared_per_block = 48 * 1024, shared_per_block_optin = 227 * 1024, shared_per_multiprocessor = 228 * 1024;
  uint32_t registers_per_block = 65536, cluster_blocks = 8, cluster_blocks_nonportable = 16;
};

class Kernel;  // a prepared kernel; made by Program

// One launch, alive from begin to end.
struct Launch {
  const Kernel* kernel;
  const ptx::Module* module;
  const ptx::Function* function;
  Dim3 grid, block, cluster;
  std::span<const std::byte> params;  // the parameter space, as long as the launch lives
  uint32_t dynamic_shared = 0;        // bytes
  bool cooperative = false;
  uint32_t stack_bytes = 16 * 1024;  // a thread, for calls whose depth is not known beforehand
  uint64_t serial = 0;               // the how-manieth launch of the program, from 1
  void* host_site = nullptr;         // return address of the launching call in the program
  Owner owner;                       // the device that runs it, and owns what the kernel allocates
};

// What ended a launch early. `what` is the engine's plain sentence; report/ adds lines, names and hints.
struct Fault {
  enum class Kind : uint8_t {
    none,
    out_of_bounds,  // E01 (global, constant, local, param or shared: `space` tells) or, where `freed`, E02
    deadlock,       // E05
    host_pointer,   // E08: a host address that no device may use
    other_device,   // E08: memory of a device that gives this one no access
    misaligned,     // E09
    endless,        // E11: the instruction budget of a warp is used up
    stack,          // E01: calls are nested deeper than the stack
    assertion,      // __assertfail
    trap,           // trap;
  } kind = Kind::none;
  const ptx::Function* function = nullptr;
  const ptx::Instruction* instruction = nullptr;
  uint32_t block = 0, thread = 0;  // linear
  ptx::Space space = ptx::Space::global;
  uint64_t address = 0;  // as the program computed it (shared: offset)
  uint32_t bytes = 0;    // of the access
  bool is_write = false, freed = false;
  std::string what;
  // deadlock: who waits where. Threads that left early have `at` null.
  struct Waiting {
    uint32_t block, thread;
    const ptx::Function* function;
    const ptx::Instruction* at;
  };
  std::vector<Waiting> waiting;
};

struct RunOptions {
  uint64_t seed = 0;                    // permutes the order of blocks and warps; 0: in order
  int workers = 0;                      // threads that run blocks; 0: as many as cores. 1 where there are observers
  uint64_t budget = uint64_t{1} << 32;  // instructions of one warp before it counts as an endless loop
  // Instructions of a launch, all of them polls that see nothing new, before it counts as a deadlock: some seconds, for
  // a kernel may wait for its host.
  uint64_t idle = uint64_t{1} << 28;
  std::vector<Observer*> observers;
  std::function<void(const std::string&)> print;  // printf of the device; stdout if empty
  std::function<void(const std::string&)> say;    // a sentence of the engine's own; stderr if empty
};

// A loaded module: its variables have addresses, its kernels are decoded. The constructor's work is done by load().
class Program {
 public:
  // Null with one sentence in `error` (instruction and line) where the module cannot run: unknown instruction, missing
  // symbol. The variables are the owner's; managed ones those of `sibling`, the module's program on another device.
  static std::unique_ptr<Program> load(std::shared_ptr<const ptx::Module> module, Memory& memory, std::string& error,
                                       Owner owner = {}, const Program* sibling = nullptr);
  ~Program();
  const ptx::Module& module() const;
  const Kernel* kernel(std::string_view name) const;        // null if there is none
  const Allocation* variable(std::string_view name) const;  // of .global and .const (its address is the symbol's)
  // Decodes a kernel at its first use. False with a sentence: an unknown instruction, a missing function.
  bool prepare(const Kernel& kernel, std::string& error) const;

 private:
  struct State;
  std::unique_ptr<State> state_;
  Program();
};

// Where a shared variable of a kernel lies. Dynamic shared memory (`extern .shared d[]`) begins at the last one.
struct Placed {
  const ptx::Variable* variable;
  uint64_t offset;
};

struct KernelInfo {
  uint32_t static_shared = 0, local_bytes = 0, constant_bytes = 0, registers = 0, param_bytes = 0;
  uint32_t max_threads = 1024;
  std::span<const ptx::Variable> params;
  std::span<const Placed> shared;  // by offset
};
KernelInfo info(const Kernel& kernel);

// Runs a launch whose shape has been found possible (the runtime checks E10). Blocks until it ends. `executed` (may be
// null) receives one entry an instruction of the kernel's function, callees' under their own function.
Fault run(const Kernel& kernel, const Launch& launch, Memory& memory, const DeviceLimits& limits,
          const RunOptions& options, std::vector<std::pair<const ptx::Function*, std::vector<Executed>>>* executed);

}  // namespace vgpu
