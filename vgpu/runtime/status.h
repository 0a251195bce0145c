// What `vgpu run` is told of each process that runs under it, at once: a process may end in any way. The lines of the
// file that VGPU_STATUS names:
//
//   used             the library was called
//   errors           an error was found
//   has NAME         a kernel of the process, mangled; where VGPU_KERNELS is set
//   launched NAME    a kernel that ran; where VGPU_KERNELS is set
#pragma once

#include <string>

namespace vgpu {

void note(const std::string& lines);  // each with its end
bool notes_kernels();

}  // namespace vgpu
