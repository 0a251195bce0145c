// operator_runtime._native: liboprt for Python. The public functions are in operator_runtime/ops/.
#include <nanobind/nanobind.h>

#include "allocation.h"
#include "error.h"
#include "operator.h"
#include "oprt/api/device.h"
#include "oprt/api/version.h"
#include "oprt/oprt.h"
#include "prepared.h"

namespace nb = nanobind;

namespace {

// cos and sin are addresses: ops/rope.py, the only caller, owns the arrays.
void rope_table(uintptr_t cos, uintptr_t sin, int64_t max_position, int64_t rotary_dim, double theta, int32_t kind,
                double factor, double low_freq_factor, double high_freq_factor, int64_t original_max_position) {
  const oprt_rope_scaling_t scaling = {sizeof(scaling),      kind, factor, low_freq_factor, high_freq_factor,
                                       original_max_position};
  oprt_status_t status;
  {
    nb::gil_scoped_release release;
    status = oprt_rope_table(reinterpret_cast<float*>(cos), reinterpret_cast<float*>(sin), max_position, rotary_dim,
                             theta, &scaling);
  }
  oprt::python::check(status);
}

}  // namespace

NB_MODULE(_native, module) {
  // Tensors that are alive when the interpreter ends are no mistake.
  nb::set_leak_warnings(false);
  module.doc() = "liboprt for Python";
  module.def("version", oprt_version_string, "The library's version.");
  module.def("abi_version", oprt_abi_version, "The library's ABI version.");
  module.def("cpu_target", oprt_cpu_target, "The instruction set of the CPU's kernels; OPRT_CPU_TARGET lowers it.");
  module.def("matmul_library", oprt_matmul_library, "The library of matmul on the CPU: oprt/ops/matmul/matmul.h.");
  module.def("rope_table", rope_table);
  oprt::python::bind_allocation(module);
  oprt::python::bind_prepared(module);
  oprt::python::bind_operator(module);
}
