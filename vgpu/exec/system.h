// The functions that device code calls and no module defines: vprintf, __assertfail, malloc, free.
#pragma once

#include <string_view>

#include "exec/code.h"

namespace vgpu {

// Null if the device has no such function.
Handler system_function(std::string_view name);

}  // namespace vgpu
