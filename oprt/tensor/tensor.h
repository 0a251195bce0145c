// oprt::Tensor: a strided view of shared storage. Copies of a Tensor and its views share the elements; storage is freed
// with the last of them. Axes count from 0, or from the end where negative. Errors throw oprt::Error.
//
//   auto x = Tensor::from_data<float>({1, 2, 3, 4, 5, 6}, {2, 3});
//   auto y = x.transpose(0, 1).slice(0, {}, {}, -1).contiguous().to(OPRT_DTYPE_BF16);
//   oprt_tensor_view_t view = y.view();  // for oprt's operators
//
// Work on a GPU runs on its default stream.
#pragma once

#include <cstdint>
#include <memory>
#include <numeric>
#include <optional>
#include <utility>
#include <vector>

#include "oprt/core/dtype.h"
#include "oprt/core/half.h"
#include "oprt/ops/cast/cast.h"
#include "oprt/ops/copy/copy.h"
#include "oprt/runtime/buffer.h"
#include "oprt/tensor/shape.h"

namespace oprt {

class Tensor {
 public:
  Tensor() : view_{nullptr, OPRT_DTYPE_F32, 1, {}, {}} {}  // no elements: f32 of shape [0]

  // ---- new tensors, contiguous ----

  static Tensor empty(const Shape& shape, oprt_dtype_t dtype = OPRT_DTYPE_F32, Device device = Device::cpu()) {
    if (!is_valid(dtype))
      throw Error(OPRT_ERR_UNSUPPORTED_DTYPE, "Tensor::empty: dtype: expected f16, f32, bf16, i32 or i64, got " +
                                                  std::to_string(static_cast<int>(dtype)));
    const int64_t count = detail::checked_count("empty", shape, size_of(dtype));
    auto buffer = std::make_shared<DeviceBuffer>(static_cast<size_t>(count * size_of(dtype)), device);
    oprt_tensor_view_t view = {buffer->data(), dtype, static_cast<int32_t>(shape.size()), {}, {}};
    std::copy(shape.begin(), shape.end(), view.shape);
    detail::set_row_major(&view);
    return Tensor(std::move(buffer), device, view);
  }

  static Tensor zeros(const Shape& shape, oprt_dtype_t dtype = OPRT_DTYPE_F32, Device device = Device::cpu()) {
    Tensor out = empty(shape, dtype, device);
    check(oprt_memory_zero(device.c(), out.view_.data, out.bytes()));
    return out;
  }

  // Values in row-major order. T is float, f16, bf16, int32_t or int64_t.
  template <class T>
  static Tensor from_data(const std::vector<T>& values, const Shape& shape, Device device = Device::cpu()) {
    Tensor out = empty(shape, dtype_of<T>::value, device);
    if (static_cast<int64_t>(values.size()) != out.count())
      detail::refuse("from_data", "values", std::to_string(out.count()) + " for shape " + detail::to_text(shape),
                     std::to_string(values.size()));
    check(oprt_memory_copy(out.view_.data, device.c(), values.data(), Device::cpu().c(), out.bytes()));
    return out;
  }

  // A view of memory that `owner` keeps alive; the view is taken as valid. read_only: nothing may write to it.
  static Tensor borrow(std::shared_ptr<void> owner, Device device, const oprt_tensor_view_t& view,
                       bool read_only = false) {
    Tensor out(std::move(owner), device, view);
    out.read_only_ = read_only;
    return out;
  }

  // ---- what it is ----

  Shape shape() const { return {view_.shape, view_.shape + view_.ndim}; }
  Shape strides() const { return {view_.strides, view_.strides + view_.ndim}; }  // elements
  int rank() const { return view_.ndim; }
  int64_t count() const {
    return std::accumulate(view_.shape, view_.shape + view_.ndim, int64_t{1}, std::multiplies<int64_t>());
  }
  oprt_dtype_t dtype() const { return view_.dtype; }
  Device device() const { return device_; }
  bool is_read_only() const { return read_only_; }

  // Row-major without gaps; the strides of axes of length 1 and of empty tensors do not matter.
  bool is_contiguous() const {
    oprt_tensor_view_t packed = view_;
    detail::set_row_major(&packed);
    for (int i = 0; i < view_.ndim; ++i)
      if (view_.shape[i] > 1 && view_.strides[i] != packed.strides[i] && count() > 0) return false;
    return true;
  }

  // For oprt's operators: read it while this tensor lives; its data lives as long as any tensor that shares the
  // storage. The operator decides what is written, so a read-only tensor may only be an input.
  const oprt_tensor_view_t& view() const { return view_; }

