// The builder of rope's tables, the one C function of an operator's header that is not an operator.
#pragma once

#include <nanobind/nanobind.h>

namespace oprt::python {

void bind_rope_table(nanobind::module_& module);

}  // namespace oprt::python
