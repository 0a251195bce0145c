#include "oprt/core/backend.h"

#include <atomic>
#include <utility>

namespace oprt {
namespace {

std::atomic<int> last_set{OPRT_BACKEND_AUTO};
thread_local int of_thread = OPRT_BACKEND_UNSET;

}  // namespace

bool has_backend(oprt_backend_t backend) {
#ifdef OPRT_GPU_BACKEND
  if (backend == OPRT_GPU_BACKEND) return true;
#endif
  return backend == OPRT_BACKEND_AUTO || backend == OPRT_BACKEND_CPU;
}

oprt_backend_t current_backend() {
  return static_cast<oprt_backend_t>(of_thread == OPRT_BACKEND_UNSET ? last_set.load() : of_thread);
}

#ifndef OPRT_GPU_BACKEND
Place place_of(const void*) { return {OPRT_BACKEND_CPU, 0}; }
#endif

}  // namespace oprt

extern "C" {

const char* oprt_backend_string(oprt_backend_t backend) {
  switch (backend) {
    case OPRT_BACKEND_AUTO: return "auto";
    case OPRT_BACKEND_NVIDIA: return "nvidia";
    case OPRT_BACKEND_METAX: return "metax";
    case OPRT_BACKEND_CPU: return "cpu";
  }
  return "unknown";
}

oprt_status_t oprt_set_backend(oprt_backend_t backend) {
  return oprt::guarded("set_backend", [&]() -> oprt::Status {
    const int value = static_cast<int>(backend);
    if (value < OPRT_BACKEND_AUTO || value > OPRT_BACKEND_CPU)
      return oprt::invalid("set_backend", "backend", "auto, nvidia, metax or cpu", std::to_string(value));
    if (!oprt::has_backend(backend))
      return oprt::fail(OPRT_ERR_NOT_SUPPORTED, "set_backend", "backend", "a backend that this build has",
                        oprt_backend_string(backend));
    oprt::of_thread = value;
    oprt::last_set = value;
    return {};
  });
}

oprt_status_t oprt_get_backend(oprt_backend_t* backend) {
  return oprt::guarded("get_backend", [&]() -> oprt::Status {
    if (!backend) return oprt::invalid("get_backend", "backend", "a pointer to write to", "a null pointer");
    *backend = oprt::current_backend();
    return {};
  });
}

int oprt_exchange_thread_backend(int backend) { return std::exchange(oprt::of_thread, backend); }

}  // extern "C"
