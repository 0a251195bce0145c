// Matrix instructions of a warp: ldmatrix, stmatrix, movmatrix, mma.sync and wmma.
//
// A product is exact in double; a sum is taken in double and rounded to its type once, so it is at least as close as
// the hardware's, whose order and width of accumulation NVIDIA does not state. Integers are exact.
#include <algorithm>
#include <memory>
#include <span>

#include "exec/access.h"
#include "exec/block.h"
#include "exec/grid.h"
#include "isa/lanes.h"
#include "isa/memory.h"

namespace vgpu::isa::VGPU_TARGET {
namespace {

// All lanes take part. 0: some are missing, as for any warp-level instruction.
VGPU_INLINE bool all_lanes(Warp& w, const Decoded& d, Mask lanes) {
  if (lanes == kAllLanes && !w.alone) return true;
  return w.gather(d, lanes, kAllLanes) != 0;
}

// --- ldmatrix, stmatrix, movmatrix: 8 x 8 matrices of 16-bit elements --------------------------------------
//
// Lane 8m + r holds the address of row r of matrix m. Of each matrix lane l has the elements 2(l%4) and 2(l%4) + 1 of
// row l/4, or, transposed, of column l/4, in one register.

template <bool kStore, bool kTransposed>
const Decoded* move_matrices(Warp& w, const Decoded& d, Mask lanes) {
  if (!all_lanes(w, d, lanes)) return w.behind(d);
  const std::vector<Ref>& registers = d.site->refs;
  const Mask rows = registers.size() == 4 ? kAllLanes : (1u << 8 * registers.size()) - 1;
  uint64_t address[kLanes];
  if (!host_addresses(w, d, rows, address)) return nullptr;
  for (size_t m = 0; m < registers.size(); ++m) {
    uint32_t* const r = w.lanes<uint32_t>(registers[m]);
    for (int l = 0; l < kLanes; ++l) {
      uint16_t pair[2] = {static_cast<uint16_t>(r[l]), static_cast<uint16_t>(r[l] >> 16)};
      for (int i = 0; i < 2; ++i) {
        const int along = 2 * (l % 4) + i, row = kTransposed ? along : l / 4, column = kTransposed ? l / 4 : along;
        uint16_t& element = reinterpret_cast<uint16_t*>(address[8 * static_cast<int>(m) + row])[column];
        (kStore ? element : pair[i]) = kStore ? pair[i] : element;
      }
      if (!kStore) r[l] = pair[0] | static_cast<uint32_t>(pair[1]) << 16;
    }
  }
  return &d + 1;
}

template <bool kStore>
bool bind_matrices(Binder& b) {
  b.take("sync");
  b.take("aligned");
  if (!b.take("m8n8")) return b.fail("has a shape that the virtual GPU does not know");
  const int count = b.take_one({"x1", "x2", "x4"});
  const bool transposed = b.take("trans");
  const ptx::Space space = take_space(b);
  if (count < 0 || !b.take("b16")) return b.fail("has elements that the virtual GPU does not know");
  const ptx::Operand &value = b.operand(kStore ? 1 : 0), &memory = b.operand(kStore ? 0 : 1);
  const auto registers = value.kind == ptx::Operand::Kind::vector ? value.parts : std::span(&value, 1);
  if (registers.size() != size_t{1} << count) return b.fail("has a vector of another length");
  for (const ptx::Operand& r : registers)
    b.site.refs.push_back(kStore ? b.source(r, ptx::Type::b32) : b.destination(r, ptx::Type::b32));
  if (b.address(memory, space) != Binder::Reached::memory) return b.fail("has no address in memory");
  b.out.bytes = 16;
  b.out.access = kStore ? AccessKind::store : AccessKind::load;
  b.out.run = transposed ? move_matrices<kStore, true> : move_matrices<kStore, false>;
  return !b.failed();
}

const Decoded* movmatrix(Warp& w, const Decoded& d, Mask lanes) {
  if (!all_lanes(w, d, lanes)) return w.behind(d);
  uint16_t matrix[8][8];
  const uint32_t* a = w.lanes<uint32_t>(d.a);
  uint32_t* out = w.lanes<uint32_t>(d.d);
  for (int l = 0; l < kLanes; ++l)
    for (int i = 0; i < 2; ++i) matrix[l / 4][2 * (l % 4) + i] = static_cast<uint16_t>(a[l] >> 16 * i);
  for (int l = 0; l < kLanes; ++l)
    out[l] = matrix[2 * (l % 4)][l / 4] | static_cast<uint32_t>(matrix[2 * (l % 4) + 1][l / 4]) << 16;
  return &d + 1;
}
bool bind_movmatrix(Binder& b) {
  if (b.count() != 2) return b.fail("takes 2 operands");
  b.out.d = b.destination(b.operand(0), ptx::Type::b32);
  b.out.a = b.source(b.operand(1), ptx::Type::b32);
  b.out.run = movmatrix;
  return !b.failed();
}

// --- Elements: what registers hold -------------------------------------------------------------------------

// kBits: of an element, of which a register holds as many as fit. get(register, i): element i as the number computed
// with.
template <class T, class N>
struct Whole {  // f16, bf16, f64, 8-bit integers ...: types of C++
  static constexpr int kBits = sizeof(T) * 8;
  using Number = N;
};
struct F16 : Whole<uint16_t, double> {
  static double get(uint64_t r, int i) { return widen(Half{static_cast<uint16_t>(r >> 16 * i)}); }
};
struct Bf16 : Whole<uint16_t, double> {
  static double get(uint64_t r, int i) { return widen(Bfloat{static_cast<uint16_t>(r >> 16 * i)}); }
};
struct Tf32 : Whole<uint32_t, double> {  // the low 13 digits are not looked at
  static double get(uint64_t r, int) { return std::bit_cast<float>(static_cast<uint32_t>(r) & 0xffffe000u); }
};
struct F64 : Whole<uint64_t, double> {
  static double get(uint64_t r, int) { return std::bit_cast<double>(r); }
};
template <bool kE4m3>
struct Fp8 : Whole<uint8_t, double> {
  static double get(uint64_t r, int i) {
    const auto byte = static_cast<uint8_t>(r >> 8 * i);
    const double sign = byte & 0x80 ? -1 : 1;
    constexpr int kMantissa = kE4m3 ? 3 : 2, kBias = kE4m3 ? 7 : 15;
    const int exponent = (byte & 0x7f) >> kMantissa, mantissa = byte & ((1 << kMantissa) - 1);
    if (kE4m3 && (byte & 0x7f) == 0x7f) return std::numeric_limits<double>::quiet_NaN();
    if (!kE4m3 && exponent == 31)
      return mantissa ? std::numeric_limits<double>::quiet_NaN() : sign * std::numeric_limits<double>::infinity();
    return sign * (exponent ? std::ldexp((1 << kMantissa) + mantissa, exponent - kBias - kMantissa)
                            : std::ldexp(mantissa, 1 - kBias - kMantissa));
  }
};
template <int kWidth, bool kSigned>
struct Integer {
  static constexpr int kBits = kWidth;
  using Number = int64_t;
  static int64_t get(uint64_t r, int i) {
    const auto top = static_cast<uint32_t>(r) << (32 - kWidth * (i + 1));
    return kSigned ? static_cast<int32_t>(top) >> (32 - kWidth) : static_cast<int64_t>(top >> (32 - kWidth));
  }
};

uint64_t read(Warp& w, Ref place, int lane, bool wide) {
  return wide ? w.lanes<uint64_t>(place)[lane] : w.lanes<uint32_t>(place)[lane];
}

// --- Sums --------------------------------------------------------------------------------------------------

enum class Sum : uint8_t { f16, f32, f64, s32, s32_sat };

constexpr int kMaxM = 32, kMaxN = 32, kMaxK = 64;

template <class Number>
struct Product {
  int m = 0, n = 0, k = 0;
  alignas(64) Number a[kMaxM][kMaxK], b[kMaxK][kMaxN], c[kMaxM][kMaxN];

