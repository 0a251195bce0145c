// Virtual functions, function pointers, recursion, a switch, printf and assert, local arrays, initialised variables.
#include <cassert>
#include <cstdio>

__constant__ float coefficients[16] = {1.f, 2.f, 3.f};
__device__ int counter = 7;
__managed__ double managed_value = 2.5;
__device__ int table[3][4] = {{1, 2}, {3}, {4, 5, 6, 7}};
__device__ const char* words[2] = {"ab", "c\"d"};
__device__ float (*pointer)(float) = sinf;
extern __shared__ float dynamic[];

struct Shape {
  __device__ virtual float area(float x) const { return x; }
};
struct Square : Shape {
  int k;
  __device__ explicit Square(int k) : k(k) {}
  __device__ float area(float x) const override { return k * x; }
};

__global__ void virtuals(float* out, int n) {
  Square local(n);
  Shape* shape = n > 3 ? new Square(3) : &local;
  out[threadIdx.x] = shape->area(out[threadIdx.x]);
  out[1] = pointer(out[2]) + dynamic[n];
  printf("%d %s\n", n, words[n & 1]);
  assert(n < 9);
}

__global__ void __launch_bounds__(128, 2) switches(int* p, int k) {
  switch (k) {
    case 0: p[0] = 1; break;
    case 1: p[1] = p[7]; break;
    case 2: p[3] = 9 * p[4]; break;
    case 3: atomicAdd(p, 3); break;
    case 4: p[9] = __popc(p[1]); break;
    case 5: p[3]--; break;
    case 6: p[k] = clock(); break;
    case 7:
      __threadfence();
      p[2] = 1;
      break;
  }
  p[threadIdx.x] = table[k % 3][k & 3] + counter;
}

// nvcc 13.0 makes comparisons of a switch, whatever its size; a branch table has to be written by hand.
__global__ void branch_table(int* p, int k) {
  int x = 0;
  asm("{\n\t.reg .u32 index;\n\tmin.u32 index, %1, 3;\n"
      "table: .branchtargets zero, one, one, other;\n\tbrx.idx index, table;\n"
      "zero: mov.u32 %0, 10;\n\tbra done;\none: mov.u32 %0, 11;\n\tbra done;\nother: mov.u32 %0, 12;\ndone:\n}"
      : "+r"(x)
      : "r"(k));
  p[threadIdx.x] = x;
}

__device__ __noinline__ int fibonacci(int n) { return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2); }

__global__ void recursion(int* p, double x) {
  p[0] = fibonacci(p[1]);
  p[2] = int(sin(x) * pow(x, 3.5) + managed_value + coefficients[3]);
  int a[64];
  for (int i = 0; i < 64; ++i) a[i] = p[i];
  p[7] = a[p[3] & 63];
}
