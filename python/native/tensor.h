// Tensor intake: any framework's tensor as a view of the C API, without a copy.
//
//   type offers                          taken through
//   __dlpack_c_exchange_api__            DLPack's C functions (PyTorch from 2.10): nothing of Python is called
//   a NumPy array                        __array_struct__, which unlike the buffer protocol and DLPack also describes
//                                        ml_dtypes' bfloat16 arrays and strides in bytes
//   operator_runtime's own Allocation    its view
//   its DeviceView                       its view, of memory on a GPU
//   __dlpack__ and __dlpack_device__     a capsule, held as long as the view is used (JAX and others)
//
// Read-only arrays and all of JAX's are inputs only.
#pragma once

#include <nanobind/nanobind.h>

#include "oprt/api/device.h"
#include "oprt/api/tensor_view.h"

struct DLPackExchangeAPI;

namespace oprt::python {

namespace nb = nanobind;

enum class Use { kInput, kOutput };

// Valid while the Python tensor lives and, for a tensor that was exported, while the lease does.
struct Tensor {
  oprt_tensor_view_t view;
  oprt_device_t device = {OPRT_BACKEND_CPU, 0};
  const DLPackExchangeAPI* api = nullptr;  // of a tensor on a GPU whose framework tells its current stream
  nb::object lease;

  // The stream to work on: the one that is current in the tensor's framework, else the default stream.
  oprt_stream_t stream() const;
};

// Raises OperatorRuntimeError, naming operator and argument, for what is no tensor, lies where this build cannot reach,
// has a dtype that oprt lacks, strides that no element count expresses, or is read-only and an output.
void take(const char* op, const char* argument, nb::handle object, Use use, Tensor* tensor);

}  // namespace oprt::python
