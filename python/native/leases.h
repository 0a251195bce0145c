// Exports that outlive the call that took them. A framework that does not know the stream of the work (JAX) may write
// over memory as soon as its export is given back, so on a GPU that has to wait until the work is done.
#pragma once

#include <nanobind/nanobind.h>

#include <vector>

#include "oprt/api/device.h"

namespace oprt::python {

namespace nb = nanobind;

// Keeps them until the work that is now in the stream is done; what is done is let go of at the next call. Needs the
// GIL. Where no event can be made, waits for the stream.
void keep_until_done(oprt_device_t device, oprt_stream_t stream, std::vector<nb::object> leases) noexcept;

}  // namespace oprt::python
