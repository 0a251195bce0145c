// Kernels whose traffic is known: each is launched once, and what the virtual GPU counts is held against h200.csv,
// which `ncu` wrote on an H200 (see the README). The sizes are small, and no kernel depends on the order of blocks.
#include <vector>

#include "../programs/check.h"

constexpr int kBlock = 256, kGrid = 8, kThreads = kBlock * kGrid;
constexpr int kSide = 128, kTile = 32;  // of matrices
constexpr unsigned kFull = 0xffffffff;

__device__ int thread() { return blockIdx.x * kBlock + threadIdx.x; }

// --- Copies ---

__global__ void copy_float(float* out, const float* in) { out[thread()] = in[thread()]; }
__global__ void copy_float2(float2* out, const float2* in) { out[thread()] = in[thread()]; }
__global__ void copy_float4(float4* out, const float4* in) { out[thread()] = in[thread()]; }
__global__ void copy_double(double* out, const double* in) { out[thread()] = in[thread()]; }
__global__ void copy_short(short* out, const short* in) { out[thread()] = in[thread()]; }
__global__ void copy_byte(char* out, const char* in) { out[thread()] = in[thread()]; }
__global__ void copy_strided(float* out, const float* in) { out[thread() * 3] = in[thread() * 5]; }
__global__ void copy_shifted(float* out, const float* in) { out[thread()] = in[thread() + 1]; }
__global__ void copy_cached(float* out, const float* __restrict__ in) { out[thread()] = __ldg(in + thread()); }
__global__ void copy_ragged(float* out, const float* in, int n) {
  if (thread() < n) out[thread()] = in[thread()];
}
__global__ void copy_broadcast(float* out, const float* in) { out[thread()] = in[threadIdx.x / 32]; }
__global__ void gather(float* out, const float* in, const int* index) { out[thread()] = in[index[thread()]]; }

// --- Transposes ---

__global__ void transpose_naive(float* out, const float* in) {
  const int x = blockIdx.x * kTile + threadIdx.x, y = blockIdx.y * kTile + threadIdx.y;
  for (int k = 0; k < kTile; k += 8) out[x * kSide + y + k] = in[(y + k) * kSide + x];
}

template <int kPitch>
__device__ void transpose(float* out, const float* in) {
  __shared__ float tile[kTile][kPitch];
  const int x = blockIdx.x * kTile + threadIdx.x, y = blockIdx.y * kTile + threadIdx.y;
  for (int k = 0; k < kTile; k += 8) tile[threadIdx.y + k][threadIdx.x] = in[(y + k) * kSide + x];
  __syncthreads();
  const int to_x = blockIdx.y * kTile + threadIdx.x, to_y = blockIdx.x * kTile + threadIdx.y;
  for (int k = 0; k < kTile; k += 8) out[(to_y + k) * kSide + to_x] = tile[threadIdx.x][threadIdx.y + k];
}
__global__ void transpose_unpadded(float* out, const float* in) { transpose<32>(out, in); }
__global__ void transpose_padded(float* out, const float* in) { transpose<33>(out, in); }

// --- Reductions ---

__global__ void tree_interleaved(float* out, const float* in) {
  __shared__ float sums[kBlock];
  sums[threadIdx.x] = in[thread()];
  __syncthreads();
  for (int stride = 1; stride < kBlock; stride *= 2) {
    const int i = 2 * stride * threadIdx.x;
    if (i < kBlock) sums[i] += sums[i + stride];
    __syncthreads();
  }
  if (threadIdx.x == 0) out[blockIdx.x] = sums[0];
}

__global__ void tree_sequential(float* out, const float* in) {
  __shared__ float sums[kBlock];
  sums[threadIdx.x] = in[thread()];
  __syncthreads();
  for (int half = kBlock / 2; half > 0; half /= 2) {
    if (threadIdx.x < half) sums[threadIdx.x] += sums[threadIdx.x + half];
    __syncthreads();
  }
  if (threadIdx.x == 0) out[blockIdx.x] = sums[0];
}

__device__ float warp_sum(float value) {
  for (int offset = 16; offset > 0; offset /= 2) value += __shfl_xor_sync(kFull, value, offset);
  return value;
}

