#include "error.h"

#include <nanobind/nanobind.h>

namespace nb = nanobind;

namespace oprt::python {

void set_error(oprt_status_t status, const std::string& message) {
  const nb::module_ errors = nb::module_::import_("operator_runtime.errors");
  const nb::object error = errors.attr("from_status")(static_cast<int>(status), message.c_str());
  PyErr_SetObject(error.type().ptr(), error.ptr());
}

void raise(oprt_status_t status, const std::string& message) {
  set_error(status, message);
  throw nb::python_error();
}

void raise_argument(oprt_status_t status, const char* op, const char* argument, const std::string& expected,
                    const std::string& got) {
  std::string message = op;
  message.append(": ").append(argument).append(": expected ").append(expected).append(", got ").append(got);
  if (!PyErr_Occurred()) raise(status, message);
  nb::python_error cause;  // takes the exception that is set
  try {
    raise(status, message);
  } catch (nb::python_error& error) {
    PyException_SetCause(error.value().ptr(), nb::borrow(cause.value()).release().ptr());
    throw;
  }
}

}  // namespace oprt::python
