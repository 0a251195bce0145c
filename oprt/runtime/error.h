// What the C++ classes throw. Header-only, as all of oprt's C++ is: the library itself exports C functions alone.
#pragma once

#include <stdexcept>
#include <string>

#include "oprt/api/status.h"

namespace oprt {

// A status that is not success, with the message that says what was wrong.
class Error : public std::runtime_error {
 public:
  Error(oprt_status_t status, const std::string& message) : std::runtime_error(message), status_(status) {}
  oprt_status_t status() const noexcept { return status_; }

 private:
  oprt_status_t status_;
};

// Throws where a C function failed: `check(oprt_memory_zero(device, data, bytes))`.
inline void check(oprt_status_t status) {
  if (status != OPRT_SUCCESS) throw Error(status, oprt_last_error_message());
}

}  // namespace oprt