__global__ void shuffle_sum(float* out, const float* in) {
  __shared__ float sums[kBlock / 32];
  const float sum = warp_sum(in[thread()]);
  if (threadIdx.x % 32 == 0) sums[threadIdx.x / 32] = sum;
  __syncthreads();
  if (threadIdx.x < 32) {
    const float all = warp_sum(threadIdx.x < kBlock / 32 ? sums[threadIdx.x] : 0.f);
    if (threadIdx.x == 0) out[blockIdx.x] = all;
  }
}

__global__ void histogram(int* bins, const int* in) {
  __shared__ int local[64];
  if (threadIdx.x < 64) local[threadIdx.x] = 0;
  __syncthreads();
  atomicAdd(&local[in[thread()] % 64], 1);
  __syncthreads();
  if (threadIdx.x < 64) atomicAdd(&bins[threadIdx.x], local[threadIdx.x]);
}

// --- Rows and matrices: one warp a row of 128, a tile of 16 x 16 a block ---

__global__ void softmax(float* out, const float* in) {
  const int row = thread() / 32, lane = threadIdx.x % 32;
  float x[4], largest = -INFINITY, sum = 0;
  for (int k = 0; k < 4; ++k) largest = fmaxf(largest, x[k] = in[row * kSide + 32 * k + lane]);
  for (int offset = 16; offset > 0; offset /= 2) largest = fmaxf(largest, __shfl_xor_sync(kFull, largest, offset));
  for (int k = 0; k < 4; ++k) sum += x[k] = __expf(x[k] - largest);
  sum = warp_sum(sum);
  for (int k = 0; k < 4; ++k) out[row * kSide + 32 * k + lane] = x[k] / sum;
}

__global__ void layernorm(float4* out, const float4* in, const float4* gamma, const float4* beta) {
  const int row = thread() / 32, lane = threadIdx.x % 32;
  const float4 x = in[row * 32 + lane], g = gamma[lane], b = beta[lane];
  const float mean = warp_sum(x.x + x.y + x.z + x.w) / kSide;
  const float4 d = make_float4(x.x - mean, x.y - mean, x.z - mean, x.w - mean);
  const float scale = rsqrtf(warp_sum(d.x * d.x + d.y * d.y + d.z * d.z + d.w * d.w) / kSide + 1e-5f);
  out[row * 32 + lane] =
      make_float4(d.x * scale * g.x + b.x, d.y * scale * g.y + b.y, d.z * scale * g.z + b.z, d.w * scale * g.w + b.w);
}

__global__ void matmul_tiled(float* out, const float* a, const float* b) {
  __shared__ float left[16][16], right[16][16];
  const int x = blockIdx.x * 16 + threadIdx.x, y = blockIdx.y * 16 + threadIdx.y;
  float sum = 0;
  for (int k = 0; k < kSide; k += 16) {
    left[threadIdx.y][threadIdx.x] = a[y * kSide + k + threadIdx.x];
    right[threadIdx.y][threadIdx.x] = b[(k + threadIdx.y) * kSide + x];
    __syncthreads();
    for (int i = 0; i < 16; ++i) sum += left[threadIdx.y][i] * right[i][threadIdx.x];
    __syncthreads();
  }
  out[y * kSide + x] = sum;
}

__global__ void column_sums(float* out, const float* in) {  // a thread per row: the worst way to walk a matrix
  float sum = 0;
  for (int c = 0; c < kSide; ++c) sum += in[threadIdx.x * kSide + c];
  out[threadIdx.x] = sum;
}

// --- Shared memory by 2, 8 and 16 bytes, and at a stride ---

template <class T, int kStride>
__device__ void turn_round(T* out, const T* in) {
  __shared__ T values[kBlock * kStride];
  values[threadIdx.x * kStride] = in[thread()];
  __syncthreads();
  out[thread()] = values[(kBlock - 1 - threadIdx.x) * kStride];
}
__global__ void shared_short(short* out, const short* in) { turn_round<short, 1>(out, in); }
__global__ void shared_double(double* out, const double* in) { turn_round<double, 1>(out, in); }
__global__ void shared_double_by_2(double* out, const double* in) { turn_round<double, 2>(out, in); }
__global__ void shared_float4(float4* out, const float4* in) { turn_round<float4, 1>(out, in); }
__global__ void shared_float_by_4(float* out, const float* in) { turn_round<float, 4>(out, in); }

