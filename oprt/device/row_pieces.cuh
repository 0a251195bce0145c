// What a thread of the row skeleton (device/rows.cuh) does with its pieces of a row: finds, loads, holds and stores
// them.
//
//   plain rows   every piece of every operand, weights too, is 16 whole bytes at a 16-byte address; rows lie along one
//                axis, and weights are all there, of one type. Held as words, in registers or in shared memory.
//   loose rows   any others. The 16-byte words around them land in shared memory, a row's ends by elements; pieces are
//                windows of two of those words, held in registers. Outputs go the same way back.
//
// Both do the same arithmetic in the same order. Apart, because a small call is as fast as its code is short.
#pragma once

#include "oprt/core/norm.h"
#include "oprt/device/async_copy.cuh"
#include "oprt/device/launch.cuh"
#include "oprt/device/reduce.cuh"
#include "oprt/device/vector.cuh"

namespace oprt {

// A thread's elements of a row: kPieces pieces of kCount neighbours, Op::kMissing where the row has no such element.
// What may be asked of them, wherever Derived keeps them: x of a piece, and whether the row has its i-th element.
// kSlots: chains of a sum. Derived::kPlain: no piece is there in part; kSkips: pieces that are not there are not
// visited.
template <class Derived, int kPieces_, int kCount_, int kSlots = (kCount_ > 4 ? kCount_ : 4)>
struct Pieces {
  static constexpr int kPieces = kPieces_, kCount = kCount_;

  // Adds term(x) of all elements, in chains of at most 32 and then a tree. The missing ones of a piece that the row has
  // in part are added too.
  template <class Term>
  __device__ __forceinline__ float sum(const Term& term) const {
    return add([&](float sum, float x, bool) { return sum + term(x); });
  }
  // The same of the squares of value(x, whether the row has it). Fused by hand: what the compiler fuses may differ from
  // kernel to kernel, and with it the bits.
  template <class Value>
  __device__ __forceinline__ float squares(const Value& value) const {
    return add([&](float sum, float x, bool there) {
      const float v = value(x, there);
      return fmaf(v, v, sum);
    });
  }
  __device__ __forceinline__ float largest() const {
    float most = -INFINITY;
    each([&](int, float x, bool) { most = fmaxf(most, x); });
    return most;
  }

 private:
  template <class Next>
  __device__ __forceinline__ float add(const Next& next) const {
    float sums[kSlots] = {};
    each([&](int i, float x, bool there) { sums[i % kSlots] = next(sums[i % kSlots], x, there); });
#pragma unroll
    for (int width = kSlots / 2; width > 0; width /= 2)
#pragma unroll
      for (int i = 0; i < width; ++i) sums[i] += sums[i + width];
    return sums[0];
  }
  template <class Visit>
  __device__ __forceinline__ void each(const Visit& visit) const {
    const auto& held = static_cast<const Derived&>(*this);
    held.begin_pass();
#pragma unroll
    for (int p = 0; p < kPieces; ++p) {
      if (Derived::kSkips && !held.has(p, 0)) continue;
      float x[kCount];
      held.piece(p, x);
#pragma unroll
      for (int i = 0; i < kCount; ++i) visit(p * kCount + i, x[i], Derived::kPlain || held.has(p, i));
    }
  }
};

// Where a thread stands in its row or part.
struct HeldAt {
  int rank, size, length;
};

// In registers, as words.
template <class T, int kPieces, bool kPlain_>
struct Held : Pieces<Held<T, kPieces, kPlain_>, kPieces, kPieceElements<T>> {
  static constexpr bool kPlain = kPlain_, kSkips = true, kShared = false;
  static constexpr int kCount = kPieceElements<T>;
  mutable uint4 words[kPieces];
  HeldAt at;

