// The matrices of a product as the kernels see them, and how a sum becomes an element of out.
#pragma once

#include "oprt/device/activations.cuh"
#include "oprt/device/launch.cuh"
#include "oprt/device/nest.h"
#include "oprt/device/vector.cuh"
#include "oprt/ops/matmul/matmul_plan.h"

namespace oprt {

template <class T>
struct Matrices {
  Nest<uint64_t, 3> batch;         // out, a, b
  Divider<uint64_t> across, down;  // tiles (naive: elements) along n, and along m
  int64_t m, n, k;
  MatrixStrides out_strides, a_strides, b_strides, bias_strides;
  oprt_activation_t activation;
  bool a_aligned, b_aligned;  // lines or steps are contiguous, and all of them start at a multiple of 16 bytes
  T* out;
  const T* a;
  const T* b;
  const T* bias;  // null: none

  // The tile of a block, or the element of a thread; the pointers are moved to its batch.
  struct Place {
    int64_t row, column;  // in tiles
    T* out;
    const T* a;
    const T* b;
  };
  __device__ Place place(uint64_t index) const {
    const uint64_t down_index = across.divide(index);
    uint64_t row = down_index;
    const uint64_t in_batch = down.divide(row);
    int64_t at[3];
    batch.offsets(in_batch, at);
    return {static_cast<int64_t>(row), static_cast<int64_t>(index), out + at[0], a + at[1], b + at[2]};
  }

  // The same for tiles, in an order that asks DRAM for a and b less often: bands of kBand rows of tiles, each column by
  // column, so that the blocks that run at once share few rows and few columns. Bands of 4, 8 and 16 take the same time
  // at 4096^3 in 16 bits, where L2 holds most of a and b.
  __device__ Place tile(uint32_t index) const {
    constexpr uint32_t kBand = 8;
    Place at = place(index);
    const uint32_t columns = static_cast<uint32_t>(across.divisor), rows = static_cast<uint32_t>(down.divisor);
    const uint32_t band = min(kBand, rows);
    const uint32_t in_matrix = static_cast<uint32_t>(at.row) * columns + static_cast<uint32_t>(at.column);
    const uint32_t first = in_matrix / (band * columns) * band, in_band = in_matrix - first * columns;
    const uint32_t height = min(band, rows - first);
    at.row = first + in_band % height;
    at.column = in_band / height;
    return at;
  }

  // out's kCount neighbours from (row, column) on, of which `present` are there.
  template <int kCount>
  __device__ __forceinline__ void finish(T* to, int64_t row, int64_t column, int present, float (&sums)[kCount]) const {
    if (bias) {
      const T* from = bias + row * bias_strides.row + column * bias_strides.column;
#pragma unroll
      for (int i = 0; i < kCount; ++i)
        if (i < present) sums[i] += widen(from[i * bias_strides.column]);
    }
    switch (activation) {
      case OPRT_ACTIVATION_NONE: break;
      case OPRT_ACTIVATION_RELU: each(Relu(), sums); break;
      case OPRT_ACTIVATION_GELU_ERF: each(GeluErf<float>(), sums); break;
      case OPRT_ACTIVATION_GELU_TANH: each(GeluTanh<float>(), sums); break;
      case OPRT_ACTIVATION_SILU: each(Silu<float>(), sums); break;
    }
    T* at = to + row * out_strides.row + column * out_strides.column;
    if (kCount == 1 || present < kCount || !stores_words<kCount>(at)) {
      store_each<kCount>(at, out_strides.column, present, sums);
    } else if constexpr (kCount > 1) {
      const uint4 word = pack_words<T>(sums).word[0];
      if constexpr (sizeof(T) == 2)
        __stwb(reinterpret_cast<uint2*>(at), make_uint2(word.x, word.y));
      else
        store_word(at, word);
    }
  }

 private:
  template <class F, int kCount>
  static __device__ __forceinline__ void each(const F& f, float (&x)[kCount]) {
#pragma unroll
    for (int i = 0; i < kCount; ++i) x[i] = f(x[i]);
  }
  template <int kCount>
  __device__ bool stores_words(const T* at) const {
    return out_strides.column == 1 && reinterpret_cast<uintptr_t>(at) % (kCount * sizeof(T)) == 0;
  }
};

// A warp's kRows by kColumns sums in shared memory on their way to out. Lanes that held neighbouring rows write them
// together: groups of 8 columns are exchanged so that those of 4 neighbouring rows lie in different banks.
template <int kRows, int kColumns>
struct StagedSums {
  static constexpr int kBytes = kRows * kColumns * static_cast<int>(sizeof(float));
  float* sums;

  // Of the first of up to 4 neighbours: column is a multiple of how many they are.
  __device__ __forceinline__ float* at(int row, int column) const {
    return sums + row * kColumns + (column ^ (row + row / 4 * 2) % 4 * 8 % kColumns);
  }

  // The warp's lanes take four neighbours each. A loop that is not unrolled: the activations are long.
  template <class T>
  __device__ __forceinline__ void finish(const Matrices<T>& plan, T* out, int64_t row0, int64_t column0) const {
    constexpr int kAcross = kColumns / 4;
    static_assert(kRows * kAcross % kLanes == 0);
    __syncwarp();  // every lane's sums are there
#pragma unroll 1
    for (int i = threadIdx.x % kLanes; i < kRows * kAcross; i += kLanes) {
      const int row = i / kAcross, column = i % kAcross * 4;
      const int64_t left = plan.n - column0 - column;
      if (row0 + row >= plan.m || left <= 0) continue;
      const float4 four = *reinterpret_cast<const float4*>(at(row, column));
      float x[4] = {four.x, four.y, four.z, four.w};
      plan.finish(out, row0 + row, column0 + column, static_cast<int>(min(left, int64_t{4})), x);
    }
    __syncwarp();  // and have been read
  }
};

}  // namespace oprt
