// The mathematical library in single and double precision, within the errors that the programming guide gives.
//
// With a file as argument, results are also compared with those in it, which a device wrote by `--values`: square roots
// and remainders are exact, the rest may differ by as much as two results that are both within their bounds.
#include <cmath>
#include <cstring>
#include <vector>

#include "check.h"

constexpr int kFunctions = 12;
const char* const kNames[kFunctions] = {"sin",   "cos",  "exp", "log",    "pow",  "sqrt",
                                        "rsqrt", "tanh", "erf", "tgamma", "fmod", "cbrt"};
// Units in the last place, from the rounded right value: CUDA C++ Programming Guide, "Mathematical Functions".
const double kSingle[kFunctions] = {2, 2, 2, 1, 4, 0, 2, 2, 2, 5, 0, 1};
const double kDouble[kFunctions] = {2, 2, 1, 1, 2, 0, 1, 2, 2, 10, 0, 1};

template <class T>
__global__ void evaluate(T* out, const T* x, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const T v = x[i];
  const T results[kFunctions] = {sin(v),   cos(v),  exp(v), log(v),    pow(v, T(1.5)),  sqrt(v),
                                 rsqrt(v), tanh(v), erf(v), tgamma(v), fmod(v, T(0.7)), cbrt(v)};
  for (int f = 0; f < kFunctions; ++f) out[f * n + i] = results[f];
}

__global__ void fast(float* out, const float* x, int n) {
  const int i = threadIdx.x;
  if (i >= n) return;
  out[3 * i] = __sinf(x[i]);
  out[3 * i + 1] = __expf(x[i]);
  out[3 * i + 2] = __fdividef(1.f, x[i]);
}

long double right(int function, long double v, long double modulus) {
  switch (function) {
    case 0: return sinl(v);
    case 1: return cosl(v);
    case 2: return expl(v);
    case 3: return logl(v);
    case 4: return powl(v, 1.5l);
    case 5: return sqrtl(v);
    case 6: return 1 / sqrtl(v);
    case 7: return tanhl(v);
    case 8: return erfl(v);
    case 9: return tgammal(v);
    case 10: return fmodl(v, modulus);
    default: return cbrtl(v);
  }
}

// Units in the last place between a result and the right value.
template <class T>
double ulps(T got, long double value) {
  const T rounded = T(value);
  const T step = std::nextafter(std::fabs(rounded), T(INFINITY)) - std::fabs(rounded);
  return double(std::fabs((long double)got - value) / step);
}

// The results, function by function, all within their bounds.
template <class T>
std::vector<T> results(const std::vector<T>& x, const double* bounds) {
  const int n = int(x.size());
  T *dx, *device;
  std::vector<T> out(kFunctions * n);
  CUDA(cudaMalloc(&dx, n * sizeof(T)));
  CUDA(cudaMalloc(&device, out.size() * sizeof(T)));
  CUDA(cudaMemcpy(dx, x.data(), n * sizeof(T), cudaMemcpyHostToDevice));
  evaluate<T><<<(n + 127) / 128, 128>>>(device, dx, n);
  CUDA(cudaMemcpy(out.data(), device, out.size() * sizeof(T), cudaMemcpyDeviceToHost));
  for (int f = 0; f < kFunctions; ++f) {
    for (int i = 0; i < n; ++i) EXPECT(ulps(out[f * n + i], right(f, x[i], T(0.7))) <= bounds[f] + 0.5);
  }
  CUDA(cudaFree(dx));
  CUDA(cudaFree(device));
  return out;
}

void check_fast(const std::vector<float>& x) {
  float *dx, *device, out[3 * 32];
  CUDA(cudaMalloc(&dx, 32 * sizeof(float)));
  CUDA(cudaMalloc(&device, sizeof out));
  CUDA(cudaMemcpy(dx, x.data(), 32 * sizeof(float), cudaMemcpyHostToDevice));
  fast<<<1, 32>>>(device, dx, 32);
  CUDA(cudaMemcpy(out, device, sizeof out, cudaMemcpyDeviceToHost));
  for (int i = 0; i < 32; ++i) {
    EXPECT(std::fabs(out[3 * i] - std::sin(x[i])) < 5e-7f);
    EXPECT(ulps(out[3 * i + 1], expl(x[i])) <= 2 + std::fabs(1.173 * x[i]));
    EXPECT(ulps(out[3 * i + 2], 1 / (long double)x[i]) <= 2);
  }
  CUDA(cudaFree(dx));
  CUDA(cudaFree(device));
}

constexpr int kPoints = 200, kShown = 8;  // every eighth is written to a file

void write(const std::vector<float>& single, const std::vector<double>& twice) {
  for (int f = 0; f < kFunctions; ++f) {
    for (int i = 0; i < kPoints; i += kShown) {
      std::printf("%s %d %a %a\n", kNames[f], i, single[f * kPoints + i], twice[f * kPoints + i]);
    }
  }
}

// Returns how many of the file's values are the same bit for bit.
int compare(std::FILE* file, const std::vector<float>& single, const std::vector<double>& twice) {
  int same = 0;
  for (int f = 0; f < kFunctions; ++f) {
    for (int i = 0; i < kPoints; i += kShown) {
      char name[16];
      int index;
      double theirs, theirs_twice;
      EXPECT(std::fscanf(file, "%15s %d %la %la", name, &index, &theirs, &theirs_twice) == 4);
      EXPECT(!std::strcmp(name, kNames[f]) && index == i);
      const float ours = single[f * kPoints + i];
      const double ours_twice = twice[f * kPoints + i];
      EXPECT(ulps(ours, theirs) <= 2 * kSingle[f]);
      EXPECT(ulps(ours_twice, theirs_twice) <= 2 * kDouble[f]);
      same += (ours == theirs) + (ours_twice == theirs_twice);
    }
  }
  return same;
}

int main(int count, char** arguments) {
  std::vector<float> x(kPoints);
  std::vector<double> y(kPoints);
  for (int i = 0; i < kPoints; ++i) y[i] = x[i] = 0.03125f + i * 0.0613f;
  const auto single = results(x, kSingle);
  const auto twice = results(y, kDouble);
  check_fast(x);
  if (count == 2 && !std::strcmp(arguments[1], "--values")) {
    write(single, twice);
    return 0;
  }
  std::printf("math_functions: within the guide's bounds\n");
  if (count == 2) {
    std::FILE* file = std::fopen(arguments[1], "r");
    EXPECT(file);
    const int same = compare(file, single, twice);
    std::fprintf(stderr, "%d of %d values are the file's bit for bit\n", same, 2 * kFunctions * kPoints / kShown);
    std::fclose(file);
  }
}
