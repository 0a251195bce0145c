// The one form that most instructions have: a function of a lane's operands, applied to all lanes. The types of the
// operands are the types of the function:
//
//     table.add("add.s32", lanes<add<int32_t>>);
//
// A bool is a predicate. How often the instruction is met, and how it rounds, is a second argument.
#pragma once

#include <utility>

#include "isa/binder.h"
#include "isa/numeric.h"

namespace vgpu::isa {

template <class T>
constexpr ptx::Type kType = ptx::Type::none;
template <>
inline constexpr ptx::Type kType<bool> = ptx::Type::pred;
template <>
inline constexpr ptx::Type kType<uint8_t> = ptx::Type::u8;
template <>
inline constexpr ptx::Type kType<int8_t> = ptx::Type::s8;
template <>
inline constexpr ptx::Type kType<uint16_t> = ptx::Type::u16;
template <>
inline constexpr ptx::Type kType<int16_t> = ptx::Type::s16;
template <>
inline constexpr ptx::Type kType<uint32_t> = ptx::Type::u32;
template <>
inline constexpr ptx::Type kType<int32_t> = ptx::Type::s32;
template <>
inline constexpr ptx::Type kType<uint64_t> = ptx::Type::u64;
template <>
inline constexpr ptx::Type kType<int64_t> = ptx::Type::s64;
template <>
inline constexpr ptx::Type kType<Half> = ptx::Type::f16;
template <>
inline constexpr ptx::Type kType<Bfloat> = ptx::Type::bf16;
template <>
inline constexpr ptx::Type kType<Pair<Half>> = ptx::Type::f16x2;
template <>
inline constexpr ptx::Type kType<Pair<Bfloat>> = ptx::Type::bf16x2;
template <>
inline constexpr ptx::Type kType<float> = ptx::Type::f32;
template <>
inline constexpr ptx::Type kType<double> = ptx::Type::f64;

// As mnemonics spell it.
template <class T>
constexpr const char* name() {
  switch (kType<T>) {
    case ptx::Type::pred: return ".pred";
    case ptx::Type::u8: return ".u8";
    case ptx::Type::s8: return ".s8";
    case ptx::Type::u16: return ".u16";
    case ptx::Type::s16: return ".s16";
    case ptx::Type::u32: return ".u32";
    case ptx::Type::s32: return ".s32";
    case ptx::Type::u64: return ".u64";
    case ptx::Type::s64: return ".s64";
    case ptx::Type::f16: return ".f16";
    case ptx::Type::bf16: return ".bf16";
    case ptx::Type::f16x2: return ".f16x2";
    case ptx::Type::bf16x2: return ".bf16x2";
    case ptx::Type::f32: return ".f32";
    case ptx::Type::f64: return ".f64";
    default: return "";
  }
}

// f.operator()<T>() for each type.
template <class... T, class F>
void each(F&& f) {
  (f.template operator()<T>(), ...);
}

// for_each_lane in any order: where all lanes take part the compiler vectorises the loop.
template <class F>
VGPU_INLINE void for_lanes(Mask lanes, F&& f) {
  if (lanes == kAllLanes) {
#pragma GCC ivdep
    for (int l = 0; l < kLanes; ++l) f(l);
  } else {
    for_each_lane(lanes, f);
  }
}

// How the lanes are computed. A rare instruction, or one that the compiler cannot vectorise, has a plain loop, which is
// quicker to build. `Rounded` is rare, too: the processor rounds so meanwhile. The instruction holds the rounding, as
// its `offset`, so that one handler serves all.
struct Common {};
struct Rare {};
template <Rounding R>
struct Rounded {};

namespace detail {

struct Bits {
  Mask mask;
  bool operator[](int lane) const { return static_cast<int32_t>(mask << (31 - lane)) < 0; }  // a sign: vectorises
};

template <class T>
VGPU_INLINE auto input(Warp& w, const Decoded& d, Ref ref, int place) {
  if constexpr (std::is_same_v<T, bool>)
    return Bits{w.mask(ref) ^ (d.flips >> place & 1 ? kAllLanes : 0)};
  else
    return static_cast<const T*>(w.lanes<T>(ref));
}

// A mode, as the handler has to know it, and what the instruction holds of it.
struct AnyRounding {};
template <class Mode>
struct Held {
  using type = Mode;
  static void tell(Binder&) {}
};
template <Rounding R>
struct Held<Rounded<R>> {
  using type = AnyRounding;
  static void tell(Binder& b) { b.out.offset = static_cast<int64_t>(R); }
};

template <auto F, class Mode, class Signature>
struct Form;

template <auto F, class Mode, class D, class... S>
struct Form<F, Mode, D (*)(S...)> {
  // Not as rare as other roundings: an exponential of f32 begins with a product rounded down.
  static constexpr bool kRoundsFloats =
      std::is_same_v<Mode, AnyRounding> && std::is_same_v<D, float> && (std::is_same_v<S, float> && ...);

  template <size_t... I>
  VGPU_INLINE static void apply(Warp& w, const Decoded& d, Mask lanes, std::index_sequence<I...>) {
    const auto all = [&](const auto... in) {  // by value: not to be read again after each lane's store
      if constexpr (std::is_same_v<D, bool>) {
        Mask result = 0;
        for (int l = 0; l < kLanes; ++l) result |= static_cast<Mask>(F(in[l]...)) << l;
        Mask& out = w.mask(d.d);
        out = (out & ~lanes) | (result & lanes);
      } else {
        D* const out = w.lanes<D>(d.d);
        const auto one = [=](int l) { out[l] = F(in[l]...); };
        if constexpr (std::is_same_v<Mode, Common> || kRoundsFloats)
          for_lanes(lanes, one);
        else
          for_each_lane(lanes, one);
      }
    };
    all(input<S>(w, d, d.*kSources[I], I)...);
  }
  static const Decoded* run(Warp& w, const Decoded& d, Mask lanes) {
    if constexpr (std::is_same_v<Mode, AnyRounding>) {
      const ProcessorRounds so(static_cast<Rounding>(d.offset));
      apply(w, d, lanes, std::index_sequence_for<S...>());
    } else {
      apply(w, d, lanes, std::index_sequence_for<S...>());
    }
    return &d + 1;
  }
};

}  // namespace detail

template <auto F, class Mode = Common>
bool lanes(Binder& b) {
  using Signature = std::decay_t<decltype(F)>;
  using Held = detail::Held<Mode>;
  Held::tell(b);
  return [&]<class D, class... S>(D (*)(S...)) {
    return b.bind(kType<D>, {kType<S>...}, detail::Form<F, typename Held::type, D (*)(S...)>::run);
  }(static_cast<Signature>(F));
}

}  // namespace vgpu::isa
