// operator_runtime._native: liboprt for Python. The public functions are in operator_runtime/ops/.
#include <nanobind/nanobind.h>

#include "allocation.h"
#include "device_buffer.h"
#include "gpu_clock.h"
#include "operator.h"
#include "oprt/api/device.h"
#include "oprt/api/version.h"
#include "oprt/ops/matmul/matmul.h"
#include "prepared.h"
#include "rope_table.h"

namespace nb = nanobind;

NB_MODULE(_native, module) {
  // Tensors that are alive when the interpreter ends are no mistake.
  nb::set_leak_warnings(false);
  module.doc() = "liboprt for Python";
  module.def("version", oprt_version_string, "The library's version.");
  module.def("abi_version", oprt_abi_version, "The library's ABI version.");
  module.def("cpu_target", oprt_cpu_target, "The instruction set of the CPU's kernels; OPRT_CPU_TARGET lowers it.");
  module.def("matmul_library", oprt_matmul_library, "The library of matmul on the CPU: oprt/ops/matmul/matmul.h.");
  oprt::python::bind_allocation(module);
  oprt::python::bind_device_buffer(module);
  oprt::python::bind_prepared(module);
  oprt::python::bind_operator(module);
  oprt::python::bind_rope_table(module);
#ifdef OPRT_HAS_GPU
  oprt::python::bind_gpu_clock(module);
#endif
}
