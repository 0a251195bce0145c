// matmul on the GPU: which kernel a call takes.
#include "oprt/ops/matmul/matmul.cuh"
#include "oprt/ops/matmul/matmul_library_gpu.h"

namespace oprt {
namespace {

enum Strategy { kNaive, kTiled, kTensorCores, kLibrary };

template <class T>
Matrices<T> matrices(const MatmulPlan& p, const Call& call, int64_t each) {
  const Loop batch = loop_of(p.batch, {0, p.a_operand, p.b_operand});
  return {Nest<uint64_t, 3>(batch, batch.rank),
          Divider<uint64_t>(blocks_for(p.n, each)),
          Divider<uint64_t>(blocks_for(p.m, each)),
          p.m,
          p.n,
          p.k,
          p.out,
          p.a,
          p.b,
          p.bias,
          p.activation,
          first<T>(call, p.batch, 0),
          first<const T>(call, p.batch, p.a_operand),
          first<const T>(call, p.batch, p.b_operand),
          p.has_bias ? static_cast<const T*>(call.data[3]) : nullptr};
}

Status run_naive(const MatmulPlan& p, const Call& call) {
  return with_float(p.dtype, [&](auto t) {
    using T = decltype(t);
    const int64_t count = p.m * p.n * p.batch.count;
    return launch<matmul_naive<T>>("matmul", call, {blocks_for(count, kNaiveThreads), kNaiveThreads},
                                   matrices<T>(p, call, 1), static_cast<uint64_t>(count));
  });
}

int64_t tiles(const MatmulPlan& p) { return blocks_for(p.m, kTile) * blocks_for(p.n, kTile) * p.batch.count; }

Status run_tiled(const MatmulPlan& p, const Call& call) {
  return with_float(p.dtype, [&](auto t) {
    using T = decltype(t);
    return launch<matmul_tiled<T>>("matmul", call, {tiles(p), kTiledThreads}, matrices<T>(p, call, kTile));
  });
}

Status run_tensor_cores(const MatmulPlan& p, const Call& call) {
  const auto run = [&](auto t) {
    using T = decltype(t);
    return launch<matmul_tensor_cores<T>>("matmul", call, {tiles(p), kTensorThreads}, matrices<T>(p, call, kTile));
  };
  return p.dtype == OPRT_DTYPE_F16 ? run(f16{}) : run(bf16{});
}

Status run_library(const MatmulPlan& p, const Call& call) {
  const uintptr_t from = reinterpret_cast<uintptr_t>(call.workspace);
  void* workspace = reinterpret_cast<void*>((from + kLibraryAlignment - 1) / kLibraryAlignment * kLibraryAlignment);
  if (preparing_on == kNotPreparing) {
    const DeviceScope scope(call.device);
    OPRT_TRY(gpu_status("matmul", scope.error()));
    Call moved = call;
    if (p.has_bias && !leaves_sums(*p.library) && !is_aligned(call.data[3])) {
      const auto bytes = static_cast<size_t>(p.n * size_of(p.dtype));
      OPRT_TRY(gpu_status("matmul", cudaMemcpyAsync(workspace, call.data[3], bytes, cudaMemcpyDeviceToDevice,
                                                    static_cast<cudaStream_t>(call.stream))));
      moved.data[3] = workspace;
    }
    OPRT_TRY(run_library_product(*p.library, p, moved, workspace));
  }
  if (!leaves_sums(*p.library)) return {};
  return with_float(p.dtype, [&](auto t) {
    using T = decltype(t);
    const int64_t count = p.m * p.n * p.batch.count;
    return launch<matmul_finish<T>>("matmul", call, {blocks_for(count, kNaiveThreads), kNaiveThreads},
                                    matrices<T>(p, call, 1), static_cast<uint64_t>(count),
                                    static_cast<const float*>(workspace));
  });
}

constexpr Kernel<MatmulPlan> kKernels[] = {{"matmul_naive", run_naive},
                                           {"matmul_tiled", run_tiled},
                                           {"matmul_tensor_cores", run_tensor_cores},
                                           {"matmul_library", run_library}};

// mma.sync on 16-bit floats with sums in f32.
bool has_tensor_cores(int device) { return device_attribute<cudaDevAttrComputeCapabilityMajor>(device) >= 8; }

Status choose(const MatmulPlan& p, const Call& call, const Kernel<MatmulPlan>** kernel) {
  const bool wants_library = p.algorithm == OPRT_MATMUL_LIBRARY && p.k > 0;  // nothing to multiply: any kernel will do
  if (wants_library && !p.library)
    return fail(OPRT_ERR_NOT_SUPPORTED, "matmul", "algorithm", "a library, or auto, naive or tiled",
                why_no_gpu_library().empty() ? "library, whose functions cannot express these views"
                                             : "library, but " + why_no_gpu_library());
  Strategy strategy = size_of(p.dtype) == 2 && has_tensor_cores(call.device) ? kTensorCores : kTiled;
  if (p.algorithm == OPRT_MATMUL_NAIVE) strategy = kNaive;
  if (p.library) strategy = kLibrary;
  *kernel = &kKernels[strategy];
  return {};
}

// In create: asks the library what it can do for the product.
size_t workspace(const MatmulPlan& p) {
  if (p.algorithm != OPRT_MATMUL_LIBRARY && p.algorithm != OPRT_MATMUL_AUTO) return 0;
  const DeviceScope scope(preparing_on);
  if (!make_library_product(p, preparing_on, &p.library).ok()) p.library.reset();
  if (!p.library) return 0;
  const size_t bytes = library_workspace_bytes(*p.library);
  return bytes ? bytes + kLibraryAlignment : 0;
}

}  // namespace

const Backend<MatmulPlan> matmul_gpu = {kKernels, 4, choose, workspace};

}  // namespace oprt
