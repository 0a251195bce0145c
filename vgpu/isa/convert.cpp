// cvt: from every type to every other.
#include "isa/lanes.h"
#include "isa/table.h"

namespace vgpu::isa::VGPU_TARGET {
namespace {

// --- Between integers --------------------------------------------------------------------------------------

template <class D, class S>
D convert(S x) {
  return static_cast<D>(x);
}
template <class D, class S>
D convert_sat(S x) {
  if (std::cmp_less(x, std::numeric_limits<D>::min())) return std::numeric_limits<D>::min();
  if (std::cmp_greater(x, std::numeric_limits<D>::max())) return std::numeric_limits<D>::max();
  return static_cast<D>(x);
}

// cvt.pack: two numbers side by side, the first above; narrower ones push what was there up.
template <class D>
uint32_t pack(int32_t a, int32_t b) {
  return static_cast<uint32_t>(convert_sat<D, int32_t>(a)) << 16 | static_cast<uint16_t>(convert_sat<D, int32_t>(b));
}
template <class D>
uint32_t pack_below(int32_t a, int32_t b, uint32_t above) {
  return above << 16 | static_cast<uint32_t>(static_cast<uint8_t>(convert_sat<D, int32_t>(a))) << 8 |
         static_cast<uint8_t>(convert_sat<D, int32_t>(b));
}

// --- To integers -------------------------------------------------------------------------------------------

// What rounds here does so as the processor does; rows that are common name the rounding instead.
constexpr Rounding kAsProcessor = Rounding::nearest;

template <Rounding R, class T>
T to_integral(T x) {
  switch (R) {
    case Rounding::zero: return std::trunc(x);
    case Rounding::down: return std::floor(x);
    case Rounding::up: return std::ceil(x);
    default: return std::rint(x);
  }
}
inline double widen(double x) { return x; }
using isa::widen;

// Out of range: the nearest integer there is. NaN: 0, or, where one of the types has 64 bits, the top bit alone.
template <class D, class S, bool kFtz = false, Rounding R = kAsProcessor>
D to_integer(S s) {
  auto x = widen(s);
  if constexpr (kFtz) x = flush(x);
  using T = decltype(x);
  const T whole = to_integral<R>(x);
  constexpr T kEnd = static_cast<T>(uint64_t{1} << (sizeof(D) * 8 - 1)) * (std::is_signed_v<D> ? 1 : 2);
  constexpr D kNotANumber = sizeof(S) == 8 || sizeof(D) == 8 ? static_cast<D>(uint64_t{1} << (sizeof(D) * 8 - 1)) : 0;
  if (x != x) return kNotANumber;
  if (whole >= kEnd) return std::numeric_limits<D>::max();
  if (whole < (std::is_signed_v<D> ? -kEnd : T(0))) return std::numeric_limits<D>::min();
  return static_cast<D>(whole);
}

// --- From integers -----------------------------------------------------------------------------------------

// A double that rounds, to fewer digits, as the integer does: where digits are lost the last one kept becomes 1.
template <class S>
double to_odd(S x) {
  if constexpr (sizeof(S) == 8) {
    const bool negative = x < 0;
    uint64_t magnitude = negative ? 0 - static_cast<uint64_t>(x) : static_cast<uint64_t>(x);
    if (magnitude >> 53) magnitude = (magnitude >> 11 | ((magnitude & 0x7ff) != 0)) << 11;
    return negative ? -static_cast<double>(magnitude) : static_cast<double>(magnitude);
  } else {
    return x;
  }
}
template <class D, class S, bool kSat>
D from_integer(S x) {
  const D y = static_cast<D>(x);
  return kSat ? saturate(y) : y;
}
// Long, and called by a hundred rows: as part of each it would take seconds to build.
template <class H>
[[gnu::noinline]] H to_half(double x) {
  const Rounding rounding = ProcessorRounds::now();
  return {static_cast<uint16_t>(std::is_same_v<H, Half> ? narrow<5, 10>(x, rounding) : narrow<8, 7>(x, rounding))};
}
template <class H, class S, bool kSat>
H half_from_integer(S x) {
  return to_half<H>(kSat ? saturate(to_odd(x)) : to_odd(x));
}

// --- Between floats ----------------------------------------------------------------------------------------

template <class D, class S, bool kFtz, bool kSat>
D resize(S x) {
  if constexpr (kFtz && std::is_same_v<S, float>) x = flush(x);
  D y = static_cast<D>(x);
  if constexpr (kFtz && std::is_same_v<D, float>) y = flush(y);
  return kSat ? saturate(y) : canonical(y);
}
template <class T, bool kFtz, bool kSat, Rounding R = kAsProcessor>
T round_integral(T x) {
  if constexpr (kFtz) x = flush(x);
  const T y = to_integral<R>(x);
  return kSat ? saturate(y) : canonical(y);
}
// Widened, only a bfloat16 can be subnormal.
template <class D, class H, bool kFtz, bool kSat>
D from_half(H x) {
  D y = widen(x);
  if constexpr (kFtz) y = flush(y);
  return kSat ? saturate(y) : canonical(y);
}
template <class H>
H round_integral_half(H x) {
  return round_to<H>(to_integral<kAsProcessor>(widen(x)));
}

enum class Finish : uint8_t { none, sat, relu, finite, relu_finite };

// What may be done to a number before it is rounded to half: the same as doing it afterwards, for these.
template <class H, Finish kFinish, class S>
S prepare(S x) {
  constexpr S kLargest = std::is_same_v<H, Half> ? S(65504) : S(0x1.fep127);
  if (kFinish == Finish::sat) return saturate(x);
  if ((kFinish == Finish::relu || kFinish == Finish::relu_finite) && x <= 0) x = 0;  // -0, too
  if (kFinish == Finish::finite || kFinish == Finish::relu_finite)
    x = x > kLargest ? kLargest : x < -kLargest ? -kLargest : x;
  return x;
}
template <class H, class S, Finish kFinish = Finish::none, bool kFtz = false>
H half_from(S s) {
  auto x = widen(s);
  if constexpr (kFtz) x = flush(x);
  return to_half<H>(prepare<H, kFinish>(x));
}
// The first operand becomes the high half.
template <class H, auto F>
Pair<H> pair_from(float high, float low) {
  return {F(low), F(high)};
}

// --- tf32, and the 8-bit formats ---------------------------------------------------------------------------

template <Rounding R>
[[gnu::noinline]] uint32_t narrow_to_tf32(float x) {
  return narrow<8, 10>(x, R) << 13;
}
template <Rounding R, bool kRelu, bool kFinite>
uint32_t to_tf32(float x) {
  constexpr uint32_t kInfinity = 0x7f800000;
  if (x != x) return 0x7fffffff;
  if (kRelu && x <= 0) x = 0;  // -0, too
  const uint32_t bits = narrow_to_tf32<R>(x);
  return kFinite && (bits & kInfinity) == kInfinity ? bits - (1 << 13) : bits;
}

template <bool kE4m3, bool kRelu>
[[gnu::noinline]] uint8_t to_byte(float x) {
  if (kRelu && x <= 0) x = 0;
  if (kE4m3) return static_cast<uint8_t>(narrow<4, 3, true>(x));
  const uint32_t bits = narrow<5, 2>(x);
  return static_cast<uint8_t>((bits & 0x7f) == 0x7c ? bits - 1 : bits);  // satfinite
}
template <bool kE4m3>
[[gnu::noinline]] Half from_byte(uint8_t byte) {
  if ((byte & 0x7f) > (kE4m3 ? 0x7e : 0x7c)) return {0x7fff};  // NaN
  if (!kE4m3) return {static_cast<uint16_t>(byte << 8)};
  const int exponent = byte >> 3 & 15;
  const float magnitude =
      exponent ? std::ldexp(static_cast<float>(8 | (byte & 7)), exponent - 10) : static_cast<float>(byte & 7) * 0x1p-9f;
  return round_to<Half>(byte & 0x80 ? -magnitude : magnitude);
}
template <bool kE4m3, bool kRelu>
uint16_t bytes_from_floats(float high, float low) {
  return static_cast<uint16_t>(to_byte<kE4m3, kRelu>(high) << 8 | to_byte<kE4m3, kRelu>(low));
}
template <bool kE4m3, bool kRelu>
uint16_t bytes_from_halves(Pair<Half> x) {
  return bytes_from_floats<kE4m3, kRelu>(widen(x.high), widen(x.low));
}
template <bool kE4m3, bool kRelu>
Pair<Half> halves_from_bytes(uint16_t x) {
  const auto part = [](uint8_t byte) {
    const Half h = from_byte<kE4m3>(byte);
    return kRelu && h.bits >> 15 ? Half{0} : h;
  };
  return {part(static_cast<uint8_t>(x)), part(static_cast<uint8_t>(x >> 8))};
}

// --- Rows --------------------------------------------------------------------------------------------------

const char* spelling(Rounding r) {
  switch (r) {
    case Rounding::nearest: return ".rn";
    case Rounding::zero: return ".rz";
    case Rounding::down: return ".rm";
    case Rounding::up: return ".rp";
    case Rounding::away: return ".rna";
  }
  return "";
}

// Of a row for each rounding the one to nearest is the common one, if any is.
template <bool kCommon, Rounding R>
using Mode = std::conditional_t<kCommon && R == Rounding::nearest, Common, Rounded<R>>;

template <Rounding... R, class F>
void each_rounding(F&& f) {
  (f.template operator()<R>(), ...);
}
template <class F>
void all_roundings(F&& f) {
  each_rounding<Rounding::nearest, Rounding::zero, Rounding::down, Rounding::up>(f);
}
template <class F>
void all_integers(F&& f) {
  each<uint8_t, int8_t, uint16_t, int16_t, uint32_t, int32_t, uint64_t, int64_t>(f);
}

void add_between_integers(Table& t) {
  all_integers([&]<class D>() {
    all_integers([&]<class S>() {
      using Mode = std::conditional_t<(sizeof(D) > 1 && sizeof(S) > 1), Common, Rare>;
      t.add({"cvt", name<D>(), name<S>()}, lanes<convert<D, S>, Mode>);
      t.add({"cvt.sat", name<D>(), name<S>()}, lanes<convert_sat<D, S>, Rare>);
    });
  });
}

void add_packs(Table& t) {
  t.add("cvt.pack.sat.u16.s32", lanes<pack<uint16_t>, Rare>);
  t.add("cvt.pack.sat.s16.s32", lanes<pack<int16_t>, Rare>);
  t.add("cvt.pack.sat.u8.s32.b32", lanes<pack_below<uint8_t>, Rare>);
  t.add("cvt.pack.sat.s8.s32.b32", lanes<pack_below<int8_t>, Rare>);
}

void add_integers_and_floats(Table& t) {
  all_integers([&]<class I>() {
    all_roundings([&]<Rounding R>() {
      const char* const rounding = spelling(R);
      if constexpr (sizeof(I) == 4)
        t.add({"cvt", rounding, "i{.sat}", name<I>(), ".f32"}, lanes<to_integer<I, float, false, R>>);
      else
        t.add({"cvt", rounding, "i{.sat}", name<I>(), ".f32"}, lanes<to_integer<I, float>, Rounded<R>>);
      t.add({"cvt", rounding, "i.ftz{.sat}", name<I>(), ".f32"}, lanes<to_integer<I, float, true>, Rounded<R>>);
      t.add({"cvt", rounding, "i{.sat}", name<I>(), ".f64"}, lanes<to_integer<I, double>, Rounded<R>>);
      each<Half, Bfloat>([&]<class H>() {
        t.add({"cvt", rounding, "i{.sat}", name<I>(), name<H>()}, lanes<to_integer<I, H>, Rounded<R>>);
        t.add({"cvt", rounding, name<H>(), name<I>()}, lanes<half_from_integer<H, I, false>, Rounded<R>>);
      });
      t.add({"cvt", rounding, ".sat.f16", name<I>()}, lanes<half_from_integer<Half, I, true>, Rounded<R>>);
      each<float, double>([&]<class F>() {
        t.add({"cvt", rounding, name<F>(), name<I>()}, lanes<from_integer<F, I, false>, Mode<true, R>>);
        t.add({"cvt", rounding, ".sat", name<F>(), name<I>()}, lanes<from_integer<F, I, true>, Rounded<R>>);
      });
    });
  });
}

// .relu and .satfinite, and pairs, round to nearest or to zero only.
template <class H, Finish kFinish>
void add_to_half(Table& t, const std::string& flags) {
  each_rounding<Rounding::nearest, Rounding::zero>([&]<Rounding R>() {
    const std::string head = spelling(R) + flags;
    constexpr auto kConvert = half_from<H, float, kFinish>;
    t.add({"cvt", head, name<H>(), ".f32"}, lanes<kConvert, Rounded<R>>);
    t.add({"cvt", head, name<Pair<H>>(), ".f32"}, lanes<pair_from<H, kConvert>, Rounded<R>>);
  });
}

void add_halves(Table& t) {
  each<Half, Bfloat>([&]<class H>() {
    add_to_half<H, Finish::none>(t, "");
    add_to_half<H, Finish::relu>(t, ".relu");
    add_to_half<H, Finish::finite>(t, ".satfinite");
    add_to_half<H, Finish::relu_finite>(t, ".relu.satfinite");
    t.add({"cvt.f32", name<H>()}, lanes<from_half<float, H, false, false>>);
    t.add({"cvt.ftz.f32", name<H>()}, lanes<from_half<float, H, true, false>>);
    t.add({"cvt.sat.f32", name<H>()}, lanes<from_half<float, H, false, true>>);
    t.add({"cvt.ftz.sat.f32", name<H>()}, lanes<from_half<float, H, true, true>>);
    t.add({"cvt.f64", name<H>()}, lanes<from_half<double, H, false, false>>);
    t.add({"cvt.sat.f64", name<H>()}, lanes<from_half<double, H, false, true>>);
    all_roundings([&]<Rounding R>() {
      using Other = std::conditional_t<std::is_same_v<H, Half>, Bfloat, Half>;
      const char* const rounding = spelling(R);
      t.add({"cvt", rounding, name<H>(), ".f32"}, lanes<half_from<H, float>, Rounded<R>>);
      t.add({"cvt", rounding, ".ftz", name<H>(), ".f32"}, lanes<half_from<H, float, Finish::none, true>, Rounded<R>>);
      t.add({"cvt", rounding, name<H>(), ".f64"}, lanes<half_from<H, double>, Rounded<R>>);
      t.add({"cvt", rounding, "i", name<H>(), name<H>()}, lanes<round_integral_half<H>, Rounded<R>>);
      t.add({"cvt", rounding, name<H>(), name<Other>()}, lanes<half_from<H, Other>, Rounded<R>>);
    });
    // The common ones.
    t.add({"cvt.rn", name<H>(), ".f32"}, lanes<round_to<H>>);
    t.add({"cvt.rn", name<Pair<H>>(), ".f32"}, lanes<pair_from<H, round_to<H>>>);
  });
  all_roundings([&]<Rounding R>() {
    const char* const rounding = spelling(R);
    t.add({"cvt", rounding, ".sat.f16.f32"}, lanes<half_from<Half, float, Finish::sat>, Rounded<R>>);
    t.add({"cvt", rounding, ".ftz.sat.f16.f32"}, lanes<half_from<Half, float, Finish::sat, true>, Rounded<R>>);
    t.add({"cvt", rounding, ".sat.f16.f64"}, lanes<half_from<Half, double, Finish::sat>, Rounded<R>>);
  });
}

void add_between_floats(Table& t) {
  t.add("cvt.f64.f32", lanes<resize<double, float, false, false>>);
  t.add("cvt.ftz.f64.f32", lanes<resize<double, float, true, false>>);
  t.add("cvt.sat.f64.f32", lanes<resize<double, float, false, true>>);
  t.add("cvt.ftz.sat.f64.f32", lanes<resize<double, float, true, true>>);
  t.add("cvt.f32.f32", lanes<resize<float, float, false, false>>);
  t.add("cvt.ftz.f32.f32", lanes<resize<float, float, true, false>>);
  t.add("cvt.sat.f32.f32", lanes<resize<float, float, false, true>>);
  t.add("cvt.ftz.sat.f32.f32", lanes<resize<float, float, true, true>>);
  t.add("cvt.sat.f64.f64", lanes<resize<double, double, false, true>>);
  all_roundings([&]<Rounding R>() {
    const char* const rounding = spelling(R);
    t.add({"cvt", rounding, ".f32.f64"}, lanes<resize<float, double, false, false>, Mode<true, R>>);
    t.add({"cvt", rounding, ".ftz.f32.f64"}, lanes<resize<float, double, true, false>, Mode<true, R>>);
    t.add({"cvt", rounding, ".sat.f32.f64"}, lanes<resize<float, double, false, true>, Rounded<R>>);
    t.add({"cvt", rounding, ".ftz.sat.f32.f64"}, lanes<resize<float, double, true, true>, Rounded<R>>);
    t.add({"cvt", rounding, "i.f32.f32"}, lanes<round_integral<float, false, false, R>>);
    t.add({"cvt", rounding, "i.ftz.f32.f32"}, lanes<round_integral<float, true, false>, Rounded<R>>);
    t.add({"cvt", rounding, "i.sat.f32.f32"}, lanes<round_integral<float, false, true>, Rounded<R>>);
    t.add({"cvt", rounding, "i.ftz.sat.f32.f32"}, lanes<round_integral<float, true, true>, Rounded<R>>);
    t.add({"cvt", rounding, "i.f64.f64"}, lanes<round_integral<double, false, false>, Rounded<R>>);
    t.add({"cvt", rounding, "i.sat.f64.f64"}, lanes<round_integral<double, false, true>, Rounded<R>>);
  });
}

void add_small_formats(Table& t) {
  t.add("cvt.rna.tf32.f32", lanes<to_tf32<Rounding::away, false, false>, Rare>);
  t.add("cvt.rna.satfinite.tf32.f32", lanes<to_tf32<Rounding::away, false, true>, Rare>);
  each_rounding<Rounding::nearest, Rounding::zero>([&]<Rounding R>() {
    const std::string head = std::string("cvt") + spelling(R);
    t.add({head, ".tf32.f32"}, lanes<to_tf32<R, false, false>, Rare>);
    t.add({head, ".satfinite.tf32.f32"}, lanes<to_tf32<R, false, true>, Rare>);
    t.add({head, ".relu.tf32.f32"}, lanes<to_tf32<R, true, false>, Rare>);
    t.add({head, ".relu.satfinite.tf32.f32"}, lanes<to_tf32<R, true, true>, Rare>);
  });
  const auto bytes = [&]<bool kE4m3>(const std::string& type) {
    t.add({"cvt.rn.satfinite", type, ".f32"}, lanes<bytes_from_floats<kE4m3, false>, Rare>);
    t.add({"cvt.rn.satfinite.relu", type, ".f32"}, lanes<bytes_from_floats<kE4m3, true>, Rare>);
    t.add({"cvt.rn.satfinite", type, ".f16x2"}, lanes<bytes_from_halves<kE4m3, false>, Rare>);
    t.add({"cvt.rn.satfinite.relu", type, ".f16x2"}, lanes<bytes_from_halves<kE4m3, true>, Rare>);
    t.add({"cvt.rn.f16x2", type}, lanes<halves_from_bytes<kE4m3, false>, Rare>);
    t.add({"cvt.rn.relu.f16x2", type}, lanes<halves_from_bytes<kE4m3, true>, Rare>);
  };
  bytes.operator()<true>(".e4m3x2");
  bytes.operator()<false>(".e5m2x2");
}

}  // namespace

void add_convert(Table& t) {
  add_between_integers(t);
  add_packs(t);
  add_integers_and_floats(t);
  add_halves(t);
  add_between_floats(t);
  add_small_formats(t);
}

}  // namespace vgpu::isa::VGPU_TARGET