  // The compiler would keep what one pass has unpacked for the next: more registers than there are.
  __device__ __forceinline__ void begin_pass() const {
#pragma unroll
    for (uint4& word : words) asm volatile("" : "+r"(word.x), "+r"(word.y), "+r"(word.z), "+r"(word.w));
  }
  __device__ __forceinline__ void piece(int p, float (&values)[kCount]) const { unpack<T>(words[p], values); }
  __device__ bool has(int p, int i) const { return (at.rank + p * at.size) * kCount + (kPlain ? 0 : i) < at.length; }
};

// In shared memory; of plain rows. No register waits for a load, so a multiprocessor has as many under way as its
// shared memory holds: 97 to 100 % of a copy's speed from 128 MB on, where registers reached 92 to 95.
template <class T, int kPieces>
struct HeldShared : Pieces<HeldShared<T, kPieces>, kPieces, kPieceElements<T>> {
  static constexpr bool kPlain = true, kSkips = true, kShared = true;
  static constexpr int kCount = kPieceElements<T>;
  uint4* own;  // the thread's first word of the row's, which are all of the first input, then of the second
  HeldAt at;

  __device__ uint4& word(int p) const { return own[p * at.size]; }
  __device__ void begin_pass() const { asm volatile("" ::: "memory"); }
  __device__ __forceinline__ void piece(int p, float (&values)[kCount]) const { unpack<T>(word(p), values); }
  __device__ bool has(int p, int) const { return (at.rank + p * at.size) * kCount < at.length; }
};

// Inputs of a row that are in shared memory at once: of the longest loose rows one after the other.
template <class H>
constexpr int inputs_at_once(int inputs) {
  return !H::kPlain && inputs * H::kPieces > 8 ? 1 : inputs;
}
// Words of it that a row takes: a loose one lies in one more of each input.
template <class H>
constexpr int row_words(int inputs, int size) {
  return inputs_at_once<H>(inputs) * (H::kPieces * size + (H::kPlain ? 0 : 1));
}

// A vector along the row.
struct RowWeight {
  const void* data;  // null: absent
  int64_t stride;    // elements
  bool is_f32;       // else of the rows' type
  bool aligned;      // stride 1 from a 16-byte address

  RowWeight() = default;
  RowWeight(const Weight& weight, const void* data)
      : data(data),
        stride(weight.stride),
        is_f32(weight.dtype == OPRT_DTYPE_F32),
        aligned(weight.stride == 1 && is_aligned(data)) {}
};

// The weights of `present` elements from the row's `begin`-th on; it has `left` from there on.
template <int kCount, class T>
__device__ __forceinline__ void load_weight(const RowWeight& weight, int64_t begin, int64_t left, int present,
                                            float otherwise, float (&w)[kCount]) {
  const auto load = [&](const auto* data) {
    if constexpr (kCount > 1) {
      if (weight.stride == 1 && present >= kCount)
        return load_words_anywhere<kCount>(data + begin, begin, left - kCount).unpack_to(w);
    }
    load_each(data + begin * weight.stride, weight.stride, present, otherwise, w);
  };
  if (!weight.data) {
#pragma unroll
    for (int i = 0; i < kCount; ++i) w[i] = otherwise;
  } else if (weight.is_f32) {
    load(static_cast<const float*>(weight.data));
  } else {
    load(static_cast<const T*>(weight.data));
  }
}

// What every kernel of the skeleton is given. Operands: the outputs, then the inputs. What plain rows need comes first
// and together: a kernel's first look at each 64 bytes of its arguments is a miss.
template <class T, class Op>
struct RowPlan {
  static constexpr int kOutputs = Op::kInputs, kOperands = 2 * Op::kInputs;

  T* data[kOperands];
  int64_t row_stride[kOperands];  // of plain rows, which lie along one axis
  int64_t count;                  // rows
  int64_t length;                 // elements of a row
  int64_t part_length;            // of a part; the last may have fewer
  Op op;
  int64_t parts;  // of a row
  Divider<uint64_t> by_parts;
  int64_t stride[kOperands];  // on the row's axis
  bool aligned[kOperands];    // every row at a 16-byte address, stride 1
  Nest<uint64_t, kOperands> rows;
};

// Where a thread stands: its row's first elements, and its part of the row.
template <class T, class Op, class Group, bool kPlain>
struct RowPart {
  bool active;  // there is such a row
  T* data[RowPlan<T, Op>::kOperands];
  int64_t begin;  // the part's first element
  int length;     // elements of the part
  int rank, size;

