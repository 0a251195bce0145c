// The clock of `oprt bench` on a GPU: what is submitted to its stream is captured into graphs, and the graphs' replays
// are timed by events on that stream.
#pragma once

#include <nanobind/nanobind.h>

namespace oprt::python {

namespace nb = nanobind;

void bind_gpu_clock(nb::module_& module);

}  // namespace oprt::python
