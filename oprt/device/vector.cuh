// Elements on their way between memory and registers.
//
//   compute type   f32, f16 and bf16 are float in registers: widened when loaded, rounded once (to nearest even) when
//                  stored. Integers stay what they are: copy and embedding move elements as integers of their size.
//   piece          neighbouring elements of which the narrowest operand fills 16 bytes, the widest access of a thread.
//
// A piece is moved whole where its address allows it (a multiple of 16 bytes), else element by element; which element
// is whose never depends on that.
#pragma once

#include <type_traits>

#include "oprt/core/dtype.h"
#include "oprt/device/gpu.h"
#include "oprt/device/nest.h"

namespace oprt {

template <class T>
constexpr int kPieceElements = kPieceBytes / static_cast<int>(sizeof(T));

template <class T>
struct Compute {
  using type = T;
};
template <>
struct Compute<f16> {
  using type = float;
};
template <>
struct Compute<bf16> {
  using type = float;
};
template <class T>
using compute_t = typename Compute<T>::type;

template <class T>
__device__ __forceinline__ T widen(T x) {
  return x;
}
__device__ __forceinline__ float widen(f16 x) { return __half2float(__ushort_as_half(x.bits)); }
__device__ __forceinline__ float widen(bf16 x) { return __uint_as_float(static_cast<uint32_t>(x.bits) << 16); }

template <class T>
__device__ __forceinline__ T narrow(compute_t<T> x) {
  return x;
}
template <>
__device__ __forceinline__ f16 narrow<f16>(float x) {
  return {__half_as_ushort(__float2half_rn(x))};
}
template <>
__device__ __forceinline__ bf16 narrow<bf16>(float x) {
  return {__bfloat16_as_ushort(__float2bfloat16_rn(x))};
}

// Two 16-bit floats of one word: the first element is the low half.
__device__ __forceinline__ float2 widen_pair(uint32_t word, f16) {
  return __half22float2(__halves2half2(__ushort_as_half(static_cast<uint16_t>(word)),
                                       __ushort_as_half(static_cast<uint16_t>(word >> 16))));
}
__device__ __forceinline__ float2 widen_pair(uint32_t word, bf16) {
  return make_float2(__uint_as_float(word << 16), __uint_as_float(word & 0xFFFF0000u));
}
__device__ __forceinline__ uint32_t narrow_pair(float low, float high, f16) {
  const __half2 pair = __floats2half2_rn(low, high);
  return *reinterpret_cast<const uint32_t*>(&pair);
}
__device__ __forceinline__ uint32_t narrow_pair(float low, float high, bf16) {
  const __nv_bfloat162 pair = __floats2bfloat162_rn(low, high);
  return *reinterpret_cast<const uint32_t*>(&pair);
}

// The larger elements of pairs; a NaN counts as nothing where the other is a number.
__device__ __forceinline__ uint32_t largest_pair(uint32_t a, uint32_t b, f16) {
  const __half2 most = __hmax2(*reinterpret_cast<__half2*>(&a), *reinterpret_cast<__half2*>(&b));
  return *reinterpret_cast<const uint32_t*>(&most);
}
__device__ __forceinline__ uint32_t largest_pair(uint32_t a, uint32_t b, bf16) {
  const __nv_bfloat162 most = __hmax2(*reinterpret_cast<__nv_bfloat162*>(&a), *reinterpret_cast<__nv_bfloat162*>(&b));
  return *reinterpret_cast<const uint32_t*>(&most);
}
// Of a pair and those of a word.
template <class T>
__device__ __forceinline__ uint32_t largest_pair(uint32_t pair, const uint4& word) {
  const uint32_t low = largest_pair(word.x, word.y, T{}), high = largest_pair(word.z, word.w, T{});
  return largest_pair(pair, largest_pair(low, high, T{}), T{});
}

// The elements of one 16-byte word.
template <class T>
__device__ __forceinline__ void unpack(const uint4& word, compute_t<T>* x) {
  const uint32_t parts[4] = {word.x, word.y, word.z, word.w};
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    if constexpr (std::is_same_v<T, f16> || std::is_same_v<T, bf16>) {
      const float2 pair = widen_pair(parts[i], T{});
      x[2 * i] = pair.x;
      x[2 * i + 1] = pair.y;
    } else if constexpr (std::is_same_v<T, float>) {
      x[i] = __uint_as_float(parts[i]);
    } else if constexpr (sizeof(T) == 2) {
      x[2 * i] = static_cast<T>(parts[i]);
      x[2 * i + 1] = static_cast<T>(parts[i] >> 16);
    } else if constexpr (sizeof(T) == 4) {
      x[i] = static_cast<T>(parts[i]);
    } else {
      if (i % 2 == 0) x[i / 2] = static_cast<T>(static_cast<uint64_t>(parts[i + 1]) << 32 | parts[i]);
    }
  }
}
template <class T>
__device__ __forceinline__ uint4 pack(const compute_t<T>* x) {
  uint32_t parts[4];
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    if constexpr (std::is_same_v<T, f16> || std::is_same_v<T, bf16>) {
      parts[i] = narrow_pair(x[2 * i], x[2 * i + 1], T{});
    } else if constexpr (std::is_same_v<T, float>) {
      parts[i] = __float_as_uint(x[i]);
    } else if constexpr (sizeof(T) == 2) {
      parts[i] = static_cast<uint32_t>(x[2 * i]) | static_cast<uint32_t>(x[2 * i + 1]) << 16;
    } else if constexpr (sizeof(T) == 4) {
      parts[i] = static_cast<uint32_t>(x[i]);
    } else {
      parts[i] = static_cast<uint32_t>(static_cast<uint64_t>(x[i / 2]) >> (i % 2 * 32));
    }
  }
  return make_uint4(parts[0], parts[1], parts[2], parts[3]);
}

