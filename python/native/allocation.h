// Memory that oprt allocates for a result and gives to a framework by DLPack: how JAX, whose arrays are immutable, gets
// its results without a copy.
#pragma once

#include <nanobind/nanobind.h>

#include <memory>
#include <vector>

#include "oprt/api/device.h"
#include "oprt/api/tensor_view.h"

namespace oprt::python {

namespace nb = nanobind;

struct Export;

// A dense row-major tensor, aligned to 64 bytes, not initialised. It is given away once: after __dlpack__ the capsule
// owns the memory, and neither a second __dlpack__ nor an operator may touch it through this object.
//
// On a GPU the consumer's stream is made to wait for the work that writes it. A consumer says when it has dropped the
// memory, but not which of its streams may still read it, so freeing waits for the device.
class Allocation {
 public:
  // Messages name the operator whose output this becomes.
  Allocation(const char* op, const std::vector<int64_t>& shape, oprt_dtype_t dtype, oprt_device_t device);
  ~Allocation();

  // Raises once the memory has been given away.
  const oprt_tensor_view_t& view() const;

  oprt_device_t device() const { return device_; }

  // The stream of the work that writes it.
  void written_on(oprt_stream_t stream) { stream_ = stream; }

  // The capsule, versioned where max_version allows. Raises BufferError for another device than its own, a stream where
  // that is the host, a demanded copy, and the second time.
  nb::object dlpack(nb::handle stream, nb::handle max_version, nb::handle dl_device, nb::handle copy);
  nb::object dlpack_device() const;

 private:
  void order_before(nb::handle stream) const;

  oprt_tensor_view_t view_;
  oprt_device_t device_;
  oprt_stream_t stream_ = nullptr;
  std::unique_ptr<Export> export_;
};

void bind_allocation(nb::module_& module);

}  // namespace oprt::python
