// Integer arithmetic: PTX ISA, "Integer Arithmetic Instructions" and "Extended-Precision".
#include <algorithm>

#include "isa/lanes.h"
#include "isa/operators.h"
#include "isa/table.h"

namespace vgpu::isa::VGPU_TARGET {
namespace {

template <class T>
using Unsigned = std::make_unsigned_t<T>;
template <class T>
constexpr int kBits = sizeof(T) * 8;

// Twice as wide.
template <class T>
struct Wider;
template <>
struct Wider<uint16_t> {
  using type = uint32_t;
};
template <>
struct Wider<int16_t> {
  using type = int32_t;
};
template <>
struct Wider<uint32_t> {
  using type = uint64_t;
};
template <>
struct Wider<int32_t> {
  using type = int64_t;
};
template <>
struct Wider<uint64_t> {
  using type = unsigned __int128;
};
template <>
struct Wider<int64_t> {
  using type = __int128;
};
template <class T>
using Wide = typename Wider<T>::type;

template <class T>
T clamp_to(int64_t x) {
  return static_cast<T>(std::clamp<int64_t>(x, std::numeric_limits<T>::min(), std::numeric_limits<T>::max()));
}

// Differences and products wrap: computed unsigned (16 bits widen to unsigned too, for their product overflows int).
template <class T>
T sub(T a, T b) {
  return static_cast<T>(static_cast<Unsigned<T>>(a) - static_cast<Unsigned<T>>(b));
}
int32_t add_sat(int32_t a, int32_t b) { return clamp_to<int32_t>(int64_t{a} + b); }
int32_t sub_sat(int32_t a, int32_t b) { return clamp_to<int32_t>(int64_t{a} - b); }

template <class T>
T mul_lo(T a, T b) {
  return static_cast<T>(uint64_t{1} * static_cast<Unsigned<T>>(a) * static_cast<Unsigned<T>>(b));
}
template <>
uint32_t mul_lo(uint32_t a, uint32_t b) {
  return a * b;
}
template <>
int32_t mul_lo(int32_t a, int32_t b) {
  return static_cast<int32_t>(static_cast<uint32_t>(a) * static_cast<uint32_t>(b));
}
template <class T>
T mul_hi(T a, T b) {
  return static_cast<T>(static_cast<Wide<T>>(static_cast<Wide<T>>(a) * b) >> kBits<T>);
}
template <class T>
Wide<T> mul_wide(T a, T b) {
  return static_cast<Wide<T>>(static_cast<Wide<T>>(a) * b);
}
template <class T>
T mad_lo(T a, T b, T c) {
  return add(mul_lo(a, b), c);
}
template <class T>
T mad_hi(T a, T b, T c) {
  return add(mul_hi(a, b), c);
}
int32_t mad_hi_sat(int32_t a, int32_t b, int32_t c) { return clamp_to<int32_t>(int64_t{mul_hi(a, b)} + c); }
template <class T>
Wide<T> mad_wide(T a, T b, Wide<T> c) {
  return add(mul_wide(a, b), c);
}

// The low 24 bits of each factor; lo and hi are the halves of the 48-bit product.
template <class T>
int64_t mul24(T a, T b) {
  if constexpr (std::is_signed_v<T>)
    return int64_t{static_cast<int32_t>(static_cast<uint32_t>(a) << 8) >> 8} *
           (static_cast<int32_t>(static_cast<uint32_t>(b) << 8) >> 8);
  else
    return static_cast<int64_t>(uint64_t{a & 0xffffffu} * (b & 0xffffffu));
}
template <class T>
T mul24_lo(T a, T b) {
  return static_cast<T>(mul24(a, b));
}
template <class T>
T mul24_hi(T a, T b) {
  return static_cast<T>(mul24(a, b) >> 16);
}
template <class T>
T mad24_lo(T a, T b, T c) {
  return add(mul24_lo(a, b), c);
}
template <class T>
T mad24_hi(T a, T b, T c) {
  return add(mul24_hi(a, b), c);
}
int32_t mad24_hi_sat(int32_t a, int32_t b, int32_t c) { return clamp_to<int32_t>(int64_t{mul24_hi(a, b)} + c); }

template <class T>
T sad(T a, T b, T c) {
  return add(c, a < b ? sub(b, a) : sub(a, b));
}

// By zero the manual leaves the result open; the hardware gives all ones, and the dividend as the rest.
template <class T>
T div(T a, T b) {
  if (b == 0) return static_cast<T>(-1);
  if (std::is_signed_v<T> && b == static_cast<T>(-1)) return sub(T{0}, a);
  return static_cast<T>(a / b);
}
template <class T>
T rem(T a, T b) {
  if (b == 0) return a;
  if (std::is_signed_v<T> && b == static_cast<T>(-1)) return 0;
  return static_cast<T>(a % b);
}

template <class T>
T neg(T a) {
  return sub(T{0}, a);
}
template <class T>
T abs(T a) {
  return a < 0 ? neg(a) : a;
}
template <class T>
T min_relu(T a, T b) {
  return std::max(std::min(a, b), T{0});
}
template <class T>
T max_relu(T a, T b) {
  return std::max(std::max(a, b), T{0});
}

// Two 16-bit numbers in a register.
template <class T, auto F>
uint32_t halves(uint32_t a, uint32_t b) {
  const auto part = [](uint32_t x, int i) { return static_cast<T>(x >> 16 * i); };
  return static_cast<uint16_t>(F(part(a, 0), part(b, 0))) |
         static_cast<uint32_t>(static_cast<uint16_t>(F(part(a, 1), part(b, 1)))) << 16;
}

template <class T>
uint32_t popc(T a) {
  return static_cast<uint32_t>(std::popcount(a));
}
template <class T>
uint32_t clz(T a) {
  return static_cast<uint32_t>(std::countl_zero(a));
}
// The position of the highest bit that differs from the sign; all ones if there is none.
template <class T>
uint32_t bfind(T a) {
  const Unsigned<T> x = static_cast<Unsigned<T>>(a < 0 ? ~a : a);
  return x ? static_cast<uint32_t>(kBits<T> - 1 - std::countl_zero(x)) : ~0u;
}
template <class T>
uint32_t bfind_shift(T a) {
  const uint32_t position = bfind(a);
  return position == ~0u ? position : kBits<T> - 1 - position;
}
// The n-th set bit from `base` on: upwards for n > 0, downwards for n < 0, the base itself for 0.
uint32_t fns(uint32_t mask, uint32_t base, int32_t n) {
  if (base > 31) return ~0u;
  if (n == 0) return mask >> base & 1 ? base : ~0u;
  const int step = n > 0 ? 1 : -1;
  int64_t left = n > 0 ? int64_t{n} : -int64_t{n};
  for (int i = static_cast<int>(base); i >= 0 && i < 32; i += step)
    if (mask >> i & 1 && --left == 0) return static_cast<uint32_t>(i);
  return ~0u;
}
template <class T>
T brev(T a) {
  T r = 0;
  for (int i = 0; i < kBits<T>; ++i) r |= (a >> i & 1) << (kBits<T> - 1 - i);
  return r;
}
// `length` bits from `start` on; beyond the register the sign (or 0) goes on.
template <class T>
T bfe(T a, uint32_t start, uint32_t length) {
  const uint32_t from = start & 0xff, n = length & 0xff;
  if (n == 0) return 0;
  const T shifted = from < kBits<T> ? a >> from : (a < 0 ? T(-1) : T(0));
  const uint32_t bits = std::min<uint32_t>(n, kBits<T>);
  if constexpr (std::is_signed_v<T>) {
    // The sign is the field's top bit, or the register's where the field reaches beyond it.
    const uint32_t top = std::min<uint32_t>(from + n - 1, kBits<T> - 1);
    const bool negative = a >> top & 1;
    if (n >= kBits<T>) return shifted;
    const Unsigned<T> low = static_cast<Unsigned<T>>(shifted) & ((Unsigned<T>{1} << bits) - 1);
    return static_cast<T>(negative ? low | ~((Unsigned<T>{1} << bits) - 1) : low);
  } else {
    return bits == kBits<T> ? shifted : shifted & ((T{1} << bits) - 1);
  }
}
template <class T>
T bfi(T a, T b, uint32_t start, uint32_t length) {
  const uint32_t from = start & 0xff, n = length & 0xff;
  if (n == 0 || from >= kBits<T>) return b;
  const T ones = n >= kBits<T> ? T(-1) : (T{1} << n) - 1;
  return (b & ~(ones << from)) | ((a & ones) << from);
}
template <bool kWrap>
uint32_t bmsk(uint32_t start, uint32_t length) {
  const uint32_t from = kWrap ? start & 31 : start, n = kWrap ? length & 31 : length;
  if (from > 31) return 0;
  return static_cast<uint32_t>(((uint64_t{1} << std::min(n, 32u)) - 1) << from);
}
template <class T, bool kWrap>
T szext(T a, uint32_t bits) {
  const uint32_t n = kWrap ? bits & 31 : bits;
  if (n >= 32) return a;
  if (n == 0) return 0;
  return static_cast<T>(static_cast<T>(static_cast<uint32_t>(a) << (32 - n)) >> (32 - n));
}

// Dot products of 4 bytes, or of 2 halfwords with the low or high two bytes.
template <class A, class B>
uint32_t dp4a(uint32_t a, uint32_t b, uint32_t c) {
  using Byte = std::conditional_t<std::is_signed_v<A>, int8_t, uint8_t>;
  using Other = std::conditional_t<std::is_signed_v<B>, int8_t, uint8_t>;
  for (int i = 0; i < 4; ++i)
    c += static_cast<uint32_t>(int{static_cast<Byte>(a >> 8 * i)} * int{static_cast<Other>(b >> 8 * i)});
  return c;
}
template <class A, class B, int kFirst>
uint32_t dp2a(uint32_t a, uint32_t b, uint32_t c) {
  using Word = std::conditional_t<std::is_signed_v<A>, int16_t, uint16_t>;
  using Byte = std::conditional_t<std::is_signed_v<B>, int8_t, uint8_t>;
  for (int i = 0; i < 2; ++i)
    c += static_cast<uint32_t>(int{static_cast<Word>(a >> 16 * i)} * int{static_cast<Byte>(b >> 8 * (i + kFirst))});
  return c;
}

// --- With carry: the condition code is a mask of the warp --------------------------------------------------

enum class Multiply : uint8_t { none, low, high };

// d = (a or a half of a*b) + or - the last operand, + or - the carry if `kIn`; sets the carry if `kOut`. Only the
// product's upper half asks for the sign, which type P has.
template <class T, bool kMinus, bool kIn, bool kOut, Multiply kMultiply, class P>
const Decoded* with_carry(Warp& w, const Decoded& d, Mask lanes) {
  const T *a = w.lanes<T>(d.a), *b = w.lanes<T>(d.b), *c = w.lanes<T>(kMultiply == Multiply::none ? d.b : d.c);
  T* out = w.lanes<T>(d.d);
  Mask carry = w.carry;
  for_each_lane(lanes, [&](int l) {
    const T first = kMultiply == Multiply::none  ? a[l]
                    : kMultiply == Multiply::low ? mul_lo(a[l], b[l])
                                                 : static_cast<T>(mul_hi(static_cast<P>(a[l]), static_cast<P>(b[l])));
    const Wide<T> in = kIn ? w.carry >> l & 1 : 0;
    const Wide<T> sum = kMinus ? static_cast<Wide<T>>(first) - c[l] - in : static_cast<Wide<T>>(first) + c[l] + in;
    if (kOut) carry = (carry & ~(1u << l)) | static_cast<Mask>(sum >> kBits<T> & 1) << l;
    out[l] = static_cast<T>(sum);
  });
  w.carry = carry;
  return &d + 1;
}
template <class T, bool kMinus, bool kIn, bool kOut, Multiply kMultiply = Multiply::none, class P = T>
bool carry(Binder& b) {
  constexpr size_t kCount = kMultiply == Multiply::none ? 3 : 4;
  if (!b.takes(kCount)) return false;
  b.out.d = b.destination(b.operand(0), kType<T>);
  b.out.a = b.source(b.operand(1), kType<T>);
  b.out.b = b.source(b.operand(2), kType<T>);
  if (kCount == 4) b.out.c = b.source(b.operand(3), kType<T>);
  b.out.run = with_carry<T, kMinus, kIn, kOut, kMultiply, P>;
  return !b.failed();
}
template <class T>
void add_carry(Table& t, const std::string& type) {
  t.add({"add.cc", type}, carry<T, false, false, true>);
  t.add({"addc", type}, carry<T, false, true, false>);
  t.add({"addc.cc", type}, carry<T, false, true, true>);
  t.add({"sub.cc", type}, carry<T, true, false, true>);
  t.add({"subc", type}, carry<T, true, true, false>);
  t.add({"subc.cc", type}, carry<T, true, true, true>);
}
template <class P>
void add_mad_carry(Table& t) {
  using T = Unsigned<P>;
  const std::string type = name<P>();
  t.add({"mad.lo.cc", type}, carry<T, false, false, true, Multiply::low>);
  t.add({"mad.hi.cc", type}, carry<T, false, false, true, Multiply::high, P>);
  t.add({"madc.lo", type}, carry<T, false, true, false, Multiply::low>);
  t.add({"madc.lo.cc", type}, carry<T, false, true, true, Multiply::low>);
  t.add({"madc.hi", type}, carry<T, false, true, false, Multiply::high, P>);
  t.add({"madc.hi.cc", type}, carry<T, false, true, true, Multiply::high, P>);
}

}  // namespace

void add_integer(Table& t) {
  each<uint16_t, int16_t, uint32_t, int32_t, uint64_t, int64_t>([&]<class T>() {
    const std::string type = name<T>();
    t.add({"add", type}, lanes<add<T>>);
    t.add({"sub", type}, lanes<sub<T>>);
    t.add({"mul.lo", type}, lanes<mul_lo<T>>);
    t.add({"mul.hi", type}, lanes<mul_hi<T>>);
    t.add({"mad.lo", type}, lanes<mad_lo<T>>);
    t.add({"mad.hi", type}, lanes<mad_hi<T>>);
    t.add({"sad", type}, lanes<sad<T>>);
    t.add({"div", type}, lanes<div<T>, Rare>);  // no vector of quotients
    t.add({"rem", type}, lanes<rem<T>, Rare>);
    t.add({"min", type}, lanes<min<T>>);
    t.add({"max", type}, lanes<max<T>>);
  });
  each<uint16_t, int16_t, uint32_t, int32_t>([&]<class T>() {
    t.add({"mul.wide", name<T>()}, lanes<mul_wide<T>>);
    t.add({"mad.wide", name<T>()}, lanes<mad_wide<T>>);
  });
  each<int16_t, int32_t, int64_t>([&]<class T>() {
    t.add({"neg", name<T>()}, lanes<neg<T>>);
    t.add({"abs", name<T>()}, lanes<abs<T>>);
  });
  t.add("add.sat.s32", lanes<add_sat>);
  t.add("sub.sat.s32", lanes<sub_sat>);
  t.add("mad.hi.sat.s32", lanes<mad_hi_sat>);
  t.add("min.relu.s32", lanes<min_relu<int32_t>>);
  t.add("max.relu.s32", lanes<max_relu<int32_t>>);

  t.add("add.u16x2", lanes<halves<uint16_t, add<uint16_t>>>);
  t.add("add.s16x2", lanes<halves<int16_t, add<int16_t>>>);
  t.add("min.u16x2", lanes<halves<uint16_t, min<uint16_t>>>);
  t.add("max.u16x2", lanes<halves<uint16_t, max<uint16_t>>>);
  t.add("min.s16x2", lanes<halves<int16_t, min<int16_t>>>);
  t.add("max.s16x2", lanes<halves<int16_t, max<int16_t>>>);
  t.add("min.relu.s16x2", lanes<halves<int16_t, min_relu<int16_t>>>);
  t.add("max.relu.s16x2", lanes<halves<int16_t, max_relu<int16_t>>>);

  each<uint32_t, int32_t>([&]<class T>() {
    const std::string type = name<T>();
    t.add({"mul24.lo", type}, lanes<mul24_lo<T>>);
    t.add({"mul24.hi", type}, lanes<mul24_hi<T>>);
    t.add({"mad24.lo", type}, lanes<mad24_lo<T>>);
    t.add({"mad24.hi", type}, lanes<mad24_hi<T>>);
    t.add({"szext.wrap", type}, lanes<szext<T, true>>);
    t.add({"szext.clamp", type}, lanes<szext<T, false>>);
    each<uint32_t, int32_t>([&]<class B>() {
      t.add({"dp4a", type, name<B>()}, lanes<dp4a<T, B>>);
      t.add({"dp2a.lo", type, name<B>()}, lanes<dp2a<T, B, 0>>);
      t.add({"dp2a.hi", type, name<B>()}, lanes<dp2a<T, B, 2>>);
    });
  });
  t.add("mad24.hi.sat.s32", lanes<mad24_hi_sat>);

  t.add("popc.b32", lanes<popc<uint32_t>>);
  t.add("popc.b64", lanes<popc<uint64_t>>);
  t.add("clz.b32", lanes<clz<uint32_t>>);
  t.add("clz.b64", lanes<clz<uint64_t>>);
  t.add("brev.b32", lanes<brev<uint32_t>>);
  t.add("brev.b64", lanes<brev<uint64_t>>);
  t.add("bfi.b32", lanes<bfi<uint32_t>>);
  t.add("bfi.b64", lanes<bfi<uint64_t>>);
  t.add("fns.b32", lanes<fns>);
  t.add("bmsk.wrap.b32", lanes<bmsk<true>>);
  t.add("bmsk.clamp.b32", lanes<bmsk<false>>);
  each<uint32_t, int32_t, uint64_t, int64_t>([&]<class T>() {
    t.add({"bfind", name<T>()}, lanes<bfind<T>>);
    t.add({"bfind.shiftamt", name<T>()}, lanes<bfind_shift<T>>);
    t.add({"bfe", name<T>()}, lanes<bfe<T>>);
  });

  add_carry<uint32_t>(t, ".u32");
  add_carry<uint32_t>(t, ".s32");
  add_carry<uint64_t>(t, ".u64");
  add_carry<uint64_t>(t, ".s64");
  each<uint32_t, int32_t, uint64_t, int64_t>([&]<class P>() { add_mad_carry<P>(t); });
}

}  // namespace vgpu::isa::VGPU_TARGET
