// Kernels to compare with, for kernels.py:
//
//   ceilings   plain traffic in 16-byte pieces: what the memory gives to a copy, a sum of reads, two reads and a write
//   plain      operators as a first course in CUDA writes them: one block a row or one thread an element, one element
//              at a time, sums by a tree in shared memory
//   empty      a kernel that does nothing, with parameters of so many bytes: what a bare launch costs the host
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include <chrono>
#include <cstddef>
#include <cstdint>

namespace {

constexpr int kThreads = 256;

// Also sets the last error, for callers of extern "C" functions: 0 is success.
int launched() { return static_cast<int>(cudaGetLastError()); }

unsigned blocks_for(int64_t count, int64_t each) { return static_cast<unsigned>((count + each - 1) / each); }

// --- ceilings --------------------------------------------------------------------------------------------------------

using Piece = uint4;  // 16 bytes

// kPieces loads are in flight before the first is used. `pieces` is what each tensor holds; a block takes
// kThreads * kPieces of them, or with a grid smaller than that goes on by the grid's size.
template <int kPieces, class Body>
__device__ void for_each_piece(int64_t pieces, Body body) {
  const int64_t step = int64_t{kThreads} * kPieces;
  for (int64_t start = blockIdx.x * step + threadIdx.x; start < pieces; start += gridDim.x * step) body(start);
}

template <int kPieces>
__global__ void copy_pieces(Piece* to, const Piece* from, int64_t pieces) {
  for_each_piece<kPieces>(pieces, [&](int64_t start) {
    Piece held[kPieces];
#pragma unroll
    for (int i = 0; i < kPieces; ++i)
      if (start + i * kThreads < pieces) held[i] = from[start + i * kThreads];
#pragma unroll
    for (int i = 0; i < kPieces; ++i)
      if (start + i * kThreads < pieces) to[start + i * kThreads] = held[i];
  });
}

__device__ Piece mix(Piece a, Piece b) { return {a.x ^ b.x, a.y ^ b.y, a.z ^ b.z, a.w ^ b.w}; }

template <int kPieces>
__global__ void read_two_write_one(Piece* to, const Piece* a, const Piece* b, int64_t pieces) {
  for_each_piece<kPieces>(pieces, [&](int64_t start) {
    Piece left[kPieces], right[kPieces];
#pragma unroll
    for (int i = 0; i < kPieces; ++i)
      if (start + i * kThreads < pieces) left[i] = a[start + i * kThreads], right[i] = b[start + i * kThreads];
#pragma unroll
    for (int i = 0; i < kPieces; ++i)
      if (start + i * kThreads < pieces) to[start + i * kThreads] = mix(left[i], right[i]);
  });
}

// Writes only if all bits read cancel to a value that nobody knows in advance, so nothing is optimised away.
template <int kPieces>
__global__ void read_pieces(Piece* sink, const Piece* from, int64_t pieces, uint32_t unlikely) {
  Piece all = {};
  for_each_piece<kPieces>(pieces, [&](int64_t start) {
    Piece held[kPieces] = {};
#pragma unroll
    for (int i = 0; i < kPieces; ++i)
      if (start + i * kThreads < pieces) held[i] = from[start + i * kThreads];
#pragma unroll
    for (int i = 0; i < kPieces; ++i) all = mix(all, held[i]);
  });
  if ((all.x ^ all.y ^ all.z ^ all.w) == unlikely) *sink = all;
}

int multiprocessors() {
  int device = 0, count = 1;
  cudaGetDevice(&device);
  cudaDeviceGetAttribute(&count, cudaDevAttrMultiProcessorCount, device);
  return count;
}

// Blocks of `kPieces` pieces a thread: as many as it takes, or with `resident` as many as run at once.
template <int kPieces>
unsigned grid(int64_t pieces, bool resident) {
  const unsigned all = blocks_for(pieces, int64_t{kThreads} * kPieces);
  const unsigned at_once = static_cast<unsigned>(multiprocessors()) * (2048 / kThreads);
  return resident && all > at_once ? at_once : all;
}

// --- plain -----------------------------------------------------------------------------------------------------------

template <class T>
__device__ float wide(T x) {
  return static_cast<float>(x);
}

template <class T>
__device__ T narrow(float x) {
  return static_cast<T>(x);
}

struct Sum {
  __device__ float operator()(float a, float b) const { return a + b; }
};
struct Max {
  __device__ float operator()(float a, float b) const { return fmaxf(a, b); }
};

// Every thread of the block gets the result.
template <class Op>
__device__ float over_block(float value, Op op) {
  __shared__ float partial[kThreads];
  partial[threadIdx.x] = value;
  __syncthreads();
  for (int half = kThreads / 2; half > 0; half /= 2) {
    if (threadIdx.x < half) partial[threadIdx.x] = op(partial[threadIdx.x], partial[threadIdx.x + half]);
    __syncthreads();
  }
  const float result = partial[0];
  __syncthreads();  // the next call writes partial
  return result;
}

template <class T>
__global__ void softmax_block_row(T* y, const T* x, int length) {
  x += int64_t{blockIdx.x} * length, y += int64_t{blockIdx.x} * length;
  float largest = -INFINITY, sum = 0;
  for (int i = threadIdx.x; i < length; i += kThreads) largest = fmaxf(largest, wide(x[i]));
  largest = over_block(largest, Max());
  for (int i = threadIdx.x; i < length; i += kThreads) sum += expf(wide(x[i]) - largest);
  sum = over_block(sum, Sum());
  for (int i = threadIdx.x; i < length; i += kThreads) y[i] = narrow<T>(expf(wide(x[i]) - largest) / sum);
}

template <class T>
__global__ void rmsnorm_block_row(T* y, const T* x, const T* gamma, int length, float eps) {
  x += int64_t{blockIdx.x} * length, y += int64_t{blockIdx.x} * length;
  float squares = 0;
  for (int i = threadIdx.x; i < length; i += kThreads) squares += wide(x[i]) * wide(x[i]);
  const float scale = rsqrtf(over_block(squares, Sum()) / length + eps);
  for (int i = threadIdx.x; i < length; i += kThreads) y[i] = narrow<T>(wide(x[i]) * scale * wide(gamma[i]));
}

template <class T>
__global__ void layernorm_block_row(T* y, const T* x, const T* gamma, const T* beta, int length, float eps) {
  x += int64_t{blockIdx.x} * length, y += int64_t{blockIdx.x} * length;
  float sum = 0, squares = 0;
  for (int i = threadIdx.x; i < length; i += kThreads) sum += wide(x[i]);
  const float mean = over_block(sum, Sum()) / length;
  for (int i = threadIdx.x; i < length; i += kThreads) squares += (wide(x[i]) - mean) * (wide(x[i]) - mean);
  const float scale = rsqrtf(over_block(squares, Sum()) / length + eps);
  for (int i = threadIdx.x; i < length; i += kThreads)
    y[i] = narrow<T>((wide(x[i]) - mean) * scale * wide(gamma[i]) + wide(beta[i]));
}

template <class T>
__global__ void reduce_sum_block_row(T* y, const T* x, int length) {
  x += int64_t{blockIdx.x} * length;
  float sum = 0;
  for (int i = threadIdx.x; i < length; i += kThreads) sum += wide(x[i]);
  sum = over_block(sum, Sum());
  if (threadIdx.x == 0) y[blockIdx.x] = narrow<T>(sum);
}

enum Map { kGeluErf, kGeluTanh, kSilu };

template <Map kMap>
__device__ float mapped(float x) {
  if (kMap == kSilu) return x / (1 + expf(-x));
  if (kMap == kGeluErf) return 0.5f * x * (1 + erff(x * 0.70710678f));
  return 0.5f * x * (1 + tanhf(0.79788456f * (x + 0.044715f * x * x * x)));
}

template <class T, Map kMap>
__global__ void map_elements(T* y, const T* x, int64_t count) {
  const int64_t i = int64_t{blockIdx.x} * kThreads + threadIdx.x;
  if (i < count) y[i] = narrow<T>(mapped<kMap>(wide(x[i])));
}

template <class T>
__global__ void embedding_block_row(T* y, const T* table, const int64_t* ids, int width) {
  const T* row = table + ids[blockIdx.x] * width;
  for (int i = threadIdx.x; i < width; i += kThreads) y[int64_t{blockIdx.x} * width + i] = row[i];
}

// x is [tokens, heads, head_dim]; a block turns one head of one token. Pairs are neighbours, or half a head apart.
template <class T>
__global__ void rope_block_head(T* y, const T* x, const float* cos, const float* sin, const int64_t* positions,
                                int heads, int head_dim, int pairs, bool neighbours) {
  const int64_t token = blockIdx.x / heads, position = positions[token];
  x += int64_t{blockIdx.x} * head_dim, y += int64_t{blockIdx.x} * head_dim;
  for (int i = threadIdx.x; i < pairs; i += blockDim.x) {
    const int first = neighbours ? 2 * i : i, second = neighbours ? 2 * i + 1 : i + pairs;
    const float c = cos[position * pairs + i], s = sin[position * pairs + i];
    y[first] = narrow<T>(wide(x[first]) * c - wide(x[second]) * s);
    y[second] = narrow<T>(wide(x[second]) * c + wide(x[first]) * s);
  }
  for (int i = 2 * pairs + threadIdx.x; i < head_dim; i += blockDim.x) y[i] = x[i];
}

// c = a b with a [m, k], b [k, n]; a thread makes one element.
template <class T>
__global__ void matmul_naive(T* c, const T* a, const T* b, int m, int n, int k) {
  const int col = blockIdx.x * 16 + threadIdx.x, row = blockIdx.y * 16 + threadIdx.y;
  if (row >= m || col >= n) return;
  float sum = 0;
  for (int i = 0; i < k; ++i) sum += wide(a[int64_t{row} * k + i]) * wide(b[int64_t{i} * n + col]);
  c[int64_t{row} * n + col] = narrow<T>(sum);
}

// The same from tiles of 32 x 32 that the block holds in shared memory.
template <class T>
__global__ void matmul_shared_tiles(T* c, const T* a, const T* b, int m, int n, int k) {
  __shared__ float left[32][32], right[32][33];
  const int col = blockIdx.x * 32 + threadIdx.x, row = blockIdx.y * 32 + threadIdx.y;
  float sum = 0;
  for (int start = 0; start < k; start += 32) {
    const int ka = start + threadIdx.x, kb = start + threadIdx.y;
    left[threadIdx.y][threadIdx.x] = row < m && ka < k ? wide(a[int64_t{row} * k + ka]) : 0;
    right[threadIdx.y][threadIdx.x] = kb < k && col < n ? wide(b[int64_t{kb} * n + col]) : 0;
    __syncthreads();
    for (int i = 0; i < 32; ++i) sum += left[threadIdx.y][i] * right[i][threadIdx.x];
    __syncthreads();  // the tiles are read before the next ones overwrite them
  }
  if (row < m && col < n) c[int64_t{row} * n + col] = narrow<T>(sum);
}

// 0: f32, 1: f16, 2: bf16.
template <class F>
int with_dtype(int dtype, F&& f) {
  if (dtype == 0)
    f(float{});
  else if (dtype == 1)
    f(__half{});
  else
    f(__nv_bfloat16{});
  return launched();
}

// --- empty -----------------------------------------------------------------------------------------------------------

template <int kBytes>
struct Parameters {
  char bytes[kBytes];
};

template <int kBytes>
__global__ void empty(Parameters<kBytes>) {}

template <int kBytes>
double seconds_per_launch(int count, cudaStream_t stream) {
  const auto start = std::chrono::steady_clock::now();
  for (int i = 0; i < count; ++i) empty<kBytes><<<1, 32, 0, stream>>>(Parameters<kBytes>{});
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count() / count;
}

}  // namespace

