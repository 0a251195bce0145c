// Jumps, calls, barriers of the block and the cluster, and the instructions that end a thread.
#include "exec/block.h"
#include "exec/grid.h"
#include "isa/lanes.h"
#include "isa/table.h"

namespace vgpu::isa::VGPU_TARGET {
namespace {

bool no_operands(Binder& b, Handler run) {
  b.out.run = run;
  return true;
}

// --- Jumps -------------------------------------------------------------------------------------------------

const Decoded* jump(Warp& w, const Decoded& d, Mask) { return w.jump(d, d.target); }

// The guard is the condition, as operand a.
const Decoded* jump_if(Warp& w, const Decoded& d, Mask) {
  const Mask taken = w.active & (w.mask(d.a) ^ (d.flips & 1 ? kAllLanes : 0));
  if (w.observed) w.report_branch(d, taken);
  if (taken == w.active) return w.jump(d, d.target);
  if (!taken) return &d + 1;
  return w.part(d, d.target, taken);
}
bool bra(Binder& b) {
  if (!b.resolve_targets()) return false;
  if (b.in.guard < 0) {
    b.out.run = jump;
    return true;
  }
  b.condition();
  b.out.run = jump_if;
  return true;
}

const Decoded* jump_by_index(Warp& w, const Decoded& d, Mask lanes) {
  const uint32_t* index = w.lanes<uint32_t>(d.a);
  const std::vector<const Decoded*>& targets = d.site->targets;
  const int first = std::countr_zero(lanes);
  Mask same = 0;
  for (Mask m = lanes; m; m &= m - 1) {
    const int l = std::countr_zero(m);
    if (index[l] >= targets.size())
      return w.fault(d, Fault::Kind::trap, l, "brx.idx jumps by an index that its table does not have");
    same |= static_cast<Mask>(index[l] == index[first]) << l;
  }
  if (same != lanes) w.hold(d, lanes & ~same);  // elsewhere: later
  return same == w.active ? w.jump(d, targets[index[first]]) : w.part(d, targets[index[first]], same);
}
bool brx(Binder& b) {
  b.out.a = b.source(b.operand(0), ptx::Type::u32);
  b.out.run = jump_by_index;
  return b.resolve_targets();
}

// --- Calls -------------------------------------------------------------------------------------------------

const Decoded* call_direct(Warp& w, const Decoded& d, Mask lanes) { return w.call(d, lanes, *d.site->callee); }

const Decoded* call_indirect(Warp& w, const Decoded& d, Mask lanes) {
  const uint64_t* address = w.lanes<uint64_t>(d.a);
  const int first = std::countr_zero(lanes);
  Mask same = 0;
  for (Mask m = lanes; m; m &= m - 1) {
    const int l = std::countr_zero(m);
    same |= static_cast<Mask>(address[l] == address[first]) << l;
  }
  const Code* callee = w.block.grid.kernel.function_at(address[first]);
  if (!callee) return w.fault(d, Fault::Kind::trap, first, "calls an address at which no function lies");
  if (same != lanes) w.hold(d, lanes & ~same);  // another function: later
  return w.call(d, same, *callee);
}
bool call(Binder& b) {
  if (!b.resolve_call()) return false;
  b.out.run = b.site.system ? b.site.system : b.site.callee ? call_direct : call_indirect;
  return true;
}

bool ret(Binder& b) {
  return no_operands(b, [](Warp& w, const Decoded& d, Mask lanes) { return w.ret(d, lanes); });
}
bool exit(Binder& b) {
  return no_operands(b, [](Warp& w, const Decoded& d, Mask lanes) { return w.exit(d, lanes); });
}
bool trap(Binder& b) {
  return no_operands(b, [](Warp& w, const Decoded& d, Mask lanes) {
    return w.fault(d, Fault::Kind::trap, std::countr_zero(lanes),
                   "the program executed " + std::string(d.site->instruction->opcode()));
  });
}
bool nanosleep(Binder& b) {
  return no_operands(b, [](Warp& w, const Decoded& d, Mask) { return w.yield(d); });
}
bool nothing(Binder& b) {
  return no_operands(b, [](Warp&, const Decoded& d, Mask) { return &d + 1; });
}

// --- Barriers of the block: bar and barrier ----------------------------------------------------------------

// `a` the barrier, `b` the number of threads (offset: how many operands there are).
template <bool kWaits>
const Decoded* barrier(Warp& w, const Decoded& d, Mask lanes) {
  const int first = std::countr_zero(lanes);
  const uint32_t id = w.lanes<uint32_t>(d.a)[first], threads = w.lanes<uint32_t>(d.b)[first];
  if (id > 15)
    return w.fault(d, Fault::Kind::trap, first, "names barrier " + std::to_string(id) + "; a block has 0 to 15");
  return w.block.arrive(w, d, lanes, static_cast<int>(id), threads, kWaits, 0);
}
const Decoded* barrier_reduce(Warp& w, const Decoded& d, Mask lanes) {
  const int first = std::countr_zero(lanes);
  const uint32_t id = w.lanes<uint32_t>(d.a)[first], threads = w.lanes<uint32_t>(d.b)[first];
  if (id > 15)
    return w.fault(d, Fault::Kind::trap, first, "names barrier " + std::to_string(id) + "; a block has 0 to 15");
  const Mask predicate = w.mask(d.c) ^ (d.flips & 4 ? kAllLanes : 0);
  return w.block.arrive(w, d, lanes, static_cast<int>(id), threads, true, predicate);
}

ptx::Operand zero() {
  ptx::Operand o;
  o.kind = ptx::Operand::Kind::immediate;
  return o;
}

bool bind_barrier(Binder& b) {
  b.take("cta");
  const int kind = b.take_one({"sync", "arrive", "red"});
  if (kind < 0) return b.fail("is no known barrier");
  if (kind == 2) {
    static constexpr const char* kOps[] = {"popc", "and", "or"};
    const int op = b.take_one({kOps[0], kOps[1], kOps[2]});
    b.take("aligned");
    const ptx::Type type = b.take_type();
    if (op < 0 || type != (op ? ptx::Type::pred : ptx::Type::u32)) return b.fail("is no known reduction");
    if (b.count() != 3 && b.count() != 4) return b.fail("takes 3 or 4 operands");
    b.out.d = b.destination(b.operand(0), type);
    b.out.a = b.source(b.operand(1), ptx::Type::u32);
    b.out.b = b.source(b.count() == 4 ? b.operand(2) : zero(), ptx::Type::u32);
    b.out.c = b.predicate(b.operand(b.count() - 1), 2);
    b.out.offset = op + 1;  // Block::arrive reads it
    b.out.run = barrier_reduce;
    return !b.failed();
  }
  b.take("aligned");
  if (b.count() < 1 || b.count() > 2) return b.fail("takes 1 or 2 operands");
  b.out.a = b.source(b.operand(0), ptx::Type::u32);
  b.out.b = b.source(b.count() == 2 ? b.operand(1) : zero(), ptx::Type::u32);
  b.out.run = kind == 0 ? barrier<true> : barrier<false>;
  return !b.failed();
}

// --- Barrier of the cluster --------------------------------------------------------------------------------

const Decoded* cluster_arrive(Warp& w, const Decoded& d, Mask lanes) {
  w.block.cluster->arrive(w, d, lanes);
  return w.can_run() ? w.regroup(d) : &d + 1;
}
const Decoded* cluster_wait(Warp& w, const Decoded& d, Mask lanes) { return w.block.cluster->wait(w, d, lanes); }

// --- Fences ------------------------------------------------------------------------------------------------

const Decoded* fence(Warp& w, const Decoded& d, Mask lanes) {
  if (w.observed) w.report_fence(d, lanes);
  return &d + 1;
}
bool membar(Binder& b) {
  static constexpr Scope kScopes[] = {Scope::cta, Scope::gpu, Scope::sys};
  const int level = b.take_one({"cta", "gl", "sys"});
  if (level >= 0) {
    b.site.scope = kScopes[level];
  } else {  // fence{.sc,.acq_rel,.acquire,.release}.scope, fence.proxy..., fence.mbarrier_init...
    static constexpr Scope kFence[] = {Scope::cta, Scope::cluster, Scope::gpu, Scope::sys};
    b.take("proxy");
    b.take_one({"sc", "acq_rel", "acquire", "release", "alias", "async", "async.global", "mbarrier_init",
                "tensormap::generic"});
    b.take_one({"release", "acquire", "sync_restrict::shared::cta", "sync_restrict::shared::cluster", "global",
                "shared::cta", "shared::cluster", "shared::{cta, cluster}"});
    const int scope = b.take_one({"cta", "cluster", "gpu", "sys"});
    b.site.scope = scope < 0 ? Scope::cta : kFence[scope];
  }
  b.out.run = fence;
  return true;
}

}  // namespace

void add_control(Table& t) {
  t.add("bra{.uni}", bra);
  t.add("brx.idx{.uni}", brx);
  t.add("call{.uni}", call);
  t.add("ret{.uni}", ret);
  t.add("exit", exit);
  t.add("trap", trap);
  t.add("brkpt", trap);
  t.add("nanosleep.u32", nanosleep);
  // One grid runs after the other, and registers are not counted.
  t.add("griddepcontrol.launch_dependents", nothing);
  t.add("griddepcontrol.wait", nothing);
  t.add("setmaxnreg.inc.sync.aligned.u32", nothing);
  t.add("setmaxnreg.dec.sync.aligned.u32", nothing);
  t.add("pmevent{.mask}", nothing);
  t.add("bar", bind_barrier);
  t.add("barrier", bind_barrier);
  t.add("barrier.cluster.arrive{.release,.relaxed}{.aligned}",
        [](Binder& b) { return no_operands(b, cluster_arrive); });
  t.add("barrier.cluster.wait{.acquire}{.aligned}", [](Binder& b) { return no_operands(b, cluster_wait); });
  t.add("membar", membar);
  t.add("fence", membar);
}

}  // namespace vgpu::isa::VGPU_TARGET
