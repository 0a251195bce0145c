// Floating-point arithmetic of f32 and f64: PTX ISA, "Floating Point Instructions".
//
// +, -, *, fma, /, sqrt are the processor's, in the rounding mode asked for. The approximations (.approx) are at least
// as close as the manual says; the hardware's differ in the last places.
#include "isa/lanes.h"
#include "isa/table.h"

namespace vgpu::isa::VGPU_TARGET {
namespace {

template <class T>
T add(T a, T b) {
  return a + b;
}
template <class T>
T sub(T a, T b) {
  return a - b;
}
template <class T>
T mul(T a, T b) {
  return a * b;
}
template <class T>
T fma(T a, T b, T c) {
  return std::fma(a, b, c);
}
template <class T>
T div(T a, T b) {
  return a / b;
}
template <class T>
T rcp(T a) {
  return T(1) / a;
}
template <class T>
T sqrt(T a) {
  return std::sqrt(a);
}
// 2^-23 off at most: two roundings.
float rsqrt(float a) { return 1.0f / std::sqrt(a); }
double rsqrt_double(double a) { return 1.0 / std::sqrt(a); }
double flush_double(double a) { return std::fabs(a) < std::numeric_limits<double>::min() ? std::copysign(0.0, a) : a; }
template <double (*kFunction)(double)>
double flushed(double a) {
  return flush_double(kFunction(flush_double(a)));
}

// Divisors near the end of the range give 0, as the manual says (the hardware multiplies by a reciprocal that is 0).
float div_approx(float a, float b) {
  const float magnitude = std::fabs(b);
  if (magnitude > 0x1p126f && magnitude <= std::numeric_limits<float>::max())
    return std::isinf(a) || a != a ? kNan : std::copysign(0.0f, a) * std::copysign(1.0f, b);
  return a / b;
}

// 2^x = 2^n * 2^f with n the nearest integer; 2^f by its series on [-1/2, 1/2], whose eighth term is below 2^-25.
VGPU_INLINE float ex2(float x) {
  const float clamped = x < -160.0f ? -160.0f : x > 160.0f ? 160.0f : x;  // NaN stays
  const float shifted = clamped + 0x1.8p23f;                              // rounds to an integer, in the last bits
  const float n = shifted - 0x1.8p23f, f = clamped - n;
  float p = 1.5403530394e-4f;
  p = p * f + 1.3333558146e-3f;
  p = p * f + 9.6181291076e-3f;
  p = p * f + 5.5504108665e-2f;
  p = p * f + 2.4022650696e-1f;
  p = p * f + 6.9314718056e-1f;
  p = p * f + 1.0f;
  // Two factors, since 2^n alone may be no normal number.
  const int32_t exponent = std::bit_cast<int32_t>(shifted) - std::bit_cast<int32_t>(0x1.8p23f);
  const int32_t half = exponent >> 1;
  const auto power = [](int32_t e) { return std::bit_cast<float>(static_cast<uint32_t>(e + 127) << 23); };
  const float result = p * power(half) * power(exponent - half);
  return x != x ? kNan : result;
}
float lg2(float x) { return static_cast<float>(std::log2(static_cast<double>(x))); }
float sin(float x) { return static_cast<float>(std::sin(static_cast<double>(x))); }
float cos(float x) { return static_cast<float>(std::cos(static_cast<double>(x))); }
float tanh(float x) { return static_cast<float>(std::tanh(static_cast<double>(x))); }

// A sign is a bit: also of a NaN.
float neg(float a) { return -a; }
float abs(float a) { return std::fabs(a); }
double neg_double(double a) { return -a; }
double abs_double(double a) { return std::fabs(a); }
template <class T>
T copysign(T sign, T magnitude) {
  return std::copysign(magnitude, sign);
}

// -0 is less than +0. One NaN gives the other operand, or, with kNanWins, a NaN.
template <class T, bool kNanWins>
T min(T a, T b) {
  const bool a_nan = a != a, b_nan = b != b;
  const T less = a < b ? a : b < a ? b : (std::signbit(a) ? a : b);
  if (kNanWins) return a_nan || b_nan ? std::numeric_limits<T>::quiet_NaN() : less;
  return a_nan ? b : b_nan ? a : less;
}
template <class T, bool kNanWins>
T max(T a, T b) {
  const bool a_nan = a != a, b_nan = b != b;
  const T more = a > b ? a : b > a ? b : (std::signbit(a) ? b : a);
  if (kNanWins) return a_nan || b_nan ? std::numeric_limits<T>::quiet_NaN() : more;
  return a_nan ? b : b_nan ? a : more;
}
template <auto F>
float xorsign(float a, float b) {
  return std::copysign(F(std::fabs(a), std::fabs(b)), std::signbit(a) != std::signbit(b) ? -1.0f : 1.0f);
}

template <class T>
bool is_finite(T a) {
  return std::isfinite(a);
}
template <class T>
bool is_infinite(T a) {
  return std::isinf(a);
}
template <class T>
bool is_number(T a) {
  return a == a;
}
template <class T>
bool is_nan(T a) {
  return a != a;
}
template <class T>
bool is_normal(T a) {
  return std::isnormal(a);
}
template <class T>
bool is_subnormal(T a) {
  return std::fpclassify(a) == FP_SUBNORMAL;
}

// The modifiers around an f32 operation: subnormal operands and results become zeros, the result is clamped to [0, 1].
template <auto F, bool kFtz, bool kSat>
struct Single;
template <class... T, float (*F)(T...), bool kFtz, bool kSat>
struct Single<F, kFtz, kSat> {
  static float run(T... x) {
    float y = kFtz ? F(flush(x)...) : F(x...);
    if (kFtz) y = flush(y);
    return kSat ? saturate(y) : canonical(y);
  }
};

// A row for each rounding mode. Nearest is also what an instruction without a mode means, where `kOptional`.
template <auto F, bool kFtz, bool kSat>
void add_rounded(Table& t, const std::string& opcode, const std::string& flags, bool optional) {
  constexpr auto kRun = Single<F, kFtz, kSat>::run;
  t.add({opcode, (optional ? "{.rn}" : ".rn"), flags}, lanes<kRun>);
  t.add({opcode, ".rz", flags}, lanes<kRun, Rounded<Rounding::zero>>);
  t.add({opcode, ".rm", flags}, lanes<kRun, Rounded<Rounding::down>>);
  t.add({opcode, ".rp", flags}, lanes<kRun, Rounded<Rounding::up>>);
}
template <float (*F)(float, float)>
void add_arithmetic(Table& t, const std::string& opcode) {
  add_rounded<F, false, false>(t, opcode, ".f32", true);
  add_rounded<F, true, false>(t, opcode, ".ftz.f32", true);
  add_rounded<F, false, true>(t, opcode, ".sat.f32", true);
  add_rounded<F, true, true>(t, opcode, ".ftz.sat.f32", true);
}
template <auto F>
void add_double(Table& t, const std::string& opcode, bool optional) {
  t.add({opcode, (optional ? "{.rn}" : ".rn"), ".f64"}, lanes<F>);
  t.add({opcode, ".rz.f64"}, lanes<F, Rounded<Rounding::zero>>);
  t.add({opcode, ".rm.f64"}, lanes<F, Rounded<Rounding::down>>);
  t.add({opcode, ".rp.f64"}, lanes<F, Rounded<Rounding::up>>);
}
template <auto F>
void add_exact(Table& t, const std::string& opcode) {  // div, rcp, sqrt: the mode is always written
  add_rounded<F, false, false>(t, opcode, ".f32", false);
  add_rounded<F, true, false>(t, opcode, ".ftz.f32", false);
}
template <auto F>
void add_approximate(Table& t, const std::string& opcode) {
  t.add({opcode, ".f32"}, lanes<Single<F, false, false>::run>);
  t.add({opcode, ".ftz.f32"}, lanes<Single<F, true, false>::run>);
}
template <auto F, auto Fnan>
void add_extreme(Table& t, const std::string& opcode) {
  add_approximate<F>(t, opcode);
  t.add({opcode, ".NaN.f32"}, lanes<Single<Fnan, false, false>::run>);
  t.add({opcode, ".ftz.NaN.f32"}, lanes<Single<Fnan, true, false>::run>);
  t.add({opcode, ".xorsign.abs.f32"}, lanes<Single<xorsign<F>, false, false>::run>);
  t.add({opcode, ".ftz.xorsign.abs.f32"}, lanes<Single<xorsign<F>, true, false>::run>);
  t.add({opcode, ".NaN.xorsign.abs.f32"}, lanes<Single<xorsign<Fnan>, false, false>::run>);
  t.add({opcode, ".ftz.NaN.xorsign.abs.f32"}, lanes<Single<xorsign<Fnan>, true, false>::run>);
}

}  // namespace

void add_floating(Table& t) {
  add_arithmetic<add<float>>(t, "add");
  add_arithmetic<sub<float>>(t, "sub");
  add_arithmetic<mul<float>>(t, "mul");
  for (const char* opcode : {"fma", "mad"}) {
    add_rounded<fma<float>, false, false>(t, opcode, ".f32", false);
    add_rounded<fma<float>, true, false>(t, opcode, ".ftz.f32", false);
    add_rounded<fma<float>, false, true>(t, opcode, ".sat.f32", false);
    add_rounded<fma<float>, true, true>(t, opcode, ".ftz.sat.f32", false);
    add_double<fma<double>>(t, opcode, false);
  }
  add_exact<div<float>>(t, "div");
  add_exact<rcp<float>>(t, "rcp");
  add_exact<sqrt<float>>(t, "sqrt");
  add_approximate<div_approx>(t, "div.approx");
  add_approximate<div<float>>(t, "div.full");
  add_approximate<rcp<float>>(t, "rcp.approx");
  add_approximate<sqrt<float>>(t, "sqrt.approx");
  add_approximate<rsqrt>(t, "rsqrt.approx");
  add_approximate<ex2>(t, "ex2.approx");
  add_approximate<lg2>(t, "lg2.approx");
  add_approximate<sin>(t, "sin.approx");
  add_approximate<cos>(t, "cos.approx");
  t.add("tanh.approx.f32", lanes<Single<tanh, false, false>::run>);

  t.add("neg.f32", lanes<neg>);
  t.add("abs.f32", lanes<abs>);
  t.add("neg.ftz.f32", lanes<Single<neg, true, false>::run>);
  t.add("abs.ftz.f32", lanes<Single<abs, true, false>::run>);
  t.add("copysign.f32", lanes<copysign<float>>);
  add_extreme<min<float, false>, min<float, true>>(t, "min");
  add_extreme<max<float, false>, max<float, true>>(t, "max");

  add_double<add<double>>(t, "add", true);
  add_double<sub<double>>(t, "sub", true);
  add_double<mul<double>>(t, "mul", true);
  add_double<div<double>>(t, "div", false);
  add_double<rcp<double>>(t, "rcp", false);
  add_double<sqrt<double>>(t, "sqrt", false);
  t.add("rcp.approx.ftz.f64", lanes<flushed<rcp<double>>>);
  t.add("rsqrt.approx.f64", lanes<rsqrt_double>);
  t.add("rsqrt.approx.ftz.f64", lanes<flushed<rsqrt_double>>);
  t.add("neg.f64", lanes<neg_double>);
  t.add("abs.f64", lanes<abs_double>);
  t.add("copysign.f64", lanes<copysign<double>>);
  t.add("min.f64", lanes<min<double, false>>);
  t.add("max.f64", lanes<max<double, false>>);

  each<float, double>([&]<class T>() {
    t.add({"testp.finite", name<T>()}, lanes<is_finite<T>>);
    t.add({"testp.infinite", name<T>()}, lanes<is_infinite<T>>);
    t.add({"testp.number", name<T>()}, lanes<is_number<T>>);
    t.add({"testp.notanumber", name<T>()}, lanes<is_nan<T>>);
    t.add({"testp.normal", name<T>()}, lanes<is_normal<T>>);
    t.add({"testp.subnormal", name<T>()}, lanes<is_subnormal<T>>);
  });
}

}  // namespace vgpu::isa::VGPU_TARGET
