// Pitched memory: two- and three-dimensional allocations, copies and fills, and a stencil over them.
#include <vector>

#include "check.h"

__global__ void stencil(cudaPitchedPtr out, cudaPitchedPtr in, cudaExtent extent) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  const int width = int(extent.width / sizeof(float)), height = int(extent.height), depth = int(extent.depth);
  if (x >= width || y >= height) return;
  const auto at = [&](cudaPitchedPtr p, int xx, int yy, int zz) -> float& {
    return reinterpret_cast<float*>(static_cast<char*>(p.ptr) + (size_t(zz) * height + yy) * p.pitch)[xx];
  };
  for (int z = 0; z < depth; ++z) {
    float sum = at(in, x, y, z);
    if (x > 0) sum += at(in, x - 1, y, z);
    if (y > 0) sum += at(in, x, y - 1, z);
    if (z > 0) sum += at(in, x, y, z - 1);
    at(out, x, y, z) = sum;
  }
}

int main() {
  const int width = 37, height = 11, depth = 5;
  const cudaExtent extent = make_cudaExtent(width * sizeof(float), height, depth);
  std::vector<float> host(width * height * depth), back(host.size());
  for (size_t i = 0; i < host.size(); ++i) host[i] = float(i % 50);
  cudaPitchedPtr in, out;
  CUDA(cudaMalloc3D(&in, extent));
  CUDA(cudaMalloc3D(&out, extent));
  EXPECT(in.pitch >= extent.width);
  CUDA(cudaMemset3D(out, 0, extent));
  cudaMemcpy3DParms copy{};
  copy.srcPtr = make_cudaPitchedPtr(host.data(), width * sizeof(float), width, height);
  copy.dstPtr = in;
  copy.extent = extent;
  copy.kind = cudaMemcpyHostToDevice;
  CUDA(cudaMemcpy3D(&copy));
  stencil<<<dim3((width + 15) / 16, (height + 7) / 8), dim3(16, 8)>>>(out, in, extent);
  copy.srcPtr = out;
  copy.dstPtr = make_cudaPitchedPtr(back.data(), width * sizeof(float), width, height);
  copy.kind = cudaMemcpyDeviceToHost;
  CUDA(cudaMemcpy3D(&copy));
  const auto at = [&](int x, int y, int z) { return host[(z * height + y) * width + x]; };
  for (int z = 0; z < depth; ++z) {
    for (int y = 0; y < height; ++y) {
      for (int x = 0; x < width; ++x) {
        const float sum =
            at(x, y, z) + (x ? at(x - 1, y, z) : 0) + (y ? at(x, y - 1, z) : 0) + (z ? at(x, y, z - 1) : 0);
        EXPECT(back[(z * height + y) * width + x] == sum);
      }
    }
  }

  char* image;
  size_t pitch;
  CUDA(cudaMallocPitch(&image, &pitch, 100, 20));
  CUDA(cudaMemset2D(image, pitch, 1, 100, 20));
  CUDA(cudaMemset2D(image + 5 * pitch + 10, pitch, 2, 50, 3));  // a rectangle in it
  std::vector<char> flat(100 * 20);
  CUDA(cudaMemcpy2D(flat.data(), 100, image, pitch, 100, 20, cudaMemcpyDeviceToHost));
  int twos = 0;
  for (char c : flat) twos += c == 2;
  EXPECT(twos == 150 && flat[5 * 100 + 10] == 2 && flat[5 * 100 + 60] == 1);
  EXPECT(cudaMemcpy2D(flat.data(), 99, image, pitch, 100, 20, cudaMemcpyDeviceToHost) == cudaErrorInvalidPitchValue);
  (void)cudaGetLastError();
  CUDA(cudaFree(in.ptr));
  CUDA(cudaFree(out.ptr));
  CUDA(cudaFree(image));
  print_bits("stencil", back.data(), back.size());
  std::printf("pitched_memory: %d x %d x %d, %d twos\n", width, height, depth, twos);
}
