// The operators of liboprt as one table, and a call's Python arguments as what the C functions take.
#pragma once

#include <nanobind/nanobind.h>

#include <cstdint>
#include <span>
#include <vector>

#include "oprt/api/descriptor.h"
#include "tensor.h"

namespace oprt::python {

enum class ScalarKind { f64, i64 };

union Scalar {
  double f64;
  int64_t i64;
};

struct ScalarInfo {
  const char* name;
  ScalarKind kind;
};

// One operator: its arguments as the header names them, outputs first, and its four functions behind arrays.
struct OperatorInfo {
  const char* name;
  int outputs;
  std::vector<const char*> views;
  std::vector<ScalarInfo> scalars;
  oprt_status_t (*create)(oprt_operator_descriptor_t*, const oprt_tensor_view_t* const* views, const Scalar* scalars);
  oprt_status_t (*workspace_size)(oprt_operator_descriptor_t, size_t*);
  oprt_status_t (*execute)(oprt_operator_descriptor_t, void* workspace, size_t size, void* const* data,
                           oprt_stream_t stream);
  oprt_status_t (*destroy)(oprt_operator_descriptor_t);

  int view_count() const { return static_cast<int>(views.size()); }
};

std::span<const OperatorInfo> operators();

constexpr int kMaxViews = 8;
constexpr int kMaxScalars = 8;

// One call's arguments (backend, views in the header's order or None, scalars), taken and checked.
struct Arguments {
  Arguments(const OperatorInfo& op, std::span<PyObject* const> arguments);

  int backend;
  Tensor tensors[kMaxViews];
  const oprt_tensor_view_t* views[kMaxViews];  // null for None
  oprt_device_t places[kMaxViews];
  void* data[kMaxViews];
  Scalar scalars[kMaxScalars];

  // The tensor whose device and stream the work goes to: the first, outputs before inputs, on a GPU that tells its
  // stream, else the first on a GPU, else the first output.
  const Tensor& leader() const { return tensors[leader_]; }

  // After work was submitted: tells the results that oprt allocated where they are written, and lets exports live until
  // then that must.
  void submitted(oprt_stream_t stream) noexcept;

 private:
  void follow(int i);

  int leader_ = 0;
};

// A Python number; what is none is refused by name.
Scalar parse_scalar(const char* op, const ScalarInfo& info, PyObject* object);

// A descriptor made for the arguments. The backend that they name and the devices that they lie on are the thread's for
// the length of create alone.
class Descriptor {
 public:
  Descriptor(const OperatorInfo& op, const Arguments& arguments);
  ~Descriptor() { op_.destroy(desc_); }
  Descriptor(const Descriptor&) = delete;

  oprt_operator_descriptor_t get() const { return desc_; }
  size_t workspace_size() const { return workspace_size_; }

 private:
  const OperatorInfo& op_;
  oprt_operator_descriptor_t desc_;
  size_t workspace_size_;
};

// Work on the CPU that is long enough for other Python threads to run meanwhile; on a GPU only a launch is waited for.
// Giving the GIL up and taking it again costs about 40 ns alone, but up to the interpreter's switch interval (5 ms)
// against a busy thread.
bool is_long(const OperatorInfo& op, const Arguments& arguments);

// The outputs among a call's arguments, as a call returns them: one object, or a tuple.
nb::object outputs_of(const OperatorInfo& op, std::span<PyObject* const> arguments);

void bind_operator(nb::module_& module);

}  // namespace oprt::python
