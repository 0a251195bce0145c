// What a thread of the row skeleton (device/rows.cuh) does with its pieces of a row: finds, loads, holds and stores
// them.
//
//   plain rows   every piece of every operand, weights too, is 16 whole bytes at a 16-byte address; rows lie along one
//                axis, and weights are all there, of one type. Held as words, in registers or in shared memory.
//   loose rows   any others. The 16-byte words around them land in shared memory, a row's ends by elements. Pieces are
//                windows of two of those words, held in registers; outputs are made from the words that they cover.
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
// visited; kPairs: word(p) has the piece as 16-bit floats, Derived::Element.
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
    if constexpr (Derived::kPairs) {
      using T = typename Derived::Element;
      const auto& held = static_cast<const Derived&>(*this);
      uint32_t most = narrow_pair(-INFINITY, -INFINITY, T{});
      held.begin_pass();
#pragma unroll
      for (int p = 0; p < kPieces; ++p)
        if (held.has(p, 0)) most = largest_pair<T>(most, held.word(p));
      const float2 pair = widen_pair(most, T{});
      return fmaxf(pair.x, pair.y);
    } else {
      float most = -INFINITY;
      each([&](int, float x, bool) { most = fmaxf(most, x); });
      return most;
    }
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
      const bool whole = Derived::kPlain || held.has(p, kCount - 1);
#pragma unroll
      for (int i = 0; i < kCount; ++i) visit(p * kCount + i, x[i], whole || held.has(p, i));
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
  using Element = T;
  static constexpr bool kPlain = kPlain_, kSkips = true, kShared = false, kPairs = sizeof(T) == 2;
  static constexpr int kCount = kPieceElements<T>;
  mutable uint4 words[kPieces];
  HeldAt at;

  // The compiler would keep what one pass has unpacked for the next: more registers than there are.
  __device__ __forceinline__ void begin_pass() const {
#pragma unroll
    for (uint4& word : words) asm volatile("" : "+r"(word.x), "+r"(word.y), "+r"(word.z), "+r"(word.w));
  }
  __device__ const uint4& word(int p) const { return words[p]; }
  __device__ __forceinline__ void piece(int p, float (&values)[kCount]) const { unpack<T>(words[p], values); }
  __device__ bool has(int p, int i) const { return (at.rank + p * at.size) * kCount + (kPlain ? 0 : i) < at.length; }
};

