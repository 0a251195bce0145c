// Status codes as Python exceptions, in the classes of operator_runtime/errors.py.
#pragma once

#include <string>

#include "oprt/api/status.h"

namespace oprt::python {

// Sets the exception of the status's class. The message is the C layer's own, or follows its form.
void set_error(oprt_status_t status, const std::string& message);

// Raises it.
[[noreturn]] void raise(oprt_status_t status, const std::string& message);

// "<op>: <argument>: expected <expected>, got <got>". A Python exception that is set already becomes the cause.
[[noreturn]] void raise_argument(oprt_status_t status, const char* op, const char* argument,
                                 const std::string& expected, const std::string& got);

// After a call of the C layer.
inline void check(oprt_status_t status) {
  if (status != OPRT_SUCCESS) [[unlikely]]
    raise(status, oprt_last_error_message());
}

}  // namespace oprt::python
