#include "operator.h"

#include <nanobind/stl/unique_ptr.h>
#include <strings.h>

#include <cstring>
#include <string>

#include "allocation.h"
#include "error.h"
#include "leases.h"
#include "oprt/oprt.h"
#include "prepared.h"
#include "recent.h"
#include "workspace.h"

namespace oprt::python {
namespace {

const OperatorInfo kOperators[] = {
#include "operator_bindings.inc"
};

constexpr int64_t kLongBytes = 64 << 10;

struct BackendName {
  const char* name;
  oprt_backend_t backend;
};
constexpr BackendName kBackends[] = {
    {"cpu", OPRT_BACKEND_CPU}, {"nvidia", OPRT_BACKEND_NVIDIA}, {"metax", OPRT_BACKEND_METAX}};

// None, a name or a Backend (which is a str). What is not found at once is left to Python, which knows how to refuse.
oprt_backend_t parse_backend(const char* op, PyObject* object) {
  if (object == Py_None) return OPRT_BACKEND_AUTO;
  if (PyUnicode_Check(object)) {
    const char* name = PyUnicode_AsUTF8(object);
    if (!name) throw nb::python_error();
    for (const BackendName& known : kBackends)
      if (strcasecmp(name, known.name) == 0) return known.backend;
  }
  nb::module_::import_("operator_runtime.backend").attr("refuse_backend")(op, nb::handle(object));
  throw nb::python_error();
}

// k(backend, *views, *scalars): create where it must, execute. A type slot rather than a bound method, for its speed.
PyObject* call(PyObject* self, PyObject* args, PyObject* kwargs) noexcept {
  try {
    const auto& op = *nb::inst_ptr<const OperatorInfo>(self);
    if (kwargs && PyDict_Size(kwargs)) raise(OPRT_ERR_INVALID_ARG, std::string(op.name) + ": arguments are positional");
    const std::span<PyObject* const> objects(&PyTuple_GET_ITEM(args, 0), PyTuple_GET_SIZE(args));
    Arguments arguments(op, objects);
    const std::shared_ptr<const Descriptor> descriptor = recent_descriptor(op, arguments);
    const Tensor& leader = arguments.leader();
    const oprt_stream_t stream = leader.stream();
    const Workspace workspace(descriptor->workspace_size(), leader.device, stream);
    oprt_status_t status;
    const auto execute = [&] {
      status = op.execute(descriptor->get(), workspace.data(), workspace.size(), arguments.data, stream);
    };
    if (is_long(op, arguments)) {
      nb::gil_scoped_release release;
      execute();
    } else {
      execute();
    }
    check(status);
    if (leader.on_gpu()) arguments.submitted(stream);
    return outputs_of(op, objects).release().ptr();
  } catch (nb::python_error& error) {
    error.restore();
  } catch (const std::bad_alloc&) {
    PyErr_NoMemory();
  } catch (const std::exception& error) {
    PyErr_SetString(PyExc_RuntimeError, error.what());
  }
  return nullptr;
}

template <class Iterator>
nb::list names(Iterator begin, Iterator end) {
  nb::list list;
  for (; begin != end; ++begin) list.append(*begin);
  return list;
}

const OperatorInfo& find(const char* name) {
  for (const OperatorInfo& op : kOperators)
    if (std::strcmp(op.name, name) == 0) return op;
  raise_argument(OPRT_ERR_INVALID_ARG, "operator", "name", "an operator of this build", name);
}

}  // namespace

std::span<const OperatorInfo> operators() { return kOperators; }

Scalar parse_scalar(const char* op, const ScalarInfo& info, PyObject* object) {
  Scalar scalar;
  if (info.kind == ScalarKind::f64) {
    scalar.f64 = PyFloat_AsDouble(object);
    if (scalar.f64 == -1.0 && PyErr_Occurred())
      raise_argument(OPRT_ERR_INVALID_ARG, op, info.name, "a number", Py_TYPE(object)->tp_name);
    return scalar;
  }
  const nb::object index = nb::steal(PyNumber_Index(object));
  if (!index.is_valid()) raise_argument(OPRT_ERR_INVALID_ARG, op, info.name, "an integer", Py_TYPE(object)->tp_name);
  scalar.i64 = PyLong_AsLongLong(index.ptr());
  if (scalar.i64 == -1 && PyErr_Occurred())
    raise_argument(OPRT_ERR_INVALID_ARG, op, info.name, "an integer of 64 bits", nb::str(index).c_str());
  return scalar;
}

Arguments::Arguments(const OperatorInfo& op, std::span<PyObject* const> arguments) {
  const size_t wanted = 1 + op.views.size() + op.scalars.size();
  if (arguments.size() != wanted)
    raise_argument(OPRT_ERR_INVALID_ARG, op.name, "arguments", std::to_string(wanted),
                   std::to_string(arguments.size()));
  backend = parse_backend(op.name, arguments[0]);
  uint32_t need_stream = 0;  // a bit for each view
  const auto take_view = [&](int i, const oprt_stream_t* stream) {
    PyObject* object = arguments[1 + i];
    views[i] = nullptr;
    data[i] = nullptr;
    if (object == Py_None) return;
    const Use use = i < op.outputs ? Use::kOutput : Use::kInput;
    if (take(op.name, op.views[i], object, use, &tensors[i], stream) == Taken::kNeedsStream) need_stream |= 1u << i;
    views[i] = &tensors[i].view;
    data[i] = tensors[i].view.data;
    places[i] = tensors[i].device;
    follow(i);
  };
  // Inputs first: where the output was allocated like an input that is refused, the message names the input.
  for (int i = op.outputs; i < op.view_count(); ++i) take_view(i, nullptr);
  for (int i = 0; i < op.outputs; ++i) take_view(i, nullptr);
  if (need_stream) [[unlikely]] {
    const oprt_stream_t stream = leader().stream();
    for (int i = op.view_count() - 1; i >= 0; --i)
      if (need_stream >> i & 1) take_view(i, &stream);
  }
  for (size_t i = 0; i < op.scalars.size(); ++i)
    scalars[i] = parse_scalar(op.name, op.scalars[i], arguments[1 + op.views.size() + i]);
}

void Arguments::follow(int i) {
  const auto rank = [](const Tensor& tensor) { return tensor.on_gpu() + tensor.tells_stream(); };
  const int gain = rank(tensors[i]) - rank(leader());
  if (gain > 0 || (gain == 0 && i < leader_)) leader_ = i;
}

void Arguments::submitted(oprt_stream_t stream) noexcept {
  std::vector<nb::object> leases;
  for (Tensor& tensor : tensors) {
    if (tensor.allocation) tensor.allocation->written_on(stream);
    if (tensor.outlives_call()) leases.push_back(std::move(tensor.lease));
  }
  if (!leases.empty()) keep_until_done(leader().device, stream, std::move(leases));
}

Descriptor::Descriptor(const OperatorInfo& op, const Arguments& arguments) : op_(op) {
  const int backend_before = oprt_exchange_thread_backend(arguments.backend);
  const oprt_device_t* places_before = oprt_exchange_thread_places(arguments.places);
  const oprt_status_t status = op.create(&desc_, arguments.views, arguments.scalars);
  oprt_exchange_thread_places(places_before);
  oprt_exchange_thread_backend(backend_before);
  check(status);
  check(op.workspace_size(desc_, &workspace_size_));
}

bool is_long(const OperatorInfo& op, const Arguments& arguments) {
  if (arguments.leader().on_gpu()) return false;
  int64_t bytes = 0;
  for (int v = 0; v < op.view_count(); ++v) {
    if (!arguments.views[v]) continue;
    const oprt_tensor_view_t& view = *arguments.views[v];
    int64_t size = static_cast<int64_t>(oprt_dtype_size(view.dtype));
    for (int i = 0; i < view.ndim; ++i) size *= view.shape[i];
    bytes += size;
  }
  return bytes >= kLongBytes;
}

nb::object outputs_of(const OperatorInfo& op, std::span<PyObject* const> arguments) {
  if (op.outputs == 1) return nb::borrow(arguments[1]);
  nb::object tuple = nb::steal(PyTuple_New(op.outputs));
  for (int i = 0; i < op.outputs; ++i) PyTuple_SET_ITEM(tuple.ptr(), i, Py_NewRef(arguments[1 + i]));
  return tuple;
}

void bind_operator(nb::module_& module) {
  static PyType_Slot slots[] = {{Py_tp_call, reinterpret_cast<void*>(call)}, {0, nullptr}};
  nb::class_<OperatorInfo>(module, "Operator", nb::type_slots(slots),
                           "One operator: k(backend, *views, *scalars) runs it and returns its output or outputs.")
      .def_prop_ro("name", [](const OperatorInfo& op) { return op.name; })
      .def_prop_ro(
          "inputs", [](const OperatorInfo& op) { return names(op.views.begin() + op.outputs, op.views.end()); },
          "The inputs as the header names them.")
      .def_prop_ro(
          "outputs", [](const OperatorInfo& op) { return names(op.views.begin(), op.views.begin() + op.outputs); },
          "The outputs as the header names them.")
      .def(
          "prepare",
          [](const OperatorInfo& op, const nb::args& arguments) {
            return std::make_unique<PreparedOp>(
                op, std::span<PyObject* const>(&PyTuple_GET_ITEM(arguments.ptr(), 0), arguments.size()));
          },
          "prepare(backend, *views, *scalars) checks everything once and returns a PreparedOp.");
  module.def(
      "operator", [](const char* name) -> const OperatorInfo& { return find(name); }, nb::arg("name"),
      nb::rv_policy::reference, "The operator of that name.");
  module.def(
      "operators",
      [] {
        nb::list names;
        for (const OperatorInfo& op : kOperators) names.append(op.name);
        return names;
      },
      "The names of this build's operators.");
  module.def(
      "kernels",
      [](const char* op, const nb::object& backend) {
        nb::list names;
        const oprt_backend_t where = parse_backend("kernels", backend.ptr());
        for (int i = 0; const char* name = oprt_operator_kernel(op, where, i); ++i) names.append(name);
        return names;
      },
      nb::arg("op"), nb::arg("backend"), "Every kernel name that the operator can return on that backend.");
  module.def("last_kernel", oprt_last_kernel, "The kernel that the calling thread launched last, or 'none'.");
}

}  // namespace oprt::python
