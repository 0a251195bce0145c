// Everything of oprt in C++20: the C interface (oprt.h) and, header-only over it, devices, streams, memory and tensors.
// Interchange with other libraries is apart, in oprt/tensor/dlpack.h.
#pragma once

#include "oprt/oprt.h"
#include "oprt/runtime/buffer.h"
#include "oprt/runtime/device.h"
#include "oprt/runtime/error.h"
#include "oprt/runtime/event.h"
#include "oprt/runtime/memory_pool.h"
#include "oprt/runtime/stream.h"
#include "oprt/tensor/tensor.h"
