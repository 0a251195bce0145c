// Every operator, to be called by its number: the generated table of C functions, and one valid call of each. A new
// operator whose operands are all f32 of one shape needs no line here.
#pragma once

#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "oprt/core/half.h"
#include "oprt/oprt.h"

namespace oprt_test {

union Scalar {
  double f64;
  int64_t i64;
};
enum class ScalarKind { f64, i64 };

struct ScalarArgument {
  const char* name;
  ScalarKind kind;
};

struct Functions {
  const char* name;
  int outputs;
  std::vector<const char*> views;
  std::vector<ScalarArgument> scalars;
  oprt_status_t (*create)(oprt_operator_descriptor_t*, const oprt_tensor_view_t* const*, const Scalar*);
  oprt_status_t (*workspace_size)(oprt_operator_descriptor_t, size_t*);
  oprt_status_t (*execute)(oprt_operator_descriptor_t, void*, size_t, void* const*, oprt_stream_t);
  oprt_status_t (*destroy)(oprt_operator_descriptor_t);
};

inline const std::vector<Functions>& operators() {
  static const std::vector<Functions> table = {
#include "operator_bindings.inc"
  };
  return table;
}

// The operands of one valid call, contiguous.
struct Operand {
  std::vector<int64_t> shape;
  oprt_dtype_t dtype = OPRT_DTYPE_F32;
  bool optional = false;
};

struct Example {
  std::vector<Operand> operands;
  std::vector<double> scalars;  // by position; 0 where not given
  bool guessed = false;
};

// `rows` scales every example; at 4 all is tiny.
inline Example example(const Functions& op, int64_t rows = 4) {
  const auto is = [&](const char* name) { return std::strcmp(op.name, name) == 0; };
  const Operand x{{rows, 6}};
  const Operand weight{{6}, OPRT_DTYPE_F32, true};
  if (is("silu_and_mul") || is("gelu_and_mul")) return {{x, {{rows, 12}}}, {}};
  if (is("reduce_sum")) return {{{{rows}}, x}, {1}};
  if (is("softmax")) return {{x, x}, {1}};
  if (is("layernorm")) return {{x, x, weight, weight}, {1, 1e-5}};
  if (is("rmsnorm")) return {{x, x, weight}, {1, 1e-5}};
  if (is("add_rmsnorm")) return {{x, x, x, x, weight}, {1, 1e-5}};
  if (is("embedding")) return {{x, {{10, 6}}, {{rows}, OPRT_DTYPE_I64}}, {}};
  if (is("rope")) {
    const Operand heads{{rows, 2, 8}}, table{{16, 4}};
    return {{heads, heads, table, table, {{rows}, OPRT_DTYPE_I64}}, {}};
  }
  if (is("matmul")) return {{{{rows, 5}}, x, {{6, 5}}, {{5}, OPRT_DTYPE_F32, true}}, {}};
  return {std::vector<Operand>(op.views.size(), x), {}, true};
}

// The same call of another float dtype; tables of rope are f32 always.
inline Example with_dtype(const Functions& op, Example call, oprt_dtype_t dtype) {
  for (size_t i = 0; i < call.operands.size(); ++i) {
    const bool table = std::strcmp(op.views[i], "cos") == 0 || std::strcmp(op.views[i], "sin") == 0;
    if (call.operands[i].dtype == OPRT_DTYPE_F32 && !table) call.operands[i].dtype = dtype;
  }
  return call;
}

// An example with memory behind it. Each operand lies in the middle of its own buffer, which is filled: integers are 0
// to 9, floats 0.5 to 2.75, outputs a byte that no result is made of.
class Call {
 public:
  Call(const Functions& op, const Example& call) : scalars(op.scalars.size()), op_(op) {
    for (size_t i = 0; i < call.operands.size(); ++i) {
      const Operand& operand = call.operands[i];
      oprt_tensor_view_t view = {nullptr, operand.dtype, static_cast<int32_t>(operand.shape.size()), {}, {}};
      int64_t count = 1;
      for (size_t a = operand.shape.size(); a-- > 0;) {
        view.shape[a] = operand.shape[a];
        view.strides[a] = count;
        count *= operand.shape[a];
      }
      bytes_.push_back(count * oprt_dtype_size(operand.dtype));
      buffers_.emplace_back(bytes_[i] + 2 * kMargin + kAlignment, kUnwritten);
      view.data = aligned(buffers_[i].data()) + kMargin;
      if (static_cast<int>(i) >= op.outputs) fill(view, 0);
      views.push_back(view);
      data.push_back(view.data);
    }
    for (const oprt_tensor_view_t& view : views) pointers.push_back(&view);
    for (size_t i = 0; i < scalars.size(); ++i) {
      const double value = i < call.scalars.size() ? call.scalars[i] : 0;
      if (op.scalars[i].kind == ScalarKind::f64)
        scalars[i].f64 = value;
      else
        scalars[i].i64 = static_cast<int64_t>(value);
    }
  }
  Call(const Call&) = delete;

