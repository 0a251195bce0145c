// cp.async, cp.async.bulk and mbarrier: PTX ISA, "Asynchronous copy" and "mbarrier".
//
// A copy is carried out where it is issued; the checks are told that it is asynchronous, and when it is waited for. So
// the emulator needs no groups, and an arrival that waits for copies is an arrival.
#include <memory>

#include "exec/access.h"
#include "exec/block.h"
#include "exec/grid.h"
#include "isa/lanes.h"
#include "isa/memory.h"

namespace vgpu::isa::VGPU_TARGET {
namespace {

// The source operand of a copy, addressed by a Decoded of its own.
bool bind_source(Binder& b, const ptx::Operand& memory, ptx::Space space, uint32_t bytes) {
  auto from = std::make_unique<Decoded>(b.out);
  if (b.address(memory, space, *from) != Binder::Reached::memory) return b.fail("has a source that is no memory");
  from->bytes = bytes;
  from->access = AccessKind::load;
  from->site = &b.site;
  b.site.from = std::move(from);
  return true;
}

// --- cp.async ----------------------------------------------------------------------------------------------

// `b`: bytes to read, the rest are zeros; `c`: a predicate that ignores the source.
const Decoded* cp_async(Warp& w, const Decoded& d, Mask lanes) {
  const Decoded& from = *d.site->from;
  const uint32_t* size = w.lanes<uint32_t>(d.b);
  const Mask ignored = w.mask(d.c) ^ (d.flips & 4 ? kAllLanes : 0);
  Mask whole = 0, part = 0;
  for (Mask m = lanes; m; m &= m - 1) {
    const int l = std::countr_zero(m);
    if (ignored >> l & 1 || !size[l]) continue;
    (size[l] >= d.bytes ? whole : part) |= 1u << l;
  }
  std::byte data[kLanes][16] = {};
  uint64_t address[kLanes];
  if (whole) {
    if (!host_addresses(w, from, whole, address)) return nullptr;
    for (Mask m = whole; m; m &= m - 1) {
      const int l = std::countr_zero(m);
      std::memcpy(data[l], reinterpret_cast<const void*>(address[l]), d.bytes);
    }
  }
  for (Mask m = part; m; m &= m - 1) {  // byte by byte: only these may be read
    const int l = std::countr_zero(m);
    Decoded byte = from;
    byte.bytes = 1;
    for (uint32_t i = 0; i < size[l]; ++i, ++byte.offset) {
      compute_addresses(w, byte, 1u << l, address);
      if (!reach(w, byte, 1u << l, address)) return nullptr;
      data[l][i] = *reinterpret_cast<const std::byte*>(address[l]);
    }
  }
  if (!host_addresses(w, d, lanes, address)) return nullptr;
  for (; lanes; lanes &= lanes - 1) {
    const int l = std::countr_zero(lanes);
    std::memcpy(reinterpret_cast<void*>(address[l]), data[l], d.bytes);
  }
  return &d + 1;
}

ptx::Operand number(uint64_t value) {
  ptx::Operand o;
  o.kind = ptx::Operand::Kind::immediate;
  o.bits = value;
  return o;
}

bool bind_copy(Binder& b) {
  b.take("shared") || b.take("shared::cta");
  if (!b.take("global")) return b.fail("copies from a space that the virtual GPU does not know");
  while (b.take_one({"L2::cache_hint", "L2::64B", "L2::128B", "L2::256B"}) >= 0) {
  }
  int64_t bytes = 0;
  if (b.count() < 3 || !b.constant(b.operand(2), bytes)) return b.fail("needs a constant size");
  if (bytes != 4 && bytes != 8 && bytes != 16) return b.fail("copies neither 4 nor 8 nor 16 bytes");
  b.out.c = b.source(number(0), ptx::Type::pred);
  b.out.b = b.source(number(static_cast<uint64_t>(bytes)), ptx::Type::u32);
  if (b.count() > 3) {
    const ptx::Operand& o = b.operand(3);
    if (b.is_predicate(o))
      b.out.c = b.predicate(o, 2);
    else if (b.width(o) != 8)  // 8 bytes: a cache policy
      b.out.b = b.source(o, ptx::Type::u32);
  }
  if (b.address(b.operand(0), ptx::Space::shared) != Binder::Reached::memory) return b.fail("has no address in memory");
  b.out.bytes = static_cast<uint32_t>(bytes);
  b.out.access = AccessKind::store;
  b.site.async = true;
  b.out.run = cp_async;
  return bind_source(b, b.operand(1), ptx::Space::global, static_cast<uint32_t>(bytes)) && !b.failed();
}

const Decoded* commit(Warp& w, const Decoded& d, Mask lanes) {
  if (w.observed)
    for (Observer* o : w.block.grid.observers) o->async_commit(w.place(d), lanes);
  return &d + 1;
}
// `offset`: groups that may still be on their way; -1: none, the open one neither.
const Decoded* await(Warp& w, const Decoded& d, Mask lanes) {
  if (w.observed)
    for (Observer* o : w.block.grid.observers)
      o->async_wait(w.place(d), lanes, d.offset < 0 ? 0 : static_cast<uint32_t>(d.offset), d.offset < 0);
  return &d + 1;
}

// --- mbarrier: 64 bits of shared memory --------------------------------------------------------------------

// How the emulator keeps one: arrivals that a phase expects, those that this phase still waits for, bytes that copies
// have announced and not delivered, the parity of the phase.
struct Barrier64 {
  uint64_t expected : 20, pending : 20, phase : 1;
  int64_t bytes : 23;

