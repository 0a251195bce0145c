// ld, st, prefetch, cvta, isspacep, mapa: PTX ISA, "Data Movement and Conversion Instructions".
#include "isa/memory.h"

#include "exec/access.h"
#include "exec/block.h"
#include "exec/grid.h"
#include "isa/lanes.h"
#include "isa/table.h"

namespace vgpu::isa::VGPU_TARGET {
namespace {

template <class T>
struct Registers {  // where a value of type T is kept: registers have 16 bits at least
  using type = std::conditional_t<sizeof(T) == 1, std::conditional_t<std::is_signed_v<T>, int16_t, uint16_t>, T>;
};

// --- Loads and stores. T is the type in memory, R the register's, wider by sign or zeros -------------------

template <class T, class R>
const Decoded* load(Warp& w, const Decoded& d, Mask lanes) {
  R* out = w.lanes<R>(d.d);
  if (const Even even = evenly<true>(w, d, lanes, sizeof(T)); even.first) {
    const T* in = reinterpret_cast<const T*>(even.first);
    if (even.stride) {
#pragma GCC ivdep
      for (int l = 0; l < kLanes; ++l) out[l] = static_cast<R>(in[l]);
    } else {
      const R value = static_cast<R>(*in);
      for_lanes(lanes, [=](int l) { out[l] = value; });
    }
    return &d + 1;
  }
  uint64_t address[kLanes];
  if (!host_addresses(w, d, lanes, address)) return nullptr;
  for_lanes(lanes, [&](int l) { out[l] = static_cast<R>(*reinterpret_cast<const T*>(address[l])); });
  return &d + 1;
}
template <class T, class R>
const Decoded* store(Warp& w, const Decoded& d, Mask lanes) {
  const R* in = w.lanes<R>(d.b);
  if (const Even even = evenly<false>(w, d, lanes, sizeof(T)); even.first) {
    T* out = reinterpret_cast<T*>(even.first);
#pragma GCC ivdep
    for (int l = 0; l < kLanes; ++l) out[l] = static_cast<T>(in[l]);
    return &d + 1;
  }
  uint64_t address[kLanes];
  if (!host_addresses(w, d, lanes, address)) return nullptr;
  // In order: of two lanes that write one place the last one stays.
  for_each_lane(lanes, [&](int l) { *reinterpret_cast<T*>(address[l]) = static_cast<T>(in[l]); });
  return &d + 1;
}

// A vector of kCount elements; 0: as many as there are registers.
template <int kCount>
VGPU_INLINE int elements_of(const Decoded& d) {
  return kCount ? kCount : static_cast<int>(d.site->refs.size());
}
constexpr int kMostElements = 8;

// Each lane's four elements, beside each other in memory, and the registers that they are. The compiler makes it
// shuffles of vectors, as soon as it knows that nothing overlaps.
template <class T, class R>
void lanes_apart(const T* __restrict in, R* __restrict a, R* __restrict b, R* __restrict c, R* __restrict d) {
#pragma GCC ivdep
  for (int l = 0; l < kLanes; ++l) {
    a[l] = static_cast<R>(in[4 * l]);
    b[l] = static_cast<R>(in[4 * l + 1]);
    c[l] = static_cast<R>(in[4 * l + 2]);
    d[l] = static_cast<R>(in[4 * l + 3]);
  }
}
template <class T, class R>
void lanes_together(T* __restrict out, const R* __restrict a, const R* __restrict b, const R* __restrict c,
                    const R* __restrict d) {
#pragma GCC ivdep
  for (int l = 0; l < kLanes; ++l) {
    out[4 * l] = static_cast<T>(a[l]);
    out[4 * l + 1] = static_cast<T>(b[l]);
    out[4 * l + 2] = static_cast<T>(c[l]);
    out[4 * l + 3] = static_cast<T>(d[l]);
  }
}

template <class T, class R, int kCount>
const Decoded* load_vector(Warp& w, const Decoded& d, Mask lanes) {
  const int count = elements_of<kCount>(d);
  R* out[kMostElements];
#pragma GCC unroll 4
  for (int i = 0; i < count; ++i) out[i] = w.lanes<R>(d.site->refs[static_cast<size_t>(i)]);
  if (const Even even = evenly<true>(w, d, lanes, sizeof(T) * static_cast<uint32_t>(count)); even.first) {
    const T* in = reinterpret_cast<const T*>(even.first);
    if (even.stride) {
      if constexpr (kCount == 4)
        lanes_apart(in, out[0], out[1], out[2], out[3]);
      else
        for (int l = 0; l < kLanes; ++l)
#pragma GCC unroll 4
          for (int i = 0; i < count; ++i) out[i][l] = static_cast<R>(in[count * l + i]);
    } else {
      for (int i = 0; i < count; ++i) {
        const R value = static_cast<R>(in[i]);
        for_lanes(lanes, [to = out[i], value](int l) { to[l] = value; });
      }
    }
    return &d + 1;
  }
  uint64_t address[kLanes];
  if (!host_addresses(w, d, lanes, address)) return nullptr;
  for_each_lane(lanes, [&](int l) {
#pragma GCC unroll 4
    for (int i = 0; i < count; ++i) out[i][l] = static_cast<R>(reinterpret_cast<const T*>(address[l])[i]);
  });
  return &d + 1;
}
template <class T, class R, int kCount>
const Decoded* store_vector(Warp& w, const Decoded& d, Mask lanes) {
  const int count = elements_of<kCount>(d);
  const R* in[kMostElements];
#pragma GCC unroll 4
  for (int i = 0; i < count; ++i) in[i] = w.lanes<R>(d.site->refs[static_cast<size_t>(i)]);
  if (const Even even = evenly<false>(w, d, lanes, sizeof(T) * static_cast<uint32_t>(count)); even.first) {
    T* out = reinterpret_cast<T*>(even.first);
    if constexpr (kCount == 4)
      lanes_together(out, in[0], in[1], in[2], in[3]);
    else
      for (int l = 0; l < kLanes; ++l)
#pragma GCC unroll 4
        for (int i = 0; i < count; ++i) out[count * l + i] = static_cast<T>(in[i][l]);
    return &d + 1;
  }
  uint64_t address[kLanes];
  if (!host_addresses(w, d, lanes, address)) return nullptr;
  for_each_lane(lanes, [&](int l) {
#pragma GCC unroll 4
    for (int i = 0; i < count; ++i) reinterpret_cast<T*>(address[l])[i] = static_cast<T>(in[i][l]);
  });
  return &d + 1;
}

// --- Parameters: a kernel's are the same for all lanes, a function's lie in its frame --------------------------

template <class T, class R>
const Decoded* load_kernel_param(Warp& w, const Decoded& d, Mask lanes) {
  const std::vector<Ref>& elements = d.site->refs;
  for (size_t i = 0; i < elements.size(); ++i) {
    T value;
    std::memcpy(&value, w.block.grid.launch.params.data() + d.offset + i * sizeof(T), sizeof(T));
    R* out = w.lanes<R>(elements[i]);
    for_lanes(lanes, [&](int l) { out[l] = static_cast<R>(value); });
  }
  return &d + 1;
}
template <class T, class R>
const Decoded* load_param(Warp& w, const Decoded& d, Mask lanes) {
  const std::vector<Ref>& elements = d.site->refs;
  const std::byte* variable = w.lanes<std::byte>(d.a) + d.offset;
  for (size_t i = 0; i < elements.size(); ++i) {
    R* out = w.lanes<R>(elements[i]);
    for_lanes(lanes, [&](int l) {
      T value;
      std::memcpy(&value, variable + l * d.bytes + i * sizeof(T), sizeof(T));
      out[l] = static_cast<R>(value);
    });
  }
  return &d + 1;
}
template <class T, class R>
const Decoded* store_param(Warp& w, const Decoded& d, Mask lanes) {
  const std::vector<Ref>& elements = d.site->refs;
  std::byte* variable = w.lanes<std::byte>(d.a) + d.offset;
  for (size_t i = 0; i < elements.size(); ++i) {
    const R* in = w.lanes<R>(elements[i]);
    for_lanes(lanes, [&](int l) {
      const T value = static_cast<T>(in[l]);
      std::memcpy(variable + l * d.bytes + i * sizeof(T), &value, sizeof(T));
    });
  }
  return &d + 1;
}

// --- Binding -----------------------------------------------------------------------------------------------

struct Handlers {
  Handler one, two, four, vector;  // elements
  Handler param, kernel_param = nullptr;
};
// Vectors whose elements are as wide as the registers are common; the others take as long to build.
template <class T, class R>
constexpr int kCounted = sizeof(T) == sizeof(R);
template <class T, class R>
constexpr Handlers kLoads = {load<T, R>,
                             load_vector<T, R, 2 * kCounted<T, R>>,
                             load_vector<T, R, 4 * kCounted<T, R>>,
                             load_vector<T, R, 0>,
                             load_param<T, R>,
                             load_kernel_param<T, R>};
template <class T, class R>
constexpr Handlers kStores = {store<T, R>, store_vector<T, R, 2 * kCounted<T, R>>,
                              store_vector<T, R, 4 * kCounted<T, R>>, store_vector<T, R, 0>, store_param<T, R>};

template <class T, class R>
const Handlers* handlers(bool store) {
  if constexpr (!std::is_signed_v<T>)
    if (store) return &kStores<T, R>;
  return &kLoads<T, R>;
}

using Wide = unsigned __int128;

ptx::Type without_sign(ptx::Type type) {
  switch (type) {
    case ptx::Type::s8: return ptx::Type::u8;
    case ptx::Type::s16: return ptx::Type::u16;
    case ptx::Type::s32: return ptx::Type::u32;
    default: return type;
  }
}

// For a type in memory and the width of the register; null where the register is too narrow.
const Handlers* handlers(ptx::Type type, int width, bool store) {
  const auto extended = [&]<class T>(T) -> const Handlers* {
    constexpr bool kSigned = std::is_signed_v<T>;
    constexpr size_t kNarrowest = sizeof(T) + kSigned;
    if (width == 8) return handlers<T, std::conditional_t<kSigned, int64_t, uint64_t>>(store);
    if constexpr (kNarrowest <= 4)
      if (width == 4) return handlers<T, std::conditional_t<kSigned, int32_t, uint32_t>>(store);
    if constexpr (kNarrowest <= 2)
      if (width == 2) return handlers<T, std::conditional_t<kSigned, int16_t, uint16_t>>(store);
    if constexpr (kNarrowest == 1)
      if (width == 1) return handlers<T, T>(store);
    return nullptr;
  };
  // The sign matters to a load into a wider register alone.
  if (store || width == ptx::size_of(type)) type = without_sign(type);
  using ptx::Type;
  switch (type) {
    case Type::b8:
    case Type::u8: return extended(uint8_t{});
    case Type::s8: return extended(int8_t{});
    case Type::b16:
    case Type::u16: return extended(uint16_t{});
    case Type::s16: return extended(int16_t{});
    case Type::b32:
    case Type::u32:
    case Type::f32: return extended(uint32_t{});
    case Type::s32: return extended(int32_t{});
    case Type::b64:
    case Type::u64:
    case Type::f64:
    case Type::s64: return extended(uint64_t{});
    case Type::b128: return width == 16 ? handlers<Wide, Wide>(store) : nullptr;
    default: return nullptr;
  }
}

// Cache hints: the emulator has no caches.
void take_hints(Binder& b) {
  while (b.take_one({"ca",
                     "cg",
                     "cs",
                     "lu",
                     "cv",
                     "wb",
                     "wt",
                     "nc",
                     "L1::evict_normal",
                     "L1::evict_unchanged",
                     "L1::evict_first",
                     "L1::evict_last",
                     "L1::no_allocate",
                     "L2::evict_first",
                     "L2::evict_last",
                     "L2::evict_normal",
                     "L2::cache_hint",
                     "L2::64B",
                     "L2::128B",
                     "L2::256B"}) >= 0) {
  }
}

bool bind_access(Binder& b, bool store) {
  Decoded& d = b.out;
  take_order(b);
  const ptx::Space space = take_space(b);
  take_hints(b);
  int count = 1;
  if (b.take("v2"))
    count = 2;
  else if (b.take("v4"))
    count = 4;
  else if (b.take("v8"))
    count = 8;
  const ptx::Type type = b.take_type();
  if (type == ptx::Type::none) return b.fail("has an unknown modifier");
  if (b.count() < 2) return b.fail("takes 2 operands");
  const ptx::Operand& value = b.operand(store ? 1 : 0);
  const ptx::Operand& memory = b.operand(store ? 0 : 1);
  const bool vector = value.kind == ptx::Operand::Kind::vector;
  if (vector != (count > 1) || (vector && value.parts.size() != static_cast<size_t>(count)))
    return b.fail("has a vector of another length");

  // All elements of a vector have one width; a sink or an immediate takes the type's.
  const std::span<const ptx::Operand> elements = vector ? value.parts : std::span(&value, 1);
  int width = 0;
  for (const ptx::Operand& e : elements)
    if (e.kind == ptx::Operand::Kind::reg) width = std::max(width, b.width(e));
  if (!width) width = std::max(2, ptx::size_of(type));
  const Handlers* run = handlers(type, width, store);
  if (!run) return b.fail("has a register narrower than its type");
  const ptx::Type register_type = width == 1   ? ptx::Type::b8
                                  : width == 2 ? ptx::Type::b16
                                  : width == 4 ? ptx::Type::b32
                                  : width == 8 ? ptx::Type::b64
                                               : ptx::Type::b128;
  std::vector<Ref> refs;
  for (const ptx::Operand& e : elements) {
    // An immediate float is of the instruction's type; its bits are what is stored.
    const bool number = e.kind == ptx::Operand::Kind::immediate && width == ptx::size_of(type);
    const ptx::Type as = number ? type : register_type;
    refs.push_back(store ? b.source(e, as) : b.destination(e, as));
  }
  b.out.access = store ? AccessKind::store : AccessKind::load;
  const auto beyond = [&] { return d.offset < 0 || d.offset > int64_t{d.bytes} - ptx::size_of(type) * count; };
  switch (b.address(memory, space)) {
    case Binder::Reached::nothing: return false;
    case Binder::Reached::kernel_param:
      if (store) return b.fail("writes a parameter of the kernel");
      if (beyond()) return b.fail("reads beyond the parameters");
      b.site.refs = std::move(refs);
      d.run = run->kernel_param;
      return !b.failed();
    case Binder::Reached::frame_param:
      if (beyond()) return b.fail("reaches beyond the parameter");
      b.site.refs = std::move(refs);
      d.run = run->param;
      return !b.failed();
    case Binder::Reached::memory: break;
  }
  d.bytes = static_cast<uint32_t>(ptx::size_of(type) * count);
  if (d.bytes > 32) return b.fail("moves more than 32 bytes");
  if (vector) {
    b.site.refs = std::move(refs);
    d.run = count == 2 ? run->two : count == 4 ? run->four : run->vector;
  } else {
    (store ? d.b : d.d) = refs[0];
    d.run = run->one;
  }
  return !b.failed();
}
bool ld(Binder& b) { return bind_access(b, false); }
bool st(Binder& b) { return bind_access(b, true); }

// --- Addresses ---------------------------------------------------------------------------------------------

// A shared address in the window is what it is in the space, plus the window; the same for local and param.
template <uint64_t kWindow>
uint64_t to_generic(uint64_t a) {
  return a + kWindow;
}
template <uint64_t kWindow>
uint64_t from_generic(uint64_t a) {
  return a - kWindow;
}
uint64_t same(uint64_t a) { return a; }
template <uint64_t kWindow>
bool in_window(uint64_t a) {
  return a >> 56 == kWindow >> 56;
}
bool in_global(uint64_t a) { return a >> 56 == 0; }

// The block's own shared memory, as opposed to another's of the cluster.
const Decoded* isspacep_cta(Warp& w, const Decoded& d, Mask lanes) {
  const uint64_t* a = w.lanes<uint64_t>(d.a);
  Mask& out = w.mask(d.d);
  const uint64_t own = kSharedWindow + (w.block.rank + 1) * kSharedStride;
  for_each_lane(lanes, [&](int l) {
    const bool is = a[l] - kSharedWindow < kSharedStride || a[l] - own < kSharedStride;
    out = (out & ~(1u << l)) | static_cast<Mask>(is) << l;
  });
  return &d + 1;
}
bool bind_isspacep_cta(Binder& b) {
  if (b.count() != 2) return b.fail("takes 2 operands");
  b.out.d = b.destination(b.operand(0), ptx::Type::pred);
  b.out.a = b.source(b.operand(1), ptx::Type::u64);
  b.out.run = isspacep_cta;
  return !b.failed();
}

// mapa: the same place in the shared memory of the cluster's block `rank`; getctarank: whose shared memory it is.
template <class T>
T mapa(T a, uint32_t rank) {
  const T in_block = a & static_cast<T>(kSharedStride - 1);
  const T window = sizeof(T) == 8 ? static_cast<T>(a & ~static_cast<T>((uint64_t{1} << 56) - 1)) : 0;
  return window + in_block + static_cast<T>(rank + 1) * static_cast<T>(kSharedStride);
}
template <class T>
const Decoded* getctarank(Warp& w, const Decoded& d, Mask lanes) {
  const T* a = w.lanes<T>(d.a);
  uint32_t* out = w.lanes<uint32_t>(d.d);
  for_lanes(lanes, [&](int l) {
    const uint32_t block = static_cast<uint32_t>(a[l] / kSharedStride) & 0xff;
    out[l] = block ? block - 1 : w.block.rank;
  });
  return &d + 1;
}
template <class T>
bool bind_getctarank(Binder& b) {
  if (b.count() != 2) return b.fail("takes 2 operands");
  b.out.d = b.destination(b.operand(0), ptx::Type::u32);
  b.out.a = b.source(b.operand(1), kType<T>);
  b.out.run = getctarank<T>;
  return !b.failed();
}

const Decoded* nothing(Warp&, const Decoded& d, Mask) { return &d + 1; }
// Whatever they say about caches.
bool hint(Binder& b) {
  while (b.take(b.next())) {
  }
  b.out.run = nothing;
  return true;
}

// A policy says nothing either.
bool createpolicy(Binder& b) {
  while (!b.all_taken() && b.next() != "b64") b.take(b.next());
  if (!b.take("b64")) return b.fail("is no cache policy");
  b.out.d = b.destination(b.operand(0), ptx::Type::b64);
  b.out.run = [](Warp& w, const Decoded& d, Mask lanes) -> const Decoded* {
    for_lanes(lanes, [out = w.lanes<uint64_t>(d.d)](int l) { out[l] = 0; });
    return &d + 1;
  };
  return !b.failed();
}

}  // namespace

void add_memory(Table& t) {
  t.add("ld", ld);
  t.add("ldu", ld);
  t.add("st", st);
  t.add("prefetch", hint);
  t.add("prefetchu", hint);
  t.add("applypriority", hint);
  t.add("discard", hint);
  t.add("createpolicy", createpolicy);

  t.add("cvta{.to}.global.u64", lanes<same>);
  t.add("cvta{.to}.const.u64", lanes<same>);
  t.add("cvta.shared{::cta,::cluster}.u64", lanes<to_generic<kSharedWindow>>);
  t.add("cvta.to.shared{::cta,::cluster}.u64", lanes<from_generic<kSharedWindow>>);
  t.add("cvta.local.u64", lanes<to_generic<kLocalWindow>>);
  t.add("cvta.to.local.u64", lanes<from_generic<kLocalWindow>>);
  t.add("cvta.param{::entry}.u64", lanes<to_generic<kParamWindow>>);
  t.add("cvta.to.param{::entry}.u64", lanes<from_generic<kParamWindow>>);
  t.add("isspacep.global", lanes<in_global>);
  t.add("isspacep.const", lanes<in_global>);
  t.add("isspacep.local", lanes<in_window<kLocalWindow>>);
  t.add("isspacep.param{::entry}", lanes<in_window<kParamWindow>>);
  t.add("isspacep.shared::cluster", lanes<in_window<kSharedWindow>>);
  t.add("isspacep.shared{::cta}", bind_isspacep_cta);
  t.add("mapa{.shared::cluster}.u32", lanes<mapa<uint32_t>>);
  t.add("mapa{.shared::cluster}.u64", lanes<mapa<uint64_t>>);
  t.add("getctarank{.shared::cluster}.u32", bind_getctarank<uint32_t>);
  t.add("getctarank{.shared::cluster}.u64", bind_getctarank<uint64_t>);
}

}  // namespace vgpu::isa::VGPU_TARGET
