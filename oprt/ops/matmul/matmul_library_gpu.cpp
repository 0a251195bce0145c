// cuBLASLt counts columns first, so it is asked for out^T = b^T a^T: row-major out is its column-major out^T.
#include "oprt/ops/matmul/matmul_library_gpu.h"

#include <cuda_runtime_api.h>
#include <dlfcn.h>
#include <library_types.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <utility>

#include "oprt/core/text.h"
#include "oprt/ops/matmul/matmul_plan.h"
#include "oprt/runtime/gpu_capture.h"

namespace oprt {
namespace {

// ---- the few names of cublasLt.h that are needed; the toolkit's header need not be there ----

using Handle = struct LtContext*;
using Product = struct LtProduct*;
using Layout = struct LtLayout*;
using Preference = struct LtPreference*;
struct Algorithm {
  uint64_t data[8];
};
struct Heuristic {
  Algorithm algorithm;
  size_t workspace_bytes;
  int status;
  float waves;
  int reserved[4];
};
enum { kComputeF32 = 68, kComputeTf32 = 77 };
enum { kProductTransposeA = 3, kProductTransposeB = 4, kProductEpilogue = 7, kProductBias = 8 };
enum { kLayoutBatchCount = 5, kLayoutBatchStride = 6 };
enum { kPreferWorkspaceBytes = 1, kPreferReductions = 3, kPreferAlignmentA = 5, kPreferAlignments = 4 };
enum { kEpilogueNone = 1, kEpilogueBias = 4 };
constexpr uint32_t kReduceInF32 = 2;  // partial sums of a split k are never rounded to the output's type

struct Library {
  int (*create)(Handle*);
  int (*product_create)(Product*, int compute, cudaDataType scale);
  int (*product_set)(Product, int attribute, const void*, size_t);
  int (*product_destroy)(Product);
  int (*layout_create)(Layout*, cudaDataType, uint64_t rows, uint64_t columns, int64_t ld);
  int (*layout_set)(Layout, int attribute, const void*, size_t);
  int (*layout_destroy)(Layout);
  int (*preference_create)(Preference*);
  int (*preference_set)(Preference, int attribute, const void*, size_t);
  int (*preference_destroy)(Preference);
  int (*heuristic)(Handle, Product, Layout a, Layout b, Layout c, Layout d, Preference, int wanted, Heuristic*,
                   int* found);
  int (*multiply)(Handle, Product, const void* alpha, const void* a, Layout, const void* b, Layout, const void* beta,
                  const void* c, Layout, void* d, Layout, const Algorithm*, void* workspace, size_t, cudaStream_t);
  std::string why_none;
};

template <class F>
bool find(void* shared, const char* name, F** function) {
  *function = reinterpret_cast<F*>(dlsym(shared, name));
  return *function != nullptr;
}

Library load() {
  Library lib = {};
  const char* named = std::getenv("OPRT_CUBLASLT");
  if (named && std::strcmp(named, "none") == 0) {
    lib.why_none = "OPRT_CUBLASLT is none";
    return lib;
  }
  void* shared = nullptr;
  if (named)
    shared = dlopen(named, RTLD_NOW | RTLD_LOCAL);
  else
    for (const char* name : {"libcublasLt.so.13", "libcublasLt.so.12", "libcublasLt.so"})
      if (!shared) shared = dlopen(name, RTLD_NOW | RTLD_LOCAL);
  if (!shared) {
    lib.why_none = std::string(named ? named : "libcublasLt.so.13 (or 12)") + " was not found";
    return lib;
  }
  const bool whole =
      find(shared, "cublasLtCreate", &lib.create) && find(shared, "cublasLtMatmulDescCreate", &lib.product_create) &&
      find(shared, "cublasLtMatmulDescSetAttribute", &lib.product_set) &&
      find(shared, "cublasLtMatmulDescDestroy", &lib.product_destroy) &&
      find(shared, "cublasLtMatrixLayoutCreate", &lib.layout_create) &&
      find(shared, "cublasLtMatrixLayoutSetAttribute", &lib.layout_set) &&
      find(shared, "cublasLtMatrixLayoutDestroy", &lib.layout_destroy) &&
      find(shared, "cublasLtMatmulPreferenceCreate", &lib.preference_create) &&
      find(shared, "cublasLtMatmulPreferenceSetAttribute", &lib.preference_set) &&
      find(shared, "cublasLtMatmulPreferenceDestroy", &lib.preference_destroy) &&
      find(shared, "cublasLtMatmulAlgoGetHeuristic", &lib.heuristic) && find(shared, "cublasLtMatmul", &lib.multiply);
  if (!whole) lib.why_none = "the cuBLASLt that was found lacks a function";
  return lib;
}

const Library& library() {
  static const Library found = load();
  return found;
}

// A status of cuBLASLt, in its manual's words.
Status lt_status(int status) {
  const auto say = [](oprt_status_t code, const char* what) {
    return fail(code, "matmul", std::string("cuBLASLt: ") + what);
  };
  switch (status) {
    case 0: return {};
    case 1: return say(OPRT_ERR_RUNTIME, "the library was not initialised (status 1)");
    case 3: return say(OPRT_ERR_OUT_OF_MEMORY, "it could not allocate what it needs (status 3)");
    case 7: return say(OPRT_ERR_RUNTIME, "a parameter is invalid (status 7)");
    case 8: return say(OPRT_ERR_NOT_SUPPORTED, "the device lacks a feature that the product needs (status 8)");
    case 13: return say(OPRT_ERR_RUNTIME, "the product failed on the device (status 13)");
    case 14: return say(OPRT_ERR_RUNTIME, "an error of its own (status 14)");
    case 15: return say(OPRT_ERR_NOT_SUPPORTED, "this product is not supported (status 15)");
    default: return say(OPRT_ERR_RUNTIME, ("status " + std::to_string(status)).c_str());
  }
}

// The current device's handle, made once.
Status handle_of(int device, Handle* handle) {
  static std::mutex mutex;
  static Handle handles[64];
  std::lock_guard lock(mutex);
  Handle& own = handles[device % 64];
  const OutsideCapture outside;
  if (!own) OPRT_TRY(lt_status(library().create(&own)));
  *handle = own;
  return {};
}

// A matrix as the library reads it: column-major, `ld` elements from one column to the next.
struct Stored {
  bool turned;  // what is stored is the transpose of what is multiplied
  int64_t rows, columns, ld;
  int64_t batch_stride;
};

// The transpose of a row-major matrix of `rows` by `columns`; false where neither axis has stride 1.
bool store(const MatrixStrides& s, int64_t rows, int64_t columns, int64_t batch_stride, Stored* out) {
  const bool by_row = (s.column == 1 || columns == 1) && (s.row >= columns || rows == 1);
  const bool by_column = (s.row == 1 || rows == 1) && (s.column >= rows || columns == 1);
  if (by_row)
    *out = {false, columns, rows, rows == 1 ? columns : s.row, batch_stride};
  else if (by_column)
    *out = {true, rows, columns, columns == 1 ? rows : s.column, batch_stride};
  return (by_row || by_column) && out->ld <= INT32_MAX && batch_stride >= 0;
}

cudaDataType type_of(oprt_dtype_t dtype) {
  return dtype == OPRT_DTYPE_F16 ? CUDA_R_16F : dtype == OPRT_DTYPE_BF16 ? CUDA_R_16BF : CUDA_R_32F;
}

bool is_aligned(const void* pointer) { return reinterpret_cast<uintptr_t>(pointer) % 16 == 0; }

}  // namespace

struct LibraryProduct {
  ~LibraryProduct() {
    if (product) library().product_destroy(product);
    for (Layout layout : {a, b, out})
      if (layout) library().layout_destroy(layout);
  }

