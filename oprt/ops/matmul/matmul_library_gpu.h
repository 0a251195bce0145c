// cuBLASLt behind matmul on NVIDIA GPUs: found at run time, never linked.
#pragma once

#include <memory>
#include <string>

#include "oprt/core/call.h"

namespace oprt {

struct MatmulPlan;

// What create finds out for one product and execute uses: layouts, and an algorithm for each alignment.
struct LibraryProduct;

// A sentence where there is no library on this machine, else empty.
const std::string& why_no_gpu_library();

// Null where the library cannot express the product's views, or has no algorithm for it. On the plan's device.
Status make_library_product(const MatmulPlan& plan, int device, std::shared_ptr<const LibraryProduct>* product);

// Whether the product leaves f32 sums, [batch, m, n], at the beginning of the workspace: bias and activation are then
// still to come. Else it writes out, with the bias added: that must then lie at a multiple of 16 bytes, whatever the
// others do, and one that does not has room at the beginning of the workspace.
bool leaves_sums(const LibraryProduct& product);

size_t library_workspace_bytes(const LibraryProduct& product);

// workspace: at a multiple of kLibraryAlignment.
constexpr size_t kLibraryAlignment = 256;
Status run_library_product(const LibraryProduct& product, const MatmulPlan& plan, const Call& call, void* workspace);

}  // namespace oprt
