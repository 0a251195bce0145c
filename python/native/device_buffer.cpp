#include "device_buffer.h"

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <exception>
#include <string>
#include <vector>

#include "dlpack/dlpack.h"
#include "error.h"
#include "oprt/runtime/buffer.h"
#include "oprt/runtime/error.h"
#include "tensor.h"

namespace oprt::python {
namespace {

oprt_stream_t work_stream = nullptr;

// The bytes of a Python object, while this lives.
class HostBytes {
 public:
  HostBytes(nb::handle object, int flags) {
    if (PyObject_GetBuffer(object.ptr(), &buffer_, flags) != 0) throw nb::python_error();
  }
  ~HostBytes() { PyBuffer_Release(&buffer_); }
  HostBytes(const HostBytes&) = delete;

  void* data() const { return buffer_.buf; }
  size_t size() const { return static_cast<size_t>(buffer_.len); }

 private:
  Py_buffer buffer_;
};

DeviceView view_of(nb::handle self, const std::string& dtype, const std::vector<int64_t>& shape,
                   const std::vector<int64_t>& strides, int64_t byte_offset) {
  const auto& buffer = nb::cast<const DeviceBuffer&>(self);
  DeviceView out = {{}, buffer.device().c(), nb::borrow(self)};
  out.view.data = static_cast<char*>(buffer.data()) + byte_offset;
  out.view.dtype = dtype_named("DeviceBuffer", "dtype", dtype);
  out.view.ndim = static_cast<int32_t>(shape.size());
  for (size_t i = 0; i < shape.size() && i < OPRT_MAX_DIMS; ++i) {
    out.view.shape[i] = shape[i];
    out.view.strides[i] = strides.at(i);
  }
  return out;
}

}  // namespace

WorkStream::WorkStream(oprt_stream_t stream) : before_(work_stream) { work_stream = stream; }
WorkStream::~WorkStream() { work_stream = before_; }

const DLPackExchangeAPI& device_view_api() {
  static const DLPackExchangeAPI api = [] {
    DLPackExchangeAPI only_stream = {};
    only_stream.current_work_stream = [](DLDeviceType, int32_t, void** stream) {
      *stream = work_stream;
      return 0;
    };
    return only_stream;
  }();
  return api;
}

void bind_device_buffer(nb::module_& module) {
  nb::register_exception_translator([](const std::exception_ptr& thrown, void*) {
    try {
      std::rethrow_exception(thrown);
    } catch (const Error& error) {
      set_error(error.status(), error.what());
    }
  });
  nb::class_<DeviceView>(module, "DeviceView", "A tensor in a DeviceBuffer. Made by DeviceBuffer.view().");
  nb::class_<DeviceBuffer>(module, "DeviceBuffer", "A block of memory on the first GPU; its contents are undefined.")
      .def(
          "__init__",
          [](DeviceBuffer* self, size_t bytes) {
            try {
              new (self) DeviceBuffer(bytes, Device(OPRT_BACKEND_NVIDIA));
            } catch (const Error& error) {
              raise(error.status(), error.what());
            }
          },
          nb::arg("bytes"))
      .def(
          "copy_from",
          [](DeviceBuffer& self, nb::handle host) {
            const HostBytes bytes(host, PyBUF_SIMPLE);
            self.copy_from(bytes.data(), bytes.size());
          },
          nb::arg("host"), "Fills the beginning with an object's bytes.")
      .def(
          "copy_to",
          [](const DeviceBuffer& self, nb::handle host) {
            const HostBytes bytes(host, PyBUF_WRITABLE);
            self.copy_to(bytes.data(), bytes.size());
          },
          nb::arg("host"), "Fills an object's bytes with the beginning, after all work on the default stream.")
      .def("view", view_of, nb::arg("dtype"), nb::arg("shape"), nb::arg("strides"), nb::arg("byte_offset"),
           "A tensor in this memory; strides in elements.");
  module.def(
      "take_device_errors",
      [] {
        int64_t count = 0;
        check(oprt_take_device_errors(nullptr, &count));
        return count;
      },
      "How many bad ids and positions the GPU's kernels have met since the last take: oprt/api/device.h.");
}

}  // namespace oprt::python
