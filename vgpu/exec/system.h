// The functions that device code calls and no module defines: vprintf, __assertfail, malloc, free.
#pragma once

#include <cstddef>
#include <string_view>

#include "exec/code.h"

namespace vgpu {

struct SystemFunction {
  Handler run = nullptr;  // null: the device has no such function
  size_t arguments = 0;
};
SystemFunction system_function(std::string_view name);

}  // namespace vgpu