  __device__ RowPart(const RowPlan<T, Op>& plan, const Group& group, int64_t rows_block, int64_t part)
      : rank(group.rank()), size(group.size()) {
    const int64_t row = rows_block * group.rows() + group.row();
    active = row < plan.count;
    int64_t at[RowPlan<T, Op>::kOperands];
    if constexpr (kPlain) {
      for (int k = 0; k < RowPlan<T, Op>::kOperands; ++k) at[k] = row * plan.row_stride[k];
    } else {
      plan.rows.offsets(static_cast<uint64_t>(active ? row : 0), at);
    }
    for (int k = 0; k < RowPlan<T, Op>::kOperands; ++k) data[k] = plan.data[k] + at[k];
    begin = part * plan.part_length;
    length = static_cast<int>(plan.length - begin < plan.part_length ? plan.length - begin : plan.part_length);
  }

  // Elements that the lanes of a warp that share a row hold together, `lanes` of them.
  template <class H>
  __device__ __forceinline__ int of_lanes(int lanes) const {
    int count = 0;
#pragma unroll
    for (int p = 0; p < H::kPieces; ++p) {
      const int left = length - (rank / lanes * lanes + p * size) * H::kCount, most = lanes * H::kCount;
      count += left < 0 ? 0 : left < most ? left : most;
    }
    return count;
  }