  void complete_if_due() {
    if (pending || bytes) return;
    phase = ~phase;
    pending = expected;
  }
};
static_assert(sizeof(Barrier64) == 8);

Barrier64& barrier_at(uint64_t host) { return *reinterpret_cast<Barrier64*>(host); }

// Tells observers, with addresses in the owner's shared memory.
void report(Warp& w, const Decoded& d, Mask lanes, const uint64_t* host, bool acquire) {
  if (!w.observed || !lanes) return;
  const Block* owner = &w.block;
  for (const Block* b : w.block.cluster->blocks)
    if (host[std::countr_zero(lanes)] - reinterpret_cast<uint64_t>(b->shared) < b->shared_bytes) owner = b;
  uint64_t address[kLanes];
  for (int l = 0; l < kLanes; ++l) address[l] = host[l] - reinterpret_cast<uint64_t>(owner->shared);
  for (Observer* o : w.block.grid.observers) o->mbarrier(w.place(d), lanes, owner->index, address, acquire);
}

enum class Arrive : uint8_t { arrive, drop, expect_tx, arrive_expect_tx, complete_tx };

// `b`: how many arrivals, or bytes; d: the state before, as a token that test_wait takes.
template <Arrive kWhat>
const Decoded* arrive(Warp& w, const Decoded& d, Mask lanes) {
  uint64_t address[kLanes];
  if (!host_addresses(w, d, lanes, address)) return nullptr;
  report(w, d, lanes, address, false);
  const uint32_t* count = w.lanes<uint32_t>(d.b);
  uint64_t* token = w.lanes<uint64_t>(d.d);
  for (Mask m = lanes; m; m &= m - 1) {
    const int l = std::countr_zero(m);
    Barrier64& b = barrier_at(address[l]);
    token[l] = std::bit_cast<uint64_t>(b);
    if (kWhat == Arrive::expect_tx || kWhat == Arrive::arrive_expect_tx) b.bytes += count[l];
    if (kWhat == Arrive::complete_tx) b.bytes -= count[l];
    const uint32_t arrivals = kWhat == Arrive::arrive || kWhat == Arrive::drop ? count[l]
                              : kWhat == Arrive::arrive_expect_tx              ? 1
                                                                               : 0;
    if (arrivals > b.pending)
      return w.fault(d, Fault::Kind::trap, l, "more threads arrive at an mbarrier than it was initialised for");
    b.pending -= arrivals;
    if (kWhat == Arrive::drop) b.expected -= arrivals;
    b.complete_if_due();
  }
  w.wrote = true;
  return &d + 1;
}

const Decoded* init(Warp& w, const Decoded& d, Mask lanes) {
  uint64_t address[kLanes];
  if (!host_addresses(w, d, lanes, address)) return nullptr;
  const uint32_t* count = w.lanes<uint32_t>(d.b);
  for (Mask m = lanes; m; m &= m - 1) {
    const int l = std::countr_zero(m);
    Barrier64 b{};
    b.expected = b.pending = count[l];
    barrier_at(address[l]) = b;
  }
  return &d + 1;
}
const Decoded* invalidate(Warp& w, const Decoded& d, Mask lanes) {
  uint64_t address[kLanes];
  if (!host_addresses(w, d, lanes, address)) return nullptr;
  return &d + 1;
}

// d = whether the phase of a token (or parity) in `b` has completed.
template <bool kParity>
const Decoded* test(Warp& w, const Decoded& d, Mask lanes) {
  uint64_t address[kLanes];
  if (!host_addresses(w, d, lanes, address)) return nullptr;
  Mask complete = 0;
  for (Mask m = lanes; m; m &= m - 1) {
    const int l = std::countr_zero(m);
    const unsigned phase = kParity ? w.lanes<uint32_t>(d.b)[l] & 1
                                   : static_cast<unsigned>(std::bit_cast<Barrier64>(w.lanes<uint64_t>(d.b)[l]).phase);
    complete |= static_cast<Mask>(barrier_at(address[l]).phase != phase) << l;
  }
  Mask& p = w.mask(d.d);
  p = (p & ~lanes) | complete;
  report(w, d, complete, address, true);
  return &d + 1;
}

const Decoded* pending_count(Warp& w, const Decoded& d, Mask lanes) {
  const uint64_t* state = w.lanes<uint64_t>(d.a);
  uint32_t* out = w.lanes<uint32_t>(d.d);
  for_lanes(lanes, [&](int l) { out[l] = static_cast<uint32_t>(std::bit_cast<Barrier64>(state[l]).pending); });
  return &d + 1;
}

bool bind_address(Binder& b, const ptx::Operand& memory, ptx::Space space, AccessKind access) {
  if (b.address(memory, space == ptx::Space::generic ? space : ptx::Space::shared) != Binder::Reached::memory)
    return b.fail("has no address in memory");
  b.out.bytes = 8;
  b.out.access = access;
  b.out.strong = true;
  if (b.site.order == Order::weak) b.site.order = Order::relaxed;
  if (b.site.scope == Scope::none) b.site.scope = Scope::cta;
  return !b.failed();
}

bool mbarrier(Binder& b) {
  static constexpr const char* kKinds[] = {"init",     "inval",     "arrive",      "arrive_drop",  "test_wait",
                                           "try_wait", "expect_tx", "complete_tx", "pending_count"};
  const int kind =
      b.take_one({kKinds[0], kKinds[1], kKinds[2], kKinds[3], kKinds[4], kKinds[5], kKinds[6], kKinds[7], kKinds[8]});
  const ptx::Operand none;
  switch (kind) {
    case 0:
    case 1: {
      const ptx::Space space = take_space(b);
      if (!b.take("b64") || b.count() != (kind ? 1u : 2u)) return b.fail("has other operands");
      if (!kind) b.out.b = b.source(b.operand(1), ptx::Type::u32);
      b.out.run = kind ? invalidate : init;
      return bind_address(b, b.operand(0), space, AccessKind::store);
    }
    case 2:
    case 3: {
      const bool expects = b.take("expect_tx");
      b.take("noComplete");
      take_order(b);
      const ptx::Space space = take_space(b);
      b.take("noComplete");
      if (!b.take("b64") || b.count() < 1) return b.fail("has other operands");
      // A state comes first unless the barrier is another block's.
      const size_t at = b.operand(0).kind == ptx::Operand::Kind::memory ? 0 : 1;
      if (b.count() <= at) return b.fail("has other operands");
      b.out.d = b.destination(at ? b.operand(0) : none, ptx::Type::b64);
      b.out.b = b.source(b.count() > at + 1 ? b.operand(at + 1) : number(1), ptx::Type::u32);
      b.out.run = expects     ? arrive<Arrive::arrive_expect_tx>
                  : kind == 3 ? arrive<Arrive::drop>
                              : arrive<Arrive::arrive>;
      return bind_address(b, b.operand(at), space, AccessKind::atomic);
    }
    case 4:
    case 5: {
      const bool parity = b.take("parity");
      take_order(b);
      const ptx::Space space = take_space(b);
      const bool parity_behind = b.take("parity");
      if (!b.take("b64") || b.count() < 3) return b.fail("has other operands");
      const bool by_parity = parity || parity_behind;
      b.out.d = b.destination(b.operand(0), ptx::Type::pred);
      b.out.b = b.source(b.operand(2), by_parity ? ptx::Type::u32 : ptx::Type::b64);
      b.out.run = by_parity ? test<true> : test<false>;
      return bind_address(b, b.operand(1), space, AccessKind::atomic);
    }
    case 6:
    case 7: {
      take_order(b);
      const ptx::Space space = take_space(b);
      if (!b.take("b64") || b.count() != 2) return b.fail("has other operands");
      b.out.d = b.destination(none, ptx::Type::b64);
      b.out.b = b.source(b.operand(1), ptx::Type::u32);
      b.out.run = kind == 6 ? arrive<Arrive::expect_tx> : arrive<Arrive::complete_tx>;
      return bind_address(b, b.operand(0), space, AccessKind::atomic);
    }
    case 8:
      if (!b.take("b64") || b.count() != 2) return b.fail("has other operands");
      b.out.d = b.destination(b.operand(0), ptx::Type::u32);
      b.out.a = b.source(b.operand(1), ptx::Type::b64);
      b.out.run = pending_count;
      return !b.failed();
    default: return b.fail("is no mbarrier operation that the virtual GPU knows");
  }
}

// cp.async.mbarrier.arrive: the copies have landed. With .noinc the arrival is one of those the barrier was initialised
// for; without, it was added to them first, and nothing changes.
bool bind_copy_arrive(Binder& b) {
  const bool counted = b.take("noinc");
  const ptx::Space space = take_space(b);
  if (!b.take("b64") || b.count() != 1) return b.fail("has other operands");
  b.out.d = b.destination(ptx::Operand(), ptx::Type::b64);
  b.out.b = b.source(number(counted ? 1 : 0), ptx::Type::u32);
  b.out.run = arrive<Arrive::arrive>;
  return bind_address(b, b.operand(0), space, AccessKind::atomic);
}

// --- cp.async.bulk: whole runs of bytes, by one lane -------------------------------------------------------

struct Bulk {
  Decoded barrier;  // whose transaction count the copy completes
  bool has_barrier = false;
};

const Decoded* bulk_copy(Warp& w, const Decoded& d, Mask lanes) {
  const Bulk& bulk = *static_cast<const Bulk*>(d.site->detail.get());
  const uint32_t* size = w.lanes<uint32_t>(d.b);
  uint64_t address[kLanes];
  for (; lanes; lanes &= lanes - 1) {
    const int l = std::countr_zero(lanes);
    if (size[l] % 16)
      return w.fault(d, Fault::Kind::misaligned, l, "copies " + std::to_string(size[l]) + " bytes, no multiple of 16");
    Decoded from = *d.site->from, to = d;
    for (uint32_t done = 0; done < size[l]; done += 16, from.offset += 16, to.offset += 16) {
      std::byte data[16];
      compute_addresses(w, from, 1u << l, address);
      if (!reach(w, from, 1u << l, address)) return nullptr;
      std::memcpy(data, reinterpret_cast<const void*>(address[l]), 16);
      compute_addresses(w, to, 1u << l, address);
      if (!reach(w, to, 1u << l, address)) return nullptr;
      std::memcpy(reinterpret_cast<void*>(address[l]), data, 16);
    }
    if (!bulk.has_barrier) continue;
    compute_addresses(w, bulk.barrier, 1u << l, address);
    if (!reach(w, bulk.barrier, 1u << l, address)) return nullptr;
    report(w, d, 1u << l, address, false);
    Barrier64& b = barrier_at(address[l]);
    b.bytes -= size[l];
    b.complete_if_due();
  }
  return &d + 1;
}

// cp.async.bulk.dst.src{.mbarrier::complete_tx::bytes | .bulk_group}{.L2::cache_hint}
bool bind_bulk_copy(Binder& b) {
  using ptx::Space;
  if (b.next() == "prefetch") {
    b.take("prefetch"), b.take("L2"), b.take("global"), b.take("L2::cache_hint");
    b.out.run = [](Warp&, const Decoded& d, Mask) { return &d + 1; };
    return true;
  }
  const Space to = take_space(b), from = take_space(b);
  auto bulk = std::make_shared<Bulk>();
  bulk->has_barrier = b.take("mbarrier::complete_tx::bytes");
  if (!bulk->has_barrier && !b.take("bulk_group")) return b.fail("is a bulk copy that the virtual GPU does not know");
  b.take("L2::cache_hint");
  if (b.count() < 3u + bulk->has_barrier) return b.fail("has too few operands");
  b.out.b = b.source(b.operand(2), ptx::Type::u32);
  if (b.address(b.operand(0), to) != Binder::Reached::memory) return b.fail("has no address in memory");
  b.out.bytes = 16;
  b.out.access = AccessKind::store;
  b.site.async = true;
  if (!bind_source(b, b.operand(1), from, 16)) return false;
  if (bulk->has_barrier) {
    bulk->barrier = b.out;
    if (b.address(b.operand(3), Space::shared, bulk->barrier) != Binder::Reached::memory)
      return b.fail("has no mbarrier");
    bulk->barrier.bytes = 8;
    bulk->barrier.access = AccessKind::atomic;
    bulk->barrier.site = &b.site;
  }
  b.site.detail = bulk;
  b.out.run = bulk_copy;
  return !b.failed();
}

bool cp(Binder& b) {
  if (!b.take("async")) return b.fail("is no copy that the virtual GPU knows");
  if (b.take("bulk")) {
    if (b.next() == "tensor") return b.fail("copies by a tensor map, which the virtual GPU does not do");
    if (b.take("commit_group")) return b.out.run = commit, true;
    if (b.take("wait_group")) {
      b.take("read");
      b.out.run = await;
      return b.constant(b.operand(0), b.out.offset);
    }
    return bind_bulk_copy(b);
  }
  if (b.take("commit_group")) return b.out.run = commit, true;
  if (b.take("wait_all")) return b.out.run = await, b.out.offset = -1, true;
  if (b.take("wait_group")) {
    b.out.run = await;
    return b.count() == 1 ? b.constant(b.operand(0), b.out.offset) : b.fail("takes 1 operand");
  }
  if (b.take("mbarrier")) {
    b.take("arrive");
    return bind_copy_arrive(b);
  }
  if (b.take_one({"ca", "cg"}) < 0) return b.fail("is no copy that the virtual GPU knows");
  return bind_copy(b);
}

}  // namespace

void add_async(Table& t) {
  t.add("cp", cp);
  t.add("mbarrier", mbarrier);
}

}  // namespace vgpu::isa::VGPU_TARGET