  Handle handle = nullptr;
  Product product = nullptr;
  Layout a = nullptr, b = nullptr, out = nullptr;  // of the library's product: its a is our b
  bool sums = false;
  // Of the workspace: what comes before the library's own part, f32 sums or room for a bias, and that part.
  size_t front_bytes = 0, own_bytes = 0;
  Algorithm algorithms[2] = {};  // for any addresses; for multiples of 16 bytes
  Status set_up(const MatmulPlan& plan, int device);

 private:
  Status make(const Stored& stored, cudaDataType type, int64_t batches, Layout* layout) const;
  Status choose(uint32_t alignment, Algorithm* algorithm, bool* found);
};

Status LibraryProduct::make(const Stored& stored, cudaDataType type, int64_t batches, Layout* layout) const {
  const Library& lib = library();
  OPRT_TRY(lt_status(lib.layout_create(layout, type, static_cast<uint64_t>(stored.rows),
                                       static_cast<uint64_t>(stored.columns), stored.ld)));
  if (batches == 1) return {};
  const auto count = static_cast<int32_t>(batches);
  OPRT_TRY(lt_status(lib.layout_set(*layout, kLayoutBatchCount, &count, sizeof(count))));
  return lt_status(lib.layout_set(*layout, kLayoutBatchStride, &stored.batch_stride, sizeof(stored.batch_stride)));
}

Status LibraryProduct::choose(uint32_t alignment, Algorithm* algorithm, bool* found) {
  constexpr uint64_t kMostWorkspace = uint64_t{32} << 20;  // bytes; what PyTorch gives cuBLASLt on Hopper
  const Library& lib = library();
  Preference preference = nullptr;
  OPRT_TRY(lt_status(lib.preference_create(&preference)));
  Heuristic best = {};
  int count = 0;
  lib.preference_set(preference, kPreferWorkspaceBytes, &kMostWorkspace, sizeof(kMostWorkspace));
  lib.preference_set(preference, kPreferReductions, &kReduceInF32, sizeof(kReduceInF32));
  for (int operand = 0; operand < kPreferAlignments; ++operand)
    lib.preference_set(preference, kPreferAlignmentA + operand, &alignment, sizeof(alignment));
  const int status = lib.heuristic(handle, product, a, b, out, out, preference, 1, &best, &count);
  lib.preference_destroy(preference);
  *found = status == 0 && count > 0 && best.status == 0;
  if (!*found) return {};
  *algorithm = best.algorithm;
  own_bytes = std::max(own_bytes, best.workspace_bytes);
  return {};
}

Status LibraryProduct::set_up(const MatmulPlan& plan, int device) {
  const Library& lib = library();
  const bool batched = plan.batch.rank == 1;
  const auto batch_stride = [&](int operand) { return batched ? plan.batch.strides[operand][0] : 0; };
  const bool own_epilogue = !plan.has_bias || (plan.bias.row == 0 && (plan.bias.column == 1 || plan.n == 1));
  sums = plan.activation != OPRT_ACTIVATION_NONE || !own_epilogue;
  Stored left, right, to;
  bool fits = plan.k > 0 && plan.batch.rank <= 1 && plan.batch.count <= INT32_MAX && plan.m <= INT32_MAX &&
              plan.n <= INT32_MAX && plan.k <= INT32_MAX;
  fits = fits && store(plan.b, plan.k, plan.n, batch_stride(plan.b_operand), &left) &&
         store(plan.a, plan.m, plan.k, batch_stride(plan.a_operand), &right);
  if (sums)
    to = {false, plan.n, plan.m, plan.n, plan.m * plan.n};
  else
    fits = fits && store(plan.out, plan.m, plan.n, batch_stride(0), &to) && !to.turned;
  if (!fits) return {};
  if (sums) front_bytes = static_cast<size_t>(plan.m * plan.n * plan.batch.count) * sizeof(float);
  if (!sums && plan.has_bias) front_bytes = static_cast<size_t>(plan.n * size_of(plan.dtype));
  front_bytes = (front_bytes + kLibraryAlignment - 1) / kLibraryAlignment * kLibraryAlignment;

  OPRT_TRY(handle_of(device, &handle));
  OPRT_TRY(lt_status(lib.product_create(&product, plan.allow_tf32 ? kComputeTf32 : kComputeF32, CUDA_R_32F)));
  const int32_t turn_a = left.turned, turn_b = right.turned;
  const int32_t epilogue = !sums && plan.has_bias ? kEpilogueBias : kEpilogueNone;
  OPRT_TRY(lt_status(lib.product_set(product, kProductTransposeA, &turn_a, sizeof(turn_a))));
  OPRT_TRY(lt_status(lib.product_set(product, kProductTransposeB, &turn_b, sizeof(turn_b))));
  OPRT_TRY(lt_status(lib.product_set(product, kProductEpilogue, &epilogue, sizeof(epilogue))));
  const cudaDataType type = type_of(plan.dtype);
  OPRT_TRY(make(left, type, plan.batch.count, &a));
  OPRT_TRY(make(right, type, plan.batch.count, &b));
  OPRT_TRY(make(to, sums ? CUDA_R_32F : type, plan.batch.count, &out));
  bool any = false, aligned = false;
  OPRT_TRY(choose(static_cast<uint32_t>(size_of(plan.dtype)), &algorithms[0], &any));
  if (any) OPRT_TRY(choose(16, &algorithms[1], &aligned));
  if (any && aligned) return {};
  library().product_destroy(std::exchange(product, nullptr));  // no algorithm: not usable
  return {};
}

const std::string& why_no_gpu_library() { return library().why_none; }

Status make_library_product(const MatmulPlan& plan, int device, std::shared_ptr<const LibraryProduct>* product) {
  product->reset();
  if (!library().why_none.empty()) return {};
  auto made = std::make_shared<LibraryProduct>();
  OPRT_TRY(made->set_up(plan, device));
  if (made->product) *product = std::move(made);
  return {};
}

bool leaves_sums(const LibraryProduct& product) { return product.sums; }

size_t library_workspace_bytes(const LibraryProduct& product) { return product.front_bytes + product.own_bytes; }

Status run_library_product(const LibraryProduct& p, const MatmulPlan& plan, const Call& call, void* workspace) {
  const Library& lib = library();
  const auto at = [&](int operand) {
    return static_cast<char*>(call.data[operand]) + plan.batch.offset[operand] * size_of(plan.dtype);
  };
  const void* a = at(plan.b_operand);
  const void* b = at(plan.a_operand);
  void* out = p.sums ? workspace : at(0);
  const bool aligned = is_aligned(a) && is_aligned(b) && is_aligned(out);

  // The bias's address is the product's attribute; a call with one takes a product of its own, for other threads' sake.
  Product own = nullptr;
  const void* bias = p.sums ? nullptr : call.data[3];
  if (bias) {
    const int32_t turn = 1, epilogue = kEpilogueBias;
    Stored left, right;
    store(plan.b, plan.k, plan.n, 0, &left);
    store(plan.a, plan.m, plan.k, 0, &right);
    OPRT_TRY(lt_status(lib.product_create(&own, plan.allow_tf32 ? kComputeTf32 : kComputeF32, CUDA_R_32F)));
    int status = lib.product_set(own, kProductEpilogue, &epilogue, sizeof(epilogue));
    if (!status && left.turned) status = lib.product_set(own, kProductTransposeA, &turn, sizeof(turn));
    if (!status && right.turned) status = lib.product_set(own, kProductTransposeB, &turn, sizeof(turn));
    if (!status) status = lib.product_set(own, kProductBias, &bias, sizeof(bias));
    if (status) lib.product_destroy(own);
    OPRT_TRY(lt_status(status));
  }
  const float one = 1.0f, zero = 0.0f;
  const int status = lib.multiply(p.handle, own ? own : p.product, &one, a, p.a, b, p.b, &zero, out, p.out, out, p.out,
                                  &p.algorithms[aligned], static_cast<char*>(workspace) + p.front_bytes, p.own_bytes,
                                  static_cast<cudaStream_t>(call.stream));
  if (own) lib.product_destroy(own);
  return lt_status(status);
}

}  // namespace oprt
