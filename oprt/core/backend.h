// Which backends this build has, and which one a call takes.
#pragma once

#include "oprt/api/backend.h"
#include "oprt/core/status.h"

// The GPU backend of this build: a build has at most one.
#if defined(OPRT_WITH_CUDA)
#define OPRT_GPU_BACKEND OPRT_BACKEND_NVIDIA
#elif defined(OPRT_WITH_MACA)
#define OPRT_GPU_BACKEND OPRT_BACKEND_METAX
#endif

// &backend in the <op>.cpp of an operator that has a <op>_gpu.cu, in a build with GPU sources; null elsewhere.
#if defined(OPRT_HAS_GPU_KERNELS)
#define OPRT_GPU(backend) (&(backend))
#else
#define OPRT_GPU(backend) nullptr
#endif

namespace oprt {

bool has_backend(oprt_backend_t backend);

oprt_backend_t current_backend();

// Where memory lives: the host (CPU) or a GPU with its ordinal. Pinned memory is the host's, managed memory the GPU's.
struct Place {
  oprt_backend_t backend;
  int device;  // 0 for the CPU
};
Place place_of(const void* pointer);

}  // namespace oprt
