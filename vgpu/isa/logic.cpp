// Logic, shifts and byte permutation, on bits and on predicates; plain moves.
#include "isa/lanes.h"
#include "isa/operators.h"
#include "isa/table.h"

namespace vgpu::isa::VGPU_TARGET {
namespace {

template <class T>
T bit_not(T a) {
  return static_cast<T>(~a);
}
template <class T>
T cnot(T a) {
  return a == 0;
}
template <class T>
T same(T a) {
  return a;
}

// Shifts by the width or more give zeros, or signs.
template <class T>
T shl(T a, uint32_t n) {
  return n < sizeof(T) * 8 ? static_cast<T>(a << n) : T{0};
}
template <class T>
T shr(T a, uint32_t n) {
  constexpr uint32_t kLast = sizeof(T) * 8 - 1;
  if constexpr (std::is_signed_v<T>)
    return static_cast<T>(a >> (n < kLast ? n : kLast));
  else
    return n <= kLast ? static_cast<T>(a >> n) : T{0};
}

// Of the pair (high, low): the upper word after a shift to the left, the lower one after a shift to the right.
template <bool kWrap>
uint32_t shf_left(uint32_t low, uint32_t high, uint32_t n) {
  const uint32_t by = kWrap ? n & 31 : (n < 32 ? n : 32);
  return static_cast<uint32_t>(((uint64_t{high} << 32 | low) << by) >> 32);
}
template <bool kWrap>
uint32_t shf_right(uint32_t low, uint32_t high, uint32_t n) {
  const uint32_t by = kWrap ? n & 31 : (n < 32 ? n : 32);
  return static_cast<uint32_t>((uint64_t{high} << 32 | low) >> by);
}

// Bit i of the result is bit (a, b, c)_i of the table.
uint32_t lop3(uint32_t a, uint32_t b, uint32_t c, uint32_t table) {
  uint32_t r = 0;
  for (uint32_t i = 0; i < 8; ++i)
    r |= (0u - (table >> i & 1)) & (i & 4 ? a : ~a) & (i & 2 ? b : ~b) & (i & 1 ? c : ~c);
  return r;
}

enum class Permutation : uint8_t { any, f4e, b4e, rc8, ecl, ecr, rc16 };

// Byte i of the result is a byte of (b, a), or its sign eight times.
template <Permutation kMode>
uint32_t prmt(uint32_t a, uint32_t b, uint32_t selector) {
  const uint64_t bytes = uint64_t{b} << 32 | a;
  const uint32_t s = selector & 3;
  uint32_t r = 0;
  for (uint32_t i = 0; i < 4; ++i) {
    uint32_t from = 0;
    bool sign = false;
    switch (kMode) {
      case Permutation::any:
        from = selector >> 4 * i & 7;
        sign = selector >> 4 * i & 8;
        break;
      case Permutation::f4e: from = s + i; break;
      case Permutation::b4e: from = (s - i) & 7; break;
      case Permutation::rc8: from = s; break;
      case Permutation::ecl: from = i < s ? s : i; break;
      case Permutation::ecr: from = i < s ? i : s; break;
      case Permutation::rc16: from = (s & 1) * 2 + (i & 1); break;
    }
    uint32_t byte = static_cast<uint32_t>(bytes >> 8 * from) & 0xff;
    if (sign) byte = byte & 0x80 ? 0xff : 0;
    r |= byte << 8 * i;
  }
  return r;
}

// --- Predicates: masks, all lanes at once ------------------------------------------------------------------

template <Mask (*F)(Mask, Mask)>
const Decoded* combine(Warp& w, const Decoded& d, Mask lanes) {
  const Mask a = w.mask(d.a) ^ (d.flips & 1 ? kAllLanes : 0), b = w.mask(d.b) ^ (d.flips & 2 ? kAllLanes : 0);
  Mask& out = w.mask(d.d);
  out = (out & ~lanes) | (F(a, b) & lanes);
  return &d + 1;
}
template <Mask (*F)(Mask, Mask), size_t kSources>
bool masks(Binder& b) {
  if (!b.takes(kSources + 1)) return false;
  b.out.d = b.destination(b.operand(0), ptx::Type::pred);
  b.out.a = b.predicate(b.operand(1), 0);
  b.out.b = kSources == 2 ? b.predicate(b.operand(2), 1) : b.out.a;
  b.out.run = combine<F>;
  return !b.failed();
}
Mask mask_not(Mask a, Mask) { return ~a; }
Mask mask_same(Mask a, Mask) { return a; }

// lop3.BoolOp: d | p = lop3(a, b, c) and whether it differs from 0, combined with a predicate.
template <bool kAnd>
const Decoded* run_lop3_predicate(Warp& w, const Decoded& d, Mask lanes) {
  const uint32_t *a = w.lanes<uint32_t>(d.a), *b = w.lanes<uint32_t>(d.b), *c = w.lanes<uint32_t>(d.c);
  uint32_t* out = w.lanes<uint32_t>(d.d);
  const Mask q = w.mask(d.site->refs[1]) ^ (d.flips & 1 ? kAllLanes : 0);
  Mask nonzero = 0;
  for_lanes(lanes, [&](int l) {
    out[l] = lop3(a[l], b[l], c[l], static_cast<uint32_t>(d.offset));
    nonzero |= static_cast<Mask>(out[l] != 0) << l;
  });
  Mask& p = w.mask(d.site->refs[0]);
  p = (p & ~lanes) | ((kAnd ? nonzero & q : nonzero | q) & lanes);
  return &d + 1;
}
template <bool kAnd>
bool lop3_predicate(Binder& b) {
  if (b.count() != 6 || !b.operand(0).pair) return b.fail("takes d|p and 5 operands");
  b.out.d = b.destination(b.operand(0), ptx::Type::b32);
  b.out.a = b.source(b.operand(1), ptx::Type::b32);
  b.out.b = b.source(b.operand(2), ptx::Type::b32);
  b.out.c = b.source(b.operand(3), ptx::Type::b32);
  if (!b.constant(b.operand(4), b.out.offset)) return false;
  b.site.refs = {b.destination(*b.operand(0).pair, ptx::Type::pred), b.predicate(b.operand(5), 0)};
  b.out.run = run_lop3_predicate<kAnd>;
  return !b.failed();
}

// --- mov: also packs a vector into a register and unpacks one ----------------------------------------------

template <class Whole, class Part>
const Decoded* pack(Warp& w, const Decoded& d, Mask lanes) {
  constexpr int kParts = sizeof(Whole) / sizeof(Part);
  Whole* out = w.lanes<Whole>(d.d);
  const Part* parts[kParts];
  for (int i = 0; i < kParts; ++i) parts[i] = w.lanes<Part>(d.site->refs[i]);
  for_lanes(lanes, [&](int l) {
    Whole x = 0;
    for (int i = 0; i < kParts; ++i) x |= static_cast<Whole>(parts[i][l]) << i * sizeof(Part) * 8;
    out[l] = x;
  });
  return &d + 1;
}
template <class Whole, class Part>
const Decoded* unpack(Warp& w, const Decoded& d, Mask lanes) {
  constexpr int kParts = sizeof(Whole) / sizeof(Part);
  const Whole* in = w.lanes<Whole>(d.a);
  for (int i = 0; i < kParts; ++i) {
    Part* out = w.lanes<Part>(d.site->refs[i]);
    for_lanes(lanes, [&](int l) { out[l] = static_cast<Part>(in[l] >> i * sizeof(Part) * 8); });
  }
  return &d + 1;
}

template <class Whole, class Part>
bool bind_parts(Binder& b, bool packs) {
  const ptx::Operand& vector = b.operand(packs ? 1 : 0);
  for (const ptx::Operand& part : vector.parts)
    b.site.refs.push_back(packs ? b.source(part, kType<Part>) : b.destination(part, kType<Part>));
  b.out.run = packs ? pack<Whole, Part> : unpack<Whole, Part>;
  return !b.failed();
}

using Wide = unsigned __int128;

template <class T>
bool mov(Binder& b) {
  using Kind = ptx::Operand::Kind;
  if (b.count() != 2) return b.fail("takes 2 operands");
  const bool packs = b.operand(1).kind == Kind::vector;
  if (!packs && b.operand(0).kind != Kind::vector) {
    if constexpr (sizeof(T) == 16) {
      b.out.d = b.destination(b.operand(0), ptx::Type::b128);
      b.out.a = b.source(b.operand(1), ptx::Type::b128);
      b.out.run = [](Warp& w, const Decoded& d, Mask lanes) -> const Decoded* {
        for_lanes(lanes, [out = w.lanes<T>(d.d), in = w.lanes<T>(d.a)](int l) { out[l] = in[l]; });
        return &d + 1;
      };
      return !b.failed();
    } else {
      return lanes<same<T>>(b);
    }
  }
  const size_t parts = b.operand(packs ? 1 : 0).parts.size();
  constexpr ptx::Type kWhole = sizeof(T) == 16 ? ptx::Type::b128 : kType<T>;
  if (packs)
    b.out.d = b.destination(b.operand(0), kWhole);
  else
    b.out.a = b.source(b.operand(1), kWhole);
  if constexpr (sizeof(T) == 4) {
    if (parts == 2) return bind_parts<T, uint16_t>(b, packs);
    if (parts == 4) return bind_parts<T, uint8_t>(b, packs);
  } else if constexpr (sizeof(T) == 8) {
    if (parts == 2) return bind_parts<T, uint32_t>(b, packs);
    if (parts == 4) return bind_parts<T, uint16_t>(b, packs);
  } else if constexpr (sizeof(T) == 16) {
    if (parts == 2) return bind_parts<T, uint64_t>(b, packs);
    if (parts == 4) return bind_parts<T, uint32_t>(b, packs);
  }
  return b.fail("has no such vector");
}

}  // namespace

void add_logic(Table& t) {
  const auto bits = [&]<class T>(const std::string& type) {
    t.add({"and", type}, lanes<bit_and<T>>);
    t.add({"or", type}, lanes<bit_or<T>>);
    t.add({"xor", type}, lanes<bit_xor<T>>);
    t.add({"not", type}, lanes<bit_not<T>>);
    t.add({"cnot", type}, lanes<cnot<T>>);
    t.add({"shl", type}, lanes<shl<T>>);
    t.add({"shr", type}, lanes<shr<T>>);
  };
  bits.operator()<uint16_t>(".b16");
  bits.operator()<uint32_t>(".b32");
  bits.operator()<uint64_t>(".b64");
  each<uint16_t, int16_t, uint32_t, int32_t, uint64_t, int64_t>(
      [&]<class T>() { t.add({"shr", name<T>()}, lanes<shr<T>>); });
  t.add("and.pred", masks<bit_and<Mask>, 2>);
  t.add("or.pred", masks<bit_or<Mask>, 2>);
  t.add("xor.pred", masks<bit_xor<Mask>, 2>);
  t.add("not.pred", masks<mask_not, 1>);
  t.add("mov.pred", masks<mask_same, 1>);

  t.add("shf.l.wrap.b32", lanes<shf_left<true>>);
  t.add("shf.l.clamp.b32", lanes<shf_left<false>>);
  t.add("shf.r.wrap.b32", lanes<shf_right<true>>);
  t.add("shf.r.clamp.b32", lanes<shf_right<false>>);
  t.add("lop3.b32", lanes<lop3>);
  t.add("lop3.and.b32", lop3_predicate<true>);
  t.add("lop3.or.b32", lop3_predicate<false>);
  t.add("prmt.b32", lanes<prmt<Permutation::any>>);
  t.add("prmt.b32.f4e", lanes<prmt<Permutation::f4e>>);
  t.add("prmt.b32.b4e", lanes<prmt<Permutation::b4e>>);
  t.add("prmt.b32.rc8", lanes<prmt<Permutation::rc8>>);
  t.add("prmt.b32.ecl", lanes<prmt<Permutation::ecl>>);
  t.add("prmt.b32.ecr", lanes<prmt<Permutation::ecr>>);
  t.add("prmt.b32.rc16", lanes<prmt<Permutation::rc16>>);

  for (const char* type : {".b16", ".u16", ".s16", ".f16", ".bf16"}) t.add({"mov", type}, mov<uint16_t>);
  for (const char* type : {".b32", ".u32", ".s32", ".f16x2", ".bf16x2"}) t.add({"mov", type}, mov<uint32_t>);
  for (const char* type : {".b64", ".u64", ".s64"}) t.add({"mov", type}, mov<uint64_t>);
  t.add("mov.f32", lanes<same<float>>);
  t.add("mov.f64", lanes<same<double>>);
  t.add("mov.b128", mov<Wide>);
}

}  // namespace vgpu::isa::VGPU_TARGET
