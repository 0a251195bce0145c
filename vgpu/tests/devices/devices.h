// For tests of several devices: three of them, and a program whose kernels run on any.
#pragma once

#include <cuda_runtime.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <string>

#include "registered.h"
#include "report/diagnostic.h"
#include "runtime/context.h"

namespace vgpu::test {

#define OK(call) ASSERT_EQ(call, cudaSuccess)
#define IS(call, error)       \
  do {                        \
    EXPECT_EQ(call, error);   \
    (void)cudaGetLastError(); \
  } while (false)

inline const char* const kText = R"(
.version 8.0
.target sm_80
.address_size 64
.visible .global .align 4 .u32 own = 7;
.visible .global .attribute(.managed) .align 4 .u32 common = 5;

.visible .entry copy(.param .u64 to, .param .u64 from)
{
  .reg .b64 %rd<3>;
  .reg .b32 %r<2>;
  ld.param.u64 %rd1, [to];
  ld.param.u64 %rd2, [from];
  ld.global.u32 %r1, [%rd2];
  st.global.u32 [%rd1], %r1;
  ret;
}
// to[0] = ++own, to[1] = ++common
.visible .entry count(.param .u64 to)
{
  .reg .b64 %rd<2>;
  .reg .b32 %r<2>;
  ld.param.u64 %rd1, [to];
  ld.global.u32 %r1, [own];
  add.u32 %r1, %r1, 1;
  st.global.u32 [own], %r1;
  st.global.u32 [%rd1], %r1;
  ld.global.u32 %r1, [common];
  add.u32 %r1, %r1, 1;
  st.global.u32 [common], %r1;
  st.global.u32 [%rd1+4], %r1;
  ret;
}
)";

// What the program above is to its host.
struct Program {
  char copy, count, own;  // their addresses are names
  unsigned* common = nullptr;

  Program() {
    void** handle = registered(fat_binary(kText));
    __cudaRegisterFunction(handle, &copy, nullptr, "copy", -1, nullptr, nullptr, nullptr, nullptr, nullptr);
    __cudaRegisterFunction(handle, &count, nullptr, "count", -1, nullptr, nullptr, nullptr, nullptr, nullptr);
    __cudaRegisterVar(handle, &own, nullptr, "own", 0, 4, 0, 0);
    __cudaRegisterManagedVar(handle, reinterpret_cast<void**>(&common), nullptr, "common", 0, 4, 0, 0);
    __cudaRegisterFatBinaryEnd(handle);
  }
};

class Devices : public testing::Test {
 protected:
  void SetUp() override { OK(cudaSetDevice(0)); }
  void TearDown() override {
    EXPECT_EQ(cudaGetLastError(), cudaSuccess);
    OK(cudaSetDevice(0));
  }

  static Program& program() {
    static auto* program = new Program;
    return *program;
  }
  static cudaError_t copy(unsigned* to, const unsigned* from, cudaStream_t stream = nullptr, size_t shared = 0) {
    void* arguments[] = {&to, &from};
    return cudaLaunchKernel(&program().copy, dim3(1), dim3(1), arguments, shared, stream);
  }
  static cudaError_t count(unsigned* to) {
    void* arguments[] = {&to};
    return cudaLaunchKernel(&program().count, dim3(1), dim3(1), arguments, 0, nullptr);
  }
  // One number in memory of a device; the current device stays.
  static unsigned* number(int device, unsigned value) {
    int before;
    unsigned* made = nullptr;
    EXPECT_EQ(cudaGetDevice(&before), cudaSuccess);
    EXPECT_EQ(cudaSetDevice(device), cudaSuccess);
    EXPECT_EQ(cudaMalloc(&made, 4), cudaSuccess);
    EXPECT_EQ(cudaMemcpy(made, &value, 4, cudaMemcpyHostToDevice), cudaSuccess);
    EXPECT_EQ(cudaSetDevice(before), cudaSuccess);
    return made;
  }
  static unsigned value(const unsigned* of) {
    unsigned value = ~0u;
    EXPECT_EQ(cudaMemcpy(&value, of, 4, cudaMemcpyDefault), cudaSuccess);
    return value;
  }
  static int current() {
    int device = -1;
    EXPECT_EQ(cudaGetDevice(&device), cudaSuccess);
    return device;
  }
  static int device_of(const void* pointer) {
    cudaPointerAttributes attributes{};
    EXPECT_EQ(cudaPointerGetAttributes(&attributes, pointer), cudaSuccess);
    return attributes.device;
  }
  static cudaStream_t stream_of(int device, unsigned flags = cudaStreamNonBlocking) {
    const int before = current();
    cudaStream_t stream = nullptr;
    EXPECT_EQ(cudaSetDevice(device), cudaSuccess);
    EXPECT_EQ(cudaStreamCreateWithFlags(&stream, flags), cudaSuccess);
    EXPECT_EQ(cudaSetDevice(before), cudaSuccess);
    return stream;
  }
  static uint64_t times(const std::string& code) {
    uint64_t times = 0;
    for (const Diagnostic& d : Context::get().session.diagnostics().all()) times += d.code == code ? d.times : 0;
    return times;
  }
  // The newest finding; the error that it left behind is forgotten, so that the other tests can go on.
  static Diagnostic newest() {
    auto& context = Context::get();
    context.sticky = Error::Success;
    context.sticky_seen = false;
    (void)cudaGetLastError();
    const auto& all = context.session.diagnostics().all();
    return all.empty() ? Diagnostic{} : all.back();
  }
};

}  // namespace vgpu::test
