// A call of an operator on a GPU, and the same call on the CPU, which says what is right.
#pragma once

#include <gtest/gtest.h>

#include <cmath>

#include "../cpp/operators.h"
#include "oprt/oprt.hpp"

namespace oprt_test {

constexpr oprt_backend_t kGpu = OPRT_BACKEND_NVIDIA;

inline int gpu_count() {
  int32_t count = 0;
  return oprt_device_count(kGpu, &count) == OPRT_SUCCESS ? count : 0;
}

// Every operator by its number; without a GPU each test is skipped.
class EachOperator : public testing::TestWithParam<size_t> {
 public:
  static std::string Name(const testing::TestParamInfo<size_t>& of) { return operators()[of.param].name; }

 protected:
  void SetUp() override {
    if (gpu_count() == 0) GTEST_SKIP() << "no GPU";
    if (example(op()).guessed && !Accepts()) GTEST_SKIP() << "no example of it in operators.h";
  }

  const Functions& op() const { return operators()[GetParam()]; }

 private:
  bool Accepts() const {
    Call call(op(), example(op()));
    oprt_operator_descriptor_t desc = nullptr;
    const bool made = call.create(&desc) == OPRT_SUCCESS;
    op().destroy(desc);
    return made;
  }
};

#define OPRT_EACH_OPERATOR(fixture) \
  INSTANTIATE_TEST_SUITE_P(Operators, fixture, testing::Range(size_t{0}, oprt_test::operators().size()), fixture::Name)

inline double value_at(const void* data, oprt_dtype_t dtype, int64_t i) {
  switch (dtype) {
    case OPRT_DTYPE_F32: return static_cast<const float*>(data)[i];
    case OPRT_DTYPE_F16: return oprt::widen(static_cast<const oprt::f16*>(data)[i]);
    case OPRT_DTYPE_BF16: return oprt::widen(static_cast<const oprt::bf16*>(data)[i]);
    case OPRT_DTYPE_I32: return static_cast<const int32_t*>(data)[i];
    case OPRT_DTYPE_I64: return static_cast<double>(static_cast<const int64_t*>(data)[i]);
  }
  return NAN;
}

class DeviceCall {
 public:
  DeviceCall(const Functions& op, const Example& example, oprt::Device device = oprt::Device(kGpu))
      : host(op, example), op_(op), device_(device) {
    views = host.views;
    for (size_t i = 0; i < views.size(); ++i) {
      buffers.emplace_back(host.bytes(i), device);
      views[i].data = buffers[i].data();
      data.push_back(buffers[i].data());
    }
    for (const oprt_tensor_view_t& view : views) pointers.push_back(&view);
    put();
  }
  DeviceCall(const DeviceCall&) = delete;

  // Inputs as the host has them, and outputs of bytes that no result is made of.
  void put() {
    for (size_t i = 0; i < buffers.size(); ++i) {
      if (static_cast<int>(i) < op_.outputs) std::memset(host.data[i], 0xA5, host.bytes(i));
      buffers[i].copy_from(host.data[i], host.bytes(i));
    }
  }

  oprt_status_t create(oprt_operator_descriptor_t* desc) {
    return op_.create(desc, pointers.data(), host.scalars.data());
  }

  oprt_status_t execute(oprt_operator_descriptor_t desc, oprt_stream_t stream = nullptr) {
    return op_.execute(desc, workspace ? workspace->data() : nullptr, workspace ? workspace->bytes() : 0, data.data(),
                       stream);
  }

  void take_workspace(oprt_operator_descriptor_t desc) {
    size_t bytes = 0;
    oprt::check(op_.workspace_size(desc, &bytes));
    if (bytes) workspace = std::make_unique<oprt::DeviceBuffer>(bytes, device_);
  }

  // A sentence where an output on the device is not what the CPU makes of the host's inputs, else empty.
  std::string wrong() {
    oprt_operator_descriptor_t desc = nullptr;
    if (host.create(&desc) != OPRT_SUCCESS) return oprt_last_error_message();
    host.take_workspace(desc);
    const oprt_status_t status = host.execute(desc);
    op_.destroy(desc);
    if (status != OPRT_SUCCESS) return oprt_last_error_message();
    for (int o = 0; o < op_.outputs; ++o) {
      std::string got(host.bytes(o), '\0');
      buffers[o].copy_to(got.data(), got.size());
      const oprt_dtype_t dtype = views[o].dtype;
      const double ulp = dtype == OPRT_DTYPE_F32 ? 4e-6 : dtype == OPRT_DTYPE_F16 ? 1e-3 : 8e-3;
      const int64_t count = static_cast<int64_t>(got.size() / oprt_dtype_size(dtype));
      for (int64_t i = 0; i < count; ++i) {
        const double want = value_at(host.data[o], dtype, i), is = value_at(got.data(), dtype, i);
        if (!(std::abs(is - want) <= ulp * (std::abs(want) + 0.5)))
          return std::string(op_.views[o]) + "[" + std::to_string(i) + "] is " + std::to_string(is) + ", on the CPU " +
                 std::to_string(want);
      }
    }
    return "";
  }

  Call host;
  std::vector<oprt::DeviceBuffer> buffers;  // of each operand
  std::vector<oprt_tensor_view_t> views;
  std::vector<const oprt_tensor_view_t*> pointers;
  std::vector<void*> data;
  std::unique_ptr<oprt::DeviceBuffer> workspace;  // null where none is needed

 private:
  const Functions& op_;
  const oprt::Device device_;
};

}  // namespace oprt_test
