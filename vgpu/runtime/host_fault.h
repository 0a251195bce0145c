// E08 on the host: the program follows a device pointer.
#pragma once

#include "exec/memory.h"

namespace vgpu {

// From now on an access of the host to device memory is reported before the program dies of it. Other faults go to the
// handler that was there before.
void watch_host_faults(const Memory& memory);

}  // namespace vgpu
