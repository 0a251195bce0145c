// For tests of the engine: PTX text in, results out.
#pragma once

#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "exec/engine.h"
#include "exec/observer.h"

namespace vgpu::test {

// The parameter space, value after value, each at a multiple of its size.
class Params {
 public:
  template <class T>
  Params& operator<<(const T& value) {
    bytes_.resize((bytes_.size() + sizeof(T) - 1) / sizeof(T) * sizeof(T));
    const auto* first = reinterpret_cast<const std::byte*>(&value);
    bytes_.insert(bytes_.end(), first, first + sizeof(T));
    return *this;
  }
  std::span<const std::byte> bytes() const { return bytes_; }

 private:
  std::vector<std::byte> bytes_;
};

// A device with one program.
class Device {
 public:
  explicit Device(const std::string& text) : memory(uint64_t{1} << 30) {
    std::string error;
    std::unique_ptr<ptx::Module> module = ptx::parse(text, error);
    EXPECT_TRUE(module) << error;
    if (module) program = Program::load(std::move(module), memory, error);
    EXPECT_TRUE(program) << error;
  }

  template <class T>
  uint64_t buffer(const std::vector<T>& values) {
    const Allocation* a = memory.allocate(values.size() * sizeof(T), MemoryKind::device, "a test", nullptr);
    std::memcpy(memory.host(*a, a->address), values.data(), a->bytes);
    return a->address;
  }
  template <class T>
  std::vector<T> read(uint64_t address) {
    const Allocation* a = memory.find(address);
    const T* first = reinterpret_cast<const T*>(memory.host(*a, address));
    return std::vector<T>(first, first + a->bytes / sizeof(T));
  }

  // Why the kernel cannot run; empty if it can.
  std::string prepare(const std::string& kernel) {
    std::string error;
    program->prepare(*program->kernel(kernel), error);
    return error;
  }

  Fault run(const std::string& kernel, Dim3 grid, Dim3 block, const Params& params) {
    launch.kernel = program->kernel(kernel);
    if (!launch.kernel) {
      ADD_FAILURE() << "no kernel " << kernel;
      return {};
    }
    const std::string error = prepare(kernel);
    EXPECT_EQ(error, "");
    if (!error.empty()) return {};
    launch.module = &program->module();
    launch.function = program->module().find(kernel);
    launch.grid = grid;
    launch.block = block;
    launch.params = params.bytes();
    ++launch.serial;
    executed.clear();
    return vgpu::run(*launch.kernel, launch, memory, DeviceLimits(), options, &executed);
  }

  Memory memory;
  std::unique_ptr<Program> program;
  Launch launch{};
  RunOptions options;
  std::vector<std::pair<const ptx::Function*, std::vector<Executed>>> executed;
};

// A module whose kernel `k` has this body, registers of all kinds, and 64-bit parameters of these names.
inline std::string kernel(const std::string& body, const std::vector<std::string>& params = {"out"}) {
  std::string text = ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k(";
  for (size_t i = 0; i < params.size(); ++i) text += (i ? ", .param .u64 " : ".param .u64 ") + params[i];
  return text + ")\n{\n.reg .pred %p<9>;\n.reg .b16 %h<9>;\n.reg .b32 %r<40>;\n.reg .b64 %rd<30>;\n" +
         ".reg .f32 %f<9>;\n" + body + "\nret;\n}\n";
}

// The beginning of a body: %rd1 is the address of the thread's place in `out`, of 4 bytes; %r1 the thread of the block.
inline const char* const kAddress = R"(
  ld.param.u64 %rd0, [out];
  mov.u32 %r1, %tid.x;
  mov.u32 %r2, %ctaid.x;
  mov.u32 %r3, %ntid.x;
  mad.lo.s32 %r4, %r2, %r3, %r1;
  mul.wide.s32 %rd2, %r4, 4;
  add.s64 %rd1, %rd0, %rd2;
)";

}  // namespace vgpu::test
