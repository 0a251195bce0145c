// Tensors to and from DLPack 1.x, without a copy: https://dmlc.github.io/dlpack/latest
#pragma once

#include <dlpack/dlpack.h>

#include <memory>

#include "oprt/tensor/tensor.h"

namespace oprt {

namespace detail {

inline DLDataType dlpack_dtype(oprt_dtype_t dtype) {
  const auto bits = static_cast<uint8_t>(8 * size_of(dtype));
  if (dtype == OPRT_DTYPE_BF16) return {kDLBfloat, bits, 1};
  return {static_cast<uint8_t>(is_float(dtype) ? kDLFloat : kDLInt), bits, 1};
}

inline oprt_dtype_t dtype_of_dlpack(DLDataType type) {
  for (const oprt_dtype_t dtype : {OPRT_DTYPE_F32, OPRT_DTYPE_F16, OPRT_DTYPE_BF16, OPRT_DTYPE_I32, OPRT_DTYPE_I64}) {
    const DLDataType own = dlpack_dtype(dtype);
    if (type.code == own.code && type.bits == own.bits && type.lanes == 1) return dtype;
  }
  throw Error(OPRT_ERR_UNSUPPORTED_DTYPE, "from_dlpack: dtype: expected f32, f16, bf16, i32 or i64, got code " +
                                              std::to_string(type.code) + " with " + std::to_string(type.bits) +
                                              " bits and " + std::to_string(type.lanes) + " lanes");
}

inline DLDevice dlpack_device(Device device) {
  if (device.is_cpu()) return {kDLCPU, 0};
  if (device.backend() == OPRT_BACKEND_NVIDIA) return {kDLCUDA, device.index()};
  throw Error(OPRT_ERR_NOT_SUPPORTED, "to_dlpack: device: expected one that DLPack has a number for, got " +
                                          std::string(oprt_backend_string(device.backend())));
}

inline Device device_of_dlpack(DLDevice device) {
  if (device.device_type == kDLCPU || device.device_type == kDLCUDAHost) return Device::cpu();
  if (device.device_type == kDLCUDA || device.device_type == kDLCUDAManaged)
    return Device(OPRT_BACKEND_NVIDIA, device.device_id);
  throw Error(OPRT_ERR_NOT_SUPPORTED, "from_dlpack: device: expected the CPU or a CUDA device, got DLPack's number " +
                                          std::to_string(static_cast<int>(device.device_type)));
}

}  // namespace detail

// For a consumer, which calls the result's deleter when it is done; until then the elements live. The consumer may
// write to them unless the tensor is read-only.
inline DLManagedTensorVersioned* to_dlpack(const Tensor& tensor) {
  struct Exported {
    explicit Exported(const Tensor& tensor) : tensor(tensor), managed{} {}
    Tensor tensor;  // shares the storage and holds shape and strides
    DLManagedTensorVersioned managed;
  };
  auto exported = std::make_unique<Exported>(tensor);
  auto& view = const_cast<oprt_tensor_view_t&>(exported->tensor.view());  // DLPack's pointers are not const
  DLManagedTensorVersioned& managed = exported->managed;
  managed.version = {DLPACK_MAJOR_VERSION, DLPACK_MINOR_VERSION};
  managed.manager_ctx = exported.get();
  managed.deleter = [](DLManagedTensorVersioned* self) { delete static_cast<Exported*>(self->manager_ctx); };
  managed.flags = tensor.is_read_only() ? DLPACK_FLAG_BITMASK_READ_ONLY : 0;
  managed.dl_tensor = {view.data,  detail::dlpack_device(tensor.device()),
                       view.ndim,  detail::dlpack_dtype(view.dtype),
                       view.shape, view.strides,
                       0};
  return &exported.release()->managed;
}

// Takes the producer's tensor over: its deleter is called when the last Tensor that shares it is gone, or at once where
// this throws. Null strides mean row-major. The producer's stream must have been made to precede the caller's.
inline Tensor from_dlpack(DLManagedTensorVersioned* managed) {
  if (!managed) throw Error(OPRT_ERR_INVALID_ARG, "from_dlpack: managed: expected a tensor, got a null pointer");
  const std::shared_ptr<DLManagedTensorVersioned> owner(managed, [](DLManagedTensorVersioned* m) {
    if (m->deleter) m->deleter(m);
  });
  if (managed->version.major != DLPACK_MAJOR_VERSION)  // then only the version and the deleter may be looked at
    throw Error(OPRT_ERR_NOT_SUPPORTED,
                "from_dlpack: version: expected major 1, got " + std::to_string(managed->version.major));
  const DLTensor& from = managed->dl_tensor;
  if (from.ndim < 0 || from.ndim > OPRT_MAX_DIMS)
    throw Error(OPRT_ERR_INVALID_ARG,
                "from_dlpack: ndim: expected a rank from 0 to 8, got " + std::to_string(from.ndim));
  oprt_tensor_view_t view = {
      static_cast<char*>(from.data) + from.byte_offset, detail::dtype_of_dlpack(from.dtype), from.ndim, {}, {}};
  std::copy(from.shape, from.shape + from.ndim, view.shape);
  detail::checked_count("from_dlpack", Shape(view.shape, view.shape + view.ndim), size_of(view.dtype));
  if (from.strides)
    std::copy(from.strides, from.strides + from.ndim, view.strides);
  else
    detail::set_row_major(&view);
  return Tensor::borrow(owner, detail::device_of_dlpack(from.device), view,
                        (managed->flags & DLPACK_FLAG_BITMASK_READ_ONLY) != 0);
}

}  // namespace oprt