#define EXPORT extern "C" __attribute__((visibility("default")))

// variant 0: four pieces a thread; 1: one; 2: four, from as many blocks as run at once. bytes: a multiple of 16, of
// each tensor.
EXPORT int ceiling_copy(int variant, Piece* to, const Piece* from, int64_t bytes, cudaStream_t stream) {
  const int64_t n = bytes / 16;
  if (variant == 1)
    copy_pieces<1><<<grid<1>(n, false), kThreads, 0, stream>>>(to, from, n);
  else
    copy_pieces<4><<<grid<4>(n, variant == 2), kThreads, 0, stream>>>(to, from, n);
  return launched();
}

EXPORT int ceiling_two_reads(int variant, Piece* to, const Piece* a, const Piece* b, int64_t bytes,
                             cudaStream_t stream) {
  const int64_t n = bytes / 16;
  if (variant == 1)
    read_two_write_one<1><<<grid<1>(n, false), kThreads, 0, stream>>>(to, a, b, n);
  else
    read_two_write_one<2><<<grid<2>(n, variant == 2), kThreads, 0, stream>>>(to, a, b, n);
  return launched();
}

EXPORT int ceiling_read(int variant, Piece* sink, const Piece* from, int64_t bytes, cudaStream_t stream) {
  const int64_t n = bytes / 16;
  if (variant == 1)
    read_pieces<1><<<grid<1>(n, false), kThreads, 0, stream>>>(sink, from, n, 0x9e3779b9);
  else
    read_pieces<4><<<grid<4>(n, variant == 2), kThreads, 0, stream>>>(sink, from, n, 0x9e3779b9);
  return launched();
}

