// matmul on the CPU. Sums are f32 throughout; 16-bit operands are widened on the way in.
//
//   matmul_naive      one element of out after another, k innermost
//   matmul_vector     one row (or column) of out: every element of b is used once, so nothing is packed
//   matmul_tiled      packed panels, tiles of out in registers: matmul_tiled_cpu.h
//   matmul_library    f32 straight to the library's sgemm; other dtypes and layouts through f32 panels in the workspace
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "oprt/ops/matmul/matmul_cpu.cpp"
#include <hwy/foreach_target.h>

#include "oprt/core/text.h"
#include "oprt/ops/matmul/matmul_layout_cpu.h"
#include "oprt/ops/matmul/matmul_panels_cpu.h"
#include "oprt/ops/matmul/matmul_tiled_cpu.h"

HWY_BEFORE_NAMESPACE();
namespace oprt {
namespace HWY_NAMESPACE {

template <class T>
void naive(const MatmulPlan& plan, const Call& call) {
  constexpr int64_t kRun = 64;  // elements between two calls of finish
  parallel_for(plan.batch.count * plan.m * plan.n, grain_of_products(plan.k), [&](int64_t begin, int64_t end) {
    float sums[kRun];
    for (Place2d at(plan, begin); begin < end;) {
      const int64_t n = std::min({kRun, plan.n - at.column, end - begin});
      const T* a = a_of<T>(plan, call, at.product) + at.row * plan.a.row;
      const T* b = b_of<T>(plan, call, at.product) + at.column * plan.b.column;
      for (int64_t j = 0; j < n; ++j) {
        float sum = 0.0f;
        for (int64_t k = 0; k < plan.k; ++k)
          sum += widen(a[k * plan.a.column]) * widen(b[k * plan.b.row + j * plan.b.column]);
        sums[j] = sum;
      }
      finish(plan, sums, n, Target<T>(plan, call, at.product, at.row, at.column));
      at.advance(n);
      begin += n;
    }
  });
}

// sum_k x[k] y[k] with four running vectors; x is f32.
template <class T>
HWY_INLINE float dot(const float* x, const T* y, int64_t n) {
  const F32 d;
  const int64_t step = static_cast<int64_t>(lanes());
  int64_t k = 0;
  float sum = 0.0f;
  if (n >= step) {
    auto s0 = hn::Zero(d), s1 = s0, s2 = s0, s3 = s0;
    for (; k + 4 * step <= n; k += 4 * step) {
      s0 = hn::MulAdd(hn::LoadU(d, x + k), load_f32(y + k), s0);
      s1 = hn::MulAdd(hn::LoadU(d, x + k + step), load_f32(y + k + step), s1);
      s2 = hn::MulAdd(hn::LoadU(d, x + k + 2 * step), load_f32(y + k + 2 * step), s2);
      s3 = hn::MulAdd(hn::LoadU(d, x + k + 3 * step), load_f32(y + k + 3 * step), s3);
    }
    for (; k + step <= n; k += step) s0 = hn::MulAdd(hn::LoadU(d, x + k), load_f32(y + k), s0);
    sum = hn::GetLane(hn::SumOfLanes(d, hn::Add(hn::Add(s0, s1), hn::Add(s2, s3))));
  }
  for (; k < n; ++k) sum += x[k] * widen(y[k]);
  return sum;
}

// b's columns are contiguous: an element of out is a dot product.
template <class T>
HWY_INLINE void vector_by_columns(const MatmulPlan& plan, const T* a, const T* b, float* sums, int64_t n) {
  constexpr int64_t kBlock = 1024;  // of a, widened once for all n columns
  HWY_ALIGN float block[kBlock];
  std::fill_n(sums, n, 0.0f);
  for (int64_t k = 0; k < plan.k; k += kBlock) {
    const int64_t length = std::min(kBlock, plan.k - k);
    widen_run(a + k * plan.a.column, plan.a.column, length, block);
    for (int64_t j = 0; j < n; ++j) sums[j] += dot(block, b + j * plan.b.column + k, length);
  }
}

// b's rows are contiguous: out is a sum of them, four at a time so that a sum is loaded and stored once in four.
template <class T>
HWY_INLINE void vector_by_rows(const MatmulPlan& plan, const T* a, const T* b, float* sums, int64_t n) {
  const F32 d;
  const int64_t step = static_cast<int64_t>(lanes()), row = plan.b.row;
  std::fill_n(sums, n, 0.0f);
  for (int64_t k = 0; k < plan.k; k += 4) {
    const int64_t rows = std::min<int64_t>(4, plan.k - k);
    float x[4] = {};
    for (int64_t i = 0; i < rows; ++i) x[i] = widen(a[(k + i) * plan.a.column]);
    const T* y = b + k * row;
    int64_t j = 0;
    if (rows == 4)
      for (; j + step <= n; j += step) {
        auto s = hn::MulAdd(hn::Set(d, x[0]), load_f32(y + j), hn::LoadU(d, sums + j));
        s = hn::MulAdd(hn::Set(d, x[1]), load_f32(y + j + row), s);
        s = hn::MulAdd(hn::Set(d, x[2]), load_f32(y + j + 2 * row), s);
        s = hn::MulAdd(hn::Set(d, x[3]), load_f32(y + j + 3 * row), s);
        hn::StoreU(s, d, sums + j);
      }
    for (; j < n; ++j)
      for (int64_t i = 0; i < rows; ++i) sums[j] = mul_add(x[i], widen(y[j + i * row]), sums[j]);
  }
}

template <class T>
void vector(const MatmulPlan& plan, const Call& call) {
  constexpr int64_t kRun = 1024;  // sums on the stack: 4 KiB, in L1 beside four rows of b
  constexpr int64_t kDots = 16;   // columns of b taken side by side: their pages fit the first TLB
  const int64_t grain = grain_of_products(plan.k / 4);  // a vector's multiplications cost a quarter, or less
  parallel_for(plan.batch.count * plan.n, grain, [&](int64_t begin, int64_t end) {
    HWY_ALIGN float sums[kRun];
    for (Place2d at(plan, begin); begin < end;) {
      const int64_t n = std::min({plan.b.row == 1 ? kDots : kRun, plan.n - at.column, end - begin});
      const T* a = a_of<T>(plan, call, at.product);
      const T* b = b_of<T>(plan, call, at.product) + at.column * plan.b.column;
      if (plan.b.row == 1)
        vector_by_columns(plan, a, b, sums, n);
      else
        vector_by_rows(plan, a, b, sums, n);
      finish(plan, sums, n, Target<T>(plan, call, at.product, 0, at.column));
      at.advance(n);
      begin += n;
    }
  });
}

// A matrix as the library takes it: in place, or widened into `panel`.
template <class T>
const float* as_f32(const LibraryOperand& operand, const T* data, float* panel) {
  if constexpr (std::is_same_v<T, float>)
    if (!operand.packed) return data;
  parallel_for(operand.rows, grain_of_products(operand.length), [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i)
      widen_run(data + i * operand.row_stride, operand.stride, operand.length, panel + i * operand.distance);
  });
  return panel;
}

template <class T>
bool library_product(const MatmulPlan& plan, const Call& call, const LibraryLayout& layout, const Odometer& at,
                     float* panels) {
  const float* a = as_f32(layout.a, a_of<T>(plan, call, at), panels);
  const float* b = as_f32(layout.b, b_of<T>(plan, call, at), panels + layout.b_at);
  float* sums = panels + layout.out_at;
  if constexpr (std::is_same_v<T, float>)
    if (!layout.out.packed) sums = first<T>(call, plan.batch, 0) + at.at[0];
  const OneThread alone(products_of(plan) <= kAlone);
  if (!matmul_library().sgemm(layout.a.turned, layout.b.turned, plan.m, plan.n, plan.k, a, layout.a.distance, b,
                              layout.b.distance, sums, layout.out.distance))
    return false;
  if (!layout.out.packed && !plan.has_bias && plan.activation == OPRT_ACTIVATION_NONE) return true;
  parallel_for(plan.m, grain_of_products(plan.n), [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row)
      finish(plan, sums + row * layout.out.distance, plan.n, Target<T>(plan, call, at, row, 0));
  });
  return true;
}

