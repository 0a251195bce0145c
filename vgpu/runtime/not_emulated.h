// Functions of the CUDA runtime that exist here by name only.
#pragma once

namespace vgpu {

// Says once per name on stderr that the virtual GPU does not emulate the function; returns cudaErrorNotSupported.
int not_emulated(const char* name);

}  // namespace vgpu