EXPORT int plain_softmax(int dtype, void* y, const void* x, int rows, int length, cudaStream_t stream) {
  return with_dtype(dtype, [&](auto t) {
    using T = decltype(t);
    softmax_block_row<<<rows, kThreads, 0, stream>>>(static_cast<T*>(y), static_cast<const T*>(x), length);
  });
}

EXPORT int plain_rmsnorm(int dtype, void* y, const void* x, const void* gamma, int rows, int length, float eps,
                         cudaStream_t stream) {
  return with_dtype(dtype, [&](auto t) {
    using T = decltype(t);
    rmsnorm_block_row<<<rows, kThreads, 0, stream>>>(static_cast<T*>(y), static_cast<const T*>(x),
                                                     static_cast<const T*>(gamma), length, eps);
  });
}

EXPORT int plain_layernorm(int dtype, void* y, const void* x, const void* gamma, const void* beta, int rows, int length,
                           float eps, cudaStream_t stream) {
  return with_dtype(dtype, [&](auto t) {
    using T = decltype(t);
    layernorm_block_row<<<rows, kThreads, 0, stream>>>(static_cast<T*>(y), static_cast<const T*>(x),
                                                       static_cast<const T*>(gamma), static_cast<const T*>(beta),
                                                       length, eps);
  });
}

