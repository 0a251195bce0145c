// Errors: the calling thread's last one, names and texts.
#include "runtime/error.h"

#include "runtime/context.h"

namespace vgpu {
namespace {

const char* look_up(int error, bool name) {
  switch (error) {
#define X(word, number, text) \
  case number: return name ? (number ? "cudaError" #word : "cudaSuccess") : text;
    VGPU_ERRORS(X)
#undef X
  }
  return "unrecognized error code";
}

Error last_error(bool forget) {
  auto& context = Context::get();
  auto& thread = this_thread();
  const std::lock_guard lock(runtime_mutex());
  if (context.sticky_seen) return context.sticky;
  const Error last = thread.last;
  if (forget) thread.last = Error::Success;
  return last;
}

}  // namespace

VGPU_API(cudaGetLastError) { return last_error(true); }
VGPU_API(cudaPeekAtLastError) { return last_error(false); }

extern "C" __attribute__((visibility("default"))) const char* cudaGetErrorName(int error) {
  return look_up(error, true);
}
extern "C" __attribute__((visibility("default"))) const char* cudaGetErrorString(int error) {
  return look_up(error, false);
}

}  // namespace vgpu
