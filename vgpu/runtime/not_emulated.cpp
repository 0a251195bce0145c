#include "runtime/not_emulated.h"

#include <cstdio>
#include <mutex>
#include <set>
#include <string_view>

namespace vgpu {

int not_emulated(const char* name) {
  static std::mutex mutex;
  static std::set<std::string_view> said;
  const std::lock_guard lock(mutex);
  if (said.insert(name).second) {
    std::fprintf(stderr, "vgpu: %s is not emulated; it returns cudaErrorNotSupported\n", name);
  }
  return 801;  // cudaErrorNotSupported
}

}  // namespace vgpu
