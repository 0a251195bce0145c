// The runtime's state: one Context per process, one ThreadState per thread, and call(), which every exported function
// is made of.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <exception>
#include <mutex>
#include <new>
#include <string>
#include <vector>

#include "check/session.h"
#include "exec/engine.h"
#include "exec/memory.h"
#include "runtime/api.h"

namespace vgpu {

// What `vgpu run` says, by environment variables, so that the library works alone as well.
struct Configuration {
  SessionOptions session;        // VGPU_CHECK, VGPU_REPORT, VGPU_REPORT_FILE
  uint64_t seed = 0;             // VGPU_SEED
  int sm = 90;                   // VGPU_SM
  uint64_t memory = 8ull << 30;  // VGPU_MEMORY, bytes of each device
  int devices = 1;               // VGPU_DEVICES
  uint64_t budget = 0;           // VGPU_BUDGET, instructions of one warp; 0: the engine's own
};

constexpr int kMostDevices = 8;

// False, with a sentence, where a variable has a value that means nothing.
bool read_configuration(Configuration& result, std::string& error);

struct CallConfiguration {  // of <<<...>>>, between push and pop
  Dim3 grid, block;
  size_t shared;
  Stream* stream;
  void* site;
};

struct ThreadState {
  Error last = Error::Success;
  int depth = 0;          // of nested calls; the outermost one counts
  int device = -1;        // that cudaSetDevice chose; -1: none
  const char* name = "";  // of the API function that the program called
  void* site = nullptr;   // and where it returns to
  CaptureMode capture_mode = CaptureMode::Global;
  bool in_host_function = false;
  void* launch_site = nullptr;  // of the configuration popped last
  std::vector<CallConfiguration> configurations;
};
ThreadState& this_thread();

std::recursive_mutex& runtime_mutex();  // held through every call

// What each device has of its own, beside its memory, streams and pools.
struct DeviceState {
  // Bit d: a kernel on device d may access what lies here, but for pools: its own, and that of each device that has
  // enabled peer access to this one.
  uint32_t reach = 0;
  // By cudaLimit, what programs set and read back. Here the first alone, the stack, bounds anything.
  std::array<size_t, 7> limits = {1024, 1 << 20, 8 << 20, 2, 2048, 64, 0};
  int cache_preference = 0;
  unsigned flags = 0;
};

class Context {
 public:
  static Context& get();  // made at the first call, never destroyed: programs call us from their static destructors

  Configuration configuration;
  DeviceLimits limits;  // all devices are alike
  std::vector<DeviceState> devices;
  std::vector<int> valid_devices;  // cudaSetValidDevices: the first is current where a thread has chosen none
  Memory memory;
  Session session;

  // Errors that end a launch stick: every later call returns them. The launch itself, and cudaGetLastError before any
  // other call, do not know of it yet, as on hardware.
  Error sticky = Error::Success;
  bool sticky_seen = false;
  uint64_t launches = 0;

  // What the runtime itself has to say: of the whole, once, on stderr.
  void say(const std::string& sentence);
  // A finding about the call that is being made.
  void found(const char* code, std::string what, std::string reason, std::string hint, std::string object = {});
  // Of what belongs to a device and its peers may access.
  Owner owner(int device) const { return {device, &devices[size_t(device)].reach}; }
  // Tells `vgpu run` of the first error found, at once: the program may abort next.
  void look_for_errors();

 private:
  bool errors_noted_ = false;
  explicit Context(Configuration configuration);
};

bool is_device(int device);
int current_device();  // of the calling thread

// Runs the body of an exported function: under the lock, with sticky errors and the thread's last error as on hardware,
// and without letting an exception out. `name` and `site` are the exported function's own.
template <class Body>
[[gnu::always_inline]] inline Error call(Body body, const char* name = __builtin_FUNCTION(),
                                         void* site = __builtin_return_address(0)) {
  auto& thread = this_thread();
  auto& context = Context::get();
  const std::lock_guard lock(runtime_mutex());
  if (thread.depth++ == 0) {
    thread.name = name;
    thread.site = site;
  }
  Error error = Error::Success;
  if (thread.in_host_function) {
    error = Error::NotPermitted;  // a host function may not call the runtime
  } else if (context.sticky != Error::Success) {
    context.sticky_seen = true;
    error = context.sticky;
  } else {
    try {
      error = body();
    } catch (const std::bad_alloc&) {
      error = Error::MemoryAllocation;
    } catch (const std::exception& exception) {
      context.say(std::string(name) + ": " + exception.what());
      error = Error::Unknown;
    }
  }
  if (--thread.depth == 0 && error != Error::Success && error != Error::NotReady) thread.last = error;
  return error;
}

}  // namespace vgpu