  // The address of element [0, ..., 0], typed; for a CPU tensor the elements can be read and written there.
  template <class T>
  T* data() {
    if (read_only_) detail::refuse("data", "this", "a tensor that may be written", "a read-only one");
    return static_cast<T*>(typed<T>());
  }
  template <class T>
  const T* data() const {
    return static_cast<const T*>(typed<T>());
  }

  // All elements in row-major order, on the host.
  template <class T>
  std::vector<T> to_vector() const {
    typed<T>();
    std::vector<T> out(static_cast<size_t>(count()));
    const Tensor packed = contiguous();
    check(oprt_memory_copy(out.data(), Device::cpu().c(), packed.view_.data, device_.c(), packed.bytes()));
    return out;
  }

  // ---- views: no element moves, unless it says so ----

  // The same elements in another shape; one length may be -1, "what is left". A view where strides can express it, else
  // a contiguous copy.
  Tensor reshape(Shape shape) const {
    const std::string asked = detail::to_text(shape);
    const auto open = std::find(shape.begin(), shape.end(), -1);
    if (open != shape.end()) {
      *open = 1;
      const int64_t others = detail::checked_count("reshape", shape, 1);
      *open = others > 0 ? count() / others : 0;
    }
    if (detail::checked_count("reshape", shape, size_of(dtype())) != count())
      detail::refuse("reshape", "shape", "one of " + std::to_string(count()) + " elements", asked);
    if (count() == 0) return with(shape, Shape(shape.size(), 0));
    const std::optional<Shape> strides = detail::strides_of_reshape(view_, shape);
    return strides ? with(shape, *strides) : contiguous().reshape(std::move(shape));
  }

  // axes[i] is the axis of this tensor that becomes axis i.
  Tensor permute(const std::vector<int>& axes) const {
    if (static_cast<int>(axes.size()) != rank())
      detail::refuse("permute", "axes", std::to_string(rank()) + " of them", std::to_string(axes.size()));
    Shape shape, strides;
    std::vector<bool> taken(axes.size());
    for (int axis : axes) {
      axis = detail::checked_axis("permute", axis, rank());
      if (taken[axis]) detail::refuse("permute", "axes", "each axis once", std::to_string(axis) + " twice");
      taken[axis] = true;
      shape.push_back(view_.shape[axis]);
      strides.push_back(view_.strides[axis]);
    }
    return with(shape, strides);
  }

  Tensor transpose(int a, int b) const {
    std::vector<int> axes(rank());
    std::iota(axes.begin(), axes.end(), 0);
    std::swap(axes[detail::checked_axis("transpose", a, rank())], axes[detail::checked_axis("transpose", b, rank())]);
    return permute(axes);
  }

  // Without an axis of length 1.
  Tensor squeeze(int axis) const {
    axis = detail::checked_axis("squeeze", axis, rank());
    if (view_.shape[axis] != 1)
      detail::refuse("squeeze", "axis", "one of length 1", "length " + std::to_string(view_.shape[axis]));
    Shape shape = this->shape(), strides = this->strides();
    shape.erase(shape.begin() + axis);
    strides.erase(strides.begin() + axis);
    return with(shape, strides);
  }

  // With a new axis of length 1 at `axis` of the result.
  Tensor unsqueeze(int axis) const {
    if (rank() == OPRT_MAX_DIMS) detail::refuse("unsqueeze", "this", "a rank below 8", "rank 8");
    axis = detail::checked_axis("unsqueeze", axis, rank() + 1);
    Shape shape = this->shape(), strides = this->strides();
    shape.insert(shape.begin() + axis, 1);
    strides.insert(strides.begin() + axis, 1);
    return with(shape, strides);
  }

  // Elements start, start + step, ... before stop along an axis, as NumPy's start:stop:step: negative bounds count from
  // the end, bounds past an end mean the end, a negative step runs backwards, and a bound left out is the end that the
  // step comes from or goes to.
  Tensor slice(int axis, std::optional<int64_t> start, std::optional<int64_t> stop, int64_t step = 1) const {
    axis = detail::checked_axis("slice", axis, rank());
    if (step == 0) detail::refuse("slice", "step", "a step that moves", "0");
    const int64_t n = view_.shape[axis];
    const int64_t low = step > 0 ? 0 : -1, high = step > 0 ? n : n - 1;  // a bound's range after clamping
    const auto bound = [&](std::optional<int64_t> value, int64_t left_out) {
      if (!value) return left_out;
      return std::clamp(*value < 0 ? *value + n : *value, low, high);
    };
    const int64_t first = bound(start, step > 0 ? low : high), end = bound(stop, step > 0 ? high : low);
    const uint64_t distance = static_cast<uint64_t>(step > 0 ? end - first : first - end);
    const uint64_t stride = step > 0 ? static_cast<uint64_t>(step) : uint64_t{0} - static_cast<uint64_t>(step);
    const bool any = step > 0 ? end > first : first > end;

    Tensor out = *this;
    out.view_.shape[axis] = any ? static_cast<int64_t>((distance - 1) / stride + 1) : 0;
    if (out.view_.shape[axis] > 1) out.view_.strides[axis] *= step;
    if (out.count() > 0)
      out.view_.data = static_cast<char*>(view_.data) + first * view_.strides[axis] * size_of(dtype());
    return out;
  }

