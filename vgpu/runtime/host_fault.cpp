#include "runtime/host_fault.h"

#include <signal.h>
#include <ucontext.h>

#include <cstdio>

#include "report/names.h"
#include "runtime/context.h"

namespace vgpu {
namespace {

const Memory* device_memory = nullptr;
struct sigaction before{};

std::string hexadecimal(uint64_t value) {
  char text[32];
  std::snprintf(text, sizeof text, "0x%llx", static_cast<unsigned long long>(value));
  return text;
}

void report(uint64_t address, bool is_write, void* site) {
  const Allocation* allocation = device_memory->find(address);
  std::string what =
      std::string("the host ") + (is_write ? "wrote to" : "read from") + " device address " + hexadecimal(address);
  std::string object;
  if (allocation) {
    object = std::to_string(allocation->bytes) + " bytes" + device_of(*device_memory, *allocation) + ", from " +
             allocation->made_by;
    what += ", byte " + std::to_string(address - allocation->address) + " of an allocation of the device";
  }
  auto& thread = this_thread();
  thread.site = site;  // the faulting instruction itself
  Context::get().found("E08", what, "a pointer from cudaMalloc is an address of the device: the host cannot follow it",
                       "copy with cudaMemcpy, or allocate with cudaMallocManaged", object);
}

void on_fault(int signal, siginfo_t* info, void* state) {
  static thread_local bool inside = false;  // a fault while reporting is nobody's but ours
  const auto address = reinterpret_cast<uint64_t>(info->si_addr);
  if (!inside && info->si_code > 0 && device_memory->in_device_range(address)) {
    inside = true;
    const auto& registers = static_cast<ucontext_t*>(state)->uc_mcontext.gregs;
    // The report looks for the line of the call before a return address: one byte further on is this instruction's.
    report(address, registers[REG_ERR] & 2, reinterpret_cast<void*>(registers[REG_RIP] + 1));
    Context::get().session.finish();
    inside = false;
  }
  if (before.sa_flags & SA_SIGINFO) {
    before.sa_sigaction(signal, info, state);
  } else if (before.sa_handler == SIG_DFL || before.sa_handler == SIG_IGN) {
    sigaction(signal, &before, nullptr);  // the instruction runs again and ends the program, as it would without us
  } else {
    before.sa_handler(signal);
  }
}

}  // namespace

void watch_host_faults(const Memory& memory) {
  device_memory = &memory;
  struct sigaction ours{};
  ours.sa_sigaction = on_fault;
  ours.sa_flags = SA_SIGINFO | SA_ONSTACK;
  sigemptyset(&ours.sa_mask);
  sigaction(SIGSEGV, &ours, &before);
}

}  // namespace vgpu