  // Element of the row at which a thread's piece begins, and how many elements the part has from there on.
  template <int kCount>
  __device__ int64_t piece(int p, int* left) const {
    const int in_part = (rank + p * size) * kCount;
    *left = active ? length - in_part : 0;
    return begin + in_part;
  }
};

// The words of two inputs as the rounded sum of their elements.
template <class T>
__device__ __forceinline__ uint4 sum_words(const uint4& low, const uint4& high) {
  float x[kPieceElements<T>], more[kPieceElements<T>];
  unpack<T>(low, x);
  unpack<T>(high, more);
#pragma unroll
  for (int i = 0; i < kPieceElements<T>; ++i) x[i] += more[i];
  return pack<T>(x);
}

template <class Part>
__device__ __forceinline__ HeldAt held_at(const Part& part) {
  return {part.rank, part.size, part.active ? part.length : 0};
}

// Loads a plain row into registers: many loads are under way before the first is waited for.
template <class T, class Op, class H, class Part>
__device__ __forceinline__ void load_row(const RowPlan<T, Op>& plan, const Part& part, H& held) {
  constexpr int kFirst = RowPlan<T, Op>::kOutputs;
  held.at = held_at(part);
  uint4 words[Op::kInputs][H::kPieces] = {};
#pragma unroll
  for (int k = 0; k < Op::kInputs; ++k)
#pragma unroll
    for (int p = 0; p < H::kPieces; ++p) {
      int left;
      const int64_t at = part.template piece<H::kCount>(p, &left);
      if (left > 0) words[k][p] = load_word_once(part.data[kFirst + k] + at);
    }
#pragma unroll
  for (int p = 0; p < H::kPieces; ++p)
    held.words[p] = Op::kInputs == 2 ? sum_words<T>(words[0][p], words[Op::kInputs - 1][p]) : words[0][p];
}

// Loads a plain row into shared memory. A thread's words are read by nobody else, so it waits for its own alone; of two
// inputs the rounded sum is in place of the first.
template <class T, class Op, class Part, class H>
__device__ __forceinline__ void load_shared_row(const RowPlan<T, Op>& plan, const Part& part, uint4* row, H& held) {
  held.own = row + part.rank;
  held.at = held_at(part);
#pragma unroll
  for (int k = 0; k < Op::kInputs; ++k)
#pragma unroll
    for (int p = 0; p < H::kPieces; ++p) {
      int left;
      const int64_t at = part.template piece<H::kCount>(p, &left);
      if (left > 0) copy_word_async(&held.word(k * H::kPieces + p), part.data[RowPlan<T, Op>::kOutputs + k] + at);
    }
  commit_copies();
  wait_for_copies<0>();
  if constexpr (Op::kInputs == 2) {
#pragma unroll
    for (int p = 0; p < H::kPieces; ++p)
      if (held.has(p, 0)) held.word(p) = sum_words<T>(held.word(p), held.word(H::kPieces + p));
  }
}

// Begins to load elements into shared memory, as the words that they lie in.
template <int kPieces, class T>
__device__ __forceinline__ void begin_words(const T* from, const HeldAt& at, uint4* words) {
  constexpr int kCount = kPieceElements<T>;
  const int skew = skew_of(from);
#pragma unroll
  for (int p = 0; p <= kPieces; ++p) {
    const int word = at.rank + p * at.size, begin = word * kCount - skew, left = at.length - begin;
    if (left > 0 && begin >= 0)
      copy_async<kPieceBytes>(words + word, from + begin, (left < kCount ? left : kCount) * int{sizeof(T)});
  }
  if (skew != 0)
    for (int i = at.rank; i < kCount; i += at.size)
      reinterpret_cast<T*>(words)[i] = i >= skew && i - skew < at.length ? from[i - skew] : T{};
}
// A piece of them, `left` elements before their end.
template <class T>
__device__ __forceinline__ uint4 piece_of_words(const uint4* words, int piece, int skew, int left) {
  constexpr int kCount = kPieceElements<T>;
  const uint4 around[2] = {words[piece], words[skew + (left < kCount ? left : kCount) > kCount ? piece + 1 : piece]};
  uint4 out[1];
  window(around, skew * static_cast<unsigned>(sizeof(T)), out);
  return out[0];
}

// Loads a loose row by way of shared memory, kBatch pieces of a thread at a time. All threads of the row call it.
template <int kBatch, class T, class Op, class Part, class Group, class H>
__device__ __forceinline__ void load_loose_row(const RowPlan<T, Op>& plan, const Part& part, const Group& group,
                                               uint4* row, H& held) {
  constexpr int kCount = H::kCount, kAtOnce = inputs_at_once<H>(Op::kInputs);
  held.at = held_at(part);
  const int apart = row_words<H>(1, part.size);
#pragma unroll
  for (int input = 0; input < Op::kInputs; input += kAtOnce)
#pragma unroll
    for (int first = 0; first < H::kPieces; first += kBatch) {
      const T* from[kAtOnce];
      const int before = first * part.size * kCount, most = kBatch * part.size * kCount;  // elements
#pragma unroll
      for (int k = 0; k < kAtOnce; ++k) from[k] = part.data[RowPlan<T, Op>::kOutputs + input + k] + part.begin + before;
      if (input + first > 0) group.sync();  // what lay here has been read
      const HeldAt here = {held.at.rank, held.at.size, min(held.at.length - before, most)};
#pragma unroll
      for (int k = 0; k < kAtOnce; ++k) begin_words<kBatch>(from[k], here, row + k * apart);
      commit_copies();
      wait_for_copies<0>();
      group.sync();  // all words are there
#pragma unroll
      for (int p = 0; p < kBatch && first + p < H::kPieces; ++p) {
        const int piece = here.rank + p * here.size, left = here.length - piece * kCount;
        if (left <= 0) continue;
        uint4& word = held.words[first + p];
#pragma unroll
        for (int k = 0; k < kAtOnce; ++k) {
          const uint4 words = piece_of_words<T>(row + k * apart, piece, skew_of(from[k]), left);
          word = input + k == 0 ? words : sum_words<T>(word, words);
        }
        if (input + kAtOnce < Op::kInputs || left >= kCount) continue;
        float x[kCount];  // the row's last
        unpack<T>(word, x);
#pragma unroll
        for (int i = 0; i < kCount; ++i)
          if (i >= left) x[i] = Op::kMissing;
        word = pack<T>(x);
      }
    }
}

// Writes operand k from `piece(p, at, present, y)`, which fills a piece. Of loose rows that are not at 16 bytes the
// pieces meet in shared memory, where windows of them are the output's words; its ends go by elements.
template <class T, class Op, class H, class Part, class Group, class Piece>
__device__ __forceinline__ void store_row(const RowPlan<T, Op>& plan, const Part& part, const Group& group, uint4* row,
                                          int k, const Piece& piece) {
  constexpr int kCount = H::kCount;
  T* const to = part.data[k] + part.begin;
  const int skew = H::kPlain ? 0 : skew_of(to);
  if constexpr (!H::kPlain) group.sync();  // what lies in `row` has been read
#pragma unroll
  for (int p = 0; p < H::kPieces; ++p) {
    int left;
    const int64_t at = part.template piece<kCount>(p, &left);
    if (left <= 0) continue;
    float y[kCount];
    piece(p, at, left < kCount ? left : kCount, y);
    if (H::kPlain || (skew == 0 && left >= kCount))
      store_piece(part.data[k] + at, y);
    else if (skew != 0)
      row[part.rank + p * part.size] = pack<T>(y);
    else
      store_each(part.data[k] + at, 1, left, y);
  }
  if constexpr (!H::kPlain) {
    group.sync();  // all pieces are there
    if (skew == 0) return;
    const int length = part.active ? part.length : 0, head = kCount - skew;  // elements before the first whole word
    const T* const from = reinterpret_cast<const T*>(row);
#pragma unroll
    for (int p = 0; p < H::kPieces; ++p) {
      const int piece = part.rank + p * part.size, at = head + piece * kCount;
      if (at + kCount <= length) store_word(to + at, piece_of_words<T>(row, piece, head, kCount));
    }
    for (int i = part.rank; i < head && i < length; i += part.size) to[i] = from[i];
    const int tail = head + (length > head ? (length - head) / kCount * kCount : 0);
    for (int i = tail + part.rank; i < length; i += part.size) to[i] = from[i];
  }
}

template <class Map, int kWeights, int kCount>
__device__ __forceinline__ void apply_map(const Map& map, const float (&x)[kCount],
                                          const float (&weights)[kWeights > 0 ? kWeights : 1][kCount],
                                          float (&y)[kCount]) {
#pragma unroll
  for (int i = 0; i < kCount; ++i) {
    if constexpr (kWeights == 0)
      y[i] = map(x[i]);
    else if constexpr (kWeights == 1)
      y[i] = map(x[i], weights[0][i]);
    else
      y[i] = map(x[i], weights[0][i], weights[1][i]);
  }
}

// The words, of type G, of kPieces pieces of a plain row's weights.
template <class G, class Op, int kCount, int kPieces>
struct WeightWords {
  static constexpr int kSlots = Op::kWeights > 0 ? Op::kWeights : 1;
  Words<G, kCount> words[kPieces][kSlots];

