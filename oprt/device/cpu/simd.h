// Vectors for the CPU's kernels, on Highway. A kernel file is compiled once per target (portable, AVX2, AVX-512, NEON):
//
//   #undef HWY_TARGET_INCLUDE
//   #define HWY_TARGET_INCLUDE "oprt/ops/relu/relu_cpu.cpp"
//   #include <hwy/foreach_target.h>        // includes this file again for each target
//   #include "oprt/device/cpu/elementwise.h"
//
// All arithmetic is f32: load_f32 widens, store narrows with rounding to nearest even.
#if defined(OPRT_DEVICE_CPU_SIMD_H) == defined(HWY_TARGET_TOGGLE)
#ifdef OPRT_DEVICE_CPU_SIMD_H
#undef OPRT_DEVICE_CPU_SIMD_H
#else
#define OPRT_DEVICE_CPU_SIMD_H
#endif

#include <hwy/cache_control.h>
#include <hwy/highway.h>

#include <cstring>
#include <type_traits>

#include "oprt/core/dtype.h"
#include "oprt/core/half.h"

HWY_BEFORE_NAMESPACE();
namespace oprt {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

using F32 = hn::ScalableTag<float>;
using I32 = hn::RebindToSigned<F32>;
using U32 = hn::RebindToUnsigned<F32>;
using U16 = hn::Rebind<uint16_t, F32>;
using F16 = hn::Rebind<hwy::float16_t, F32>;
using VecF32 = hn::Vec<F32>;

// f32 lanes in a vector: how many elements one load_f32 takes, whatever the storage type.
HWY_INLINE size_t lanes() { return hn::Lanes(F32()); }

// Elements of a stack buffer that holds one vector on any target.
constexpr size_t kMaxLanes = HWY_MAX_BYTES / sizeof(float);

// ---- whole vectors; any alignment ----

HWY_INLINE VecF32 load_f32(const float* p) { return hn::LoadU(F32(), p); }

HWY_INLINE VecF32 widen_bits(hn::Vec<U16> bits, bf16) {
  return hn::BitCast(F32(), hn::ShiftLeft<16>(hn::PromoteTo(U32(), bits)));
}

HWY_INLINE VecF32 widen_bits(hn::Vec<U16> bits, f16) {
#if HWY_TARGET == HWY_EMU128 || HWY_TARGET == HWY_SCALAR
  HWY_ALIGN uint16_t half[kMaxLanes];
  HWY_ALIGN float wide[kMaxLanes];
  hn::Store(bits, U16(), half);
  for (size_t i = 0; i < lanes(); ++i) wide[i] = widen(f16{half[i]});
  return hn::Load(F32(), wide);
#else
  return hn::PromoteTo(F32(), hn::BitCast(F16(), bits));
#endif
}

template <class T>
HWY_INLINE VecF32 load_f32(const T* p) {
  return widen_bits(hn::LoadU(U16(), reinterpret_cast<const uint16_t*>(p)), T());
}

// The narrowed bits of a vector, in the lower half of 32-bit lanes: nearest even, a NaN made quiet.
HWY_INLINE hn::Vec<U32> narrow_bits_bf16(VecF32 v) {
  const U32 d;
  const auto bits = hn::BitCast(d, v);
  const auto odd = hn::And(hn::ShiftRight<16>(bits), hn::Set(d, 1u));
  const auto rounded = hn::ShiftRight<16>(hn::Add(bits, hn::Add(odd, hn::Set(d, 0x7FFFu))));
  const auto quiet = hn::Or(hn::ShiftRight<16>(bits), hn::Set(d, 0x40u));
  return hn::IfThenElse(hn::RebindMask(d, hn::IsNaN(v)), quiet, rounded);
}

HWY_INLINE void store(VecF32 v, float* p) { hn::StoreU(v, F32(), p); }

HWY_INLINE void store(VecF32 v, bf16* p) {
  // DemoteTo saturates signed 32-bit lanes to 16 bits; these fit.
  const auto half = hn::DemoteTo(U16(), hn::BitCast(I32(), narrow_bits_bf16(v)));
  hn::StoreU(half, U16(), reinterpret_cast<uint16_t*>(p));
}

HWY_INLINE void store(VecF32 v, f16* p) {
#if HWY_TARGET == HWY_EMU128 || HWY_TARGET == HWY_SCALAR
  HWY_ALIGN float wide[kMaxLanes];
  hn::Store(v, F32(), wide);
  for (size_t i = 0; i < lanes(); ++i) p[i] = narrow<f16>(wide[i]);
#else
  hn::StoreU(hn::DemoteTo(F16(), v), F16(), reinterpret_cast<hwy::float16_t*>(p));  // F16C, NEON: nearest even
#endif
}

// ---- the first n lanes, n < lanes(); touch nothing beyond ----

// n elements of T, n < kMaxLanes, in a few moves of constant size: a call of memcpy costs more than they do.
template <class T>
HWY_INLINE void copy_few(T* to, const T* from, size_t n) {
  const auto move = [&](size_t count) {
    if (!(n & count)) return;
    std::memcpy(to, from, count * sizeof(T));
    to += count;
    from += count;
  };
  if constexpr (kMaxLanes > 16) move(16);
  if constexpr (kMaxLanes > 8) move(8);
  if constexpr (kMaxLanes > 4) move(4);
  if constexpr (kMaxLanes > 2) move(2);
  move(1);
}

#if HWY_TARGET == HWY_AVX2
// The bits of n <= 4 elements of 16 bits.
template <class T>
HWY_INLINE uint64_t few_bits(const T* p, size_t n) {
  uint64_t bits = 0;
  if (n & 4) return std::memcpy(&bits, p, 8), bits;
  uint16_t last = 0;
  if (n & 1) std::memcpy(&last, p + (n & 2), 2);
  if (n & 2) std::memcpy(&bits, p, 4);
  return bits | static_cast<uint64_t>(last) << 16 * (n & 2);
}
#endif

// Lanes from n on are 0.
template <class T>
HWY_INLINE VecF32 load_f32_n(const T* p, size_t n) {
#if HWY_TARGET <= HWY_AVX2
  if constexpr (std::is_same_v<T, float>) return hn::MaskedLoad(hn::FirstN(F32(), n), F32(), p);
#endif
#if HWY_TARGET == HWY_AVX2
  // Through registers: a vector load of what was stored in pieces waits for the stores (a row of 17 took 1.4 times as
  // long).
  if constexpr (sizeof(T) == 2) {
    const hn::Repartition<uint64_t, U16> d;
    const auto low = hn::Set(d, few_bits(p, n < 4 ? n : 4)), high = hn::Set(d, n > 4 ? few_bits(p + 4, n - 4) : 0);
    return widen_bits(hn::BitCast(U16(), hn::InterleaveLower(d, low, high)), T());
  }
#endif
  HWY_ALIGN T buffer[kMaxLanes] = {};
  copy_few(buffer, p, n);
  return load_f32(buffer);
}

template <class T>
HWY_INLINE void store_n(VecF32 v, T* p, size_t n) {
  HWY_ALIGN T buffer[kMaxLanes];
  store(v, buffer);
  copy_few(p, buffer, n);
}

// ---- one element ----

// x y + z rounded as a lane of MulAdd is, so that an element's bits do not depend on whether it falls into a tail.
HWY_INLINE float mul_add(float x, float y, float z) {
  const hn::CappedTag<float, 1> d;
  return hn::GetLane(hn::MulAdd(hn::Set(d, x), hn::Set(d, y), hn::Set(d, z)));
}

// ---- past the cache: p is a multiple of the vector's bytes; hwy::FlushStream() must follow ----

// Elements before p is at the start of a cache line, if it is a multiple of sizeof(T). Only whole lines are streamed:
// one that is written in part costs a read and a write of memory at once, where the cache would put it together with
// what the next row writes (10000 x 1000, layernorm: f32 takes 0.85 of the time so, bf16 0.75).
template <class T>
HWY_INLINE int64_t to_line(const T* p) {
  return static_cast<int64_t>((0 - reinterpret_cast<uintptr_t>(p)) % 64 / sizeof(T));
}

HWY_INLINE void stream(VecF32 v, float* p) { hn::Stream(v, F32(), p); }
HWY_INLINE void stream(VecF32 v, bf16* p) {
  const auto half = hn::DemoteTo(U16(), hn::BitCast(I32(), narrow_bits_bf16(v)));
  hn::Stream(half, U16(), reinterpret_cast<uint16_t*>(p));
}
HWY_INLINE void stream(VecF32 v, f16* p) {
#if HWY_TARGET == HWY_EMU128 || HWY_TARGET == HWY_SCALAR
  store(v, p);
#else
  hn::Stream(hn::BitCast(U16(), hn::DemoteTo(F16(), v)), U16(), reinterpret_cast<uint16_t*>(p));
#endif
}

}  // namespace HWY_NAMESPACE
}  // namespace oprt
HWY_AFTER_NAMESPACE();

#endif
