// The mathematical library in single and double precision, within the errors that the programming guide gives.
#include <cmath>
#include <vector>

#include "check.h"

template <class T>
struct Row {
  T sine, cosine, exponential, logarithm, power, root, reciprocal_root, tangent, error, gamma, remainder, cube_root;
};

template <class T>
__global__ void evaluate(Row<T>* out, const T* x, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const T v = x[i];
  out[i] = {sin(v),   cos(v),  exp(v), log(v),    pow(v, T(1.5)),  sqrt(v),
            rsqrt(v), tanh(v), erf(v), tgamma(v), fmod(v, T(0.7)), cbrt(v)};
}

__global__ void fast(float* out, const float* x, int n) {
  const int i = threadIdx.x;
  if (i >= n) return;
  out[3 * i] = __sinf(x[i]);
  out[3 * i + 1] = __expf(x[i]);
  out[3 * i + 2] = __fdividef(1.f, x[i]);
}

// Units in the last place between a result and the right value.
template <class T>
double ulps(T got, long double right) {
  const T rounded = T(right);
  const T step = std::nextafter(std::fabs(rounded), T(INFINITY)) - std::fabs(rounded);
  return double(std::fabs((long double)got - right) / step);
}

template <class T>
double worst(const std::vector<T>& x) {
  const int n = int(x.size());
  T* dx;
  Row<T>* device;
  std::vector<Row<T>> out(n);
  CUDA(cudaMalloc(&dx, n * sizeof(T)));
  CUDA(cudaMalloc(&device, n * sizeof(Row<T>)));
  CUDA(cudaMemcpy(dx, x.data(), n * sizeof(T), cudaMemcpyHostToDevice));
  evaluate<T><<<(n + 127) / 128, 128>>>(device, dx, n);
  CUDA(cudaMemcpy(out.data(), device, n * sizeof(Row<T>), cudaMemcpyDeviceToHost));
  double most = 0;
  for (int i = 0; i < n; ++i) {
    const long double v = x[i];
    const auto look = [&](T got, long double right) { most = std::max(most, ulps(got, right)); };
    look(out[i].sine, sinl(v));
    look(out[i].cosine, cosl(v));
    look(out[i].exponential, expl(v));
    look(out[i].logarithm, logl(v));
    look(out[i].power, powl(v, 1.5l));
    look(out[i].tangent, tanhl(v));
    look(out[i].error, erfl(v));
    look(out[i].cube_root, cbrtl(v));
    look(out[i].reciprocal_root, 1 / sqrtl(v));
    EXPECT(ulps(out[i].gamma, tgammal(v)) <= 11);
    EXPECT(ulps(out[i].root, sqrtl(v)) <= 0.5);  // rounded right
    EXPECT(out[i].remainder == std::fmod(x[i], T(0.7)));
  }
  CUDA(cudaFree(dx));
  CUDA(cudaFree(device));
  return most;
}

int main() {
  const int n = 200;
  std::vector<float> x(n);
  std::vector<double> y(n);
  for (int i = 0; i < n; ++i) y[i] = x[i] = 0.03125f + i * 0.0613f;
  const double single = worst(x), twice = worst(y);
  EXPECT(single <= 4 && twice <= 2);
  float *dx, *device, out[3 * 32];
  CUDA(cudaMalloc(&dx, n * sizeof(float)));
  CUDA(cudaMalloc(&device, sizeof out));
  CUDA(cudaMemcpy(dx, x.data(), n * sizeof(float), cudaMemcpyHostToDevice));
  fast<<<1, 32>>>(device, dx, 32);
  CUDA(cudaMemcpy(out, device, sizeof out, cudaMemcpyDeviceToHost));
  for (int i = 0; i < 32; ++i) {
    EXPECT(std::fabs(out[3 * i] - std::sin(x[i])) < 5e-7f);
    EXPECT(ulps(out[3 * i + 1], expl(x[i])) <= 2 + std::fabs(1.173 * x[i]));
    EXPECT(ulps(out[3 * i + 2], 1 / (long double)x[i]) <= 2);
  }
  CUDA(cudaFree(dx));
  CUDA(cudaFree(device));
  std::printf("math_functions: within the guide's bounds\n");
}
