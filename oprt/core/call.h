// What a backend is given: a plan that is valid, and the pointers of one call. C++17: GPU sources include it.
#pragma once

#include <cstddef>

#include "oprt/api/descriptor.h"
#include "oprt/core/loop.h"
#include "oprt/core/status.h"

namespace oprt {

struct Call {
  void* data[kMaxOperands];  // operands in order, null where absent or empty
  void* workspace;           // any alignment
  oprt_stream_t stream;
  int device;
};

// Operand i's first element in a loop's order.
template <class T>
T* first(const Call& call, const Loop& loop, int i) {
  return static_cast<T*>(call.data[i]) + loop.offset[i];
}

template <class Plan>
struct Kernel {
  const char* name;  // <op>_<strategy>, as oprt_last_kernel reports it
  Status (*run)(const Plan& plan, const Call& call);
};

template <class Plan>
struct Backend {
  const Kernel<Plan>* kernels;  // everything that choose can return
  int kernel_count;
  // From the plan and the pointers' alignment alone; cheap, called at create and at every execute. Fails where this
  // build or device cannot (NOT_SUPPORTED).
  Status (*choose)(const Plan& plan, const Call& call, const Kernel<Plan>** kernel);
  size_t (*workspace)(const Plan& plan);  // bytes, or null where no call needs any
};

}  // namespace oprt
