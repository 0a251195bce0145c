// What a thread of the row skeleton (device/rows.cuh) does with its pieces of a row: finds, loads, holds and stores
// them.
//
// Plain rows are those whose every piece is 16 whole bytes at a 16-byte address; they have kernels of their own. The
// other kernels do the same arithmetic in the same order, on pieces put together from wherever they lie. Apart, because
// a small call is as fast as its code is short: one kernel for both took twice as long for rows up to 1 MB.
#pragma once

#include <cuda_pipeline.h>

#include "oprt/core/norm.h"
#include "oprt/device/launch.cuh"
#include "oprt/device/reduce.cuh"
#include "oprt/device/vector.cuh"

namespace oprt {

// A thread's elements of a row: kPieces pieces of kCount neighbours, Op::kMissing where the row has no such element.
// What may be asked of them, wherever Derived keeps them: x of a piece, and whether the row has its i-th element.
// kSlots: chains of a sum.
template <class Derived, int kPieces_, int kCount_, int kSlots = (kCount_ > 4 ? kCount_ : 4)>
struct Pieces {
  static constexpr int kPieces = kPieces_, kCount = kCount_;

  // Adds term(x) of all elements, in chains of at most 32 and then a tree. The missing ones of a piece that the row has
  // in part are added too; of whole pieces none is.
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
      if (Derived::kPlain && !held.has(p, 0)) continue;
      float x[kCount];
      held.piece(p, x);
#pragma unroll
      for (int i = 0; i < kCount; ++i) visit(p * kCount + i, x[i], Derived::kPlain || held.has(p, i));
    }
  }
};

// In registers.
template <int kPieces, int kCount, bool kPlain_ = false>
struct Held : Pieces<Held<kPieces, kCount, kPlain_>, kPieces, kCount> {
  static constexpr bool kPlain = kPlain_, kShared = false;
  float x[kPieces][kCount];
  int present[kPieces];  // elements of a piece that the row has; 0 or less: none

  __device__ void begin_pass() const {}
  __device__ __forceinline__ void piece(int p, float (&values)[kCount]) const {
#pragma unroll
    for (int i = 0; i < kCount; ++i) values[i] = x[p][i];
  }
  __device__ bool has(int p, int i) const { return (kPlain ? 0 : i) < present[p]; }
};

// In shared memory, as the words they are; of plain rows. No register waits for a load, so a multiprocessor has as many
// under way as its shared memory holds: 97 to 100 % of a copy's speed from 128 MB on, where registers reached 92 to 95.
template <class T, int kPieces, int kCount>
struct HeldShared : Pieces<HeldShared<T, kPieces, kCount>, kPieces, kCount> {
  static constexpr bool kPlain = true, kShared = true;
  uint4* own;  // this thread's words, the block's threads apart
  int rank, size, length;

  __device__ uint4& word(int p) const { return own[p * blockDim.x]; }
  // The compiler would keep what one pass has read in registers for the next.
  __device__ void begin_pass() const { asm volatile("" ::: "memory"); }
  __device__ __forceinline__ void piece(int p, float (&values)[kCount]) const { unpack<T>(word(p), values); }
  __device__ bool has(int p, int) const { return (rank + p * size) * kCount < length; }
};

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

