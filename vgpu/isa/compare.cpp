// setp, set, selp, slct: PTX ISA, "Comparison and Selection Instructions".
#include "isa/lanes.h"
#include "isa/table.h"

namespace vgpu::isa::VGPU_TARGET {
namespace {

// As the manual orders them. Unsigned integers have names of their own (lo: lower ...); the comparisons that end in u
// hold for unordered operands, where one is a NaN.
enum class Compare : uint8_t { eq, ne, lt, le, gt, ge, equ, neu, ltu, leu, gtu, geu, num, nan };
const char* const kNames[] = {"eq",  "ne",  "lt",  "le",  "gt",  "ge",  "equ",
                              "neu", "ltu", "leu", "gtu", "geu", "num", "nan"};

template <Compare kOp, bool kFtz, class T>
bool compare(T a, T b) {
  if constexpr (std::is_same_v<T, Half> || std::is_same_v<T, Bfloat>) {
    return compare<kOp, false>(widen(kFtz && std::is_same_v<T, Half> ? T{flush(Half{a.bits}).bits} : a),
                               widen(kFtz && std::is_same_v<T, Half> ? T{flush(Half{b.bits}).bits} : b));
  } else {
    if constexpr (kFtz) a = flush(a), b = flush(b);
    switch (kOp) {
      case Compare::eq: return a == b;
      case Compare::ne: return a < b || a > b;
      case Compare::lt: return a < b;
      case Compare::le: return a <= b;
      case Compare::gt: return a > b;
      case Compare::ge: return a >= b;
      case Compare::equ: return !(a < b || a > b);
      case Compare::neu: return a != b;
      case Compare::ltu: return !(a >= b);
      case Compare::leu: return !(a > b);
      case Compare::gtu: return !(a <= b);
      case Compare::geu: return !(a < b);
      case Compare::num: return a == a && b == b;
      case Compare::nan: return a != a || b != b;
    }
  }
}

enum class Combine : uint8_t { none, and_, or_, xor_ };

Mask combine(Combine how, Mask a, Mask b) {
  switch (how) {
    case Combine::and_: return a & b;
    case Combine::or_: return a | b;
    case Combine::xor_: return a ^ b;
    case Combine::none: break;
  }
  return a;
}

// A comparison of all lanes' operands. Its plain form, setp with one result, is a handler of its own; the others are
// rare and call it.
using Comparison = Mask (*)(Warp&, const Decoded&);

template <class T, auto F>
[[gnu::noinline]] Mask compare_lanes(Warp& w, const Decoded& d) {
  const T *a = w.lanes<T>(d.a), *b = w.lanes<T>(d.b);
  Mask result = 0;
  for (int l = 0; l < kLanes; ++l) result |= static_cast<Mask>(F(a[l], b[l])) << l;
  return result;
}
void write(Warp& w, Ref place, Mask lanes, Mask value) {
  Mask& p = w.mask(place);
  p = (p & ~lanes) | (value & lanes);
}
template <class T, auto F>
const Decoded* setp_plain(Warp& w, const Decoded& d, Mask lanes) {
  write(w, d.d, lanes, compare_lanes<T, F>(w, d));
  return &d + 1;
}

// Site::detail of the forms that combine the result with another predicate, operand c.
struct Combined {
  Comparison compare;
  Combine how;
};
const Combined& combined(const Decoded& d) { return *static_cast<const Combined*>(d.site->detail.get()); }
Mask other(Warp& w, const Decoded& d) { return w.mask(d.c) ^ (d.flips & 4 ? kAllLanes : 0); }

// setp with a second predicate, of the negation.
const Decoded* setp_general(Warp& w, const Decoded& d, Mask lanes) {
  const auto [compare, how] = combined(d);
  const Mask result = compare(w, d), with = other(w, d);
  write(w, d.d, lanes, combine(how, result, with));
  write(w, d.e, lanes, combine(how, ~result, with));
  return &d + 1;
}

// set: `e` holds the number that means true.
template <class D>
const Decoded* set(Warp& w, const Decoded& d, Mask lanes) {
  const auto [compare, how] = combined(d);
  const Mask result = combine(how, compare(w, d), other(w, d));
  D* out = w.lanes<D>(d.d);
  const D* yes = w.lanes<D>(d.e);
  for_lanes(lanes, [&](int l) { out[l] = result >> l & 1 ? yes[l] : D{0}; });
  return &d + 1;
}

Combine take_combine(Binder& b) { return static_cast<Combine>(b.take_one({"and", "or", "xor"}) + 1); }

void combine_with(Binder& b, Combine how, Comparison compare) {
  b.out.c = how == Combine::none ? b.out.d : b.predicate(b.operand(3), 2);
  b.site.detail = std::make_shared<const Combined>(Combined{compare, how});
}

// These read ".op{.bool}{.ftz}" off the mnemonic; operation and types are the row's.
bool bind_setp(Binder& b, ptx::Type type, Handler plain, Comparison compare) {
  b.take_one({b.next()});
  const Combine how = take_combine(b);
  if (!b.takes(how == Combine::none ? 3 : 4)) return false;
  const ptx::Operand* second = b.operand(0).pair;
  b.out.d = b.destination(b.operand(0), ptx::Type::pred);
  b.out.a = b.source(b.operand(1), type);
  b.out.b = b.source(b.operand(2), type);
  if (how == Combine::none && !second) {
    b.out.run = plain;
    return !b.failed();
  }
  combine_with(b, how, compare);
  b.out.e = b.destination(second ? *second : ptx::Operand{}, ptx::Type::pred);
  b.out.run = setp_general;
  return !b.failed();
}

ptx::Operand number(uint64_t bits) {
  ptx::Operand o;
  o.kind = ptx::Operand::Kind::immediate;
  o.bits = bits;
  return o;
}

bool bind_set(Binder& b, ptx::Type compared, Comparison compare) {
  b.take_one({b.next()});
  const Combine how = take_combine(b);
  if (!b.takes(how == Combine::none ? 3 : 4)) return false;
  b.take("ftz");
  const ptx::Type type = b.take_type();
  const bool small = ptx::size_of(type) == 2;
  const uint64_t yes = type == ptx::Type::f32    ? 0x3f800000
                       : type == ptx::Type::f16  ? 0x3c00
                       : type == ptx::Type::bf16 ? 0x3f80
                                                 : 0xffffffff;
  b.out.d = b.destination(b.operand(0), type);
  b.out.a = b.source(b.operand(1), compared);
  b.out.b = b.source(b.operand(2), compared);
  b.out.e = b.source(number(yes), small ? ptx::Type::b16 : ptx::Type::b32);
  combine_with(b, how, compare);
  b.out.run = small ? set<uint16_t> : set<uint32_t>;
  return !b.failed();
}

void add_rows(Table& t, std::string_view op, std::string_view ftz, std::string_view type, bool is_half, Bind setp,
              Bind set) {
  t.add({"setp.", op, "{.and,.or,.xor}", ftz, type}, setp);
  std::vector<const char*> outs = {".u32", ".s32", ".f32", ".f16", ".bf16"};
  if (is_half) outs.insert(outs.end(), {".u16", ".s16"});
  for (const char* out : outs) t.add({"set.", op, "{.and,.or,.xor}", ftz, out, type}, set);
}
template <class T, Compare kOp, bool kFtz = false>
void add_comparison(Table& t, std::string_view op, std::string_view type) {
  static constexpr auto kCompare = compare<kOp, kFtz, T>;
  add_rows(
      t, op, kFtz ? ".ftz" : "", type, std::is_same_v<T, Half> || std::is_same_v<T, Bfloat>,
      [](Binder& b) { return bind_setp(b, kType<T>, setp_plain<T, kCompare>, compare_lanes<T, kCompare>); },
      [](Binder& b) { return bind_set(b, kType<T>, compare_lanes<T, kCompare>); });
}

template <class T, size_t... I>
void add_integers(Table& t, std::string_view type, std::index_sequence<I...>) {
  (add_comparison<T, static_cast<Compare>(I)>(t, kNames[I], type), ...);
}
template <class T, bool kFtz, size_t... I>
void add_floats(Table& t, std::index_sequence<I...>) {
  (add_comparison<T, static_cast<Compare>(I), kFtz>(t, kNames[I], name<T>()), ...);
}

// --- Pairs of halves: one predicate, or one result, for each half ------------------------------------------

struct PairMask {
  Mask low, high;
};
using PairComparison = PairMask (*)(Warp&, const Decoded&);

template <class H, auto F>
PairMask compare_pairs(Warp& w, const Decoded& d) {
  const Pair<H>*a = w.lanes<Pair<H>>(d.a), *b = w.lanes<Pair<H>>(d.b);
  Mask low = 0, high = 0;
  for (int l = 0; l < kLanes; ++l) {
    low |= static_cast<Mask>(F(a[l].low, b[l].low)) << l;
    high |= static_cast<Mask>(F(a[l].high, b[l].high)) << l;
  }
  return {low, high};
}

// Site::detail.
struct CombinedPair {
  PairComparison compare;
  Combine how;
};
const CombinedPair& combined_pair(const Decoded& d) { return *static_cast<const CombinedPair*>(d.site->detail.get()); }

const Decoded* setp_pair(Warp& w, const Decoded& d, Mask lanes) {
  const auto [compare, how] = combined_pair(d);
  const Mask with = other(w, d);
  const auto [low, high] = compare(w, d);
  write(w, d.d, lanes, combine(how, low, with));
  write(w, d.e, lanes, combine(how, high, with));
  return &d + 1;
}
bool bind_setp_pair(Binder& b, ptx::Type type, PairComparison compare) {
  b.take_one({b.next()});
  const Combine how = take_combine(b);
  if (!b.takes(how == Combine::none ? 3 : 4)) return false;
  if (!b.operand(0).pair) return b.fail("takes p|q");
  b.out.d = b.destination(b.operand(0), ptx::Type::pred);
  b.out.e = b.destination(*b.operand(0).pair, ptx::Type::pred);
  b.out.a = b.source(b.operand(1), type);
  b.out.b = b.source(b.operand(2), type);
  b.out.c = how == Combine::none ? b.out.d : b.predicate(b.operand(3), 2);
  b.site.detail = std::make_shared<const CombinedPair>(CombinedPair{compare, how});
  b.out.run = setp_pair;
  return !b.failed();
}

// `offset` is what a half gets where it holds: 1.0, or all ones.
const Decoded* set_pair(Warp& w, const Decoded& d, Mask lanes) {
  const auto [low, high] = combined_pair(d).compare(w, d);
  const uint32_t yes = static_cast<uint32_t>(d.offset);
  uint32_t* out = w.lanes<uint32_t>(d.d);
  for_each_lane(lanes, [=](int l) { out[l] = (low >> l & 1 ? yes : 0) | (high >> l & 1 ? yes << 16 : 0); });
  return &d + 1;
}
bool bind_set_pair(Binder& b, ptx::Type type, PairComparison compare, uint32_t yes) {
  b.site.detail = std::make_shared<const CombinedPair>(CombinedPair{compare, Combine::none});
  b.out.offset = yes;
  return b.bind(ptx::Type::u32, {type, type}, set_pair);
}

template <class H, bool kFtz, size_t... I>
void add_pairs(Table& t, std::index_sequence<I...>) {
  const char *const type = name<Pair<H>>(), *const ftz = kFtz ? ".ftz" : "";
  constexpr uint32_t kOne = std::is_same_v<H, Half> ? 0x3c00 : 0x3f80;
  (
      [&] {
        static constexpr auto kCompare = compare_pairs<H, compare<static_cast<Compare>(I), kFtz, H>>;
        t.add({"setp.", kNames[I], "{.and,.or,.xor}", ftz, type},
              [](Binder& b) { return bind_setp_pair(b, kType<Pair<H>>, kCompare); });
        t.add({"set.", kNames[I], ftz, type, type},
              [](Binder& b) { return bind_set_pair(b, kType<Pair<H>>, kCompare, kOne); });
        for (const char* out : {".u32", ".s32"})
          t.add({"set.", kNames[I], ftz, out, type},
                [](Binder& b) { return bind_set_pair(b, kType<Pair<H>>, kCompare, 0xffff); });
      }(),
      ...);
}

// --- Selection ---------------------------------------------------------------------------------------------

template <class T>
T selp(T a, T b, bool c) {
  return c ? a : b;
}
template <class T>
T slct_integer(T a, T b, int32_t c) {
  return c >= 0 ? a : b;
}
template <class T>
T slct_float(T a, T b, float c) {
  return c >= 0 ? a : b;
}
template <class T>
T slct_float_ftz(T a, T b, float c) {
  return slct_float(a, b, flush(c));
}

}  // namespace

void add_compare(Table& t) {
  constexpr std::make_index_sequence<6> kOrdered;  // eq ... ge
  constexpr std::make_index_sequence<14> kAll;
  add_integers<int16_t>(t, ".s16", kOrdered);
  add_integers<int32_t>(t, ".s32", kOrdered);
  add_integers<int64_t>(t, ".s64", kOrdered);
  add_integers<uint16_t>(t, ".u16", kOrdered);
  add_integers<uint32_t>(t, ".u32", kOrdered);
  add_integers<uint64_t>(t, ".u64", kOrdered);
  each<uint16_t, uint32_t, uint64_t>([&]<class T>() {
    const std::string untyped = ".b" + std::to_string(sizeof(T) * 8);
    add_comparison<T, Compare::eq>(t, "eq", untyped);
    add_comparison<T, Compare::ne>(t, "ne", untyped);
    add_comparison<T, Compare::lt>(t, "lo", name<T>());
    add_comparison<T, Compare::le>(t, "ls", name<T>());
    add_comparison<T, Compare::gt>(t, "hi", name<T>());
    add_comparison<T, Compare::ge>(t, "hs", name<T>());
  });
  add_floats<float, false>(t, kAll);
  add_floats<float, true>(t, kAll);
  add_floats<double, false>(t, kAll);
  add_floats<Half, false>(t, kAll);
  add_floats<Half, true>(t, kAll);
  add_floats<Bfloat, false>(t, kAll);
  add_pairs<Half, false>(t, kAll);
  add_pairs<Half, true>(t, kAll);
  add_pairs<Bfloat, false>(t, kAll);

  const auto select = [&]<class T>(std::initializer_list<const char*> types) {
    for (const std::string type : types) {
      t.add({"selp", type}, lanes<selp<T>>);
      t.add({"slct", type, ".s32"}, lanes<slct_integer<T>>);
      t.add({"slct", type, ".f32"}, lanes<slct_float<T>>);
      t.add({"slct.ftz", type, ".f32"}, lanes<slct_float_ftz<T>>);
    }
  };
  select.operator()<uint16_t>({".b16", ".u16", ".s16", ".f16", ".bf16"});
  select.operator()<uint32_t>({".b32", ".u32", ".s32", ".f16x2", ".bf16x2"});
  select.operator()<uint64_t>({".b64", ".u64", ".s64"});
  select.operator()<float>({".f32"});
  select.operator()<double>({".f64"});
}

}  // namespace vgpu::isa::VGPU_TARGET
