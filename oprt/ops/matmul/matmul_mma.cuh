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
};

// 16 lines by 16 steps, spread over a warp as mma.sync wants them: in each word of lane 4g + t two neighbouring steps
// of a line. Of a, the words are at (g, 2t), (g + 8, 2t), (g, 2t + 8), (g + 8, 2t + 8). Of b they are at (g, 2t),
// (g, 2t + 8), (g + 8, 2t), (g + 8, 2t + 8): mma.sync takes 8 of its lines, whose two words must be neighbours.
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

// ldmatrix: four 8 by 8 parts, whose rows lie where lanes 0 to 7, 8 to 15, 16 to 23 and 24 to 31 say.
template <bool kTurned>
__device__ __forceinline__ Fragment load_fragment(unsigned from) {
  Fragment part{};
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
  if constexpr (kTurned)
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(part.words[0]), "=r"(part.words[1]), "=r"(part.words[2]), "=r"(part.words[3])
                 : "r"(from));
  else
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(part.words[0]), "=r"(part.words[1]), "=r"(part.words[2]), "=r"(part.words[3])
                 : "r"(from));
#endif
  return part;
}

// kSteps: rows are lines, else steps. kOfA: fragments have the order of a's words.
template <int kLines, int kDepth, bool kSteps, bool kOfA>
struct SharedTile {
  static constexpr int kRows = kSteps ? kLines : kDepth, kWidth = kSteps ? kDepth : kLines;  // in shared memory
  static constexpr int kAcross = kWidth / 8;                                                 // 16-byte words of a row
  static constexpr int kWords = kRows * kAcross, kBytes = kWords * 16;

  // Words are exchanged within a row so that the same word of 8 neighbouring rows, which ldmatrix reads at once, lies
  // in 8 different groups of 4 banks. Without: 4 to 8 wavefronts for one.
  static __device__ __forceinline__ unsigned word(unsigned row, unsigned column) {
    constexpr unsigned kRowsOf128Bytes = kAcross >= 8 ? 1 : 8 / kAcross;
    constexpr unsigned kGroups = kAcross >= 8 ? 8 : kAcross;
    return row * kAcross + (column ^ row / kRowsOf128Bytes % kGroups);
  }

  // What a thread brings of a factor's tiles, which follow each other along the steps: words that are kBeside apart in
  // a row and rows that are kDown apart, so that they lie at fixed distances from each other in shared memory. Zeros
  // where the matrix has ended. kAligned: neighbours are side by side, and all runs of them are whole words.
  template <class T, int kThreads, bool kAligned>
  class Feeder {
    static constexpr int kBeside = kAcross < 8 ? kAcross : 8, kDown = kThreads / kBeside;
    static constexpr int kTimes = kAcross / kBeside, kEach = kRows / kDown * kTimes;
    static_assert(kDown % 8 == 0 && kRows % kDown == 0 && kThreads % kBeside == 0);
    const Lines<T>& factor_;
    const int row_ = threadIdx.x / kBeside, column_ = threadIdx.x % kBeside * 8;  // of the first word
    const int64_t down_ = kSteps ? factor_.line_stride : factor_.step_stride;
    const int64_t along_ = kSteps ? factor_.step_stride : factor_.line_stride;
    uint4* const to_;
    const T* from_;

   public:
    __device__ __forceinline__ Feeder(uint4* stages, const Lines<T>& factor)
        : factor_(factor),
          to_(stages + word(row_, column_ / 8)),
          from_(factor.data + factor.line0 * factor.line_stride + row_ * down_ + column_ * along_) {}