// kCount neighbours as they lie in memory; they fill whole 16-byte words, or half of one. Loading words first and
// unpacking them later keeps many loads in flight: an element is not waited for before the next word is asked for.
template <class T, int kCount>
struct Words {
  static constexpr int kEach = kPieceElements<T>;
  static constexpr bool kHalf = 2 * kCount == kEach;
  static constexpr int kWords = kHalf ? 1 : kCount / kEach;
  static_assert(kHalf || kCount % kEach == 0);
  uint4 word[kWords];

  __device__ __forceinline__ void unpack_to(compute_t<T> (&x)[kCount]) const {
    compute_t<T> all[kWords * kEach];
#pragma unroll
    for (int i = 0; i < kWords; ++i) unpack<T>(word[i], all + i * kEach);
#pragma unroll
    for (int i = 0; i < kCount; ++i) x[i] = all[i];
  }
};

template <class T, int kCount>
__device__ __forceinline__ Words<T, kCount> pack_words(const compute_t<T> (&x)[kCount]) {
  using W = Words<T, kCount>;
  W words;
  compute_t<T> all[W::kWords * W::kEach] = {};
#pragma unroll
  for (int i = 0; i < kCount; ++i) all[i] = x[i];
#pragma unroll
  for (int i = 0; i < W::kWords; ++i) words.word[i] = pack<T>(all + i * W::kEach);
  return words;
}

// From an address that is a multiple of 16 bytes (8 for half a word).
template <int kCount, class T>
__device__ __forceinline__ Words<T, kCount> load_words(const T* from) {
  Words<T, kCount> words;
  if constexpr (words.kHalf) {
    const uint2 half = *reinterpret_cast<const uint2*>(from);
    words.word[0] = make_uint4(half.x, half.y, 0, 0);
  } else {
#pragma unroll
    for (int i = 0; i < words.kWords; ++i) words.word[i] = reinterpret_cast<const uint4*>(from)[i];
  }
  return words;
}

// The same, of what nobody writes while the kernel runs.
template <int kCount, class T>
__device__ __forceinline__ Words<T, kCount> load_words_constant(const T* from) {
  Words<T, kCount> words;
#pragma unroll
  for (int i = 0; i < words.kWords; ++i) words.word[i] = __ldg(reinterpret_cast<const uint4*>(from) + i);
  return words;
}

// One word that nobody will ask for again: it leaves its place in L1 to what others do ask for.
__device__ __forceinline__ uint4 load_word_once(const void* from) {
  uint4 word;
  asm volatile("ld.global.L1::no_allocate.v4.u32 {%0, %1, %2, %3}, [%4];"
               : "=r"(word.x), "=r"(word.y), "=r"(word.z), "=r"(word.w)
               : "l"(from)
               : "memory");
  return word;
}

// One word in one instruction. An assignment of a uint4 becomes four stores of 4 bytes where the compiler has moved
// code about it (all of rope's and most of the rows' kernels'); the intrinsic stays whole.
__device__ __forceinline__ void store_word(void* to, const uint4& word) { __stwb(static_cast<uint4*>(to), word); }

template <int kCount, class T>
__device__ __forceinline__ void load_piece(const T* from, compute_t<T> (&x)[kCount]) {
  load_words<kCount>(from).unpack_to(x);
}
template <int kCount, class T>
__device__ __forceinline__ void store_piece(T* to, const compute_t<T> (&x)[kCount]) {
  const Words<T, kCount> words = pack_words<T>(x);
#pragma unroll
  for (int i = 0; i < words.kWords; ++i) store_word(to + i * kPieceElements<T>, words.word[i]);
}

// Elements by which an address lies past a multiple of 16 bytes.
template <class T>
__device__ __forceinline__ int skew_of(const T* at) {
  return static_cast<int>(reinterpret_cast<uintptr_t>(at) % kPieceBytes / sizeof(T));
}

