// atom and red: one lane after the other, each a compare-and-swap on the host, so that blocks on other workers see it
// whole.
#include "exec/access.h"
#include "isa/lanes.h"
#include "isa/memory.h"
#include "isa/operators.h"

namespace vgpu::isa::VGPU_TARGET {
namespace {

using Wide = unsigned __int128;

// --- What an operation leaves in memory, of what it found and its operand ----------------------------------

template <class T>
T add_floats(T a, T b) {
  return canonical(a + b);
}
float add_flushed(float a, float b) { return flush(add_floats(flush(a), flush(b))); }
template <class H>
H add_half(H a, H b) {
  return round_to<H>(widen(a) + widen(b));
}
template <class H, auto F>
Pair<H> both(Pair<H> a, Pair<H> b) {
  return {F(a.low, b.low), F(a.high, b.high)};
}
template <class H, bool kMax>
H extreme_half(H a, H b) {
  const float x = widen(a), y = widen(b);
  if (x != x) return y != y ? H{0x7fff} : b;
  if (y != y) return a;
  if (x == y) return std::signbit(x) == kMax ? b : a;
  return (x < y) == kMax ? b : a;
}
template <class T>
T exchange(T, T b) {
  return b;
}
uint32_t increment(uint32_t a, uint32_t b) { return a >= b ? 0 : a + 1; }
uint32_t decrement(uint32_t a, uint32_t b) { return a == 0 || a > b ? b : a - 1; }

// --- One lane ----------------------------------------------------------------------------------------------

template <size_t kBytes>
struct Bits;
template <>
struct Bits<2> {
  using type = uint16_t;
};
template <>
struct Bits<4> {
  using type = uint32_t;
};
template <>
struct Bits<8> {
  using type = uint64_t;
};
template <class T>
using BitsOf = typename Bits<sizeof(T)>::type;

// Puts F(old, b) in the place of the old value, which it returns.
template <class T, T (*F)(T, T)>
T change(Warp& w, uint64_t address, T b) {
  auto* const place = reinterpret_cast<BitsOf<T>*>(address);
  BitsOf<T> old = __atomic_load_n(place, __ATOMIC_RELAXED);
  for (;;) {
    const auto wanted = std::bit_cast<BitsOf<T>>(F(std::bit_cast<T>(old), b));
    if (__atomic_compare_exchange_n(place, &old, wanted, false, __ATOMIC_SEQ_CST, __ATOMIC_RELAXED)) {
      w.wrote |= old != wanted;
      return std::bit_cast<T>(old);
    }
  }
}
template <class T>
T compare_and_swap(Warp& w, uint64_t address, T expected, T wanted) {
  w.wrote |= __atomic_compare_exchange_n(reinterpret_cast<T*>(address), &expected, wanted, false, __ATOMIC_SEQ_CST,
                                         __ATOMIC_SEQ_CST);
  return expected;
}

// --- Handlers ----------------------------------------------------------------------------------------------

template <class T, T (*F)(T, T)>
const Decoded* atomic(Warp& w, const Decoded& d, Mask lanes) {
  uint64_t address[kLanes];
  if (!host_addresses(w, d, lanes, address)) return nullptr;
  const T* b = w.lanes<T>(d.b);
  T* out = w.lanes<T>(d.d);
  for_each_lane(lanes, [&](int l) { out[l] = change<T, F>(w, address[l], b[l]); });
  return &d + 1;
}
// Elements of a vector, each atomic by itself.
template <class T, T (*F)(T, T)>
const Decoded* atomic_vector(Warp& w, const Decoded& d, Mask lanes) {
  uint64_t address[kLanes];
  if (!host_addresses(w, d, lanes, address)) return nullptr;
  const std::vector<Ref>& refs = d.site->refs;  // the results, then the operands
  const size_t count = refs.size() / 2;
  for_each_lane(lanes, [&](int l) {
    for (size_t i = 0; i < count; ++i) {
      const T operand = w.lanes<T>(refs[count + i])[l];
      w.lanes<T>(refs[i])[l] = change<T, F>(w, address[l] + i * sizeof(T), operand);
    }
  });
  return &d + 1;
}
template <class T>
const Decoded* atomic_cas(Warp& w, const Decoded& d, Mask lanes) {
  uint64_t address[kLanes];
  if (!host_addresses(w, d, lanes, address)) return nullptr;
  const T *b = w.lanes<T>(d.b), *c = w.lanes<T>(d.c);
  T* out = w.lanes<T>(d.d);
  for_each_lane(lanes, [&](int l) { out[l] = compare_and_swap(w, address[l], b[l], c[l]); });
  return &d + 1;
}
// 16 bytes: not atomic towards other workers, of which a kernel with atomics has none.
template <bool kCas>
const Decoded* atomic_wide(Warp& w, const Decoded& d, Mask lanes) {
  uint64_t address[kLanes];
  if (!host_addresses(w, d, lanes, address)) return nullptr;
  const Wide *b = w.lanes<Wide>(d.b), *c = w.lanes<Wide>(d.c);
  Wide* out = w.lanes<Wide>(d.d);
  for_each_lane(lanes, [&](int l) {
    Wide& place = *reinterpret_cast<Wide*>(address[l]);
    const Wide old = place;
    if (!kCas || old == b[l]) place = kCas ? c[l] : b[l];
    out[l] = old;
  });
  w.wrote = true;
  return &d + 1;
}

// --- Binding -----------------------------------------------------------------------------------------------

// A chosen operation: its type and its handlers. Integers have none for vectors.
struct Operation {
  ptx::Type type = ptx::Type::none;
  Handler run = nullptr, vector = nullptr;
};
template <class T, T (*F)(T, T)>
constexpr Operation operation() {
  if constexpr (std::is_integral_v<T>)
    return {kType<T>, atomic<T, F>};
  else
    return {kType<T>, atomic<T, F>, atomic_vector<T, F>};
}
template <class T>
Operation bits_operation(int op) {
  switch (op) {
    case 0: return operation<T, bit_and<T>>();
    case 1: return operation<T, bit_or<T>>();
    case 2: return operation<T, bit_xor<T>>();
    default: return operation<T, exchange<T>>();
  }
}
template <class T>
Operation number_operation(int op) {
  switch (op) {
    case 4: return operation<T, add<T>>();
    case 5: return operation<T, min<T>>();
    case 6: return operation<T, max<T>>();
    default: return {};
  }
}
template <class H>
Operation half_operation(int op, bool pair) {
  switch (op) {
    case 4: return pair ? operation<Pair<H>, both<H, add_half<H>>>() : operation<H, add_half<H>>();
    case 5:
      return pair ? operation<Pair<H>, both<H, extreme_half<H, false>>>() : operation<H, extreme_half<H, false>>();
    case 6: return pair ? operation<Pair<H>, both<H, extreme_half<H, true>>>() : operation<H, extreme_half<H, true>>();
    default: return {};
  }
}

const char* const kOps[] = {"and", "or", "xor", "exch", "add", "min", "max", "inc", "dec", "cas"};

Operation find_operation(int op, ptx::Type type, bool flushed, bool vector) {
  using ptx::Type;
  if (op <= 3) {
    if (type == Type::b32) return bits_operation<uint32_t>(op);
    if (type == Type::b64) return bits_operation<uint64_t>(op);
    return {};
  }
  switch (type) {
    case Type::u32:
      return op == 7   ? operation<uint32_t, increment>()
             : op == 8 ? operation<uint32_t, decrement>()
                       : number_operation<uint32_t>(op);
    case Type::s32: return number_operation<int32_t>(op);
    case Type::u64: return number_operation<uint64_t>(op);
    case Type::s64: return op == 4 ? Operation() : number_operation<int64_t>(op);
    case Type::f32:
      return op != 4 ? Operation() : flushed ? operation<float, add_flushed>() : operation<float, add_floats<float>>();
    case Type::f64: return op == 4 ? operation<double, add_floats<double>>() : Operation();
    // One by one they are only added, and in vectors also compared.
    case Type::f16:
    case Type::f16x2: return op != 4 && !vector ? Operation() : half_operation<Half>(op, type == Type::f16x2);
    case Type::bf16:
    case Type::bf16x2: return op != 4 && !vector ? Operation() : half_operation<Bfloat>(op, type == Type::bf16x2);
    default: return {};
  }
}

bool bind(Binder& b, bool returns) {
  Decoded& d = b.out;
  take_order(b);
  const ptx::Space space = take_space(b);
  if (b.site.scope == Scope::none) take_scope(b);  // the toolkit's headers write atom.global.sys.add.u32
  const int op = b.take_one({kOps[0], kOps[1], kOps[2], kOps[3], kOps[4], kOps[5], kOps[6], kOps[7], kOps[8], kOps[9]});
  if (op < 0) return b.fail("is no atomic operation that the virtual GPU knows");
  if (b.site.order == Order::weak) take_order(b);  // cooperative groups write atom.add.release.gpu.u32
  if (b.site.order == Order::weak) b.site.order = Order::relaxed;
  if (b.site.scope == Scope::none) b.site.scope = Scope::gpu;
  b.take("noftz");
  b.take("L2::cache_hint");
  const int vector = b.take_one({"v2", "v4", "v8"});
  const ptx::Type type = b.take_type();
  const size_t at = returns ? 1 : 0;  // the memory operand
  if (b.count() < at + 2) return b.fail("has too few operands");
  b.out.access = AccessKind::atomic;
  d.strong = true;
  if (b.address(b.operand(at), space) != Binder::Reached::memory) return b.fail("has no address in memory");
  d.bytes = static_cast<uint32_t>(ptx::size_of(type)) << (vector + 1);
  using ptx::Type;
  const bool wide = type == Type::b128;
  const bool in_vectors =
      type == Type::f32 || type == Type::f16 || type == Type::f16x2 || type == Type::bf16 || type == Type::bf16x2;
  const bool swaps = type == Type::b16 || type == Type::b32 || type == Type::b64 || wide;
  if ((!returns && (op == 3 || op == 9)) || (vector >= 0 && (!in_vectors || d.bytes > 16)))
    return b.fail("is no atomic operation that the virtual GPU knows");

  if (op == 9 || wide) {  // cas, and 16-byte exchange
    if (!swaps || (op != 9 && op != 3)) return b.fail("has a type that the operation does not take");
    const size_t operands = op == 9 ? 4 : 3;
    if (b.count() < operands) return b.fail("has too few operands");
    d.d = b.destination(b.operand(0), type);
    d.b = b.source(b.operand(2), type);
    d.c = op == 9 ? b.source(b.operand(3), type) : d.b;
    switch (d.bytes) {
      case 2: d.run = atomic_cas<uint16_t>; break;
      case 4: d.run = atomic_cas<uint32_t>; break;
      case 8: d.run = atomic_cas<uint64_t>; break;
      default: d.run = op == 9 ? atomic_wide<true> : atomic_wide<false>;
    }
    return !b.failed();
  }

  // Scalar sums of floats in global memory flush subnormals; others do not.
  const bool flushed = type == ptx::Type::f32 && vector < 0 && space != ptx::Space::shared;
  const ptx::Operand sink;  // of what `red` does not return
  const Operation found = find_operation(op, type, flushed, vector >= 0);
  if (found.type == ptx::Type::none) return b.fail("has a type that the operation does not take");
  if (vector >= 0) {
    const size_t count = size_t{2} << vector;
    const std::span<const ptx::Operand> operands = b.operand(at + 1).parts;
    if (operands.size() != count || (returns && b.operand(0).parts.size() != count))
      return b.fail("has a vector of another length");
    for (size_t i = 0; i < count; ++i)
      b.site.refs.push_back(b.destination(returns ? b.operand(0).parts[i] : sink, found.type));
    for (const ptx::Operand& o : operands) b.site.refs.push_back(b.source(o, found.type));
    d.run = found.vector;
    return !b.failed();
  }
  d.b = b.source(b.operand(at + 1), found.type);
  d.d = b.destination(returns ? b.operand(0) : sink, found.type);
  d.run = found.run;
  return !b.failed();
}

}  // namespace

void add_atomic(Table& t) {
  t.add("atom", [](Binder& b) { return bind(b, true); });
  t.add("red", [](Binder& b) { return bind(b, false); });
}

}  // namespace vgpu::isa::VGPU_TARGET
