#include "tensor.h"

#include <algorithm>
#include <cstring>
#include <string>

#include "allocation.h"
#include "device_buffer.h"
#include "dlpack/dlpack.h"
#include "error.h"

namespace oprt::python {
namespace {

constexpr const char* kDtypes = "a dtype of oprt (f32, f16, bf16, i32, i64)";

// Streams as __dlpack__ calls them.
constexpr intptr_t kLegacyDefaultStream = 1;
constexpr intptr_t kNoStream = -1;  // nobody is to wait

// How the tensors of one Python type are taken.
enum class Protocol { kExchange, kNumpy, kAllocation, kDeviceView, kDlpack, kNone };

struct TypeInfo {
  PyTypeObject* type;
  Protocol protocol;
  bool read_only;                          // by the type's own rules
  const DLPackExchangeAPI* api = nullptr;  // kExchange alone
  PyObject* current_stream = nullptr;      // kDlpack: CuPy's
};

// The argument that is being taken, for messages.
struct Argument {
  const char* op;
  const char* name;
  nb::handle object;
  Use use;

  [[noreturn]] void refuse(oprt_status_t status, const std::string& expected, const std::string& got) const {
    raise_argument(status, op, name, expected, got);
  }
  [[noreturn]] void refuse_read_only() const {
    refuse(OPRT_ERR_INVALID_ARG, "a tensor that may be written", std::string("a read-only ") + type_name());
  }
  const char* type_name() const { return Py_TYPE(object.ptr())->tp_name; }
};

const DLPackExchangeAPI* exchange_api(nb::handle type) {
  const nb::object capsule = nb::getattr(type, "__dlpack_c_exchange_api__", nb::object());
  if (!capsule.is_valid() || !PyCapsule_IsValid(capsule.ptr(), "dlpack_exchange_api")) return nullptr;
  auto* header = static_cast<DLPackExchangeAPIHeader*>(PyCapsule_GetPointer(capsule.ptr(), "dlpack_exchange_api"));
  while (header && header->version.major != DLPACK_MAJOR_VERSION) header = header->prev_api;
  auto* api = reinterpret_cast<const DLPackExchangeAPI*>(header);
  return api && api->dltensor_from_py_object_no_sync ? api : nullptr;
}

TypeInfo inspect(PyTypeObject* type) {
  const nb::handle handle(reinterpret_cast<PyObject*>(type));
  const nb::module_ numpy = nb::module_::import_("numpy");
  if (handle.is(nb::type<Allocation>())) return {type, Protocol::kAllocation, false};
  if (handle.is(nb::type<DeviceView>())) return {type, Protocol::kDeviceView, false};
  if (PyObject_IsSubclass(handle.ptr(), numpy.attr("ndarray").ptr()) == 1) return {type, Protocol::kNumpy, false};
  if (const DLPackExchangeAPI* api = exchange_api(handle)) return {type, Protocol::kExchange, false, api};
  if (nb::hasattr(handle, "__dlpack__") && nb::hasattr(handle, "__dlpack_device__")) {
    const nb::str module(nb::getattr(handle, "__module__", nb::str("")));
    const bool jax = std::strncmp(module.c_str(), "jax", 3) == 0;
    PyObject* current_stream = nullptr;
    if (std::strncmp(module.c_str(), "cupy", 4) == 0)
      current_stream = nb::object(nb::module_::import_("cupy.cuda").attr("get_current_stream")).release().ptr();
    return {type, Protocol::kDlpack, jax, nullptr, current_stream};
  }
  return {type, Protocol::kNone, false};
}

// Types are few and the same ones come again, so what was found out about them is kept, and they are kept alive. The
// table is guarded by the GIL. A program that makes types without end fills it and then pays for the inspection.
TypeInfo type_info(PyTypeObject* type) {
  static TypeInfo known[32];
  static int known_count = 0;
  for (int i = 0; i < known_count; ++i)
    if (known[i].type == type) return known[i];
  const TypeInfo info = inspect(type);
  if (known_count < 32) {
    Py_INCREF(type);
    known[known_count++] = info;
  }
  return info;
}

std::string dlpack_dtype_name(DLDataType dtype) {
  static constexpr const char* kKinds[] = {"int", "uint", "float", "opaque", "bfloat", "complex", "bool"};
  if (dtype.code == kDLBool) return "bool";
  const std::string kind = dtype.code < std::size(kKinds) ? kKinds[dtype.code] : "a float of 8 bits or fewer, ";
  return kind + std::to_string(dtype.bits) + (dtype.lanes == 1 ? "" : "x" + std::to_string(dtype.lanes));
}

oprt_dtype_t from_dlpack(const Argument& argument, DLDataType dtype) {
  if (dtype.lanes == 1) {
    if (dtype.code == kDLFloat && dtype.bits == 32) return OPRT_DTYPE_F32;
    if (dtype.code == kDLFloat && dtype.bits == 16) return OPRT_DTYPE_F16;
    if (dtype.code == kDLBfloat && dtype.bits == 16) return OPRT_DTYPE_BF16;
    if (dtype.code == kDLInt && dtype.bits == 32) return OPRT_DTYPE_I32;
    if (dtype.code == kDLInt && dtype.bits == 64) return OPRT_DTYPE_I64;
  }
  argument.refuse(OPRT_ERR_UNSUPPORTED_DTYPE, kDtypes, dlpack_dtype_name(dtype));
}

// The device of oprt's that DLPack names. A pointer elsewhere would be read as if it were the host's.
oprt_device_t from_dlpack_device(const Argument& argument, int type, int id) {
  if (type == kDLCPU || type == kDLCUDAHost) return {OPRT_BACKEND_CPU, 0};
  const bool cuda = type == kDLCUDA || type == kDLCUDAManaged;
  int32_t gpus = 0;
  check(oprt_device_count(OPRT_BACKEND_NVIDIA, &gpus));
  if (cuda && id < gpus) return {OPRT_BACKEND_NVIDIA, id};
  argument.refuse(OPRT_ERR_NOT_SUPPORTED,
                  gpus ? "data in host memory or on cuda:0 to cuda:" + std::to_string(gpus - 1)
                       : "data in host memory, as this build or machine has the CPU backend alone",
                  "data on " + (cuda ? "cuda:" + std::to_string(id) : "DLPack device type " + std::to_string(type)));
}

void from_dltensor(const Argument& argument, const DLTensor& tensor, Tensor* taken) {
  taken->device = from_dlpack_device(argument, tensor.device.device_type, tensor.device.device_id);
  oprt_tensor_view_t* view = &taken->view;
  view->data = static_cast<char*>(tensor.data) + tensor.byte_offset;
  view->dtype = from_dlpack(argument, tensor.dtype);
  view->ndim = tensor.ndim;
  int64_t dense = 1;
  for (int i = std::min(tensor.ndim, OPRT_MAX_DIMS) - 1; i >= 0; --i) {
    view->shape[i] = tensor.shape[i];
    view->strides[i] = tensor.strides ? tensor.strides[i] : dense;  // null before DLPack 1.2: row-major
    dense *= tensor.shape[i];
  }
}

// PyTorch's x.conj().imag is a view of x whose sign is a bit of the tensor, which DLPack does not carry. It views a
// complex tensor, so every stride is even; asking only then spares the others a call into Python.
bool may_be_negated(const oprt_tensor_view_t& view) {
  if (view.dtype != OPRT_DTYPE_F32 && view.dtype != OPRT_DTYPE_F16) return false;
  for (int i = 0; i < std::min(view.ndim, OPRT_MAX_DIMS); ++i)
    if (view.shape[i] > 1 && view.strides[i] % 2 != 0) return false;
  return true;
}

void take_exchange(const Argument& argument, const DLPackExchangeAPI& api, Tensor* tensor) {
  DLTensor exported;
  if (api.dltensor_from_py_object_no_sync(argument.object.ptr(), &exported) != 0)
    argument.refuse(OPRT_ERR_INVALID_ARG, "a tensor with strided memory", argument.type_name());
  from_dltensor(argument, exported, tensor);
  if (tensor->on_gpu()) tensor->api = &api;
  if (may_be_negated(tensor->view)) {
    const nb::object is_neg = nb::getattr(argument.object, "is_neg", nb::object());
    if (is_neg.is_valid() && nb::cast<bool>(is_neg()))
      argument.refuse(OPRT_ERR_INVALID_ARG, "plain memory (resolve_neg() makes it)", "a view with the negative bit");
  }
}

// NumPy's array interface, C side: https://numpy.org/doc/stable/reference/arrays.interface.html
struct ArrayStruct {
  int two;
  int nd;
  char typekind;
  int itemsize;
  int flags;
  Py_intptr_t* shape;
  Py_intptr_t* strides;  // in bytes
  void* data;
  PyObject* descr;
};
constexpr int kNativeOrder = 0x200;
constexpr int kWriteable = 0x400;

// NumPy calls ml_dtypes' bfloat16 "void of two bytes"; its dtype object, of which there is one, tells.
bool is_bfloat16(nb::handle array) {
  static PyObject* known = nullptr;
  const nb::object dtype = array.attr("dtype");
  if (dtype.ptr() == known) return true;
  if (std::strcmp(nb::str(dtype).c_str(), "bfloat16") != 0) return false;
  Py_XDECREF(known);
  known = Py_NewRef(dtype.ptr());
  return true;
}

oprt_dtype_t from_numpy(const Argument& argument, const ArrayStruct& array) {
  if (array.flags & kNativeOrder) {
    if (array.typekind == 'f' && array.itemsize == 4) return OPRT_DTYPE_F32;
    if (array.typekind == 'f' && array.itemsize == 2) return OPRT_DTYPE_F16;
    if (array.typekind == 'i' && array.itemsize == 4) return OPRT_DTYPE_I32;
    if (array.typekind == 'i' && array.itemsize == 8) return OPRT_DTYPE_I64;
    if (array.typekind == 'V' && array.itemsize == 2 && is_bfloat16(argument.object)) return OPRT_DTYPE_BF16;
  }
  const nb::object dtype = argument.object.attr("dtype");
  argument.refuse(OPRT_ERR_UNSUPPORTED_DTYPE, kDtypes, nb::str(dtype).c_str());
}

void take_numpy(const Argument& argument, Tensor* tensor) {
  static PyObject* const name = PyUnicode_InternFromString("__array_struct__");
  const nb::object capsule = nb::steal(PyObject_GetAttr(argument.object.ptr(), name));
  if (!capsule.is_valid()) throw nb::python_error();
  if (!PyCapsule_IsValid(capsule.ptr(), nullptr))  // a subclass may have made it anything
    argument.refuse(OPRT_ERR_INVALID_ARG, "a capsule as __array_struct__", Py_TYPE(capsule.ptr())->tp_name);
  const auto& array = *static_cast<const ArrayStruct*>(PyCapsule_GetPointer(capsule.ptr(), nullptr));
  if (argument.use == Use::kOutput && !(array.flags & kWriteable)) argument.refuse_read_only();
  oprt_tensor_view_t& view = tensor->view;
  view.data = array.data;
  view.dtype = from_numpy(argument, array);
  view.ndim = array.nd;
  bool empty = false;
  for (int i = 0; i < array.nd; ++i) empty = empty || array.shape[i] == 0;
  for (int i = 0; i < std::min(array.nd, OPRT_MAX_DIMS); ++i) {
    view.shape[i] = array.shape[i];
    view.strides[i] = array.strides[i] / array.itemsize;
    if (array.strides[i] % array.itemsize != 0 && array.shape[i] > 1 && !empty)
      argument.refuse(OPRT_ERR_INVALID_ARG, "strides of whole elements (" + std::to_string(array.itemsize) + " bytes)",
                      "a stride of " + std::to_string(array.strides[i]) + " bytes on axis " + std::to_string(i));
  }
}

// The capsule stays unconsumed: it owns the export, and gives it back when the lease ends.
Taken take_dlpack(const Argument& argument, PyObject* current_stream, Tensor* tensor, const oprt_stream_t* stream) {
  try {
    const nb::object device = argument.object.attr("__dlpack_device__")();
    tensor->device =
        from_dlpack_device(argument, nb::cast<int>(nb::int_(device[0])), nb::cast<int>(nb::int_(device[1])));
    nb::dict request;  // host memory has no stream, so none is named
    if (tensor->on_gpu()) {
      tensor->current_stream = current_stream;
      if (!current_stream && !stream) return Taken::kNeedsStream;
      const intptr_t told = current_stream ? kNoStream : reinterpret_cast<intptr_t>(*stream);
      request["stream"] = told == 0 ? kLegacyDefaultStream : told;
    }
    // A producer from before DLPack 1.0 knows no max_version.
    const nb::object dlpack = argument.object.attr("__dlpack__");
    try {
      tensor->lease =
          dlpack(nb::arg("max_version") = nb::make_tuple(DLPACK_MAJOR_VERSION, DLPACK_MINOR_VERSION), **request);
    } catch (nb::python_error& error) {
      if (!error.matches(PyExc_TypeError)) throw;
      tensor->lease = dlpack(**request);
    }
  } catch (nb::python_error& error) {
    if (error.matches(nb::module_::import_("operator_runtime.errors").attr("OperatorRuntimeError"))) throw;
    error.restore();
    argument.refuse(OPRT_ERR_INVALID_ARG, "a tensor that exports itself by DLPack", argument.type_name());
  }
  PyObject* capsule = tensor->lease.ptr();
  if (PyCapsule_IsValid(capsule, "dltensor_versioned")) {
    const auto& managed = *static_cast<DLManagedTensorVersioned*>(PyCapsule_GetPointer(capsule, "dltensor_versioned"));
    if (managed.version.major != DLPACK_MAJOR_VERSION)
      argument.refuse(OPRT_ERR_INVALID_ARG, "DLPack version " + std::to_string(DLPACK_MAJOR_VERSION),
                      "version " + std::to_string(managed.version.major));
    if (argument.use == Use::kOutput && (managed.flags & DLPACK_FLAG_BITMASK_READ_ONLY)) argument.refuse_read_only();
    from_dltensor(argument, managed.dl_tensor, tensor);
  } else if (PyCapsule_IsValid(capsule, "dltensor")) {
    from_dltensor(argument, static_cast<DLManagedTensor*>(PyCapsule_GetPointer(capsule, "dltensor"))->dl_tensor,
                  tensor);
  } else {
    argument.refuse(OPRT_ERR_INVALID_ARG, "a DLPack capsule from __dlpack__", Py_TYPE(capsule)->tp_name);
  }
  return Taken::kDone;
}

}  // namespace

oprt_dtype_t dtype_named(const char* op, const char* argument, const std::string& name) {
  for (oprt_dtype_t known : {OPRT_DTYPE_F16, OPRT_DTYPE_F32, OPRT_DTYPE_BF16, OPRT_DTYPE_I32, OPRT_DTYPE_I64})
    if (name == oprt_dtype_string(known)) return known;
  raise_argument(OPRT_ERR_UNSUPPORTED_DTYPE, op, argument, kDtypes, name);
}

oprt_stream_t Tensor::stream() const {
  void* stream = nullptr;
  if (api && api->current_work_stream(kDLCUDA, device.index, &stream) != 0) throw nb::python_error();
  if (current_stream)
    stream = reinterpret_cast<void*>(nb::cast<uintptr_t>(nb::handle(current_stream)(device.index).attr("ptr")));
  return stream;
}

Taken take(const char* op, const char* name, nb::handle object, Use use, Tensor* tensor, const oprt_stream_t* stream) {
  const Argument argument{op, name, object, use};
  const TypeInfo info = type_info(Py_TYPE(object.ptr()));
  if (use == Use::kOutput && info.read_only) argument.refuse_read_only();
  switch (info.protocol) {
    case Protocol::kExchange: take_exchange(argument, *info.api, tensor); return Taken::kDone;
    case Protocol::kNumpy: take_numpy(argument, tensor); return Taken::kDone;
    case Protocol::kAllocation: {
      auto& own = nb::cast<Allocation&>(object);
      tensor->view = own.view();
      tensor->device = own.device();
      tensor->allocation = &own;
      return Taken::kDone;
    }
    case Protocol::kDeviceView: {
      const auto& own = nb::cast<const DeviceView&>(object);
      tensor->view = own.view;
      tensor->device = own.device;
      tensor->api = &device_view_api();
      return Taken::kDone;
    }
    case Protocol::kDlpack: return take_dlpack(argument, info.current_stream, tensor, stream);
    case Protocol::kNone: break;
  }
  argument.refuse(OPRT_ERR_INVALID_ARG, "a tensor: NumPy's, PyTorch's, CuPy's, JAX's or one with __dlpack__",
                  argument.type_name());
}

}  // namespace oprt::python