// The kOut words that begin `skew` bytes (0 to 15) into kOut + 1.
template <int kOut>
__device__ __forceinline__ void window(const uint4 (&in)[kOut + 1], unsigned skew, uint4 (&out)[kOut]) {
  uint32_t parts[4 * kOut + 4], near[4 * kOut + 3];
#pragma unroll
  for (int i = 0; i <= kOut; ++i) {
    parts[4 * i] = in[i].x;
    parts[4 * i + 1] = in[i].y;
    parts[4 * i + 2] = in[i].z;
    parts[4 * i + 3] = in[i].w;
  }
  const bool one = skew & 4, two = skew & 8;
#pragma unroll
  for (int i = 0; i < 4 * kOut + 3; ++i) near[i] = one ? parts[i + 1] : parts[i];
#pragma unroll
  for (int i = 0; i < 4 * kOut + 1; ++i) parts[i] = two ? near[i + 2] : near[i];
  const unsigned bits = skew % 4 * 8;
#pragma unroll
  for (int i = 0; i < kOut; ++i)
    out[i] = make_uint4(__funnelshift_r(parts[4 * i], parts[4 * i + 1], bits),
                        __funnelshift_r(parts[4 * i + 1], parts[4 * i + 2], bits),
                        __funnelshift_r(parts[4 * i + 2], parts[4 * i + 3], bits),
                        __funnelshift_r(parts[4 * i + 3], parts[4 * i + 4], bits));
}

// The word that begins `bytes` into two, bytes / 4 being kPart.
template <int kPart>
__device__ __forceinline__ uint4 window_from(const uint4& low, const uint4& high, unsigned bytes) {
  const uint32_t parts[8] = {low.x, low.y, low.z, low.w, high.x, high.y, high.z, high.w};
  const unsigned bits = bytes % 4 * 8;
  return make_uint4(__funnelshift_r(parts[kPart], parts[kPart + 1], bits),
                    __funnelshift_r(parts[kPart + 1], parts[kPart + 2], bits),
                    __funnelshift_r(parts[kPart + 2], parts[kPart + 3], bits),
                    __funnelshift_r(parts[kPart + 3], parts[kPart + 4], bits));
}
// visit(bytes / 4) as a constant: four copies of the code, for many windows that begin alike.
template <class Visit>
__device__ __forceinline__ void with_part(unsigned bytes, const Visit& visit) {
  switch (bytes / 4) {
    case 0: return visit(std::integral_constant<int, 0>{});
    case 1: return visit(std::integral_constant<int, 1>{});
    case 2: return visit(std::integral_constant<int, 2>{});
    default: return visit(std::integral_constant<int, 3>{});
  }
}

// From any address: 16-bit elements as a window of the aligned words around them, which are read only where `before`
// and `after`, the elements on either side that belong to the operand too, allow it. Else the elements one by one: of 4
// bytes they are faster than windows (sum of two f32 operands with odd row strides, 128 MB: 33.0 us, by windows 35.6).
template <int kCount, class T>
__device__ __forceinline__ Words<T, kCount> load_words_anywhere(const T* from, int64_t before, int64_t after) {
  using W = Words<T, kCount>;
  constexpr int kEach = W::kHalf ? kCount : W::kEach;  // elements of an aligned word
  const int skew = skew_of(from) % kEach;
  if (skew == 0) return load_words<kCount>(from);
  W words;
  if (sizeof(T) == 2 && before >= skew && after >= kEach - skew) {
    uint4 around[W::kWords + 1] = {};
    if constexpr (W::kHalf) {
      const uint2 low = reinterpret_cast<const uint2*>(from - skew)[0],
                  high = reinterpret_cast<const uint2*>(from - skew)[1];
      around[0] = make_uint4(low.x, low.y, high.x, high.y);
    } else {
#pragma unroll
      for (int i = 0; i <= W::kWords; ++i) around[i] = reinterpret_cast<const uint4*>(from - skew)[i];
    }
    window(around, skew * static_cast<unsigned>(sizeof(T)), words.word);
  } else {
    compute_t<T> x[kCount];
#pragma unroll
    for (int i = 0; i < kCount; ++i) x[i] = widen(from[i]);
    words = pack_words<T>(x);
  }
  return words;
}

// The first `present` of kCount elements that lie `stride` apart, anywhere; `otherwise` stands in for the rest.
template <int kCount, class T>
__device__ __forceinline__ void load_each(const T* from, int64_t stride, int present, compute_t<T> otherwise,
                                          compute_t<T> (&x)[kCount]) {
#pragma unroll
  for (int i = 0; i < kCount; ++i) x[i] = i < present ? widen(from[i * stride]) : otherwise;
}
template <int kCount, class T>
__device__ __forceinline__ void store_each(T* to, int64_t stride, int present, const compute_t<T> (&x)[kCount]) {
#pragma unroll
  for (int i = 0; i < kCount; ++i)
    if (i < present) to[i * stride] = narrow<T>(x[i]);
}

}  // namespace oprt