// --- Divergence ---

__global__ void divergent(float* out, const float* in) {  // a lane's work grows with its number
  float value = in[thread()];
  for (int i = threadIdx.x % 32; i > 0; --i) value = value * 0.5f + 1;
  out[thread()] = value;
}

__global__ void half_warps(float* out, const float* in) {
  const float value = in[thread()];
  if (threadIdx.x % 32 < 16) {
    out[thread()] = sqrtf(value);
  } else {
    out[thread()] = value * value;
  }
}

template <class T>
T* device(size_t count) {
  T* memory;
  CUDA(cudaMalloc(&memory, count * sizeof(T)));
  CUDA(cudaMemset(memory, 0, count * sizeof(T)));
  return memory;
}

int main() {
  const int n = kThreads;
  std::vector<int> numbers(n), index(n);
  for (int i = 0; i < n; ++i) {
    numbers[i] = i * 37 % 1000;
    index[i] = i * 173 % n;
  }
  char *in = device<char>(64 * 1024 * 2), *out = device<char>(64 * 1024 * 2);
  int *whole = device<int>(n), *where = device<int>(n), *bins = device<int>(64);
  CUDA(cudaMemcpy(whole, numbers.data(), n * sizeof(int), cudaMemcpyHostToDevice));
  CUDA(cudaMemcpy(where, index.data(), n * sizeof(int), cudaMemcpyHostToDevice));
  const auto as = [](char* memory, auto type) { return reinterpret_cast<decltype(type)*>(memory); };
#define RUN(kernel, T) kernel<<<kGrid, kBlock>>>(as(out, T{}), as(in, T{}))
  RUN(copy_float, float);
  RUN(copy_float2, float2);
  RUN(copy_float4, float4);
  RUN(copy_double, double);
  RUN(copy_short, short);
  RUN(copy_byte, char);
  RUN(copy_strided, float);
  RUN(copy_shifted, float);
  RUN(copy_cached, float);
  RUN(copy_broadcast, float);
  copy_ragged<<<kGrid, kBlock>>>(as(out, float{}), as(in, float{}), n - 45);
  gather<<<kGrid, kBlock>>>(as(out, float{}), as(in, float{}), where);
  const dim3 tiles(kSide / kTile, kSide / kTile), tile(kTile, 8);
  transpose_naive<<<tiles, tile>>>(as(out, float{}), as(in, float{}));
  transpose_unpadded<<<tiles, tile>>>(as(out, float{}), as(in, float{}));
  transpose_padded<<<tiles, tile>>>(as(out, float{}), as(in, float{}));
  RUN(tree_interleaved, float);
  RUN(tree_sequential, float);
  RUN(shuffle_sum, float);
  histogram<<<kGrid, kBlock>>>(bins, whole);
  RUN(softmax, float);
  layernorm<<<kGrid, kBlock>>>(as(out, float4{}), as(in, float4{}), as(in, float4{}), as(in, float4{}));
  matmul_tiled<<<dim3(kSide / 16, kSide / 16), dim3(16, 16)>>>(as(out, float{}), as(in, float{}), as(in, float{}));
  column_sums<<<1, kSide>>>(as(out, float{}), as(in, float{}));
  RUN(shared_short, short);
  RUN(shared_double, double);
  RUN(shared_double_by_2, double);
  RUN(shared_float4, float4);
  RUN(shared_float_by_4, float);
  RUN(divergent, float);
  RUN(half_warps, float);
  CUDA(cudaDeviceSynchronize());
  std::vector<int> counts(64);
  CUDA(cudaMemcpy(counts.data(), bins, 64 * sizeof(int), cudaMemcpyDeviceToHost));
  int counted = 0;
  for (const int count : counts) counted += count;
  EXPECT(counted == n);
  for (void* memory : {(void*)in, (void*)out, (void*)whole, (void*)where, (void*)bins}) CUDA(cudaFree(memory));
  std::printf("traffic: 30 kernels, %d numbers counted\n", counted);
}
