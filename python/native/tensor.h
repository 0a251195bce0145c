// Tensor intake: any framework's tensor as a view of the C API, without a copy.
//
//   type offers                          taken through
//   __dlpack_c_exchange_api__            DLPack's C functions (PyTorch from 2.10): nothing of Python is called; they
//                                        also tell the stream that is current
//   a NumPy array                        __array_struct__, which unlike the buffer protocol and DLPack also describes
//                                        ml_dtypes' bfloat16 arrays and strides in bytes
//   operator_runtime's own Allocation    its view
//   its DeviceView                       its view, of memory on a GPU
//   __dlpack__ and __dlpack_device__     a capsule, held as long as the view is used (JAX, CuPy and others)
//
// Read-only arrays and all of JAX's are inputs only.
//
// Streams: work on a GPU goes to the stream that is current in the framework of the tensors, where one tells it
// (PyTorch and CuPy do), else to the device's legacy default stream. A framework that keeps its stream to itself (JAX)
// is told ours by __dlpack__(stream=...), and makes it wait for the tensor's producer. The host waits for nothing.
#pragma once

#include <nanobind/nanobind.h>

#include <string>

#include "oprt/api/device.h"
#include "oprt/api/tensor_view.h"

struct DLPackExchangeAPI;

namespace oprt::python {

namespace nb = nanobind;

class Allocation;

enum class Use { kInput, kOutput };

// Valid while the Python tensor lives and, for a tensor that was exported, while the lease does.
struct Tensor {
  oprt_tensor_view_t view;
  oprt_device_t device = {OPRT_BACKEND_CPU, 0};
  nb::object lease;
  Allocation* allocation = nullptr;  // where the tensor is one

  // Of a tensor on a GPU, how its framework tells its current stream; at most one is there.
  const DLPackExchangeAPI* api = nullptr;
  PyObject* current_stream = nullptr;  // called with the device's index; borrowed, and kept alive by its module

  bool on_gpu() const { return device.backend != OPRT_BACKEND_CPU; }
  bool tells_stream() const { return api || current_stream; }

  // The stream to work on: the one that is current in the tensor's framework, else the default stream.
  oprt_stream_t stream() const;

  // The lease has to last until the work is done, of which the framework is told nothing.
  bool outlives_call() const { return on_gpu() && lease.is_valid() && !tells_stream(); }
};

// The dtype of that name; raises for a name that is none, as `argument` of `op`.
oprt_dtype_t dtype_named(const char* op, const char* argument, const std::string& name);

enum class Taken {
  kDone,
  kNeedsStream,  // its producer has to be told a stream, and none was given
};

// `stream`, where known, is the one that the tensor will be used on.
// Raises OperatorRuntimeError, naming operator and argument, for what is no tensor, lies where this build cannot reach,
// has a dtype that oprt lacks, strides that no element count expresses, or is read-only and an output.
Taken take(const char* op, const char* argument, nb::handle object, Use use, Tensor* tensor,
           const oprt_stream_t* stream = nullptr);

}  // namespace oprt::python