  oprt_status_t create(oprt_operator_descriptor_t* desc) { return op_.create(desc, pointers.data(), scalars.data()); }
  oprt_status_t execute(oprt_operator_descriptor_t desc) {
    return op_.execute(desc, workspace, workspace_size, data.data(), nullptr);
  }

  // Workspace of the size that the descriptor asks for.
  void take_workspace(oprt_operator_descriptor_t desc) {
    op_.workspace_size(desc, &workspace_size);
    workspace_memory_.resize(workspace_size);
    workspace = workspace_memory_.data();
  }

  // Gives the inputs other values of the same kind.
  void refill(int seed) {
    for (size_t i = static_cast<size_t>(op_.outputs); i < views.size(); ++i) fill(views[i], seed);
  }

  // Every byte of every buffer, margins included.
  std::string memory() const {
    std::string all;
    for (const std::string& buffer : buffers_) all += buffer;
    return all;
  }

  // The bytes of output i.
  std::string output(int i) const { return {static_cast<const char*>(data[i]), bytes_[i]}; }

  size_t bytes(size_t i) const { return bytes_[i]; }  // of operand i

  std::vector<oprt_tensor_view_t> views;
  std::vector<const oprt_tensor_view_t*> pointers;  // what create is given: to `views`, or null
  std::vector<Scalar> scalars;
  std::vector<void*> data;  // what execute is given
  void* workspace = nullptr;
  size_t workspace_size = 0;

 private:
  static constexpr char kUnwritten = '\xA5';
  static constexpr size_t kMargin = 256, kAlignment = 64;  // bytes

  static char* aligned(char* pointer) {
    return pointer + (kAlignment - reinterpret_cast<uintptr_t>(pointer) % kAlignment) % kAlignment;
  }

  static void fill(const oprt_tensor_view_t& view, int seed) {
    int64_t count = 1;
    for (int a = 0; a < view.ndim; ++a) count *= view.shape[a];
    for (int64_t i = 0; i < count; ++i) {
      const int64_t whole = (i + seed) % 10;
      const float x = 0.5f + 0.25f * static_cast<float>(whole);
      switch (view.dtype) {
        case OPRT_DTYPE_F32: static_cast<float*>(view.data)[i] = x; break;
        case OPRT_DTYPE_F16: static_cast<oprt::f16*>(view.data)[i] = oprt::narrow<oprt::f16>(x); break;
        case OPRT_DTYPE_BF16: static_cast<oprt::bf16*>(view.data)[i] = oprt::narrow<oprt::bf16>(x); break;
        case OPRT_DTYPE_I32: static_cast<int32_t*>(view.data)[i] = static_cast<int32_t>(whole); break;
        case OPRT_DTYPE_I64: static_cast<int64_t*>(view.data)[i] = whole; break;
      }
    }
  }

  const Functions& op_;
  std::vector<std::string> buffers_;
  std::vector<size_t> bytes_;
  std::vector<char> workspace_memory_;
};

}  // namespace oprt_test
