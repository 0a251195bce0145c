// For tests of the runtime: a fat binary, and its registration as the code that nvcc generates does it at a program's
// start.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>

#include "exec/engine.h"

extern "C" {
void** __cudaRegisterFatBinary(void* wrapper);
void __cudaRegisterFunction(void** handle, const char* host, char* device, const char* name, int, void*, void*, void*,
                            void*, int*);
void __cudaRegisterVar(void** handle, char* host, char* device, const char* name, int, size_t bytes, int, int);
void __cudaRegisterManagedVar(void** handle, void** host, char* device, const char* name, int, size_t bytes, int, int);
void __cudaRegisterFatBinaryEnd(void** handle);
#ifndef CUDART_VERSION  // else the toolkit's header has it
int cudaLaunchKernel(const void* host, vgpu::Dim3 grid, vgpu::Dim3 block, void** arguments, size_t shared,
                     void* stream);
#endif
}

namespace vgpu::test {

// A container with one entry: PTX (kind 1) or machine code (kind 2) for an architecture.
inline std::string fat_binary(const std::string& content, uint32_t sm = 80, uint16_t kind = 1) {
  const std::string padded = content + std::string(8 - content.size() % 8, '\0');
  std::string bytes(16 + 64, '\0');
  const auto put = [&](size_t at, auto value) { std::memcpy(bytes.data() + at, &value, sizeof value); };
  put(0, uint32_t{0xBA55ED50});
  put(4, uint16_t{1});
  put(6, uint16_t{16});
  put(8, uint64_t{64 + padded.size()});
  put(16, kind);
  put(18, uint16_t{0x101});
  put(20, uint32_t{64});
  put(24, uint64_t{padded.size()});
  put(16 + 28, sm);
  return bytes + padded;
}

// The handle of a registered binary, which lives to the end.
inline void** registered(const std::string& binary, uint32_t magic = 0x466243B1) {
  const std::string& bytes = *new std::string(binary);
  struct Wrapper {
    uint32_t magic, version;
    const void *data, *parts;
  } wrapper{magic, 1, bytes.data(), nullptr};
  return __cudaRegisterFatBinary(&wrapper);
}

// Registers the binary and one kernel of it; what a launch of that kernel names.
inline const void* registered(const std::string& binary, const std::string& kernel, uint32_t magic = 0x466243B1) {
  void** handle = registered(binary, magic);
  const char* host = new char;  // any address of the program's own stands for the kernel
  __cudaRegisterFunction(handle, host, nullptr, kernel.c_str(), -1, nullptr, nullptr, nullptr, nullptr, nullptr);
  __cudaRegisterFatBinaryEnd(handle);
  return host;
}

}  // namespace vgpu::test
