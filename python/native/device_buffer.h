// Memory on a GPU for programs without a GPU framework, the tests first of all: a block of bytes, and views into it
// that every operator takes.
#pragma once

#include <nanobind/nanobind.h>

#include "oprt/api/device.h"
#include "oprt/api/tensor_view.h"

struct DLPackExchangeAPI;

namespace oprt::python {

namespace nb = nanobind;

// A tensor in a DeviceBuffer, which it keeps alive.
struct DeviceView {
  oprt_tensor_view_t view;
  oprt_device_t device;
  nb::object buffer;
};

// While this lives, work on DeviceViews goes to the stream, not to the default one. Guarded by the GIL.
class WorkStream {
 public:
  explicit WorkStream(oprt_stream_t stream);
  ~WorkStream();
  WorkStream(const WorkStream&) = delete;

 private:
  oprt_stream_t before_;
};

// Tells that stream as frameworks tell theirs.
const DLPackExchangeAPI& device_view_api();

void bind_device_buffer(nb::module_& module);

}  // namespace oprt::python