  template <class T, class Part>
  __device__ __forceinline__ void load(const RowPlan<T, Op>& plan, const Part& part, int from) {
    if constexpr (Op::kWeights > 0) {
#pragma unroll
      for (int p = 0; p < kPieces; ++p) {
        int left;
        const int64_t at = part.template piece<kCount>(from + p, &left);
        if (left <= 0) continue;
#pragma unroll
        for (int k = 0; k < Op::kWeights; ++k)
          words[p][k] = load_words_constant<kCount>(static_cast<const G*>(plan.op.weights[k].data) + at);
      }
    }
  }
};

// The map of a plain row's pieces from..from + kPieces - 1.
template <class G, int kPieces, class T, class Op, class H, class Part, class Map>
__device__ __forceinline__ void write_plain_pieces(const RowPlan<T, Op>& plan, const Part& part, const H& held,
                                                   const Map& map, int from,
                                                   const WeightWords<G, Op, H::kCount, kPieces>& given) {
  constexpr int kCount = H::kCount;
#pragma unroll
  for (int p = 0; p < kPieces; ++p) {
    if (from + p >= H::kPieces) continue;
    int left;
    const int64_t at = part.template piece<kCount>(from + p, &left);
    if (left <= 0) continue;
    float x[kCount], weights[given.kSlots][kCount], y[kCount];
    held.piece(from + p, x);
    if constexpr (Op::kWeights > 0)
#pragma unroll
      for (int k = 0; k < Op::kWeights; ++k) given.words[p][k].unpack_to(weights[k]);
    apply_map<Map, Op::kWeights>(map, x, weights, y);
    store_piece(part.data[0] + at, y);
  }
}

// The map of a plain row: as many of the weights' words are loaded before the first is waited for as there are
// registers for.
template <class G, class T, class Op, class H, class Part, class Map>
__device__ __forceinline__ void write_plain_row(const RowPlan<T, Op>& plan, const Part& part, const H& held,
                                                const Map& map) {
  constexpr int kWordsOfPiece = (Op::kWeights > 0 ? Op::kWeights : 1) * Words<G, H::kCount>::kWords, kWordsAtOnce = 4;
  constexpr int kMost = kWordsAtOnce / kWordsOfPiece, kAtOnce = kMost < H::kPieces ? kMost : H::kPieces;
  static_assert(kAtOnce > 0);  // a last round may go beyond the row's pieces, to where the row has no element
  held.begin_pass();
#pragma unroll
  for (int from = 0; from < H::kPieces; from += kAtOnce) {
    WeightWords<G, Op, H::kCount, kAtOnce> words;
    words.load(plan, part, from);
    write_plain_pieces<G, kAtOnce>(plan, part, held, map, from, words);
  }
}

// The map of what a thread holds, by the whole row's statistics.
template <class T, class Op, class H, class Part, class Group>
__device__ __forceinline__ void write_row(const RowPlan<T, Op>& plan, const Part& part, const Group& group, uint4* row,
                                          const typename Op::Local& local, const typename Op::Stat& stat,
                                          const H& held) {
  constexpr int kCount = H::kCount, kWeights = Op::kWeights;
  const auto map = plan.op.map(local, stat);
  if constexpr (H::kPlain) {
    if constexpr (kWeights > 0) {
      if (plan.op.weights[0].is_f32) return write_plain_row<float>(plan, part, held, map);
    }
    write_plain_row<T>(plan, part, held, map);
  } else {
    held.begin_pass();
    store_row<T, Op, H>(plan, part, group, row, 0, [&](int p, int64_t at, int present, float(&y)[kCount]) {
      float x[kCount], weights[kWeights > 0 ? kWeights : 1][kCount];
      held.piece(p, x);
      if constexpr (kWeights > 0) {
#pragma unroll
        for (int k = 0; k < kWeights; ++k)
          load_weight<kCount, T>(plan.op.weights[k], at, plan.length - at, present, k == 0 ? 1.0f : 0.0f, weights[k]);
      }
      apply_map<decltype(map), kWeights>(map, x, weights, y);
    });
  }
}

// The second output of an Op with two inputs: their rounded sum.
template <class T, class Op, class H, class Part, class Group>
__device__ __forceinline__ void write_sum(const RowPlan<T, Op>& plan, const Part& part, const Group& group, uint4* row,
                                          const H& held) {
  if constexpr (Op::kInputs == 2)
    store_row<T, Op, H>(plan, part, group, row, 1,
                        [&](int p, int64_t, int, float(&y)[H::kCount]) { held.piece(p, y); });
}

}  // namespace oprt
