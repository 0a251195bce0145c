// How a loop is walked on a GPU: which path it takes, and where the i-th of its elements or rows lies. Pure host
// functions of the loop and of addresses, and plain data for kernels' arguments. C++17, no vendor's header.
#pragma once

#include <cstdint>
#include <initializer_list>

#include "oprt/core/loop.h"
#include "oprt/device/divide.h"

namespace oprt {

constexpr int kPieceBytes = 16;  // the widest access of a thread

inline bool is_aligned(const void* pointer) { return reinterpret_cast<uintptr_t>(pointer) % kPieceBytes == 0; }

//   path         when                                               a thread takes
//   contiguous   all strides 1, every operand at a 16-byte address  pieces of 16 bytes
//                (or less than a piece in all)
//   unaligned    all strides 1                                      pieces of out's 16-byte words
//   rows         the innermost axis fills a piece and has stride    the same, of a row
//                1 (inputs: or 0)
//   transpose    out runs along one axis and inputs along another   squares of pieces (transpose.cuh)
//   strided      anything else                                      one element
enum class LoopPath { kContiguous, kUnaligned, kRows, kTranspose, kStrided };

// An input that runs along another axis than out does.
OPRT_HOST_DEVICE inline bool is_turned(int64_t inner_stride) { return inner_stride != 0 && inner_stride != 1; }

// The axis that turned inputs run along with stride 1 while out does along the innermost, and other inputs too or not
// at all; both axes are long enough for tiles. -1 where there is none.
inline int turned_axis(const Loop& loop) {
  constexpr int64_t kLeast = 16;  // below, most of a tile is empty
  const int inner = loop.rank - 1;
  if (loop.rank < 2 || loop.strides[0][inner] != 1 || loop.shape[inner] < kLeast) return -1;
  for (int d = 0; d < inner; ++d) {
    bool fits = loop.shape[d] >= kLeast;
    for (int k = 1; k < loop.operands; ++k)
      fits = fits && (!is_turned(loop.strides[k][inner]) || loop.strides[k][d] == 1);
    if (fits) return d;
  }
  return -1;
}

// piece: elements. data: the operands' first elements.
inline LoopPath loop_path(const Loop& loop, int64_t piece, const void* const* data) {
  if (is_contiguous(loop)) {
    bool aligned = true;
    if (loop.count < piece) return LoopPath::kContiguous;
    for (int i = 0; i < loop.operands; ++i) aligned = aligned && is_aligned(data[i]);
    return aligned ? LoopPath::kContiguous : LoopPath::kUnaligned;
  }
  const int inner = loop.rank - 1;
  bool rows = loop.shape[inner] >= piece && loop.strides[0][inner] == 1;
  for (int i = 1; i < loop.operands; ++i) rows = rows && (loop.strides[i][inner] == 0 || loop.strides[i][inner] == 1);
  if (rows) return LoopPath::kRows;
  return turned_axis(loop) >= 0 ? LoopPath::kTranspose : LoopPath::kStrided;
}

// Every row of an operand starts at a 16-byte address: the first, and the strides of the axes outside the innermost.
// `outer` is how many those are.
inline bool rows_aligned(const Loop& loop, int operand, const void* first, int64_t element_bytes, int outer) {
  bool aligned = is_aligned(first);
  for (int d = 0; d < outer; ++d) aligned = aligned && loop.strides[operand][d] * element_bytes % kPieceBytes == 0;
  return aligned;
}

// Whether every row of two operands lies as far past a 16-byte address; the loop is one over rows.
inline bool rows_alike(const Loop& rows, int one, const void* first_of_one, int other, const void* first_of_other,
                       int64_t element_bytes) {
  bool alike =
      (reinterpret_cast<uintptr_t>(first_of_one) - reinterpret_cast<uintptr_t>(first_of_other)) % kPieceBytes == 0;
  for (int d = 0; d < rows.rank; ++d)
    alike = alike && (rows.strides[one][d] - rows.strides[other][d]) * element_bytes % kPieceBytes == 0;
  return alike;
}

// The outer `rank` axes of a loop as one index, for kernels. U as Divider's: uint32_t where there are fewer than 2^31.
// What belongs to an axis lies together: a kernel's first look at each 64 bytes of its arguments is a miss.
template <class U, int kOperands>
struct Nest {
  struct Axis {
    int64_t strides[kOperands];
    Divider<U> length;
  };
  int32_t rank;
  Axis axes[OPRT_MAX_DIMS];

  Nest(const Loop& loop, int outer) : rank(outer) {
    for (int d = 0; d < outer; ++d) {
      axes[d].length = Divider<U>(loop.shape[d]);
      for (int k = 0; k < kOperands; ++k) axes[d].strides[k] = loop.strides[k][d];
    }
  }

  // Offsets of the operands, in elements from the loop's first.
  OPRT_HOST_DEVICE void offsets(U index, int64_t (&at)[kOperands]) const {
    for (int k = 0; k < kOperands; ++k) at[k] = 0;
    for (int d = rank - 1; d > 0; --d) {
      const U outside = axes[d].length.divide(index);
      for (int k = 0; k < kOperands; ++k) at[k] += static_cast<int64_t>(index) * axes[d].strides[k];
      index = outside;
    }
    if (rank > 0)
      for (int k = 0; k < kOperands; ++k) at[k] += static_cast<int64_t>(index) * axes[0].strides[k];
  }
};

// A loop of some of another's operands, in the order given: what a Nest over those alone is made of.
inline Loop loop_of(const Loop& loop, std::initializer_list<int> operands) {
  Loop some = loop;
  some.operands = 0;
  for (int from : operands) {
    for (int d = 0; d < OPRT_MAX_DIMS; ++d) some.strides[some.operands][d] = loop.strides[from][d];
    some.offset[some.operands++] = loop.offset[from];
  }
  return some;
}

// Calls f with a value of the index type that a count of threads needs.
template <class F>
decltype(auto) with_index_type(int64_t count, F&& f) {
  return count < int64_t{1} << 31 ? f(uint32_t{}) : f(uint64_t{});
}

}  // namespace oprt