    // The next tile, whose steps begin at step0.
    __device__ __forceinline__ void feed(int stage, int64_t step0) {
      uint4* const to = to_ + stage * kWords;
      const int64_t row0 = kSteps ? factor_.line0 : step0, column0 = kSteps ? step0 : factor_.line0;
      const int rows = left(kSteps ? factor_.lines : factor_.steps, row0, kRows);
      // 8 more: whether a word's neighbours may be read.
      const int columns = left(kSteps ? factor_.steps : factor_.lines, column0, kWidth + 8);
      if (kAligned) {
#pragma unroll
        for (int i = 0; i < kEach; ++i)
          copy_async<16>(to + in_tile(i), in_factor(i),
                         row_ + down(i) < rows && column_ + across(i) < columns ? 16 : 0);
      } else {
        // In batches, whose loads are on their way together.
        constexpr int kBatch = kEach < 4 ? kEach : 4;
        static_assert(kEach % kBatch == 0);
#pragma unroll 1
        for (int i = 0; i < kEach; i += kBatch) {
          AnyWord batch[kBatch];
#pragma unroll
          for (int j = 0; j < kBatch; ++j) {
            const int column = column_ + across(i + j), after = columns - column - 8;
            const int present = row_ + down(i + j) < rows ? max(min(columns - column, 8), 0) : 0;
            batch[j].ask(in_factor(i + j), along_, present, column0 + column, after);
          }
#pragma unroll
          for (int j = 0; j < kBatch; ++j) to[in_tile(i + j)] = batch[j].get(in_factor(i + j), along_);
        }
      }
      from_ += kDepth * factor_.step_stride;
    }

   private:
    // The i-th word's distance from the first, in rows and in elements of a row.
    static __device__ __forceinline__ int down(int i) { return i / kTimes * kDown; }
    static __device__ __forceinline__ int across(int i) { return i % kTimes * kBeside * 8; }
    static __device__ __forceinline__ int in_tile(int i) { return down(i) * kAcross + across(i) / 8; }
    __device__ __forceinline__ const T* in_factor(int i) const { return from_ + down(i) * down_ + across(i) * along_; }
    static __device__ __forceinline__ int left(int64_t of, int64_t from, int at_most) {
      return static_cast<int>(max(min(of - from, int64_t{at_most}), int64_t{0}));
    }
  };

  // The fragments of kCount * 16 lines. A lane keeps the addresses in the first stage of up to 4 fragments that lie
  // side by side, whose words are exchanged; all others lie at fixed distances from these.
  template <int kCount>
  struct Reader {
    static constexpr int kSideBySide = kSteps ? kDepth / 16 : kCount, kAddresses = kSideBySide < 4 ? kSideBySide : 4;
    static_assert(kSteps || kCount <= 4);  // else line0 must be a multiple of 64: the exchanged words end there
    unsigned addresses[kAddresses];

    __device__ __forceinline__ Reader(const uint4* stages, int line0, int lane) {
      // The four 8 by 8 parts of a fragment, whose rows are read by lanes 0 to 7, 8 to 15, ...: down first, or across.
      constexpr bool kDownFirst = kSteps == kOfA;
      const int down = kDownFirst ? lane % 16 : lane % 8 + lane / 16 * 8;
      const int across = kDownFirst ? lane / 16 : lane / 8 % 2;
#pragma unroll
      for (int i = 0; i < kAddresses; ++i)
        addresses[i] =
            shared_address(stages + word(kSteps ? line0 + down : down, (kSteps ? 0 : line0 / 8) + 2 * i + across));
    }

    __device__ __forceinline__ void read(int stage, int step, Fragment (&parts)[kCount]) const {
#pragma unroll
      for (int i = 0; i < kCount; ++i) {
        const int beside = kSteps ? step / 16 : i, below = kSteps ? i : step / 16;
        const unsigned from = addresses[beside % 4] + stage * kBytes + (below * 16 * kAcross + beside / 4 * 8) * 16;
        parts[i] = load_fragment<!kSteps>(from);
      }
    }
  };
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
        : "r"(a.words[0]), "r"(a.words[1]), "r"(a.words[2]), "r"(a.words[3]), "r"(b.words[2 * half]),
          "r"(b.words[2 * half + 1]));
  else
    asm("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
        "{%0, %1, %2, %3};"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
        : "r"(a.words[0]), "r"(a.words[1]), "r"(a.words[2]), "r"(a.words[3]), "r"(b.words[2 * half]),
          "r"(b.words[2 * half + 1]));
#endif
}

}  // namespace oprt
