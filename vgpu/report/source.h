// From an instruction to the lines of the program's source.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "ptx/module.h"

namespace vgpu {

// A place in the source. `function` is demangled, without its parameters.
struct SourceLine {
  std::string file;
  int line = 0, column = 0;
  std::string function;
};

// Innermost first, then where each was inlined; what the toolkit's headers wrap around an intrinsic is left out. Empty
// where the program was built without -lineinfo.
std::vector<SourceLine> source_of(const ptx::Module& module, const ptx::Function& function,
                                  const ptx::Instruction& instruction);

// Line `line` of a file, from 1; null where there is no such file or line. Files are read once.
const std::string* text_of(const std::string& file, int line);
// All lines of a file, or null.
const std::vector<std::string>* lines_of(const std::string& file);

std::string demangled(std::string_view name);   // "void copy<float>(float*, int)"
std::string short_name(std::string_view name);  // "copy<float>"
std::string base_name(std::string_view file);   // "main.cu"

// "main.cu:12", of a return address in the program; empty where it cannot be told (no debug information, no addr2line).
std::string host_line(void* return_address);

}  // namespace vgpu
