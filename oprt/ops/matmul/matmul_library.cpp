#include "oprt/ops/matmul/matmul_library.h"

#include <dlfcn.h>

#include <cstdlib>
#include <cstring>

#include "oprt/ops/matmul/matmul.h"

namespace oprt {
namespace {

// oneDNN first: measured against OpenBLAS 0.3.21 on two Zen 3 cores it takes 0.6 to 0.8 of the time at 128^3 and 256^3
// and 0.3 on matrix-vector, for 1.05 of it at 2048^3.
constexpr const char* kCandidates[] = {"libdnnl.so.3", "libdnnl.so.2", "libopenblas.so.0"};

// The two interfaces, declared here as their headers do: neither library is needed to build.
using DnnlSgemm = int (*)(char, char, int64_t, int64_t, int64_t, float, const float*, int64_t, const float*, int64_t,
                          float, float*, int64_t);
using CblasSgemm = void (*)(int order, int turn_a, int turn_b, int m, int n, int k, float alpha, const float* a,
                            int lda, const float* b, int ldb, float beta, float* c, int ldc);
struct DnnlVersion {
  int major, minor, patch;
};

DnnlSgemm dnnl_sgemm = nullptr;
CblasSgemm cblas_sgemm = nullptr;

bool by_dnnl(bool turn_a, bool turn_b, int64_t m, int64_t n, int64_t k, const float* a, int64_t lda, const float* b,
             int64_t ldb, float* c, int64_t ldc) {
  return dnnl_sgemm(turn_a ? 'T' : 'N', turn_b ? 'T' : 'N', m, n, k, 1.0f, a, lda, b, ldb, 0.0f, c, ldc) == 0;
}

bool by_cblas(bool turn_a, bool turn_b, int64_t m, int64_t n, int64_t k, const float* a, int64_t lda, const float* b,
              int64_t ldb, float* c, int64_t ldc) {
  constexpr int kRowMajor = 101, kAsIs = 111, kTurned = 112;
  const auto narrow = [](int64_t x) { return static_cast<int>(x); };
  cblas_sgemm(kRowMajor, turn_a ? kTurned : kAsIs, turn_b ? kTurned : kAsIs, narrow(m), narrow(n), narrow(k), 1.0f, a,
              narrow(lda), b, narrow(ldb), 0.0f, c, narrow(ldc));
  return true;
}

template <class Function>
bool find(void* handle, const char* symbol, Function* function) {
  *function = reinterpret_cast<Function>(dlsym(handle, symbol));
  return *function != nullptr;
}

std::string dnnl_name(void* handle) {
  const DnnlVersion* (*version)() = nullptr;
  if (!find(handle, "dnnl_version", &version)) return "oneDNN";
  const DnnlVersion& v = *version();
  return "oneDNN " + std::to_string(v.major) + "." + std::to_string(v.minor) + "." + std::to_string(v.patch);
}

// OpenBLAS describes itself as "OpenBLAS 0.3.21 NO_LAPACKE DYNAMIC_ARCH ..."; another BLAS is called by its file's
// name.
std::string cblas_name(void* handle, const char* file) {
  const char* (*config)() = nullptr;
  if (find(handle, "openblas_get_config", &config)) {
    const std::string text = config();
    return text.substr(0, text.find(' ', text.find(' ') + 1));
  }
  const char* slash = std::strrchr(file, '/');
  return slash ? slash + 1 : file;
}

// The library in one shared object; sgemm stays null where there is none.
MatmulLibrary open(const char* file) {
  void* handle = dlopen(file, RTLD_NOW | RTLD_LOCAL);
  if (!handle) return {nullptr, false, 0, "none", dlerror()};
  if (find(handle, "dnnl_sgemm", &dnnl_sgemm)) return {by_dnnl, true, INT64_MAX, dnnl_name(handle), ""};
  if (find(handle, "cblas_sgemm", &cblas_sgemm)) return {by_cblas, false, INT32_MAX, cblas_name(handle, file), ""};
  dlclose(handle);
  return {nullptr, false, 0, "none", std::string(file) + " has neither dnnl_sgemm nor cblas_sgemm"};
}

MatmulLibrary look() {
  if (const char* wanted = std::getenv("OPRT_BLAS"); wanted && *wanted) {
    if (std::strcmp(wanted, "none") == 0) return {nullptr, false, 0, "none", "OPRT_BLAS asks for none"};
    return open(wanted);
  }
  for (const char* file : kCandidates)
    if (MatmulLibrary found = open(file); found.sgemm) return found;
  return {nullptr, false, 0, "none", "none of libdnnl.so.3, libdnnl.so.2 and libopenblas.so.0 could be opened"};
}

}  // namespace

const MatmulLibrary& matmul_library() {
  static const MatmulLibrary& library = *new MatmulLibrary(look());  // outlives every static destructor
  return library;
}

}  // namespace oprt

const char* oprt_matmul_library(void) {
  try {
    return oprt::matmul_library().name.c_str();
  } catch (...) {  // memory ran out while looking; the next call looks again
    return "none";
  }
}
