// Shared memory: a transpose by padded tiles, and one whose tile needs more shared memory than 48 KiB.
#include <vector>

#include "check.h"

constexpr int kTile = 32;

__global__ void transpose(float* out, const float* in, int rows, int columns) {
  __shared__ float tile[kTile][kTile + 1];
  int x = blockIdx.x * kTile + threadIdx.x, y = blockIdx.y * kTile + threadIdx.y;
  for (int k = 0; k < kTile; k += blockDim.y) {
    if (x < columns && y + k < rows) tile[threadIdx.y + k][threadIdx.x] = in[(y + k) * columns + x];
  }
  __syncthreads();
  x = blockIdx.y * kTile + threadIdx.x;
  y = blockIdx.x * kTile + threadIdx.y;
  for (int k = 0; k < kTile; k += blockDim.y) {
    if (x < rows && y + k < columns) out[(y + k) * rows + x] = tile[threadIdx.x][threadIdx.y + k];
  }
}

// One block, one tile of side x side floats.
__global__ void transpose_whole(float* out, const float* in, int side) {
  extern __shared__ float whole[];
  for (int i = threadIdx.x; i < side * side; i += blockDim.x) whole[i] = in[i];
  __syncthreads();
  for (int i = threadIdx.x; i < side * side; i += blockDim.x) out[i] = whole[i % side * side + i / side];
}

int main() {
  const int rows = 100, columns = 77, side = 125;  // 62500 bytes
  std::vector<float> in(side * side), out(side * side);
  for (size_t i = 0; i < in.size(); ++i) in[i] = float(i);
  float *device_in, *device_out;
  CUDA(cudaMalloc(&device_in, in.size() * sizeof(float)));
  CUDA(cudaMalloc(&device_out, in.size() * sizeof(float)));
  CUDA(cudaMemcpy(device_in, in.data(), in.size() * sizeof(float), cudaMemcpyHostToDevice));
  const dim3 grid((columns + kTile - 1) / kTile, (rows + kTile - 1) / kTile), block(kTile, 8);
  transpose<<<grid, block>>>(device_out, device_in, rows, columns);
  CUDA(cudaMemcpy(out.data(), device_out, rows * columns * sizeof(float), cudaMemcpyDeviceToHost));
  for (int r = 0; r < rows; ++r) {
    for (int c = 0; c < columns; ++c) EXPECT(out[c * rows + r] == in[r * columns + c]);
  }
  print_bits("tiles", out.data(), rows * columns);

  const int bytes = side * side * int(sizeof(float));
  CUDA(cudaFuncSetAttribute(transpose_whole, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes));
  transpose_whole<<<1, 256, bytes>>>(device_out, device_in, side);
  CUDA(cudaGetLastError());
  CUDA(cudaMemcpy(out.data(), device_out, bytes, cudaMemcpyDeviceToHost));
  for (int i = 0; i < side * side; ++i) EXPECT(out[i] == in[i % side * side + i / side]);
  cudaFuncAttributes attributes;
  CUDA(cudaFuncGetAttributes(&attributes, transpose));
  EXPECT(attributes.sharedSizeBytes == kTile * (kTile + 1) * sizeof(float));
  CUDA(cudaFree(device_in));
  CUDA(cudaFree(device_out));
  print_bits("whole", out.data(), side * side);
  std::printf("transpose: %d x %d, and %d bytes of shared memory\n", rows, columns, bytes);
}
