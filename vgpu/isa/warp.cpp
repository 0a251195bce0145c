// Instructions that look at other lanes of the warp: shfl, vote, match, redux, activemask, elect, bar.warp.sync.
#include "exec/block.h"
#include "exec/grid.h"
#include "isa/lanes.h"
#include "isa/operators.h"
#include "isa/table.h"

namespace vgpu::isa::VGPU_TARGET {
namespace {

// Runs f(lanes, mask) for each member mask that lanes name, with the lanes that name it; nothing if lanes are missing.
// `masks` are the lanes' operands. Returns what the warp executes next.
template <class F>
VGPU_INLINE const Decoded* for_members(Warp& w, const Decoded& d, Mask lanes, const uint32_t* masks, F&& f) {
  const uint32_t first = masks[std::countr_zero(lanes)];
  Mask named = 0, differs = 0;
  for (int l = 0; l < kLanes; ++l) {
    const Mask is = 0u - (lanes >> l & 1);
    named |= masks[l] & is;
    differs |= (masks[l] ^ first) & is;
  }
  bool same = !differs;
  // All are here, mostly.
  if ((named & w.live & ~lanes) || w.waiting.partners || w.alone) {
    const Mask here = w.gather(d, lanes, named);
    if (!here) return w.behind(d);
    same = same && here == lanes;
    lanes = here;
  }
  if (same) {
    f(lanes, first);
    return &d + 1;
  }
  for (Mask left = lanes; left;) {
    const uint32_t mask = masks[std::countr_zero(left)];
    Mask group = 0;
    for (Mask m = left; m; m &= m - 1) {
      const int l = std::countr_zero(m);
      group |= static_cast<Mask>(masks[l] == mask) << l;
    }
    f(group, mask);
    left &= ~group;
  }
  return &d + 1;
}

void report(Warp& w, const Decoded& d, Mask lanes, Mask mask, Mask read) {
  if (w.observed)
    for (Observer* o : w.block.grid.observers) o->warp_sync(w.place(d), lanes, mask, read);
}

void write(Warp& w, Ref place, Mask lanes, Mask value) {
  Mask& p = w.mask(place);
  p = (p & ~lanes) | (value & lanes);
}

// --- shfl --------------------------------------------------------------------------------------------------

enum class Shuffle : uint8_t { up, down, bfly, idx };

// d|p = the value of lane j, and whether j is in range: `b` the distance or index, `c` the segment's mask << 8 and the
// clamp, `e` the member mask. Out of range: the lane's own value.
template <Shuffle kMode>
const Decoded* shfl(Warp& w, const Decoded& d, Mask lanes) {
  const uint32_t *a = w.lanes<uint32_t>(d.a), *b = w.lanes<uint32_t>(d.b), *c = w.lanes<uint32_t>(d.c);
  return for_members(w, d, lanes, w.lanes<uint32_t>(d.e), [&](Mask group, Mask mask) {
    uint32_t value[kLanes];
    int32_t from[kLanes];
    Mask in_range = 0;
    for (int l = 0; l < kLanes; ++l) {
      const int32_t distance = static_cast<int32_t>(b[l] & 31), clamp = static_cast<int32_t>(c[l] & 31),
                    segment = static_cast<int32_t>(c[l] >> 8 & 31), first = l & segment,
                    last = first | (clamp & ~segment);
      const int32_t j = kMode == Shuffle::up     ? l - distance
                        : kMode == Shuffle::down ? l + distance
                        : kMode == Shuffle::bfly ? l ^ distance
                                                 : first | (distance & ~segment);
      const bool in = kMode == Shuffle::up ? j >= last : j <= last;
      from[l] = in ? j : l;
      in_range |= static_cast<Mask>(in) << l;
      value[l] = a[l];
    }
    uint32_t* out = w.lanes<uint32_t>(d.d);
    for_lanes(group, [&](int l) { out[l] = value[from[l]]; });
    if (d.offset) write(w, d.site->refs[0], group, in_range);
    if (w.observed) {
      Mask read = 0;
      for_lanes(group, [&](int l) { read |= from[l] != l ? 1u << from[l] : 0; });
      report(w, d, group, mask, read);
    }
  });
}
template <Shuffle kMode>
bool bind_shfl(Binder& b) {
  const bool sync = b.in.has("sync");
  if (b.count() != (sync ? 5u : 4u)) return b.fail("takes 4 operands, and with .sync a mask");
  b.out.d = b.destination(b.operand(0), ptx::Type::b32);
  b.out.a = b.source(b.operand(1), ptx::Type::b32);
  b.out.b = b.source(b.operand(2), ptx::Type::b32);
  b.out.c = b.source(b.operand(3), ptx::Type::b32);
  b.out.e = b.source(b.operand(4), ptx::Type::b32);
  if (const ptx::Operand* p = b.operand(0).pair) {
    b.site.refs = {b.destination(*p, ptx::Type::pred)};
    b.out.offset = 1;
  }
  b.out.run = shfl<kMode>;
  return !b.failed();
}

// --- vote, activemask, elect, bar.warp.sync ----------------------------------------------------------------

enum class Vote : uint8_t { all, any, uni, ballot };

template <Vote kMode>
const Decoded* vote(Warp& w, const Decoded& d, Mask lanes) {
  return for_members(w, d, lanes, w.lanes<uint32_t>(d.b), [&](Mask group, Mask mask) {
    const Mask yes = (w.mask(d.a) ^ (d.flips & 1 ? kAllLanes : 0)) & group;
    if constexpr (kMode == Vote::ballot) {
      uint32_t* out = w.lanes<uint32_t>(d.d);
      for_lanes(group, [&](int l) { out[l] = yes; });
    } else {
      const bool holds = kMode == Vote::all ? yes == group : kMode == Vote::any ? yes != 0 : yes == group || yes == 0;
      write(w, d.d, group, holds ? kAllLanes : 0);
    }
    report(w, d, group, mask, 0);
  });
}
template <Vote kMode>
bool bind_vote(Binder& b) {
  if (b.count() != 3) return b.fail("takes 3 operands");
  b.out.d = b.destination(b.operand(0), kMode == Vote::ballot ? ptx::Type::b32 : ptx::Type::pred);
  b.out.a = b.predicate(b.operand(1), 0);
  b.out.b = b.source(b.operand(2), ptx::Type::b32);
  b.out.run = vote<kMode>;
  return !b.failed();
}

const Decoded* activemask(Warp& w, const Decoded& d, Mask lanes) {
  uint32_t* out = w.lanes<uint32_t>(d.d);
  for_lanes(lanes, [&](int l) { out[l] = lanes; });
  return &d + 1;
}
bool bind_activemask(Binder& b) {
  b.out.d = b.destination(b.operand(0), ptx::Type::b32);
  b.out.run = activemask;
  return !b.failed();
}

// d|p: the lowest lane of the mask; it alone gets true.
const Decoded* elect(Warp& w, const Decoded& d, Mask lanes) {
  return for_members(w, d, lanes, w.lanes<uint32_t>(d.a), [&](Mask group, Mask mask) {
    const uint32_t leader = static_cast<uint32_t>(std::countr_zero(group));
    uint32_t* out = w.lanes<uint32_t>(d.d);
    for_lanes(group, [&](int l) { out[l] = leader; });
    write(w, d.site->refs[0], group, 1u << leader);
    report(w, d, group, mask, 0);
  });
}
bool bind_elect(Binder& b) {
  if (b.count() != 2 || !b.operand(0).pair) return b.fail("takes d|p and a mask");
  b.out.d = b.destination(b.operand(0), ptx::Type::b32);
  b.site.refs = {b.destination(*b.operand(0).pair, ptx::Type::pred)};
  b.out.a = b.source(b.operand(1), ptx::Type::b32);
  b.out.run = elect;
  return !b.failed();
}

const Decoded* warp_barrier(Warp& w, const Decoded& d, Mask lanes) {
  const uint32_t* masks = w.lanes<uint32_t>(d.a);
  Mask named = 0;
  for (Mask m = lanes; m; m &= m - 1) named |= masks[std::countr_zero(m)];
  const Mask here = w.gather_anywhere(d, lanes, named);
  if (!here) return w.behind(d);
  report(w, d, here, named, 0);
  return &d + 1;
}
bool bind_warp_barrier(Binder& b) {
  if (b.count() != 1) return b.fail("takes a mask");
  b.out.a = b.source(b.operand(0), ptx::Type::b32);
  b.out.run = warp_barrier;
  return !b.failed();
}

// --- match, redux ------------------------------------------------------------------------------------------

template <class T>
const Decoded* match_any(Warp& w, const Decoded& d, Mask lanes) {
  const T* a = w.lanes<T>(d.a);
  return for_members(w, d, lanes, w.lanes<uint32_t>(d.b), [&](Mask group, Mask mask) {
    uint32_t result[kLanes];
    for (Mask m = group; m; m &= m - 1) {
      const int l = std::countr_zero(m);
      result[l] = 0;
      for (Mask n = group; n; n &= n - 1) {
        const int k = std::countr_zero(n);
        result[l] |= static_cast<Mask>(a[k] == a[l]) << k;
      }
    }
    uint32_t* out = w.lanes<uint32_t>(d.d);
    for (Mask m = group; m; m &= m - 1) out[std::countr_zero(m)] = result[std::countr_zero(m)];
    report(w, d, group, mask, 0);
  });
}
template <class T>
const Decoded* match_all(Warp& w, const Decoded& d, Mask lanes) {
  const T* a = w.lanes<T>(d.a);
  return for_members(w, d, lanes, w.lanes<uint32_t>(d.b), [&](Mask group, Mask mask) {
    const T first = a[std::countr_zero(group)];
    bool all = true;
    for (Mask m = group; m; m &= m - 1) all = all && a[std::countr_zero(m)] == first;
    uint32_t* out = w.lanes<uint32_t>(d.d);
    for_lanes(group, [&](int l) { out[l] = all ? group : 0; });
    if (d.offset) write(w, d.site->refs[0], group, all ? kAllLanes : 0);
    report(w, d, group, mask, 0);
  });
}
template <class T, bool kAny>
bool bind_match(Binder& b) {
  if (b.count() != 3) return b.fail("takes 3 operands");
  b.out.d = b.destination(b.operand(0), ptx::Type::b32);
  b.out.a = b.source(b.operand(1), kType<T>);
  b.out.b = b.source(b.operand(2), ptx::Type::b32);
  if (const ptx::Operand* p = b.operand(0).pair) {
    b.site.refs = {b.destination(*p, ptx::Type::pred)};
    b.out.offset = 1;
  }
  b.out.run = kAny ? match_any<T> : match_all<T>;
  return !b.failed();
}

template <class T, T (*F)(T, T)>
const Decoded* redux(Warp& w, const Decoded& d, Mask lanes) {
  const T* a = w.lanes<T>(d.a);
  return for_members(w, d, lanes, w.lanes<uint32_t>(d.b), [&](Mask group, Mask mask) {
    T result = a[std::countr_zero(group)];
    for (Mask m = group & (group - 1); m; m &= m - 1) result = F(result, a[std::countr_zero(m)]);
    T* out = w.lanes<T>(d.d);
    for_lanes(group, [&](int l) { out[l] = result; });
    report(w, d, group, mask, 0);
  });
}
template <class T, T (*F)(T, T)>
bool bind_redux(Binder& b) {
  if (b.count() != 3) return b.fail("takes 3 operands");
  b.out.d = b.destination(b.operand(0), kType<T>);
  b.out.a = b.source(b.operand(1), kType<T>);
  b.out.b = b.source(b.operand(2), ptx::Type::b32);
  b.out.run = redux<T, F>;
  return !b.failed();
}

}  // namespace

void add_warp(Table& t) {
  t.add("shfl.sync.up.b32", bind_shfl<Shuffle::up>);
  t.add("shfl.sync.down.b32", bind_shfl<Shuffle::down>);
  t.add("shfl.sync.bfly.b32", bind_shfl<Shuffle::bfly>);
  t.add("shfl.sync.idx.b32", bind_shfl<Shuffle::idx>);
  t.add("vote.sync.all.pred", bind_vote<Vote::all>);
  t.add("vote.sync.any.pred", bind_vote<Vote::any>);
  t.add("vote.sync.uni.pred", bind_vote<Vote::uni>);
  t.add("vote.sync.ballot.b32", bind_vote<Vote::ballot>);
  t.add("activemask.b32", bind_activemask);
  t.add("elect.sync", bind_elect);
  t.add("bar.warp.sync", bind_warp_barrier);
  t.add("match.any.sync.b32", bind_match<uint32_t, true>);
  t.add("match.any.sync.b64", bind_match<uint64_t, true>);
  t.add("match.all.sync.b32", bind_match<uint32_t, false>);
  t.add("match.all.sync.b64", bind_match<uint64_t, false>);
  each<uint32_t, int32_t>([&]<class T>() {
    t.add({"redux.sync.add", name<T>()}, bind_redux<T, add<T>>);
    t.add({"redux.sync.min", name<T>()}, bind_redux<T, min<T>>);
    t.add({"redux.sync.max", name<T>()}, bind_redux<T, max<T>>);
  });
  t.add("redux.sync.and.b32", bind_redux<uint32_t, bit_and<uint32_t>>);
  t.add("redux.sync.or.b32", bind_redux<uint32_t, bit_or<uint32_t>>);
  t.add("redux.sync.xor.b32", bind_redux<uint32_t, bit_xor<uint32_t>>);
}

}  // namespace vgpu::isa::VGPU_TARGET