template <int kCount, class T>
__device__ __forceinline__ void load_weight(const RowWeight& weight, int64_t begin, int present, float otherwise,
                                            float (&w)[kCount]) {
  const auto load = [&](const auto* data) {
    if constexpr (kCount > 1) {
      if (weight.aligned && present >= kCount) return load_piece(data + begin, w);
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

// A thread's pieces of one operand, as the words they are: many loads are under way before the first is waited for.
// Pieces that are not plain are windows of the two aligned words around them, where the part has both; a part's first
// and last go by elements.
template <class T, class Op, class H, class Part>
__device__ __forceinline__ void load_pieces(const RowPlan<T, Op>& plan, const Part& part, int k,
                                            Words<T, H::kCount> (&words)[H::kPieces]) {
  constexpr int kCount = H::kCount, kAtOnce = H::kPlain ? H::kPieces : H::kPieces < 4 ? H::kPieces : 4;
  const int skew = H::kPlain ? 0 : skew_of(part.data[k] + part.begin);
#pragma unroll
  for (int from = 0; from < H::kPieces; from += kAtOnce) {
    uint4 around[kAtOnce][2];
    bool whole[kAtOnce];
#pragma unroll
    for (int p = 0; p < kAtOnce; ++p) {
      int left;
      const int64_t at = part.template piece<kCount>(from + p, &left);
      const auto* word = reinterpret_cast<const uint4*>(part.data[k] + at - skew);
      whole[p] = left >= kCount;
      if constexpr (!H::kPlain) {
        const bool inside = at - part.begin >= skew && left >= 2 * kCount - skew;
        whole[p] = whole[p] && (skew == 0 || inside);
        if (whole[p] && skew != 0) around[p][1] = word[1];
      }
      if (whole[p])
        around[p][0] = H::kPlain ? load_word_once(word) : word[0];  // L1 keeps the weights; not measured apart
    }
#pragma unroll
    for (int p = 0; p < kAtOnce; ++p) {
      int left;
      const int64_t at = part.template piece<kCount>(from + p, &left);
      compute_t<T> x[kCount];
#pragma unroll
      for (int i = 0; i < kCount; ++i) x[i] = Op::kMissing;
      if constexpr (H::kPlain) {
        words[from + p] = pack_words<T>(x);
        if (whole[p]) words[from + p].word[0] = around[p][0];
      } else if (whole[p]) {
        window(around[p], skew * static_cast<unsigned>(sizeof(T)), words[from + p].word);
      } else {
        if (left > 0) load_each(part.data[k] + at, 1, left, Op::kMissing, x);
        words[from + p] = pack_words<T>(x);
      }
    }
  }
}

// What the words of all inputs say.
template <class T, class Op, class H>
__device__ __forceinline__ void hold(const Words<T, H::kCount> (&words)[Op::kInputs][H::kPieces], H& held) {
#pragma unroll
  for (int p = 0; p < H::kPieces; ++p) {
    words[0][p].unpack_to(held.x[p]);
    if constexpr (Op::kInputs == 2) {
      float more[H::kCount];
      words[1][p].unpack_to(more);
#pragma unroll
      for (int i = 0; i < H::kCount; ++i) held.x[p][i] = widen(narrow<T>(held.x[p][i] + more[i]));
    }
  }
}

// Begins to load a row into shared memory: the pieces of input k into the words from k * kPieces on.
template <class T, class Op, class H, class Part>
__device__ __forceinline__ void begin_shared_row(const RowPlan<T, Op>& plan, const Part& part, uint4* own, H& held) {
  constexpr int kCount = H::kCount, kFirst = RowPlan<T, Op>::kOutputs;
  held.own = own;
  held.rank = part.rank;
  held.size = part.size;
  held.length = part.active ? part.length : 0;
  compute_t<T> missing[kCount];
#pragma unroll
  for (int i = 0; i < kCount; ++i) missing[i] = Op::kMissing;
#pragma unroll
  for (int k = 0; k < Op::kInputs; ++k)
#pragma unroll
    for (int p = 0; p < H::kPieces; ++p) {
      int left;
      const int64_t at = part.template piece<kCount>(p, &left);
      if (left > 0)
        __pipeline_memcpy_async(&held.word(k * H::kPieces + p), part.data[kFirst + k] + at, kPieceBytes);
      else
        held.word(k * H::kPieces + p) = pack<T>(missing);
    }
}
// Waits for what the thread itself began to load, which nobody else reads.
__device__ __forceinline__ void await_shared_words() {
  __pipeline_commit();
  __pipeline_wait_prior(0);
  asm volatile("" ::: "memory");
}

// The sum of two inputs, rounded, in place of the first.
template <class T, class Op, class H>
__device__ __forceinline__ void end_shared_row(H& held) {
  if constexpr (Op::kInputs == 2) {
#pragma unroll
    for (int p = 0; p < H::kPieces; ++p) {
      float x[H::kCount], more[H::kCount];
      held.piece(p, x);
      held.piece(H::kPieces + p, more);
#pragma unroll
      for (int i = 0; i < H::kCount; ++i) x[i] += more[i];
      held.word(p) = pack<T>(x);
    }
  }
}

template <class T, class Op, class H, class Part>
__device__ __forceinline__ void load_row(const RowPlan<T, Op>& plan, const Part& part, H& held) {
  constexpr int kCount = H::kCount, kFirst = RowPlan<T, Op>::kOutputs;
#pragma unroll
  for (int p = 0; p < H::kPieces; ++p) {
    int left;
    part.template piece<kCount>(p, &left);
    held.present[p] = left < kCount ? left : kCount;
  }
  Words<T, kCount> words[Op::kInputs][H::kPieces];
#pragma unroll
  for (int k = 0; k < Op::kInputs; ++k) load_pieces<T, Op, H>(plan, part, kFirst + k, words[k]);
  hold<T, Op>(words, held);
}

// Stores a piece of a row that begins `skew` elements past a 16-byte address. Each lane stores the aligned word that
// its piece begins in, whose head the lane below holds. What lies in a word that nobody stores whole goes in halves of
// it, halves of those and single elements, or, at a row's end, by elements. All lanes of the warp call it.
// left: elements of the part from the piece on. first, last: no lane below or above holds the row's next pieces.
template <int kCount, class T>
__device__ __forceinline__ void store_piece_askew(T* to, int skew, int left, bool first, bool last,
                                                  const float (&y)[kCount]) {
  const uint4 own = pack<T>(y), twice[2] = {own, own};
  const int head = kCount - skew;  // elements of the piece that lie in its first word
  uint4 turned[1];                 // the tail, which lies in the next word, then the head
  window(twice, static_cast<unsigned>(head * sizeof(T)) % kPieceBytes, turned);
  const uint32_t mine[4] = {turned[0].x, turned[0].y, turned[0].z, turned[0].w};
  uint32_t word[4];
  const int skew_bytes = skew * static_cast<int>(sizeof(T));
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    const uint32_t below = __shfl_up_sync(kAllLanes, mine[i], 1, kLanes);
    word[i] = skew_bytes >= 4 * i + 4 ? below : skew_bytes <= 4 * i ? mine[i] : __byte_perm(below, mine[i], 0x7610);
  }
  const bool stores = left >= head && (skew == 0 || !first);
  const bool next_stores = skew == 0 || (!last && left >= kCount + head);
  char* const at = reinterpret_cast<char*>(to - skew);
  if (stores) store_word(at, make_uint4(word[0], word[1], word[2], word[3]));
  if (left >= kCount) {
    const auto half_of = [&](int byte) {  // the element of two bytes there
      const uint32_t whole = byte & 8 ? (byte & 4 ? mine[3] : mine[2]) : (byte & 4 ? mine[1] : mine[0]);
      return static_cast<uint16_t>(byte & 2 ? whole >> 16 : whole);
    };
    if (!stores) {  // bytes from skew on
      int byte = skew_bytes;
      if (sizeof(T) == 2 && byte & 2) *reinterpret_cast<uint16_t*>(at + byte) = half_of(byte);
      byte += byte & 2;
      if (byte & 4) *reinterpret_cast<uint32_t*>(at + byte) = byte & 8 ? mine[3] : mine[1];
      if (byte <= 8) *reinterpret_cast<uint2*>(at + 8) = make_uint2(mine[2], mine[3]);
    }
    if (!next_stores) {  // bytes before skew, of the next word
      char* const next = at + kPieceBytes;
      const int byte = skew_bytes;
      if (byte & 8) *reinterpret_cast<uint2*>(next) = make_uint2(mine[0], mine[1]);
      if (byte & 4) *reinterpret_cast<uint32_t*>(next + (byte & 8)) = byte & 8 ? mine[2] : mine[0];
      if (sizeof(T) == 2 && byte & 2) *reinterpret_cast<uint16_t*>(next + (byte & 12)) = half_of(byte & 12);
    }
  } else if (!stores || !next_stores) {
#pragma unroll
    for (int i = 0; i < kCount; ++i)
      if (i < left && !(i < head ? stores : next_stores)) to[i] = narrow<T>(y[i]);
  }
}

// Writes operand k from `piece(p, at, present, y)`, which fills a piece.
template <class T, class Op, class H, class Part, class Piece>
__device__ __forceinline__ void store_row(const RowPlan<T, Op>& plan, const Part& part, int k, const Piece& piece) {
  constexpr int kCount = H::kCount;
  const int lane = threadIdx.x % kLanes;
  const bool first = lane == 0 || part.rank == 0, last = lane == kLanes - 1 || part.rank == part.size - 1;
  if constexpr (!H::kPlain) __syncwarp();  // the words of windows have been read: they may be written
#pragma unroll
  for (int p = 0; p < H::kPieces; ++p) {
    int left;
    const int64_t at = part.template piece<kCount>(p, &left);
    float y[kCount] = {};
    if (left > 0) piece(p, at, left < kCount ? left : kCount, y);
    T* const to = part.data[k] + at * plan.stride[k];
    if constexpr (!H::kPlain)
      store_piece_askew(to, skew_of(part.data[k] + part.begin), left, first, last, y);
    else if (left > 0)
      store_piece(part.data[k] + at, y);
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
template <class T, class Op, class H, class Part>
__device__ __forceinline__ void write_row(const RowPlan<T, Op>& plan, const Part& part, const typename Op::Local& local,
                                          const typename Op::Stat& stat, const H& held) {
  constexpr int kCount = H::kCount, kWeights = Op::kWeights;
  const auto map = plan.op.map(local, stat);
  if constexpr (H::kPlain) {
    if constexpr (kWeights > 0) {
      if (plan.op.weights[0].is_f32) return write_plain_row<float>(plan, part, held, map);
    }
    write_plain_row<T>(plan, part, held, map);
  } else {
    store_row<T, Op, H>(plan, part, 0, [&](int p, int64_t at, int present, float(&y)[kCount]) {
      float weights[kWeights > 0 ? kWeights : 1][kCount];
      if constexpr (kWeights > 0) {
#pragma unroll
        for (int k = 0; k < kWeights; ++k)
          load_weight<kCount, T>(plan.op.weights[k], at, present, k == 0 ? 1.0f : 0.0f, weights[k]);
      }
      apply_map<decltype(map), kWeights>(map, held.x[p], weights, y);
    });
  }
}

// The second output of an Op with two inputs: their rounded sum.
template <class T, class Op, class H, class Part>
__device__ __forceinline__ void write_sum(const RowPlan<T, Op>& plan, const Part& part, const H& held) {
  if constexpr (Op::kInputs == 2)
    store_row<T, Op, H>(plan, part, 1, [&](int p, int64_t, int, float(&y)[H::kCount]) { held.piece(p, y); });
}

}  // namespace oprt
