// matmul on the GPU: which kernel a call takes.
#include "oprt/ops/matmul/matmul.cuh"
#include "oprt/ops/matmul/matmul_library_gpu.h"

namespace oprt {
namespace {

enum Strategy { kNaive, kTiled, kTensorCores, kLibrary };

// A factor's lines or steps lie side by side, and its runs of them start at multiples of 16 bytes, in every product.
bool has_aligned_runs(const MatmulPlan& p, const Call& call, int operand, int64_t lines, int64_t line_stride,
                      int64_t step_stride) {
  const int64_t bytes = size_of(p.dtype);
  const bool steps = step_stride == 1;
  const int64_t runs = steps ? lines : p.k, run_stride = steps ? line_stride : step_stride;
  const char* data = static_cast<const char*>(call.data[operand]) + p.batch.offset[operand] * bytes;
  return (steps || line_stride == 1) && (runs == 1 || run_stride * bytes % kPieceBytes == 0) &&
         rows_aligned(p.batch, operand, data, bytes, p.batch.rank);
}

// Of both factors.
struct AlignedRuns {
  bool a, b;
};
AlignedRuns aligned_runs(const MatmulPlan& p, const Call& call) {
  return {has_aligned_runs(p, call, p.a_operand, p.m, p.a.row, p.a.column),
          has_aligned_runs(p, call, p.b_operand, p.n, p.b.column, p.b.row)};
}

template <class T>
Matrices<T> matrices(const MatmulPlan& p, const Call& call, int64_t rows, int64_t columns, AlignedRuns aligned = {}) {
  const Loop batch = loop_of(p.batch, {0, p.a_operand, p.b_operand});
  return {Nest<uint64_t, 3>(batch, batch.rank),
          Divider<uint64_t>(blocks_for(p.n, columns)),
          Divider<uint64_t>(blocks_for(p.m, rows)),
          p.m,
          p.n,
          p.k,
          p.out,
          p.a,
          p.b,
          p.bias,
          p.activation,
          aligned.a,
          aligned.b,
          first<T>(call, p.batch, 0),
          first<const T>(call, p.batch, p.a_operand),
          first<const T>(call, p.batch, p.b_operand),
          p.has_bias ? static_cast<const T*>(call.data[3]) : nullptr};
}

template <class Tile>
int64_t tiles(const MatmulPlan& p) {
  return blocks_for(p.m, Tile::kRows) * blocks_for(p.n, Tile::kColumns) * p.batch.count;
}

// Larger tiles read less, where there are enough of them to keep every multiprocessor busy and none is mostly empty.
template <class Tile>
bool is_worth(const MatmulPlan& p, int device) {
  return 2 * p.m > Tile::kRows && 2 * p.n > Tile::kColumns &&
         tiles<Tile>(p) >= device_attribute<cudaDevAttrMultiProcessorCount>(device);
}

template <class Tile>
bool has_shared(int device) {
  return Tile::kBytes <= device_attribute<cudaDevAttrMaxSharedMemoryPerBlockOptin>(device);
}

template <auto kKernel, class T, class Tile>
Status launch_tiles(const MatmulPlan& p, const Call& call, AlignedRuns aligned) {
  return launch<kKernel>("matmul", call, {tiles<Tile>(p), Tile::kThreads, 1, Tile::kBytes},
                         matrices<T>(p, call, Tile::kRows, Tile::kColumns, aligned));
}

// f of the flags as types.
template <class F>
Status with_flags(const F& f) {
  return f();
}
template <class F, class... Flags>
Status with_flags(const F& f, bool flag, Flags... more) {
  const auto with = [&](auto first) { return with_flags([&](auto... rest) { return f(first, rest...); }, more...); };
  return flag ? with(std::true_type()) : with(std::false_type());
}

Status run_naive(const MatmulPlan& p, const Call& call) {
  return with_float(p.dtype, [&](auto t) {
    using T = decltype(t);
    const int64_t count = p.m * p.n * p.batch.count;
    return launch<matmul_naive<T>>("matmul", call, {blocks_for(count, kNaiveThreads), kNaiveThreads},
                                   matrices<T>(p, call, 1, 1), static_cast<uint64_t>(count));
  });
}

// TFLOP/s on an H200, where cuBLAS reaches 51 at 4096^3 and 35 at 1024^3:
//   4096^3   128 x 128, depth 16, 8 by 16 a thread      42.0
//            the same, 16 by 8 a thread                 41.8
//            the same, 8 by 8 a thread                  40.9
//            128 x 256, depth 8, 8 by 16                43.1, but of such large tiles smaller products have too few
//            128 x 128, depth 8, 8 by 16                37.1
//   1024^3   64 x 64, depth 16, 8 by 4 or 8 by 8        28.4, 28.7
//            128 x 128, depth 16, 8 by 8                18.0
using LargePlainTile = PlainTile<128, 128, 16, 8, 16, 3, 2>;
using SmallPlainTile = PlainTile<64, 64, 16, 8, 4, 3, 4>;

Status run_tiled(const MatmulPlan& p, const Call& call) {
  return with_float(p.dtype, [&](auto t) {
    using T = decltype(t);
    const AlignedRuns aligned = aligned_runs(p, call);
    if (is_worth<LargePlainTile>(p, call.device))
      return launch_tiles<matmul_tiled<T, LargePlainTile>, T, LargePlainTile>(p, call, aligned);
    return launch_tiles<matmul_tiled<T, SmallPlainTile>, T, SmallPlainTile>(p, call, aligned);
  });
}

// TFLOP/s on an H200, bf16, where cuBLAS, by wgmma, reaches 786 at 4096^3, 362 at 1024^3, 42 at 16 x 4096 x 4096:
//   4096^3             128 x 128, depth 64, warps of 64 x 64, 3 stages     447, not aligned 97
//                      128 x 256, depth 32, warps of 64 x 64, 4 stages     444, and 235 in place of 335 at 2048^3
//   1024^3             64 x 64, depth 128, warps of 32 x 32, 3 stages      184; 2 stages 144
//                      the same, depth 64, 4 stages                        131
//                      128 x 64, depth 64, warps of 64 x 32, 4 stages      105
//   16 x 4096 x 4096   16 x 64, depth 128, warps of 16 x 16, 6 stages       50
//                      16 x 32, depth 128, 8 stages                         45
//                      16 x 32, depth 256, 4 stages                         39
// Of a prototype without edges at 4096^3: 462; fragments not read a step ahead 428; b's words not neighbours (2 moves a
// product) and addresses computed for every fragment 340; products of the same fragments, nothing read 540.
// Words that are not aligned go through registers: small products take 5.7 us with half the depth, 8.2 without.
using LargeTensorTile = TensorTile<128, 128, 64, 64, 64, 3>;
template <bool kAligned>
using SmallTensorTile = TensorTile<64, 64, kAligned ? 128 : 64, 32, 32, kAligned ? 3 : 4>;
using ThinTensorTile = TensorTile<16, 64, 128, 16, 16, 6>;
constexpr int kLeastShared = 99 << 10;  // of a block, bytes that each device with tensor cores has
static_assert(std::max({LargeTensorTile::kBytes, SmallTensorTile<true>::kBytes, SmallTensorTile<false>::kBytes}) <=
              kLeastShared);

template <class T>
Status run_tensor_tiles(const MatmulPlan& p, const Call& call) {
  // The way that shared memory keeps a factor: steps innermost, except where lines lie side by side.
  const bool a_steps = p.a.row != 1 || p.a.column == 1, b_steps = p.b.column != 1 || p.b.row == 1;
  const AlignedRuns runs = aligned_runs(p, call);
  const bool aligned = runs.a && runs.b && (a_steps ? p.k : p.m) % 8 == 0 && (b_steps ? p.k : p.n) % 8 == 0;
  const auto run = [&](auto a, auto b, auto words) {
    const auto of = [&](auto tile) {
      using Tile = decltype(tile);
      return launch_tiles<matmul_tensor_cores<T, Tile, a(), b(), words()>, T, Tile>(p, call, runs);
    };
    if (p.m <= ThinTensorTile::kRows && has_shared<ThinTensorTile>(call.device)) return of(ThinTensorTile());
    if (is_worth<LargeTensorTile>(p, call.device)) return of(LargeTensorTile());
    return of(SmallTensorTile<words()>());
  };
  // At create the kernel for other addresses is loaded too.
  if (preparing_on != kNotPreparing) OPRT_TRY(with_flags(run, a_steps, b_steps, !aligned));
  return with_flags(run, a_steps, b_steps, aligned);
}

Status run_tensor_cores(const MatmulPlan& p, const Call& call) {
  return p.dtype == OPRT_DTYPE_F16 ? run_tensor_tiles<f16>(p, call) : run_tensor_tiles<bf16>(p, call);
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
                                    matrices<T>(p, call, 1, 1), static_cast<uint64_t>(count),
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
