// What `vgpu run` must know of a program before it starts it.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

namespace vgpu {

struct ElfFile {
  bool is_elf = false;
  bool has_kernels = false;         // a .nv_fatbin section
  std::vector<std::string> needed;  // the shared libraries that it names
};

// Reads what there is; a damaged file gives less, never more. Not an ELF file for x86-64: is_elf is false.
ElfFile read_elf(std::span<const std::byte> bytes);

// Empty where the program can be run, else the sentence that says why not.
std::string refusal(const ElfFile& program);

}  // namespace vgpu