EXPORT int plain_reduce_sum(int dtype, void* y, const void* x, int rows, int length, cudaStream_t stream) {
  return with_dtype(dtype, [&](auto t) {
    using T = decltype(t);
    reduce_sum_block_row<<<rows, kThreads, 0, stream>>>(static_cast<T*>(y), static_cast<const T*>(x), length);
  });
}

// map: 0 gelu by erf, 1 gelu by tanh, 2 silu.
EXPORT int plain_map(int dtype, int map, void* y, const void* x, int64_t count, cudaStream_t stream) {
  return with_dtype(dtype, [&](auto t) {
    using T = decltype(t);
    const unsigned blocks = blocks_for(count, kThreads);
    T* to = static_cast<T*>(y);
    const T* from = static_cast<const T*>(x);
    if (map == kGeluErf)
      map_elements<T, kGeluErf><<<blocks, kThreads, 0, stream>>>(to, from, count);
    else if (map == kGeluTanh)
      map_elements<T, kGeluTanh><<<blocks, kThreads, 0, stream>>>(to, from, count);
    else
      map_elements<T, kSilu><<<blocks, kThreads, 0, stream>>>(to, from, count);
  });
}

EXPORT int plain_embedding(int dtype, void* y, const void* table, const int64_t* ids, int count, int width,
                           cudaStream_t stream) {
  return with_dtype(dtype, [&](auto t) {
    using T = decltype(t);
    embedding_block_row<<<count, kThreads, 0, stream>>>(static_cast<T*>(y), static_cast<const T*>(table), ids, width);
  });
}

EXPORT int plain_rope(int dtype, void* y, const void* x, const float* cos, const float* sin, const int64_t* positions,
                      int tokens, int heads, int head_dim, int pairs, int neighbours, cudaStream_t stream) {
  return with_dtype(dtype, [&](auto t) {
    using T = decltype(t);
    rope_block_head<<<tokens * heads, 64, 0, stream>>>(static_cast<T*>(y), static_cast<const T*>(x), cos, sin,
                                                       positions, heads, head_dim, pairs, neighbours != 0);
  });
}

EXPORT int plain_matmul(int dtype, int tiled, void* c, const void* a, const void* b, int m, int n, int k,
                        cudaStream_t stream) {
  return with_dtype(dtype, [&](auto t) {
    using T = decltype(t);
    const int side = tiled ? 32 : 16;
    const dim3 blocks(blocks_for(n, side), blocks_for(m, side)), threads(side, side);
    auto* kernel = tiled ? &matmul_shared_tiles<T> : &matmul_naive<T>;
    kernel<<<blocks, threads, 0, stream>>>(static_cast<T*>(c), static_cast<const T*>(a), static_cast<const T*>(b), m, n,
                                           k);
  });
}

// Seconds of the host for one launch with parameters of at least so many bytes (up to 4000), the mean of `count`.
EXPORT double launch_seconds(int bytes, int count, cudaStream_t stream) {
  if (bytes <= 64) return seconds_per_launch<64>(count, stream);
  if (bytes <= 128) return seconds_per_launch<128>(count, stream);
  if (bytes <= 256) return seconds_per_launch<256>(count, stream);
  if (bytes <= 512) return seconds_per_launch<512>(count, stream);
  if (bytes <= 1024) return seconds_per_launch<1024>(count, stream);
  return seconds_per_launch<4000>(count, stream);
}
