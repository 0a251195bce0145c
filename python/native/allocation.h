// Memory that oprt allocates for a result and gives to a framework by DLPack: how JAX, whose arrays are immutable, gets
// its results without a copy.
#pragma once

#include <nanobind/nanobind.h>

#include <memory>
#include <vector>

#include "oprt/api/tensor_view.h"

namespace oprt::python {

namespace nb = nanobind;

struct Export;

// A dense row-major tensor, aligned to 64 bytes, not initialised. It is given away once: after __dlpack__ the capsule
// owns the memory, and neither a second __dlpack__ nor an operator may touch it through this object.
class Allocation {
 public:
  // Messages name the operator whose output this becomes.
  Allocation(const char* op, const std::vector<int64_t>& shape, oprt_dtype_t dtype);
  ~Allocation();

  // Raises once the memory has been given away.
  const oprt_tensor_view_t& view() const;

  // The capsule, versioned where max_version allows. Raises BufferError for a stream, a device other than the host's, a
  // demanded copy, and the second time.
  nb::object dlpack(nb::handle stream, nb::handle max_version, nb::handle dl_device, nb::handle copy);

 private:
  oprt_tensor_view_t view_;
  std::unique_ptr<Export> export_;
};

void bind_allocation(nb::module_& module);

}  // namespace oprt::python
