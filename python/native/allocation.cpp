#include "allocation.h"

#include <nanobind/stl/string.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

#include <cstdlib>
#include <new>
#include <string>

#include "dlpack/dlpack.h"
#include "error.h"
#include "oprt/api/memory.h"
#include "tensor.h"

namespace oprt::python {

// What a DLPack export points into. The memory lives exactly as long. Deleters may run on any thread, without the GIL.
struct Export {
  ~Export() {
    if (device.backend == OPRT_BACKEND_CPU)
      std::free(data);
    else
      oprt_memory_free(device, data);
  }

  oprt_device_t device;
  void* data = nullptr;
  int64_t shape[OPRT_MAX_DIMS];
  int64_t strides[OPRT_MAX_DIMS];
  DLManagedTensorVersioned versioned = {};
  DLManagedTensor legacy = {};
};

namespace {

constexpr size_t kAlignment = 64;  // a cache line; JAX takes less aligned memory only by copying it

DLDataType dlpack_dtype(oprt_dtype_t dtype) {
  switch (dtype) {
    case OPRT_DTYPE_F16: return {kDLFloat, 16, 1};
    case OPRT_DTYPE_F32: return {kDLFloat, 32, 1};
    case OPRT_DTYPE_BF16: return {kDLBfloat, 16, 1};
    case OPRT_DTYPE_I32: return {kDLInt, 32, 1};
    case OPRT_DTYPE_I64: return {kDLInt, 64, 1};
  }
  return {kDLOpaqueHandle, 0, 1};
}

template <class Managed>
void deleter(Managed* self) {
  delete static_cast<Export*>(self->manager_ctx);
}

// Runs when nobody has consumed the capsule: a consumer renames it and calls the deleter itself.
template <class Managed>
void drop(PyObject* capsule, const char* name) {
  if (!PyCapsule_IsValid(capsule, name)) return;
  auto* managed = static_cast<Managed*>(PyCapsule_GetPointer(capsule, name));
  managed->deleter(managed);
}

template <class Managed>
nb::object capsule_of(Export* exported, Managed* managed, const DLTensor& tensor, const char* name,
                      PyCapsule_Destructor destructor) {
  managed->dl_tensor = tensor;
  managed->manager_ctx = exported;
  managed->deleter = deleter<Managed>;
  PyObject* capsule = PyCapsule_New(managed, name, destructor);
  if (!capsule) throw nb::python_error();
  return nb::steal(capsule);
}

[[noreturn]] void refuse(const char* sentence) { throw nb::buffer_error(sentence); }

}  // namespace

Allocation::Allocation(const char* op, const std::vector<int64_t>& shape, oprt_dtype_t dtype, oprt_device_t device)
    : view_{}, device_(device), export_(new Export{device}) {
  const auto text = [&] {
    std::string out = "[";
    for (size_t i = 0; i < shape.size(); ++i) out += (i ? ", " : "") + std::to_string(shape[i]);
    return out + "]";
  };
  if (shape.size() > OPRT_MAX_DIMS)
    raise_argument(OPRT_ERR_INVALID_ARG, op, "out", "a rank from 0 to 8", "rank " + std::to_string(shape.size()));
  view_.dtype = dtype;
  view_.ndim = static_cast<int32_t>(shape.size());
  int64_t bytes = static_cast<int64_t>(oprt_dtype_size(dtype));
  for (int i = view_.ndim - 1; i >= 0; --i) {
    view_.shape[i] = shape[i];
    view_.strides[i] = bytes / static_cast<int64_t>(oprt_dtype_size(dtype));
    if (shape[i] < 0 || __builtin_mul_overflow(bytes, shape[i], &bytes))
      raise_argument(OPRT_ERR_INVALID_ARG, op, "out", "lengths of 0 or more, fewer than 2^63 bytes", text());
  }
  if (device.backend != OPRT_BACKEND_CPU) {
    check(oprt_memory_alloc(device, static_cast<size_t>(bytes), &export_->data));
  } else if (bytes > 0) {
    export_->data = std::aligned_alloc(kAlignment, (static_cast<size_t>(bytes) + kAlignment - 1) & ~(kAlignment - 1));
    if (!export_->data)
      raise(OPRT_ERR_OUT_OF_MEMORY,
            std::string(op) + ": host memory ran out: " + std::to_string(bytes) + " bytes for " + text());
  }
  view_.data = export_->data;
}

Allocation::~Allocation() = default;

const oprt_tensor_view_t& Allocation::view() const {
  if (!export_) raise(OPRT_ERR_INVALID_ARG, "Allocation: expected memory of its own, got one given away by __dlpack__");
  return view_;
}

nb::object Allocation::dlpack(nb::handle stream, nb::handle max_version, nb::handle dl_device, nb::handle copy) {
  if (!export_) refuse("this memory has been given away: __dlpack__ may be called once");
  const bool on_host = device_.backend == OPRT_BACKEND_CPU;
  if (on_host && !stream.is_none()) refuse("host memory has no stream: stream must be None");
  if (!dl_device.is_none() && !dl_device.equal(dlpack_device()))
    refuse("this memory is elsewhere: dl_device must be None or what __dlpack_device__ returns");
  if (!copy.is_none() && nb::cast<bool>(copy)) refuse("this memory is given away, not copied: copy must not be True");

  if (!on_host) order_before(stream);

  Export* e = export_.get();
  std::copy(view_.shape, view_.shape + OPRT_MAX_DIMS, e->shape);
  std::copy(view_.strides, view_.strides + OPRT_MAX_DIMS, e->strides);
  const DLDevice where{on_host ? kDLCPU : kDLCUDA, device_.index};
  const DLTensor tensor{e->data, where, view_.ndim, dlpack_dtype(view_.dtype), e->shape, e->strides, 0};
  nb::object capsule;
  if (!max_version.is_none() && nb::cast<int>(max_version[0]) >= DLPACK_MAJOR_VERSION) {
    e->versioned.version = {DLPACK_MAJOR_VERSION, DLPACK_MINOR_VERSION};
    capsule = capsule_of(e, &e->versioned, tensor, "dltensor_versioned",
                         [](PyObject* capsule) { drop<DLManagedTensorVersioned>(capsule, "dltensor_versioned"); });
  } else {
    capsule = capsule_of(e, &e->legacy, tensor, "dltensor",
                         [](PyObject* capsule) { drop<DLManagedTensor>(capsule, "dltensor"); });
  }
  export_.release();
  return capsule;
}

// The consumer's stream, as __dlpack__ calls it, waits for ours: None and 1 are the legacy default stream, -1 is none.
void Allocation::order_before(nb::handle stream) const {
  const intptr_t number = stream.is_none() ? 1 : nb::cast<intptr_t>(stream);
  if (number == 0 || number < -1) refuse("stream must be None, -1 or a CUDA stream other than 0");
  const auto consumer = number == 1 ? nullptr : reinterpret_cast<oprt_stream_t>(number);
  if (number == -1 || consumer == stream_) return;
  oprt_event_t written = nullptr;
  check(oprt_event_create(device_, &written));
  oprt_status_t status = oprt_event_record(written, stream_);
  if (status == OPRT_SUCCESS) status = oprt_stream_wait_event(device_, consumer, written);
  oprt_event_destroy(written);  // the wait stands
  check(status);
}

nb::object Allocation::dlpack_device() const {
  return nb::make_tuple(static_cast<int>(device_.backend == OPRT_BACKEND_CPU ? kDLCPU : kDLCUDA), device_.index);
}

void bind_allocation(nb::module_& module) {
  nb::class_<Allocation>(module, "Allocation",
                         "Memory for a result, given to a framework once by DLPack. Made by empty().")
      .def("__dlpack__", &Allocation::dlpack, nb::kw_only(), nb::arg("stream") = nb::none(),
           nb::arg("max_version") = nb::none(), nb::arg("dl_device") = nb::none(), nb::arg("copy") = nb::none())
      .def("__dlpack_device__", &Allocation::dlpack_device);
  module.def(
      "empty",
      [](const char* op, const std::vector<int64_t>& shape, const std::string& dtype, int gpu) {
        const oprt_device_t device =
            gpu < 0 ? oprt_device_t{OPRT_BACKEND_CPU, 0} : oprt_device_t{OPRT_BACKEND_NVIDIA, gpu};
        return std::make_unique<Allocation>(op, shape, dtype_named(op, "out", dtype), device);
      },
      nb::arg("op"), nb::arg("shape"), nb::arg("dtype"), nb::arg("gpu") = -1,
      "An Allocation for an output of op, of that shape and dtype ('f32', 'f16', 'bf16', 'i32' or 'i64'), on the GPU "
      "of that index or, where it is negative, in host memory.");
}

}  // namespace oprt::python