void naive_run(const MatmulPlan& plan, const Call& call) {
  with_float(plan.dtype, [&](auto t) { naive<decltype(t)>(plan, call); });
}

void vector_run(const MatmulPlan& plan, const Call& call) {
  with_float(plan.dtype, [&](auto t) { vector<decltype(t)>(plan, call); });
}

void tiled_run(const MatmulPlan& plan, const Call& call) {
  for_each_product(plan, call, static_cast<int64_t>(tiled_floats(plan)), [&](const Odometer& at, float* panels) {
    with_float(plan.dtype, [&](auto t) { tiled_product<decltype(t)>(plan, call, at, panels); });
    return true;
  });
}

bool library_run(const MatmulPlan& plan, const Call& call) {
  const LibraryLayout layout = library_layout(plan);
  return for_each_product(plan, call, layout.floats, [&](const Odometer& at, float* panels) {
    return with_float(plan.dtype, [&](auto t) { return library_product<decltype(t)>(plan, call, layout, at, panels); });
  });
}

}  // namespace HWY_NAMESPACE
}  // namespace oprt
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace oprt {
namespace {

HWY_EXPORT(naive_run);
HWY_EXPORT(vector_run);
HWY_EXPORT(tiled_run);
HWY_EXPORT(library_run);

Status run_naive(const MatmulPlan& plan, const Call& call) {
  HWY_DYNAMIC_DISPATCH(naive_run)(plan, call);
  return {};
}

Status run_vector(const MatmulPlan& plan, const Call& call) {
  HWY_DYNAMIC_DISPATCH(vector_run)(plan, call);
  return {};
}

Status run_tiled(const MatmulPlan& plan, const Call& call) {
  HWY_DYNAMIC_DISPATCH(tiled_run)(plan, call);
  return {};
}

Status run_library(const MatmulPlan& plan, const Call& call) {
  if (HWY_DYNAMIC_DISPATCH(library_run)(plan, call)) return {};
  return fail(OPRT_ERR_RUNTIME, "matmul", matmul_library().name + " failed; it may have run out of memory");
}

enum Strategy { kNaive, kVector, kTiled, kLibrary };
constexpr Kernel<MatmulPlan> kKernels[] = {{"matmul_naive", run_naive},
                                           {"matmul_vector", run_vector},
                                           {"matmul_tiled", run_tiled},
                                           {"matmul_library", run_library}};

bool library_takes(const MatmulPlan& plan) {
  return matmul_library().sgemm && library_layout(plan).largest <= matmul_library().limit;
}

// Multiplications up to which AUTO takes the tiled kernel rather than a call of the library: 16^3 takes 1.7 us by
// either.
constexpr double kSmall = 16 * 16 * 16;

// A large f32 matrix times a vector: oneDNN takes 0.75 to 0.85 of the time of matmul_vector at 4096 x 4096, either way
// round. 16-bit data is a different matter: matmul_vector reads half the bytes, the library wants them widened first.
bool library_is_better(const MatmulPlan& plan) {
  constexpr double kLarge = 1 << 22;  // multiplications: 16 MiB of b
  return products_of(plan) >= kLarge && plan.dtype == OPRT_DTYPE_F32 && matmul_library().fast_vectors &&
         library_takes(plan) && library_layout(plan).floats == 0;
}

Strategy strategy(const MatmulPlan& plan) {
  if (plan.algorithm == OPRT_MATMUL_NAIVE || plan.k == 0) return kNaive;
  if (plan.algorithm == OPRT_MATMUL_TILED) return kTiled;
  if (plan.algorithm == OPRT_MATMUL_LIBRARY) return kLibrary;
  if (plan.m == 1 && (plan.b.row == 1 || plan.b.column == 1)) return library_is_better(plan) ? kLibrary : kVector;
  if (products_of(plan) <= kSmall) return kTiled;
  return library_takes(plan) ? kLibrary : kTiled;
}

Status check_library(const MatmulPlan& plan) {
  const MatmulLibrary& library = matmul_library();
  if (!library.sgemm)
    return fail(OPRT_ERR_NOT_SUPPORTED, "matmul", "algorithm", "naive, tiled or auto, as no library was found",
                "library (" + library.why_none + ")");
  if (!library_takes(plan))
    return fail(OPRT_ERR_NOT_SUPPORTED, "matmul", "algorithm",
                "naive, tiled or auto: " + library.name + " takes lengths and strides to " + text(library.limit),
                "library, with " + text(library_layout(plan).largest));
  return {};
}

Status choose(const MatmulPlan& plan, const Call&, const Kernel<MatmulPlan>** kernel) {
  if (plan.algorithm == OPRT_MATMUL_LIBRARY) OPRT_TRY(check_library(plan));
  *kernel = &kKernels[strategy(plan)];
  return {};
}

size_t workspace(const MatmulPlan& plan) {
  switch (strategy(plan)) {
    case kTiled: return workspace_bytes(plan, tiled_floats(plan));
    case kLibrary: return workspace_bytes(plan, library_layout(plan).floats);
    default: return 0;
  }
}

}  // namespace

const Backend<MatmulPlan> matmul_cpu = {kKernels, 4, choose, workspace};

}  // namespace oprt
#endif