  // Broadcast to a shape: axes of length 1 and new leading ones repeat, with stride 0. Two indices then share an
  // element, so it may only be read.
  Tensor expand(const Shape& shape) const {
    if (broadcast_shapes(this->shape(), shape) != shape)
      detail::refuse("expand", "shape", "one that " + detail::to_text(this->shape()) + " stretches to",
                     detail::to_text(shape));
    detail::checked_count("expand", shape, size_of(dtype()));
    Shape strides(shape.size(), 0);
    for (int i = 0; i < rank(); ++i)
      if (view_.shape[i] != 1) strides[shape.size() - rank() + i] = view_.strides[i];
    return with(shape, strides);
  }

  // ---- copies ----

  // This tensor where it is contiguous, else a copy that is.
  Tensor contiguous() const { return is_contiguous() ? *this : clone(); }

  // A contiguous copy.
  Tensor clone() const {
    Tensor out = empty(shape(), dtype(), device_);
    out.take(*this, {oprt_create_copy_descriptor, oprt_execute_copy, oprt_destroy_copy_descriptor});
    return out;
  }

  // This tensor where it has the dtype, else a contiguous copy in it. Between f32, f16 and bf16.
  Tensor to(oprt_dtype_t dtype) const {
    if (dtype == view_.dtype) return *this;
    Tensor out = empty(shape(), dtype, device_);
    out.take(*this, {oprt_create_cast_descriptor, oprt_execute_cast, oprt_destroy_cast_descriptor});
    return out;
  }

  // This tensor where it lives there, else a contiguous copy there.
  Tensor to(Device device) const {
    if (device == device_) return *this;
    const Tensor packed = contiguous();
    Tensor out = empty(shape(), dtype(), device);
    check(oprt_memory_copy(out.view_.data, device.c(), packed.view_.data, device_.c(), packed.bytes()));
    return out;
  }

 private:
  Tensor(std::shared_ptr<void> owner, Device device, const oprt_tensor_view_t& view)
      : owner_(std::move(owner)), device_(device), view_(view) {}

  size_t bytes() const { return static_cast<size_t>(count() * size_of(dtype())); }

  Tensor with(const Shape& shape, const Shape& strides) const {
    Tensor out = *this;
    out.view_.ndim = static_cast<int32_t>(shape.size());
    std::copy(shape.begin(), shape.end(), out.view_.shape);
    std::copy(strides.begin(), strides.end(), out.view_.strides);
    return out;
  }

  template <class T>
  void* typed() const {
    if (view_.dtype != dtype_of<T>::value)
      throw Error(OPRT_ERR_UNSUPPORTED_DTYPE, std::string("Tensor: dtype: expected ") +
                                                  oprt_dtype_string(dtype_of<T>::value) + " as asked for, got " +
                                                  oprt_dtype_string(view_.dtype));
    return view_.data;
  }

  // The C functions of an operator with one input and no scalars.
  struct Unary {
    oprt_status_t (*create)(oprt_operator_descriptor_t*, const oprt_tensor_view_t*, const oprt_tensor_view_t*);
    oprt_status_t (*execute)(oprt_operator_descriptor_t, void*, size_t, void*, const void*, oprt_stream_t);
    oprt_status_t (*destroy)(oprt_operator_descriptor_t);
  };

  // Fills this tensor from another of its shape. Copy and cast need no workspace.
  void take(const Tensor& from, const Unary& op) {
    oprt_operator_descriptor_t desc = nullptr;
    check(op.create(&desc, &view_, &from.view_));
    const std::unique_ptr<oprt_operator_descriptor, oprt_status_t (*)(oprt_operator_descriptor_t)> owner(desc,
                                                                                                         op.destroy);
    check(op.execute(desc, nullptr, 0, view_.data, from.view_.data, nullptr));
  }

  std::shared_ptr<void> owner_;
  Device device_;
  oprt_tensor_view_t view_;
  bool read_only_ = false;
};

// a and b expanded to their common shape.
inline std::pair<Tensor, Tensor> broadcast(const Tensor& a, const Tensor& b) {
  const Shape shape = broadcast_shapes(a.shape(), b.shape());
  return {a.expand(shape), b.expand(shape)};
}

}  // namespace oprt
