// Arithmetic and conversions in every rounding mode, on bit patterns of all kinds: zeros, subnormals, infinities, NaNs,
// ties. IEEE and PTX fix every bit of these results but a NaN's payload; a line per operation has the hash of them all.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <string>
#include <vector>

#include "check.h"

constexpr int kCount = 4096;

#define MODES(X, operation) \
  X(operation##_rn)         \
  X(operation##_rz)         \
  X(operation##_ru)         \
  X(operation##_rd)

// Each has the operands a, b, c, of which it takes as many as it needs.
#define TWO(f) put(f(a, b));
#define ONE(f) put(f(a));
#define THREE(f) put(f(a, b, c));

__device__ float whole(float x) { return x != x ? NAN : x; }  // one NaN for all
__device__ double whole(double x) { return x != x ? NAN : x; }

// Writes its results one row below the other.
template <class T>
struct Rows {
  T* out;
  template <class Value>
  __device__ void operator()(Value value) {
    *out = whole(T(value));
    out += kCount;
  }
};

constexpr int kSingleRows = 4 * 6 + 4;
__global__ void single(float* out, const float* x) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  const float a = x[i], b = x[(i * 7 + 1) % kCount], c = x[(i * 13 + 5) % kCount];
  Rows<float> put{out + i};
  MODES(TWO, __fadd)
  MODES(TWO, __fmul)
  MODES(TWO, __fdiv)
  MODES(ONE, __frcp)
  MODES(ONE, __fsqrt)
  MODES(THREE, __fmaf)
  put(fminf(a, b));
  put(fmaxf(a, b));
  put(rintf(a));
  put(truncf(a));
}

constexpr int kDoubleRows = 4 * 6 + 4;
__global__ void twice(double* out, const double* x) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  const double a = x[i], b = x[(i * 7 + 1) % kCount], c = x[(i * 13 + 5) % kCount];
  Rows<double> put{out + i};
  MODES(TWO, __dadd)
  MODES(TWO, __dmul)
  MODES(TWO, __ddiv)
  MODES(ONE, __drcp)
  MODES(ONE, __dsqrt)
  MODES(THREE, __fma)
  MODES(ONE, __double2float)
}

// What a half or a bfloat16 is as a float, and an integer as a double, are exact.
constexpr int kHalfRows = 4 + 4 + 2 * 3;
__global__ void halves(float* out, const float* x) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  const float a = x[i];
  Rows<float> put{out + i};
  MODES(ONE, __float2half)
  MODES(ONE, __float2bfloat16)
  const __half h = __float2half(a), g = __float2half(x[(i * 7 + 1) % kCount]);
  put(__hadd(h, g));
  put(__hmul(h, g));
  put(__hfma(h, g, h));
  const __nv_bfloat16 k = __float2bfloat16(a), l = __float2bfloat16(x[(i * 7 + 1) % kCount]);
  put(__hadd(k, l));
  put(__hmul(k, l));
  put(__hfma(k, l, k));
}

constexpr int kIntegerRows = 4 * 4;
__global__ void integers(double* out, const float* x, const double* y, const long long* whole_numbers) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  Rows<double> put{out + i};
  {
    const float a = x[i];
    MODES(ONE, __float2int)
  }
  {
    const double a = y[i];
    MODES(ONE, __double2uint)
  }
  {
    const int a = int(whole_numbers[i]);
    MODES(ONE, __int2float)
  }
  {
    const long long a = whole_numbers[i];
    MODES(ONE, __ll2double)
  }
}

template <class T>
T* upload(const std::vector<T>& host) {
  T* memory;
  CUDA(cudaMalloc(&memory, host.size() * sizeof(T)));
  CUDA(cudaMemcpy(memory, host.data(), host.size() * sizeof(T), cudaMemcpyHostToDevice));
  return memory;
}

template <class T>
void show(const char* what, T* device, int rows) {
  std::vector<T> host(size_t(rows) * kCount);
  CUDA(cudaMemcpy(host.data(), device, host.size() * sizeof(T), cudaMemcpyDeviceToHost));
  CUDA(cudaFree(device));
  for (int r = 0; r < rows; ++r) {
    std::printf("%s ", what);
    print_bits(std::to_string(r).c_str(), host.data() + size_t(r) * kCount, kCount);
  }
}

int main() {
  std::vector<float> x(kCount);
  std::vector<double> y(kCount);
  std::vector<long long> z(kCount);
  uint64_t state = 1;
  const auto next = [&] { return state = state * 6364136223846793005 + 1442695040888963407; };
  for (int i = 0; i < kCount; ++i) {
    // A third each: any bit pattern, numbers near one, and halves of small whole numbers, which tie.
    const uint32_t bits = next() >> 32;
    std::memcpy(&x[i], &bits, sizeof bits);
    const uint64_t wide = (next() & ~0xffffffffull) | next() >> 32;
    std::memcpy(&y[i], &wide, sizeof wide);
    if (i % 3 == 1) {
      x[i] = 1 + float(bits >> 8) / (1 << 24);
      y[i] = 1 + double(wide >> 11) / (1ll << 53);
    } else if (i % 3 == 2) {
      x[i] = 0.5f * (int(bits >> 16) - 32768);
      y[i] = 0.5 * (int(wide >> 48) - 32768);
    }
    z[i] = static_cast<long long>(wide) >> wide % 60;
  }
  const float special[] = {0.f, -0.f, 1e-45f, -1e-40f, INFINITY, -INFINITY, NAN, 65520.f, 3.4e38f, 2147483648.f};
  std::copy(special, special + 10, x.begin());
  std::copy(special, special + 10, y.begin());

  const std::vector<float> rows(size_t(kSingleRows) * kCount);
  const std::vector<double> wide_rows(size_t(kDoubleRows) * kCount);
  float *dx = upload(x), *out = upload(rows), *half_out = upload(rows);
  double *dy = upload(y), *wide_out = upload(wide_rows), *integer_out = upload(wide_rows);
  long long* dz = upload(z);
  single<<<kCount / 128, 128>>>(out, dx);
  twice<<<kCount / 128, 128>>>(wide_out, dy);
  halves<<<kCount / 128, 128>>>(half_out, dx);
  integers<<<kCount / 128, 128>>>(integer_out, dx, dy, dz);
  show("single", out, kSingleRows);
  show("double", wide_out, kDoubleRows);
  show("half", half_out, kHalfRows);
  show("integer", integer_out, kIntegerRows);
  for (void* memory : {(void*)dx, (void*)dy, (void*)dz}) CUDA(cudaFree(memory));
}
