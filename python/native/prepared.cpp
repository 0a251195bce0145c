#include "prepared.h"

#include <algorithm>
#include <chrono>
#include <string>

#include "error.h"
#include "leases.h"

namespace oprt::python {
namespace {

bool same_layout(const oprt_tensor_view_t& a, const oprt_tensor_view_t& b) {
  if (a.dtype != b.dtype || a.ndim != b.ndim) return false;
  for (int i = 0; i < a.ndim; ++i)
    if (a.shape[i] != b.shape[i] || (a.shape[i] > 1 && a.strides[i] != b.strides[i])) return false;
  return true;
}

std::string describe(const oprt_tensor_view_t& view) {
  const auto list = [&](const int64_t* values) {
    std::string out = "[";
    for (int i = 0; i < std::min(view.ndim, OPRT_MAX_DIMS); ++i) out += (i ? ", " : "") + std::to_string(values[i]);
    return out + "]";
  };
  return std::string(oprt_dtype_string(view.dtype)) + " of shape " + list(view.shape) + " and strides " +
         list(view.strides);
}

std::string describe(oprt_device_t device) {
  return std::string(oprt_backend_string(device.backend)) + ":" + std::to_string(device.index);
}

}  // namespace

PreparedOp::State::State(const OperatorInfo& op, std::span<PyObject* const> objects)
    : arguments(op, objects),
      descriptor(op, arguments),
      workspace(descriptor.workspace_size(), arguments.leader().device),
      outputs(outputs_of(op, objects)) {
  for (int i = 0; i < op.view_count(); ++i) tensors.push_back(nb::borrow(objects[1 + i]));
}

PreparedOp::State::~State() { arguments.submitted(stream); }

PreparedOp::PreparedOp(const OperatorInfo& op, std::span<PyObject* const> arguments)
    : op_(op), state_(std::make_unique<State>(op, arguments)), long_(is_long(op, state_->arguments)) {}

PreparedOp::State& PreparedOp::state() const {
  if (!state_) raise_argument(OPRT_ERR_INVALID_ARG, op_.name, "self", "a prepared operator", "one that was destroyed");
  return *state_;
}

nb::object PreparedOp::execute(void* const* data) {
  const nb::object outputs = state().outputs;
  const oprt_stream_t stream = state_->stream = state_->arguments.leader().stream();
  const auto launch = [&] {
    return op_.execute(state_->descriptor.get(), state_->workspace.data(), state_->workspace.size(), data, stream);
  };
  if (!long_) {
    check(launch());
    return outputs;
  }
  oprt_status_t status = OPRT_SUCCESS;
  bool destroyed = false;
  {
    nb::gil_scoped_release release;
    const std::lock_guard lock(mutex_);
    destroyed = !state_;
    if (!destroyed) status = launch();
  }
  if (destroyed) state();
  check(status);
  return outputs;
}

nb::object PreparedOp::run() { return execute(state().arguments.data); }

nb::object PreparedOp::run_inputs(const nb::args& inputs) {
  const Arguments& prepared = state().arguments;
  void* data[kMaxViews];
  Tensor taken[kMaxViews];
  std::copy(prepared.data, prepared.data + op_.view_count(), data);
  const auto present = std::count_if(prepared.views + op_.outputs, prepared.views + op_.view_count(),
                                     [](const oprt_tensor_view_t* view) { return view != nullptr; });
  if (static_cast<ptrdiff_t>(inputs.size()) != present)
    raise_argument(OPRT_ERR_INVALID_ARG, op_.name, "inputs", std::to_string(present), std::to_string(inputs.size()));
  const oprt_stream_t stream = prepared.leader().stream();
  size_t next = 0;
  for (int i = op_.outputs; i < op_.view_count(); ++i) {
    if (!prepared.views[i]) continue;
    take(op_.name, op_.views[i], inputs[next++], Use::kInput, &taken[i], &stream);
    const oprt_device_t where = prepared.places[i], here = taken[i].device;
    if (here.backend != where.backend || here.index != where.index)
      raise_argument(OPRT_ERR_INVALID_ARG, op_.name, op_.views[i], "data on " + describe(where),
                     "data on " + describe(here));
    if (!same_layout(taken[i].view, *prepared.views[i]))
      raise_argument(OPRT_ERR_INVALID_ARG, op_.name, op_.views[i], describe(*prepared.views[i]),
                     describe(taken[i].view));
    data[i] = taken[i].view.data;
  }
  nb::object outputs = execute(data);
  for (Tensor& tensor : taken)
    if (tensor.outlives_call()) keep_until_done(tensor.device, stream, {std::move(tensor.lease)});
  return outputs;
}

double PreparedOp::execute_seconds(int count) {
  State& s = state();
  const oprt_stream_t stream = s.arguments.leader().stream();
  const auto start = std::chrono::steady_clock::now();
  for (int i = 0; i < count; ++i)
    check(op_.execute(s.descriptor.get(), s.workspace.data(), s.workspace.size(), s.arguments.data, stream));
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count() / count;
}

void PreparedOp::destroy() {
  std::unique_ptr<State> last;  // dropped with the GIL held: it owns Python objects
  nb::gil_scoped_release release;
  const std::lock_guard lock(mutex_);
  last.swap(state_);
}

const char* PreparedOp::kernel() const { return oprt_descriptor_kernel(state().descriptor.get()); }

size_t PreparedOp::workspace_bytes() const { return state().workspace.size(); }

void bind_prepared(nb::module_& module) {
  nb::class_<PreparedOp>(module, "PreparedOp",
                         "An operator checked once for given tensors, which it keeps alive. Made by prepare_<op>.")
      .def("run", &PreparedOp::run, "Runs on the prepared tensors; returns the output or outputs.")
      .def("run_kernel", &PreparedOp::run, "As run.")
      .def("run_inputs", &PreparedOp::run_inputs,
           "Runs on other inputs of the same dtype, shape and strides; the outputs stay the prepared ones.")
      .def("execute_seconds", &PreparedOp::execute_seconds, nb::arg("count"),
           "Runs count times, and returns the seconds of the host for one: a C program's cost.")
      .def("destroy", &PreparedOp::destroy, "Lets go of the tensors; a second call does nothing.")
      .def("__enter__", [](nb::handle self) { return nb::borrow(self); })
      .def("__exit__", [](PreparedOp& self, const nb::args&) { self.destroy(); })
      .def_prop_ro("kernel", &PreparedOp::kernel, "The kernel's name, or 'none' for empty tensors.")
      .def_prop_ro("workspace_bytes", &PreparedOp::workspace_bytes);
}

}  // namespace oprt::python