  void multiply() {
    for (int i = 0; i < m; ++i)
      for (int p = 0; p < k; ++p) {
        const Number x = a[i][p];
        for (int j = 0; j < n; ++j) c[i][j] += x * b[p][j];
      }
  }
};

// Element i of a lane's accumulator registers.
template <class Number>
Number get_sum(Warp& w, const std::vector<Ref>& registers, Sum type, int lane, int i) {
  switch (type) {
    case Sum::f16:
      return static_cast<Number>(widen(
          Half{static_cast<uint16_t>(w.lanes<uint32_t>(registers[static_cast<size_t>(i / 2)])[lane] >> 16 * (i & 1))}));
    case Sum::f32: return static_cast<Number>(w.lanes<float>(registers[static_cast<size_t>(i)])[lane]);
    case Sum::f64: return static_cast<Number>(w.lanes<double>(registers[static_cast<size_t>(i)])[lane]);
    default: return static_cast<Number>(w.lanes<int32_t>(registers[static_cast<size_t>(i)])[lane]);
  }
}
template <class Number>
void put_sum(Warp& w, const std::vector<Ref>& registers, Sum type, int lane, int i, Number value) {
  switch (type) {
    case Sum::f16: {
      uint32_t& r = w.lanes<uint32_t>(registers[static_cast<size_t>(i / 2)])[lane];
      r = (r & (i & 1 ? 0xffffu : 0xffff0000u)) | narrow<5, 10>(static_cast<double>(value)) << 16 * (i & 1);
      break;
    }
    case Sum::f32:
      w.lanes<float>(registers[static_cast<size_t>(i)])[lane] = canonical(static_cast<float>(value));
      break;
    case Sum::f64: w.lanes<double>(registers[static_cast<size_t>(i)])[lane] = static_cast<double>(value); break;
    case Sum::s32_sat:
      w.lanes<int32_t>(registers[static_cast<size_t>(i)])[lane] =
          static_cast<int32_t>(value > Number(INT32_MAX)   ? Number(INT32_MAX)
                               : value < Number(INT32_MIN) ? Number(INT32_MIN)
                                                           : value);
      break;
    case Sum::s32:
      w.lanes<int32_t>(registers[static_cast<size_t>(i)])[lane] =
          static_cast<int32_t>(static_cast<uint32_t>(static_cast<int64_t>(value)));
      break;
  }
}
int sums_in(Sum type, size_t registers) { return static_cast<int>(registers) * (type == Sum::f16 ? 2 : 1); }

// --- mma: the layouts of the manual's figures, which are one rule for all shapes ---------------------------
//
// g = lane / 4, t = lane % 4; a register holds e elements that are neighbours in k.
//   A: register r: row g + 8 (r % 2), k from 4e (r / 2) + e t on   (m = 8: one row, r counts k)
//   B: register r: column g, k from 4e r + e t on
//   C: element i: row g + 8 (i / 2), column 2t + i % 2

struct Mma {
  int m = 0, n = 0, k = 0;
  Sum c = Sum::f32, d = Sum::f32;
  std::vector<Ref> to, a, b, from;
};

template <class A, class B>
const Decoded* mma(Warp& w, const Decoded& d, Mask lanes) {
  if (!all_lanes(w, d, lanes)) return w.behind(d);
  const Mma& s = *static_cast<const Mma*>(d.site->detail.get());
  using Number = typename A::Number;
  constexpr bool kDouble = A::kBits == 64;
  constexpr int e = kDouble ? 1 : 32 / A::kBits;
  Product<Number> p;
  p.m = s.m, p.n = s.n, p.k = s.k;
  for (int l = 0; l < kLanes; ++l) {
    const int g = l / 4, t = l % 4, pairs = s.m == 8 ? 1 : 2;
    for (size_t r = 0; r < s.a.size(); ++r) {
      const uint64_t bits = read(w, s.a[r], l, kDouble);
      const int row = g + 8 * (static_cast<int>(r) % pairs), k = 4 * e * (static_cast<int>(r) / pairs) + e * t;
      for (int i = 0; i < e; ++i) p.a[row][k + i] = A::get(bits, i);
    }
    for (size_t r = 0; r < s.b.size(); ++r) {
      const uint64_t bits = read(w, s.b[r], l, kDouble);
      const int k = 4 * e * static_cast<int>(r) + e * t;
      for (int i = 0; i < e; ++i) p.b[k + i][g] = B::get(bits, i);
    }
    for (int i = 0; i < sums_in(s.c, s.from.size()); ++i)
      p.c[g + 8 * (i / 2)][2 * t + i % 2] = get_sum<Number>(w, s.from, s.c, l, i);
  }
  p.multiply();
  for (int l = 0; l < kLanes; ++l)
    for (int i = 0; i < sums_in(s.d, s.to.size()); ++i)
      put_sum(w, s.to, s.d, l, i, p.c[l / 4 + 8 * (i / 2)][2 * (l % 4) + i % 2]);
  return &d + 1;
}

// One-bit elements: the sum counts the bits of a & b or a ^ b. Registers hold 32 of them.
template <bool kXor>
const Decoded* mma_bits(Warp& w, const Decoded& d, Mask lanes) {
  if (!all_lanes(w, d, lanes)) return w.behind(d);
  const Mma& s = *static_cast<const Mma*>(d.site->detail.get());
  const int pairs = s.m == 8 ? 1 : 2, words = s.k / 32;
  uint32_t a[16][8] = {}, b[8][8] = {};
  for (int l = 0; l < kLanes; ++l) {
    for (size_t r = 0; r < s.a.size(); ++r)
      a[l / 4 + 8 * (static_cast<int>(r) % pairs)][4 * (static_cast<int>(r) / pairs) + l % 4] =
          w.lanes<uint32_t>(s.a[r])[l];
    for (size_t r = 0; r < s.b.size(); ++r) b[l / 4][4 * r + static_cast<size_t>(l % 4)] = w.lanes<uint32_t>(s.b[r])[l];
  }
  for (int l = 0; l < kLanes; ++l)
    for (int i = 0; i < static_cast<int>(s.to.size()); ++i) {
      int64_t sum = get_sum<int64_t>(w, s.from, s.c, l, i);
      for (int k = 0; k < words; ++k) {
        const uint32_t x = a[l / 4 + 8 * (i / 2)][k], y = b[2 * (l % 4) + i % 2][k];
        sum += std::popcount(kXor ? x ^ y : x & y);
      }
      put_sum(w, s.to, s.d, l, i, sum);
    }
  return &d + 1;
}

template <class A>
Handler with_b(std::string_view b) {
  if constexpr (std::is_same_v<typename A::Number, int64_t>) {
    constexpr int kBits = A::kBits;
    return b.front() == 's' ? mma<A, Integer<kBits, true>> : mma<A, Integer<kBits, false>>;
  } else {
    return mma<A, A>;
  }
}

bool take_sum(Binder& b, Sum& sum) {
  switch (b.take_type()) {
    case ptx::Type::f16: sum = Sum::f16; return true;
    case ptx::Type::f32: sum = Sum::f32; return true;
    case ptx::Type::f64: sum = Sum::f64; return true;
    case ptx::Type::s32: sum = Sum::s32; return true;
    default: return b.fail("has an accumulator that the virtual GPU does not know");
  }
}
bool take_shape(Binder& b, int& m, int& n, int& k) {
  if (std::sscanf(std::string(b.next()).c_str(), "m%dn%dk%d", &m, &n, &k) != 3) return b.fail("has no shape");
  b.take(b.next());
  return true;
}
void collect(Binder& b, const ptx::Operand& o, std::vector<Ref>& places, ptx::Type type, bool destination) {
  const auto parts = o.kind == ptx::Operand::Kind::vector ? o.parts : std::span(&o, 1);
  for (const ptx::Operand& part : parts)
    places.push_back(destination ? b.destination(part, type) : b.source(part, type));
}
ptx::Type register_of(Sum sum) {
  return sum == Sum::f64 ? ptx::Type::f64 : sum == Sum::f32 ? ptx::Type::f32 : ptx::Type::b32;
}

// The elements of A, and what goes with them: the family that B's are of, and the accumulators.
struct ElementRow {
  const char* name;
  int bits;
  const char* family;
  bool f16, f32, f64, s32;  // accumulators
  Handler (*handler)(std::string_view b);
};
const ElementRow kElements[] = {
    {"f16", 16, "f16", true, true, false, false, [](std::string_view) -> Handler { return mma<F16, F16>; }},
    {"bf16", 16, "bf16", false, true, false, false, [](std::string_view) -> Handler { return mma<Bf16, Bf16>; }},
    {"tf32", 32, "tf32", false, true, false, false, [](std::string_view) -> Handler { return mma<Tf32, Tf32>; }},
    {"f64", 64, "f64", false, false, true, false, [](std::string_view) -> Handler { return mma<F64, F64>; }},
    {"e4m3", 8, "8-bit floats", true, true, false, false,
     [](std::string_view b) -> Handler {
       return b == "e4m3" ? mma<Fp8<true>, Fp8<true>> : mma<Fp8<true>, Fp8<false>>;
     }},
    {"e5m2", 8, "8-bit floats", true, true, false, false,
     [](std::string_view b) -> Handler {
       return b == "e4m3" ? mma<Fp8<false>, Fp8<true>> : mma<Fp8<false>, Fp8<false>>;
     }},
    {"u8", 8, "bytes", false, false, false, true, with_b<Integer<8, false>>},
    {"s8", 8, "bytes", false, false, false, true, with_b<Integer<8, true>>},
    {"u4", 4, "nibbles", false, false, false, true, with_b<Integer<4, false>>},
    {"s4", 4, "nibbles", false, false, false, true, with_b<Integer<4, true>>},
    {"b1", 1, "bits", false, false, false, true, nullptr},  // its operation chooses the handler
};
const ElementRow* element_row(std::string_view name) {
  for (const ElementRow& row : kElements)
    if (name == row.name) return &row;
  return nullptr;
}
bool sums_up(const ElementRow& row, Sum sum) {
  return sum == Sum::f16 ? row.f16 : sum == Sum::f32 ? row.f32 : sum == Sum::f64 ? row.f64 : row.s32;
}

bool bind_mma(Binder& b) {
  b.take("sync");
  b.take("aligned");
  auto s = std::make_shared<Mma>();
  if (!take_shape(b, s->m, s->n, s->k)) return false;
  if (!b.take("row") || !b.take("col")) return b.fail("has layouts that the virtual GPU does not know");
  const bool saturates = b.take("satfinite");
  if (!take_sum(b, s->d)) return false;
  const ElementRow* const a = element_row(b.next());
  b.take(b.next());
  const std::string_view bt = b.next();
  const ElementRow* const other = element_row(bt);
  b.take(bt);
  if (!take_sum(b, s->c)) return false;
  if (!a || !other || std::string_view(a->family) != other->family || !sums_up(*a, s->c) || !sums_up(*a, s->d))
    return b.fail("has elements that the virtual GPU does not know");
  if (saturates && (s->d != Sum::s32 || a->bits == 1)) return b.fail("saturates what has no bounds");
  if (saturates) s->d = Sum::s32_sat;
  const int bits = a->bits;
  if (bits == 1) {
    const int op = b.take_one({"xor", "and"});
    if (op < 0 || !b.take("popc")) return b.fail("has an operation that the virtual GPU does not know");
    b.out.run = op == 0 ? mma_bits<true> : mma_bits<false>;
  } else {
    b.out.run = a->handler(bt);
  }
  if (b.count() != 4) return b.fail("takes 4 operands");
  const ptx::Type element = bits == 64 ? ptx::Type::f64 : ptx::Type::b32;
  collect(b, b.operand(0), s->to, register_of(s->d), true);
  collect(b, b.operand(1), s->a, element, false);
  collect(b, b.operand(2), s->b, element, false);
  collect(b, b.operand(3), s->from, register_of(s->c), false);
  // The rule above holds for n = 8 and m of 8 or 16, where the registers are as many as the shape fills.
  const int per_register = bits == 64 ? 1 : 32 / bits;
  if (s->n != 8 || (s->m != 8 && s->m != 16) || s->k < 1 || s->k > (bits == 1 ? 256 : kMaxK) ||
      (s->m == 8 && bits == 16) || static_cast<int>(s->a.size()) * per_register * kLanes != s->m * s->k ||
      static_cast<int>(s->b.size()) * per_register * kLanes != s->n * s->k ||
      sums_in(s->d, s->to.size()) * kLanes != s->m * s->n || sums_in(s->c, s->from.size()) * kLanes != s->m * s->n)
    return b.fail("has a shape that the virtual GPU does not know");
  b.site.detail = s;
  return !b.failed();
}

// --- wmma: fragments whose layout is the implementation's own ----------------------------------------------
//
// Of a matrix of `size` elements lane l holds those of numbers count*l ... count*l + count - 1, by rows (A, C) or
// columns (B), modulo the size: where registers hold more than the matrix has, some lanes hold the same.

struct Wmma {
  int rows = 0, columns = 0;
  int bytes = 0;                 // of an element
  bool by_rows = true;           // in memory
  bool numbered_by_rows = true;  // in the fragment
  int per_register = 1;
  std::vector<Ref> registers;
  Ref stride;
};

// Row and column of the element that lane l holds at i.
std::pair<int, int> place_of(int rows, int columns, bool by_rows, int count, int l, int i) {
  const int number = (count * l + i) % (rows * columns);
  return by_rows ? std::pair(number / columns, number % columns) : std::pair(number % rows, number / rows);
}

template <bool kStore>
const Decoded* wmma_move(Warp& w, const Decoded& d, Mask lanes) {
  if (!all_lanes(w, d, lanes)) return w.behind(d);
  const Wmma& s = *static_cast<const Wmma*>(d.site->detail.get());
  const uint32_t* stride = w.lanes<uint32_t>(s.stride);
  const int count = static_cast<int>(s.registers.size()) * s.per_register;
  uint64_t base[kLanes], address[kLanes];
  compute_addresses(w, d, kAllLanes, base);
  for (int i = 0; i < count; ++i) {
    for (int l = 0; l < kLanes; ++l) {
      const auto [row, column] = place_of(s.rows, s.columns, s.numbered_by_rows, count, l, i);
      const uint64_t element = s.by_rows ? uint64_t{stride[l]} * row + column : uint64_t{stride[l]} * column + row;
      address[l] = base[l] + element * static_cast<uint64_t>(s.bytes);
    }
    if (!reach(w, d, kAllLanes, address)) return nullptr;
    const Ref place = s.registers[static_cast<size_t>(i / s.per_register)];
    const int shift = i % s.per_register * s.bytes * 8;
    for (int l = 0; l < kLanes; ++l) {
      void* const memory = reinterpret_cast<void*>(address[l]);
      if (s.bytes == 8) {
        uint64_t& r = w.lanes<uint64_t>(place)[l];
        std::memcpy(kStore ? memory : &r, kStore ? static_cast<void*>(&r) : memory, 8);
      } else {
        uint32_t &r = w.lanes<uint32_t>(place)[l], part = r >> shift;
        if (kStore) {
          std::memcpy(memory, &part, static_cast<size_t>(s.bytes));
        } else {
          part = 0;
          std::memcpy(&part, memory, static_cast<size_t>(s.bytes));
          r = shift ? r | part << shift : part;
        }
      }
    }
  }
  return &d + 1;
}

bool take_wmma_shape(Binder& b, int& m, int& n, int& k) {
  for (const char* shape : {"m16n16k16", "m32n8k16", "m8n32k16", "m16n16k8", "m8n8k4"})
    if (b.next() == shape) return take_shape(b, m, n, k);
  return false;
}

// The shape's k tells which elements it is for; f32 accumulates of more than one.
bool fits_wmma(ptx::Type type, int k) {
  switch (type) {
    case ptx::Type::f64: return k == 4;
    case ptx::Type::tf32: return k == 8;
    case ptx::Type::f32: return k == 8 || k == 16;
    default: return k == 16;
  }
}

// wmma.load.{a,b,c}, wmma.store.d
template <bool kStore>
bool bind_wmma_move(Binder& b) {
  auto s = std::make_shared<Wmma>();
  b.take(kStore ? "store" : "load");
  const int which = kStore ? (b.take("d") ? 2 : -1) : b.take_one({"a", "b", "c"});
  b.take("sync");
  b.take("aligned");
  const int layout = b.take_one({"row", "col"});
  int m = 0, n = 0, k = 0;
  if (which < 0 || layout < 0 || !take_wmma_shape(b, m, n, k))
    return b.fail("has a form that the virtual GPU does not know");
  const ptx::Space space = take_space(b);
  const ptx::Type type = b.take_type();
  s->rows = which == 1 ? k : m;
  s->columns = which == 0 ? k : n;
  s->by_rows = layout == 0;
  s->numbered_by_rows = which != 1;
  s->bytes = ptx::size_of(type);
  using ptx::Type;
  static constexpr Type kFactors[] = {Type::f16, Type::bf16, Type::tf32, Type::f64, Type::u8, Type::s8};
  static constexpr Type kSums[] = {Type::f16, Type::f32, Type::f64, Type::s32};
  const auto known = which == 2 ? std::span<const Type>(kSums) : std::span<const Type>(kFactors);
  if (std::find(known.begin(), known.end(), type) == known.end() || !fits_wmma(type, k))
    return b.fail("has elements that the virtual GPU does not know");
  s->per_register = s->bytes == 8 ? 1 : 4 / s->bytes;
  const ptx::Operand &value = b.operand(kStore ? 1 : 0), &memory = b.operand(kStore ? 0 : 1);
  collect(b, value, s->registers, s->bytes == 8 ? ptx::Type::f64 : ptx::Type::b32, !kStore);
  // Elements from row to row, or column to column; without it they lie dense.
  ptx::Operand dense;
  dense.kind = ptx::Operand::Kind::immediate;
  dense.bits = static_cast<uint64_t>(s->by_rows ? s->columns : s->rows);
  s->stride = b.source(b.count() > 2 ? b.operand(2) : dense, ptx::Type::u32);
  if (b.address(memory, space) != Binder::Reached::memory) return b.fail("has no address in memory");
  b.out.bytes = static_cast<uint32_t>(s->bytes);
  b.out.access = kStore ? AccessKind::store : AccessKind::load;
  b.out.run = wmma_move<kStore>;
  b.site.detail = s;
  return !b.failed();
}

template <class A, class B>
const Decoded* wmma(Warp& w, const Decoded& d, Mask lanes) {
  if (!all_lanes(w, d, lanes)) return w.behind(d);
  const Mma& s = *static_cast<const Mma*>(d.site->detail.get());
  using Number = typename A::Number;
  constexpr bool kDouble = A::kBits == 64;
  constexpr int e = kDouble ? 1 : 32 / A::kBits;
  Product<Number> p;
  p.m = s.m, p.n = s.n, p.k = s.k;
  const int in_a = static_cast<int>(s.a.size()) * e, in_b = static_cast<int>(s.b.size()) * e,
            in_c = sums_in(s.c, s.from.size());
  for (int l = 0; l < kLanes; ++l) {
    for (int i = 0; i < in_a; ++i) {
      const auto [row, k] = place_of(s.m, s.k, true, in_a, l, i);
      p.a[row][k] = A::get(read(w, s.a[static_cast<size_t>(i / e)], l, kDouble), i % e);
    }
    for (int i = 0; i < in_b; ++i) {
      const auto [k, column] = place_of(s.k, s.n, false, in_b, l, i);
      p.b[k][column] = B::get(read(w, s.b[static_cast<size_t>(i / e)], l, kDouble), i % e);
    }
    for (int i = 0; i < in_c; ++i) {
      const auto [row, column] = place_of(s.m, s.n, true, in_c, l, i);
      p.c[row][column] = get_sum<Number>(w, s.from, s.c, l, i);
    }
  }
  p.multiply();
  for (int l = 0; l < kLanes; ++l)
    for (int i = 0; i < sums_in(s.d, s.to.size()); ++i) {
      const auto [row, column] = place_of(s.m, s.n, true, in_c, l, i);
      put_sum(w, s.to, s.d, l, i, p.c[row][column]);
    }
  return &d + 1;
}

// wmma.mma.sync.aligned.alayout.blayout.shape.{dtype.ctype, of halves | dtype.atype.btype.ctype}. Layouts are of
// memory.
bool bind_wmma_mma(Binder& b) {
  auto s = std::make_shared<Mma>();
  b.take("mma");
  b.take("sync");
  b.take("aligned");
  if (b.take_one({"row", "col"}) < 0 || b.take_one({"row", "col"}) < 0 || !take_wmma_shape(b, s->m, s->n, s->k))
    return b.fail("has a form that the virtual GPU does not know");
  const bool rounds = b.take("rn");
  if (!take_sum(b, s->d)) return false;
  std::string_view a = "f16";
  for (const char* name : {"bf16", "tf32", "f64", "u8", "s8"})
    if (b.next() == name) a = name;
  if (a != "f16" && !(b.take(a) && b.take(a))) return b.fail("has elements that the virtual GPU does not know");
  if (!take_sum(b, s->c)) return false;
  const ptx::Type element = a == "f64" ? ptx::Type::f64 : a == "tf32" ? ptx::Type::tf32 : ptx::Type::b32;
  if (!sums_up(*element_row(a), s->c) || !sums_up(*element_row(a), s->d) || !fits_wmma(element, s->k))
    return b.fail("has elements that the virtual GPU does not know");
  if (a != "f64" && rounds) return b.fail("rounds what is no double");
  if (a == "f64") b.take("rn");  // nvcc writes it last
  if (s->d == Sum::s32 && b.take("satfinite")) s->d = Sum::s32_sat;
  b.out.run = a == "f16"    ? wmma<F16, F16>
              : a == "bf16" ? wmma<Bf16, Bf16>
              : a == "tf32" ? wmma<Tf32, Tf32>
              : a == "f64"  ? wmma<F64, F64>
              : a == "s8"   ? wmma<Integer<8, true>, Integer<8, true>>
                            : wmma<Integer<8, false>, Integer<8, false>>;
  if (b.count() != 4) return b.fail("takes 4 operands");
  const ptx::Type in_register = a == "f64" ? ptx::Type::f64 : ptx::Type::b32;
  collect(b, b.operand(0), s->to, register_of(s->d), true);
  collect(b, b.operand(1), s->a, in_register, false);
  collect(b, b.operand(2), s->b, in_register, false);
  collect(b, b.operand(3), s->from, register_of(s->c), false);
  if (sums_in(s->d, s->to.size()) != sums_in(s->c, s->from.size())) return b.fail("has a vector of another length");
  b.site.detail = s;
  return !b.failed();
}

bool bind_wmma(Binder& b) {
  if (b.next() == "load") return bind_wmma_move<false>(b);
  if (b.next() == "store") return bind_wmma_move<true>(b);
  return bind_wmma_mma(b);
}

}  // namespace

void add_matrix(Table& t) {
  t.add("ldmatrix", bind_matrices<false>);
  t.add("stmatrix", bind_matrices<true>);
  t.add("movmatrix.sync.aligned.m8n8.trans.b16", bind_movmatrix);
  t.add("mma", bind_mma);
  t.add("wmma", bind_wmma);
}

}  // namespace vgpu::isa::VGPU_TARGET
