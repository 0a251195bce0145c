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

HWY_INLINE VecF32 load_f32(const bf16* p) {
  const auto bits = hn::LoadU(U16(), reinterpret_cast<const uint16_t*>(p));
  return hn::BitCast(F32(), hn::ShiftLeft<16>(hn::PromoteTo(U32(), bits)));
}

HWY_INLINE VecF32 load_f32(const f16* p) {
#if HWY_TARGET == HWY_EMU128 || HWY_TARGET == HWY_SCALAR
  HWY_ALIGN float wide[kMaxLanes];
  for (size_t i = 0; i < lanes(); ++i) wide[i] = widen(p[i]);
  return hn::Load(F32(), wide);
#else
  return hn::PromoteTo(F32(), hn::LoadU(F16(), reinterpret_cast<const hwy::float16_t*>(p)));
#endif
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

template <class T>
HWY_INLINE VecF32 load_f32_n(const T* p, size_t n, float fill = 0.0f) {
  HWY_ALIGN T buffer[kMaxLanes];
  for (size_t i = 0; i < lanes(); ++i) buffer[i] = narrow<T>(fill);
  std::memcpy(buffer, p, n * sizeof(T));
  return load_f32(buffer);
}

template <class T>
HWY_INLINE void store_n(VecF32 v, T* p, size_t n) {
  HWY_ALIGN T buffer[kMaxLanes];
  store(v, buffer);
  std::memcpy(p, buffer, n * sizeof(T));
}

// ---- one element ----

// x y + z rounded as a lane of MulAdd is, so that an element's bits do not depend on whether it falls into a tail.
HWY_INLINE float mul_add(float x, float y, float z) {
  const hn::CappedTag<float, 1> d;
  return hn::GetLane(hn::MulAdd(hn::Set(d, x), hn::Set(d, y), hn::Set(d, z)));
}

// ---- past the cache: p is a multiple of the vector's bytes; hwy::FlushStream() must follow ----

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
