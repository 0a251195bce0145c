// Pointers to device functions in a table, and virtual functions of objects that were made on the device.
#include <new>
#include <vector>

#include "check.h"

using Operation = float (*)(float, float);
__device__ float add(float a, float b) { return a + b; }
__device__ float subtract(float a, float b) { return a - b; }
__device__ float multiply(float a, float b) { return a * b; }
__device__ Operation table[] = {add, subtract, multiply};

__global__ void apply(float* out, const int* which, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = table[which[i]](float(i), 3.f);  // threads of one warp call different functions
}

struct Shape {
  __device__ virtual float area() const = 0;
  __device__ virtual ~Shape() {}
};
struct Square : Shape {
  float side;
  __device__ explicit Square(float s) : side(s) {}
  __device__ float area() const override { return side * side; }
};
struct Rectangle : Square {
  float height;
  __device__ Rectangle(float w, float h) : Square(w), height(h) {}
  __device__ float area() const override { return side * height; }
};

constexpr size_t kSlot = sizeof(Rectangle);

__global__ void build(unsigned char* memory, int n) {
  const int i = threadIdx.x;
  if (i >= n) return;
  if (i % 3 == 0) {
    new (memory + i * kSlot) Rectangle(i, 2);
  } else {
    new (memory + i * kSlot) Square(i);
  }
}

__global__ void measure(float* areas, const unsigned char* memory, int n) {
  const int i = threadIdx.x;
  if (i < n) areas[i] = reinterpret_cast<const Shape*>(memory + i * kSlot)->area();
}

int main() {
  const int n = 100;
  std::vector<int> which(n);
  std::vector<float> out(n);
  for (int i = 0; i < n; ++i) which[i] = i * 7 % 3;
  int* device_which;
  float* device_out;
  unsigned char* shapes;
  CUDA(cudaMalloc(&device_which, n * sizeof(int)));
  CUDA(cudaMalloc(&device_out, n * sizeof(float)));
  CUDA(cudaMalloc(&shapes, n * kSlot));
  CUDA(cudaMemcpy(device_which, which.data(), n * sizeof(int), cudaMemcpyHostToDevice));
  apply<<<2, 64>>>(device_out, device_which, n);
  CUDA(cudaMemcpy(out.data(), device_out, n * sizeof(float), cudaMemcpyDeviceToHost));
  for (int i = 0; i < n; ++i) EXPECT(out[i] == (which[i] == 0 ? i + 3.f : which[i] == 1 ? i - 3.f : i * 3.f));

  print_bits("by table", out.data(), n);
  build<<<1, 128>>>(shapes, n);
  measure<<<1, 128>>>(device_out, shapes, n);
  CUDA(cudaMemcpy(out.data(), device_out, n * sizeof(float), cudaMemcpyDeviceToHost));
  for (int i = 0; i < n; ++i) EXPECT(out[i] == (i % 3 == 0 ? 2.f * i : float(i) * i));
  CUDA(cudaFree(device_which));
  CUDA(cudaFree(device_out));
  CUDA(cudaFree(shapes));
  print_bits("areas", out.data(), n);
  std::printf("function_pointers: area %d is %.0f\n", n - 1, out[n - 1]);
}
