// Status is the error value that travels inside the library; the message is written once, where the error is found.
#pragma once

#include <string>

#include "oprt/api/status.h"

namespace oprt {

class [[nodiscard]] Status {
 public:
  constexpr Status() = default;
  constexpr explicit Status(oprt_status_t code) : code_(code) {}
  constexpr bool ok() const { return code_ == OPRT_SUCCESS; }
  constexpr oprt_status_t code() const { return code_; }

 private:
  oprt_status_t code_ = OPRT_SUCCESS;
};

// Returns from the enclosing function with the first status that is not ok.
#define OPRT_TRY(expression)                                                              \
  do {                                                                                    \
    if (::oprt::Status oprt_status = (expression); !oprt_status.ok()) return oprt_status; \
  } while (0)

// Writes the thread's message as "<op>: <argument>: expected <expected>, got <got>" and returns the status.
Status fail(oprt_status_t code, const char* op, const char* argument, const std::string& expected,
            const std::string& got);

inline Status invalid(const char* op, const char* argument, const std::string& expected, const std::string& got) {
  return fail(OPRT_ERR_INVALID_ARG, op, argument, expected, got);
}

// For what has no argument to blame: "<what>: <sentence>".
Status fail(oprt_status_t code, const char* what, const std::string& sentence);

// Runs a body that may throw (allocation, nothing else) and turns exceptions into statuses: nothing crosses the C
// boundary.
template <class Body>
oprt_status_t guarded(const char* what, Body&& body) noexcept;

Status from_current_exception(const char* what) noexcept;

template <class Body>
oprt_status_t guarded(const char* what, Body&& body) noexcept {
  try {
    return static_cast<Status>(body()).code();
  } catch (...) {
    return from_current_exception(what).code();
  }
}

}  // namespace oprt