// In shared memory; of plain rows. No register waits for a load, so a multiprocessor has as many under way as its
// shared memory holds: 97 to 100 % of a copy's speed from 128 MB on, where registers reached 92 to 95.
template <class T, int kPieces>
struct HeldShared : Pieces<HeldShared<T, kPieces>, kPieces, kPieceElements<T>> {
  using Element = T;
  static constexpr bool kPlain = true, kSkips = true, kShared = true, kPairs = sizeof(T) == 2;
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

// The kCount weights from the row's `begin`-th element on, of which it has `length`. Those of the k-th weight that is
// absent, gamma or beta, are 1 or 0.
template <class T, int kCount>
__device__ __forceinline__ void load_weight(const RowWeight& weight, int k, int64_t begin, int64_t length,
                                            float (&w)[kCount]) {
  const auto load = [&](const auto* data) {
    if constexpr (kCount > 1) {
      if (weight.stride == 1)
        return load_words_anywhere<kCount>(data + begin, begin, length - begin - kCount).unpack_to(w);
    }
    load_each(data + begin * weight.stride, weight.stride, kCount, 0.0f, w);
  };
  if (!weight.data) {
#pragma unroll
    for (int i = 0; i < kCount; ++i) w[i] = k == 0 ? 1.0f : 0.0f;
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
  bool alike;                 // every row of two inputs lies alike to 16-byte addresses
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

// A loose row, or the part of it that a block has, as it lies in shared memory: its first element is the skew-th of the
// words.
struct LooseRow {
  uint4* words;
  int skew;
};

// Begins to load elements into shared memory, as the words that they lie in, and one more: zeros follow them.
template <int kPieces, class T>
__device__ __forceinline__ void begin_words(const T* from, const HeldAt& at, uint4* words) {
  constexpr int kCount = kPieceElements<T>;
  const int skew = skew_of(from);
#pragma unroll
  for (int p = 0; p <= kPieces; ++p) {
    const int word = at.rank + p * at.size, begin = word * kCount - skew, left = max(at.length - begin, 0);
    if (begin >= 0 && (word - 1) * kCount < at.length)
      copy_async<kPieceBytes>(words + word, from + begin, (left < kCount ? left : kCount) * int{sizeof(T)});
  }
  if (skew != 0)
    for (int i = at.rank; i < kCount; i += at.size)
      reinterpret_cast<T*>(words)[i] = i >= skew && i - skew < at.length ? from[i - skew] : T{};
}

// A thread's pieces of such words, those that there(p) says it has: the elements that begin `skew` elements into the
// words rank + p * size.
template <class T, int kPieces, class There>
__device__ __forceinline__ void read_windows(const uint4* words, int rank, int size, int skew, const There& there,
                                             uint4 (&pieces)[kPieces]) {
  const auto read = [&](const auto& piece) {
#pragma unroll
    for (int p = 0; p < kPieces; ++p)
      if (there(p)) pieces[p] = piece(words + rank + p * size);
  };
  if (skew == 0) return read([](const uint4* at) { return at[0]; });
  const unsigned bytes = skew * static_cast<unsigned>(sizeof(T));
  with_part(bytes, [&](auto part) { read([&](const uint4* at) { return window_from<part>(at[0], at[1], bytes); }); });
}

// Adds what a thread has put into shared memory of a second input, `apart` words further, to what it has of the first.
template <int kPieces, class T>
__device__ __forceinline__ void add_words(const HeldAt& at, int skew, uint4* words, int apart) {
  constexpr int kCount = kPieceElements<T>;
#pragma unroll
  for (int p = 0; p <= kPieces; ++p) {
    const int word = at.rank + p * at.size;
    if (word * kCount >= skew && (word - 1) * kCount < at.length)
      words[word] = sum_words<T>(words[word], words[apart + word]);
  }
  T* const first = reinterpret_cast<T*>(words);
  const T* const second = reinterpret_cast<const T*>(words + apart);
  if (skew != 0)
    for (int i = at.rank; i < kCount; i += at.size) first[i] = narrow<T>(widen(first[i]) + widen(second[i]));
}

// Loads a loose row by way of shared memory, kBatch pieces of a thread at a time. All threads of the row call it.
template <int kBatch, class T, class Op, class Part, class Group, class H>
__device__ __forceinline__ void load_loose_row(const RowPlan<T, Op>& plan, const Part& part, const Group& group,
                                               LooseRow& row, H& held) {
  constexpr int kCount = H::kCount, kAtOnce = inputs_at_once<H>(Op::kInputs);
  static_assert(H::kPieces % kBatch == 0);
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
      for (int k = 0; k < kAtOnce; ++k) begin_words<kBatch>(from[k], here, row.words + k * apart);
      commit_copies();
      wait_for_copies<0>();
      const bool summed = kAtOnce == 2 && plan.alike;
      if (summed) add_words<kBatch, T>(here, skew_of(from[0]), row.words, apart);
      group.sync();  // all words are there
#pragma unroll
      for (int k = 0; k < kAtOnce; ++k) {
        if (k > 0 && summed) continue;
        uint4 pieces[kBatch] = {};
        row.skew = skew_of(from[k]);
        const auto there = [&](int p) { return (here.rank + p * here.size) * kCount < here.length; };
        read_windows<T>(row.words + k * apart, here.rank, here.size, row.skew, there, pieces);
#pragma unroll
        for (int p = 0; p < kBatch; ++p) {
          uint4& word = held.words[first + p];
          word = input + k == 0 ? pieces[p] : sum_words<T>(word, pieces[p]);
        }
      }
    }
  if constexpr (Op::kMissing != 0.0f) {
#pragma unroll
    for (int p = 0; p < H::kPieces; ++p) {
      const int left = held.at.length - (part.rank + p * part.size) * kCount;
      if (left <= 0 || left >= kCount) continue;
      float x[kCount];  // the row's last
      unpack<T>(held.words[p], x);
#pragma unroll
      for (int i = 0; i < kCount; ++i)
        if (i >= left) x[i] = Op::kMissing;
      held.words[p] = pack<T>(x);
    }
  }
}

// Puts a loose row's pieces, the sums of two inputs, where their words were.
template <class Part, class Group, class H>
__device__ __forceinline__ void put_loose_row(const Part& part, const Group& group, LooseRow& row, const H& held) {
  group.sync();  // all words have been read
#pragma unroll
  for (int p = 0; p < H::kPieces; ++p)
    if (held.has(p, 0)) row.words[part.rank + p * part.size] = held.words[p];
  row.skew = 0;
  group.sync();  // all pieces are there
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

// Writes an output from a loose row in shared memory: the output's own whole words, each from the window of the row
// that it covers, and its ends by elements. map(x, y, at): the elements x from the row's `at`-th on as y.
template <class H, class T, class Part, class Map>
__device__ __forceinline__ void store_loose_row(T* data, const Part& part, const LooseRow& row, const Map& map) {
  constexpr int kCount = H::kCount;
  T* const to = data + part.begin;
  const int out = skew_of(to), length = part.active ? part.length : 0;
  const auto begin = [&](int p) { return (part.rank + p * part.size) * kCount - out; };  // element of the part
  const auto whole = [&](int p) { return begin(p) >= 0 && begin(p) + kCount <= length; };
  // Not by the sign of a difference: of -out ptxas 13.0 makes an LEA.HI.SX32 of a negated register, which gives 0.
  const uint4* const words_at = row.skew < out ? row.words - 1 : row.words;
  uint4 words[H::kPieces] = {};
  read_windows<T>(words_at, part.rank, part.size, (row.skew - out) & (kCount - 1), whole, words);
#pragma unroll
  for (int p = 0; p < H::kPieces; ++p) {
    if (!whole(p)) continue;
    float x[kCount], y[kCount];
    unpack<T>(words[p], x);
    map(x, y, part.begin + begin(p));
    store_word(to + begin(p), pack<T>(y));
  }
  const int head = out == 0 ? 0 : min(kCount - out, length), tail = head + (length - head) / kCount * kCount;
  for (int i = part.rank; i < 2 * kCount; i += part.size) {
    const int at = i < kCount ? i : tail + i - kCount;
    if (at >= (i < kCount ? head : length)) continue;
    float x[1] = {widen(reinterpret_cast<const T*>(row.words)[row.skew + at])}, y[1];
    map(x, y, part.begin + at);
    to[at] = narrow<T>(y[0]);
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

// The map of what a thread holds, by the whole row's statistics; of a loose row what lies in shared memory.
template <class T, class Op, class H, class Part>
__device__ __forceinline__ void write_row(const RowPlan<T, Op>& plan, const Part& part, const LooseRow& row,
                                          const typename Op::Stat& stat, const H& held) {
  const auto map = plan.op.map(stat);
  if constexpr (H::kPlain) {
    if constexpr (Op::kWeights > 0) {
      if (plan.op.weights[0].is_f32) return write_plain_row<float>(plan, part, held, map);
    }
    write_plain_row<T>(plan, part, held, map);
  } else {
    store_loose_row<H>(part.data[0], part, row, [&](const auto& x, auto& y, int64_t at) {
      constexpr int kCount = sizeof(x) / sizeof(float), kWeights = Op::kWeights;
      float weights[kWeights > 0 ? kWeights : 1][kCount];
      if constexpr (kWeights > 0)
#pragma unroll
        for (int k = 0; k < kWeights; ++k) load_weight<T>(plan.op.weights[k], k, at, plan.length, weights[k]);
      apply_map<decltype(map), kWeights>(map, x, weights, y);
    });
  }
}

// The second output of an Op with two inputs: their rounded sum.
template <class T, class Op, class H, class Part, class Group>
__device__ __forceinline__ void write_sum(const RowPlan<T, Op>& plan, const Part& part, const Group& group,
                                          LooseRow& row, const H& held) {
  if constexpr (Op::kInputs == 2) {
    if constexpr (H::kPlain) {
#pragma unroll
      for (int p = 0; p < H::kPieces; ++p) {
        int left;
        const int64_t at = part.template piece<H::kCount>(p, &left);
        if (left <= 0) continue;
        float y[H::kCount];
        held.piece(p, y);
        store_piece(part.data[1] + at, y);
      }
    } else {
      if (inputs_at_once<H>(Op::kInputs) == 1 || !plan.alike) put_loose_row(part, group, row, held);
      store_loose_row<H>(part.data[1], part, row, [](const auto& x, auto& y, int64_t) { memcpy(y, x, sizeof(x)); });
    }
  }
}

}  // namespace oprt
