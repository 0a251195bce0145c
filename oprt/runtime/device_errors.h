// The count behind oprt_take_device_errors: what kernels found wrong in their data, per GPU, since it was first asked
// for. Kernels only ever add to it.
#pragma once

#include "oprt/core/status.h"

namespace oprt {

// The counter's address on a device. Made by the first create that may need it (oprt/core/prepare.h), never freed;
// execute finds it there.
Status device_error_counter(int device, unsigned long long** counter);

}  // namespace oprt
