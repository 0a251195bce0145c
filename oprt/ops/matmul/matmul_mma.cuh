// Tiles of 16-bit matrices in shared memory, and what tensor cores take from them and make of it.
//
// Both factors are seen as lines (rows of a, columns of b) by steps (along k). A tile keeps them as they lie in memory:
// rows of it are lines where a line's steps are neighbours, else steps; ldmatrix turns the latter on the way to
// registers.
#pragma once

#include "oprt/device/async_copy.cuh"
#include "oprt/device/vector.cuh"

namespace oprt {

// A factor; its lines from line0 on are a block's.
template <class T>
struct Lines {
  const T* data;
  int64_t line0, lines, steps;
  int64_t line_stride, step_stride;
  bool aligned;  // neighbours lie side by side, and runs of them start at multiples of 16 bytes
};

// 16 lines by 16 steps, spread over a warp as mma.sync wants them: lane 4g + t holds of line g + 8 (i % 2) the steps
// 2t + 8 (i / 2) and the next in word i.
struct Fragment {
  uint32_t words[4];
};

// Eight 16-bit elements `stride` apart, of which the first `present` are there, anywhere. Neighbours come as a window
// of the aligned words around them, which are read only where `before` and `after`, the elements of the same run on
// either side, allow it; others one by one.
struct AnyWord {
  uint4 around[2];
  int skew, present;
  bool whole;

  template <class T>
  __device__ __forceinline__ void ask(const T* from, int64_t stride, int count, int64_t before, int64_t after) {
    skew = skew_of(from);
    present = count;
    whole = stride == 1 && count == 8 && (skew == 0 || (before >= skew && after >= 8 - skew));
    const uint4* const aligned = reinterpret_cast<const uint4*>(from - skew);
    around[0] = whole ? aligned[0] : uint4{};
    around[1] = whole && skew ? aligned[1] : uint4{};
  }
  template <class T>
  __device__ __forceinline__ uint4 get(const T* from, int64_t stride) const {
    if (whole) {
      uint4 word[1];
      window(around, 2u * skew, word);
      return word[0];
    }
    float x[8];
    load_each<8>(from, stride, present, 0.0f, x);
    return pack<T>(x);
  }
};

template <int kLines, int kDepth, bool kSteps>
struct SharedTile {
  static constexpr int kRows = kSteps ? kLines : kDepth, kWidth = kSteps ? kDepth : kLines;  // in shared memory
  static constexpr int kAcross = kWidth / 8;                                                 // 16-byte words of a row
  static constexpr int kWords = kRows * kAcross;

  // Words are exchanged within a row so that the same word of 8 neighbouring rows, which ldmatrix reads at once, lies
  // in 8 different groups of 4 banks. Without: 4 to 8 wavefronts for one.
  static __device__ __forceinline__ int word(int row, int column) {
    constexpr int kRowsOf128Bytes = kAcross >= 8 ? 1 : 8 / kAcross;
    constexpr int kGroups = kAcross >= 8 ? 8 : kAcross;
    return row * kAcross + (column ^ row / kRowsOf128Bytes % kGroups);
  }

  // The block's threads bring the steps from step0 on, zeros where the matrix has ended.
  template <int kThreads, class T>
  static __device__ __forceinline__ void fetch(uint4* tile, const Lines<T>& from, int64_t step0) {
    static_assert(kWords % kThreads == 0 && kThreads % kAcross == 0);
    const int64_t row0 = kSteps ? from.line0 : step0, rows = kSteps ? from.lines : from.steps;
    const int64_t column0 = kSteps ? step0 : from.line0, columns = kSteps ? from.steps : from.lines;
    const int64_t row_stride = kSteps ? from.line_stride : from.step_stride;
    const int64_t column_stride = kSteps ? from.step_stride : from.line_stride;
    const int first = threadIdx.x / kAcross, across = threadIdx.x % kAcross;
    const int64_t column = column0 + across * 8;
    const T* data = from.data + (row0 + first) * row_stride + column * column_stride;
    const int present = static_cast<int>(max(min(columns - column, int64_t{8}), int64_t{0}));
    const int rows_left = static_cast<int>(min(rows - row0, int64_t{kRows}));
    constexpr int kEach = kThreads / kAcross;  // rows between a thread's words
    if (from.aligned) {
#pragma unroll
      for (int i = 0; i < kRows / kEach; ++i) {
        const int row = first + i * kEach;
        copy_async<16>(tile + word(row, across), data + i * kEach * row_stride, row < rows_left ? 2 * present : 0);
      }
    } else {
      // In batches, whose loads are on their way together.
      constexpr int kBatch = kRows / kEach < 4 ? kRows / kEach : 4;
#pragma unroll 1
      for (int i = 0; i < kRows / kEach; i += kBatch) {
        AnyWord batch[kBatch];
#pragma unroll
        for (int j = 0; j < kBatch; ++j) {
          const int row = first + (i + j) * kEach;
          batch[j].ask(data + (i + j) * kEach * row_stride, column_stride, row < rows_left ? present : 0, column,
                       columns - column - 8);
        }
#pragma unroll
        for (int j = 0; j < kBatch; ++j)
          tile[word(first + (i + j) * kEach, across)] =
              batch[j].get(data + (i + j) * kEach * row_stride, column_stride);
      }
    }
  }

  static __device__ __forceinline__ Fragment fragment(const uint4* tile, int line, int step, int lane) {
    const int row = kSteps ? line + lane % 16 : step + lane % 8 + lane / 16 * 8;
    const int column = kSteps ? step / 8 + lane / 16 : line / 8 + lane / 8 % 2;
    Fragment part;
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
    const unsigned from = static_cast<unsigned>(__cvta_generic_to_shared(tile + word(row, column)));
    if constexpr (kSteps)
      asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                   : "=r"(part.words[0]), "=r"(part.words[1]), "=r"(part.words[2]), "=r"(part.words[3])
                   : "r"(from));
    else
      asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                   : "=r"(part.words[0]), "=r"(part.words[1]), "=r"(part.words[2]), "=r"(part.words[3])
                   : "r"(from));
#endif
    return part;
  }
};

// d += a b for the 16 rows of a and the 8 columns of b's lines from 8 * half on. Lane 4g + t holds of d (g, 2t),
// (g, 2t + 1), (g + 8, 2t), (g + 8, 2t + 1).
template <class T>
__device__ __forceinline__ void multiply_add(float (&d)[4], const Fragment& a, const Fragment& b, int half) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
  if constexpr (std::is_same_v<T, f16>)
    asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
        "{%0, %1, %2, %3};"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
        : "r"(a.words[0]), "r"(a.words[1]), "r"(a.words[2]), "r"(a.words[3]), "r"(b.words[half]),
          "r"(b.words[half + 2]));
  else
    asm("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
        "{%0, %1, %2, %3};"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
        : "r"(a.words[0]), "r"(a.words[1]), "r"(a.words[2]), "r"(a.words[3]), "r"(b.words[half]),
          "r"(b.words[half + 2]));
#endif
}

}  // namespace oprt
