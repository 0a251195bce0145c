// f16 and bf16 arithmetic, single and in pairs: computed in float (numeric.h) and rounded once.
#include "isa/lanes.h"
#include "isa/table.h"

namespace vgpu::isa::VGPU_TARGET {
namespace {

float add(float a, float b) { return a + b; }
float sub(float a, float b) { return a - b; }
float mul(float a, float b) { return a * b; }
float relu(float x) { return x > 0 || x != x ? x : 0.0f; }

template <bool kNanWins>
float min(float a, float b) {
  const float less = a < b ? a : b < a ? b : (std::signbit(a) ? a : b);
  if (kNanWins) return a != a || b != b ? kNan : less;
  return a != a ? b : b != b ? a : less;
}
template <bool kNanWins>
float max(float a, float b) {
  const float more = a > b ? a : b > a ? b : (std::signbit(a) ? b : a);
  if (kNanWins) return a != a || b != b ? kNan : more;
  return a != a ? b : b != b ? a : more;
}
template <auto F>
float xorsign(float a, float b) {
  return std::copysign(F(std::fabs(a), std::fabs(b)), std::signbit(a) != std::signbit(b) ? -1.0f : 1.0f);
}
float ex2(float x) { return std::exp2(x); }
float tanh(float x) { return std::tanh(x); }

enum class Finish : uint8_t { none, sat, relu };

inline Bfloat flush_half(Bfloat x) { return {static_cast<uint16_t>(x.bits & 0x7f80 ? x.bits : x.bits & 0x8000)}; }
inline Half flush_half(Half x) { return flush(x); }

template <Finish kFinish>
float finish(float x) {
  return kFinish == Finish::sat ? saturate(x) : kFinish == Finish::relu ? relu(x) : x;
}

template <class H, auto F, bool kFtz = false, Finish kFinish = Finish::none>
H binary(H a, H b) {
  const H y = round_to<H>(finish<kFinish>(F(widen(kFtz ? flush_half(a) : a), widen(kFtz ? flush_half(b) : b))));
  return kFtz ? flush_half(y) : y;
}
template <class H, auto F, bool kFtz = false>
H unary(H a) {
  const H y = round_to<H>(F(widen(kFtz ? flush_half(a) : a)));
  return kFtz ? flush_half(y) : y;
}
template <class H, bool kFtz = false, Finish kFinish = Finish::none>
H fused(H a, H b, H c) {
  H y = kFtz ? fma_half(flush_half(a), flush_half(b), flush_half(c)) : fma_half(a, b, c);
  if (kFinish != Finish::none) y = round_to<H>(finish<kFinish>(widen(y)));
  return kFtz ? flush_half(y) : y;
}
template <class H>
H neg(H a) {
  return {static_cast<uint16_t>(a.bits ^ 0x8000)};
}
template <class H>
H abs(H a) {
  return {static_cast<uint16_t>(a.bits & 0x7fff)};
}
Half neg_ftz(Half a) { return flush(neg(a)); }
Half abs_ftz(Half a) { return flush(abs(a)); }

// The same on both halves of a pair.
template <auto F>
struct Both;
template <class H, H (*F)(H)>
struct Both<F> {
  static Pair<H> run(Pair<H> a) { return {F(a.low), F(a.high)}; }
};
template <class H, H (*F)(H, H)>
struct Both<F> {
  static Pair<H> run(Pair<H> a, Pair<H> b) { return {F(a.low, b.low), F(a.high, b.high)}; }
};
template <class H, H (*F)(H, H, H)>
struct Both<F> {
  static Pair<H> run(Pair<H> a, Pair<H> b, Pair<H> c) { return {F(a.low, b.low, c.low), F(a.high, b.high, c.high)}; }
};

// Rows for a type and for its pair.
template <class H, auto F>
void add_both(Table& t, const std::string& mnemonic) {
  t.add({mnemonic, name<H>()}, lanes<F>);
  t.add({mnemonic, name<Pair<H>>()}, lanes<Both<F>::run>);
}

template <class H>
void add_extremes(Table& t) {
  add_both<H, binary<H, min<false>>>(t, "min");
  add_both<H, binary<H, max<false>>>(t, "max");
  add_both<H, binary<H, min<true>>>(t, "min.NaN");
  add_both<H, binary<H, max<true>>>(t, "max.NaN");
  add_both<H, binary<H, xorsign<min<false>>>>(t, "min.xorsign.abs");
  add_both<H, binary<H, xorsign<max<false>>>>(t, "max.xorsign.abs");
  add_both<H, binary<H, xorsign<min<true>>>>(t, "min.NaN.xorsign.abs");
  add_both<H, binary<H, xorsign<max<true>>>>(t, "max.NaN.xorsign.abs");
}

template <class H>
void add_arithmetic(Table& t) {
  add_both<H, binary<H, add>>(t, "add{.rn}");
  add_both<H, binary<H, sub>>(t, "sub{.rn}");
  add_both<H, binary<H, mul>>(t, "mul{.rn}");
  add_both<H, fused<H>>(t, "fma.rn");
  add_both<H, fused<H, false, Finish::relu>>(t, "fma.rn.relu");
  add_both<H, neg<H>>(t, "neg");
  add_both<H, abs<H>>(t, "abs");
  add_both<H, unary<H, tanh>>(t, "tanh.approx");
  add_extremes<H>(t);
}

}  // namespace

void add_half(Table& t) {
  add_arithmetic<Half>(t);
  add_arithmetic<Bfloat>(t);

  add_both<Half, binary<Half, add, true>>(t, "add{.rn}.ftz");
  add_both<Half, binary<Half, sub, true>>(t, "sub{.rn}.ftz");
  add_both<Half, binary<Half, mul, true>>(t, "mul{.rn}.ftz");
  add_both<Half, binary<Half, add, false, Finish::sat>>(t, "add{.rn}.sat");
  add_both<Half, binary<Half, sub, false, Finish::sat>>(t, "sub{.rn}.sat");
  add_both<Half, binary<Half, mul, false, Finish::sat>>(t, "mul{.rn}.sat");
  add_both<Half, binary<Half, add, true, Finish::sat>>(t, "add{.rn}.ftz.sat");
  add_both<Half, binary<Half, sub, true, Finish::sat>>(t, "sub{.rn}.ftz.sat");
  add_both<Half, binary<Half, mul, true, Finish::sat>>(t, "mul{.rn}.ftz.sat");
  add_both<Half, fused<Half, true>>(t, "fma.rn.ftz");
  add_both<Half, fused<Half, false, Finish::sat>>(t, "fma.rn.sat");
  add_both<Half, fused<Half, true, Finish::sat>>(t, "fma.rn.ftz.sat");
  add_both<Half, fused<Half, true, Finish::relu>>(t, "fma.rn.ftz.relu");
  add_both<Half, neg_ftz>(t, "neg.ftz");
  add_both<Half, abs_ftz>(t, "abs.ftz");
  add_both<Half, binary<Half, min<false>, true>>(t, "min.ftz");
  add_both<Half, binary<Half, max<false>, true>>(t, "max.ftz");
  add_both<Half, binary<Half, min<true>, true>>(t, "min.ftz.NaN");
  add_both<Half, binary<Half, max<true>, true>>(t, "max.ftz.NaN");
  add_both<Half, binary<Half, xorsign<min<false>>, true>>(t, "min.ftz.xorsign.abs");
  add_both<Half, binary<Half, xorsign<max<false>>, true>>(t, "max.ftz.xorsign.abs");
  add_both<Half, binary<Half, xorsign<min<true>>, true>>(t, "min.ftz.NaN.xorsign.abs");
  add_both<Half, binary<Half, xorsign<max<true>>, true>>(t, "max.ftz.NaN.xorsign.abs");
  add_both<Half, unary<Half, ex2>>(t, "ex2.approx");
  add_both<Bfloat, unary<Bfloat, ex2, true>>(t, "ex2.approx.ftz");
}

}  // namespace vgpu::isa::VGPU_TARGET
