#include "exec/warp.h"

#include <algorithm>
#include <cstring>

#include "exec/block.h"
#include "exec/grid.h"

namespace vgpu {
namespace {

// Polling loops of parted lanes before they take turns. Lanes that wait for a neighbour's lock poll a few times at most
// where the neighbour is ahead; taking turns costs the lanes their company, so not at once.
constexpr uint32_t kPatience = 16;
// Polling loops after which a warp gives up its turn.
constexpr uint32_t kPollsOfATurn = 32;

constexpr uint64_t kCyclesOfASleep = 1000;

}  // namespace

Warp::Warp(Block& block, uint32_t index) : block(block), index(index) {
  frames_.push_back(std::make_unique<Frame>());
  frame = frames_[0].get();
}

// The block has set the banks and the registers of the first frame.
void Warp::start() {
  const Grid& grid = block.grid;
  const uint32_t threads = grid.threads - std::min(grid.threads, index * kLanes);
  live = threads >= kLanes ? kAllLanes : (1u << threads) - 1;
  active = 0;
  waiting = {};
  polled = alone = turn_over_ = failed_ = false;
  carry = 0;
  spins = 0;
  executed = 0;
  observed = !grid.observers.empty();
  std::memset(cluster_phase, 0, sizeof cluster_phase);
  Frame& first = *frames_[0];
  first.code = grid.kernel.entry;
  std::memset(first.local, 0, sizeof first.local);
  enter_frame(first);
  for (const auto& [ref, offset] : first.code->locals) std::fill_n(lanes<uint64_t>(ref), kLanes, uint64_t{offset});
  park(live, &first, first.code->code.data());
}

Warp::Pause Warp::run(uint64_t turn) { return block.grid.counts ? loop<true>(turn) : loop<false>(turn); }

template <bool kCount>
Warp::Pause Warp::loop(uint64_t turn) {
  turn_over_ = false;
  polls_ = 0;
  uint64_t left = turn;
  Mask counted = 0;
  uint64_t lanes_counted = 0;
  const Decoded* at = choose();
  while (at) {
    if (at == meeting_) [[unlikely]]
      join(at);
    const Mask lanes = active & (mask(at->guard) ^ at->guard_flip);
    if constexpr (kCount) {
      if (counted != active) counted = active, lanes_counted = static_cast<uint64_t>(std::popcount(active));
      Executed& count = counts_[at - frame->code->code.data()];
      ++count.warps;
      count.lanes += lanes_counted;
    }
    at = lanes ? at->run(*this, *at, lanes) : at + 1;
    if (--left == 0) [[unlikely]] {
      turn_over_ = true;
      if (at) regroup(*(at - 1));
      break;
    }
    if (!at && !turn_over_) [[unlikely]]
      at = choose();
  }
  executed += turn - left;
  block.worker.clock += turn - left;
  if (failed_) return Pause::fault;
  return ready ? Pause::turn : Pause::waits;
}

// --- Which lanes run ---------------------------------------------------------------------------------------

void Warp::park(Mask lanes, Frame* in_frame, const Decoded* to) {
  ready |= lanes;
  ++clock_;
  if (lanes == kAllLanes) {
    std::fill_n(at, kLanes, to);
    std::fill_n(in, kLanes, in_frame);
    std::fill_n(stamp_, kLanes, clock_);
    return;
  }
  for (; lanes; lanes &= lanes - 1) {
    const int l = std::countr_zero(lanes);
    at[l] = to;
    in[l] = in_frame;
    stamp_[l] = clock_;
  }
}

// The ready lanes that stand where this one does.
Mask Warp::group_of(int lane) const {
  Mask group = 0;
  for (Mask m = ready; m; m &= m - 1) {
    const int l = std::countr_zero(m);
    group |= static_cast<Mask>(at[l] == at[lane] && in[l] == in[lane]) << l;
  }
  return group;
}

const Decoded* Warp::choose() {
  if (failed_ || !ready) return nullptr;
  if (ready == live) {  // nobody waits: behind a barrier, or at a turn's beginning, all stand at one place, mostly
    const int first = std::countr_zero(ready);
    Mask together = 0;
    for (int l = 0; l < kLanes; ++l) together |= static_cast<Mask>(at[l] == at[first] && in[l] == in[first]) << l;
    if (!(ready & ~together)) {
      active = ready;
      ready = 0;
      spins = 0;
      meeting_ = nullptr;
      if (frame != in[first]) enter_frame(*in[first]);
      return at[first];
    }
  }
  int best = std::countr_zero(ready);
  const bool take_turns = spins > kPatience;
  for (Mask m = ready & (ready - 1); m; m &= m - 1) {
    const int l = std::countr_zero(m);
    if (take_turns ? stamp_[l] < stamp_[best]
                   : in[l]->depth > in[best]->depth || (in[l]->depth == in[best]->depth && at[l] < at[best]))
      best = l;
  }
  const Mask group = group_of(best);
  active = group;
  ready &= ~group;
  if (!ready && !waiting.partners) spins = 0;
  if (frame != in[best]) enter_frame(*in[best]);
  find_meeting(at[best]);
  return at[best];
}

// The lanes that stand `here` run with the active ones from now on.
void Warp::join(const Decoded* here) {
  for (Mask m = ready; m; m &= m - 1) {
    const int l = std::countr_zero(m);
    if (at[l] == here && in[l] == frame) {
      active |= 1u << l;
      ready &= ~(1u << l);
    }
  }
  if (!ready && !waiting.partners) spins = 0;
  find_meeting(here);
}

void Warp::find_meeting(const Decoded* from) {
  meeting_ = nullptr;
  for (Mask m = ready; m; m &= m - 1) {
    const int l = std::countr_zero(m);
    if (in[l] == frame && at[l] > from && (!meeting_ || at[l] < meeting_)) meeting_ = at[l];
  }
}

const Decoded* Warp::jump_parted(const Decoded& d, const Decoded* to) {
  const bool back = to <= &d;
  if (back && polled) {
    polled = false;
    ++block.polls;
    if (ready) ++spins;
    if (++polls_ >= kPollsOfATurn) turn_over_ = true;
  }
  if (!ready && !turn_over_) return to;
  if (!back && spins > kPatience) {
    find_meeting(to);
    return to;
  }
  park(active, frame, to);
  active = 0;
  return nullptr;
}

const Decoded* Warp::part(const Decoded& d, const Decoded* to, Mask taken) {
  park(taken, frame, to);
  park(active & ~taken, frame, &d + 1);
  active = 0;
  return nullptr;
}

void Warp::hold(const Decoded& d, Mask lanes) {
  park(lanes, frame, &d);
  active &= ~lanes;
}

const Decoded* Warp::yield(const Decoded& d) {
  block.worker.clock += kCyclesOfASleep;
  ++block.polls;
  if (ready) spins = kPatience + 1;
  turn_over_ = true;
  park(active, frame, &d + 1);
  active = 0;
  return nullptr;
}

// --- Waiting -----------------------------------------------------------------------------------------------

const Decoded* Warp::wait(const Decoded& d, Mask lanes, int id) {
  for (Mask m = lanes; m; m &= m - 1) {
    const int l = std::countr_zero(m);
    at[l] = &d + 1;
    in[l] = frame;
    barrier[l] = static_cast<uint8_t>(id);
  }
  waiting.block |= lanes;
  active &= ~lanes;
  return behind(d);
}

void Warp::release(Mask lanes) {
  waiting.block &= ~lanes;
  ready |= lanes;
}

const Decoded* Warp::regroup(const Decoded& d) {
  if (active) park(active, frame, &d + 1);
  active = 0;
  return nullptr;
}

Mask Warp::gather(const Decoded& d, Mask lanes, Mask named) {
  Mask here = lanes;
  for (Mask m = waiting.partners; m; m &= m - 1) {
    const int l = std::countr_zero(m);
    here |= static_cast<Mask>(at[l] == &d && in[l] == frame) << l;
  }
  if (alone || !(named & live & ~here)) {
    alone = false;
    waiting.partners &= ~here;
    active |= here;
    return here;
  }
  for (Mask m = lanes; m; m &= m - 1) {
    const int l = std::countr_zero(m);
    at[l] = &d;
    in[l] = frame;
  }
  waiting.partners |= lanes;
  active &= ~lanes;
  return 0;
}

Mask Warp::gather_anywhere(const Decoded& d, Mask lanes, Mask named) {
  Mask elsewhere = 0;
  for (Mask m = waiting.partners & named; m; m &= m - 1) {
    const int l = std::countr_zero(m);
    elsewhere |= static_cast<Mask>(at[l]->run == d.run && (at[l] != &d || in[l] != frame)) << l;
  }
  const Mask here = gather(d, lanes, named & ~elsewhere);
  if (!here) return 0;
  for (Mask m = elsewhere; m; m &= m - 1) {
    const int l = std::countr_zero(m);
    park(1u << l, in[l], at[l] + 1);
  }
  waiting.partners &= ~elsewhere;
  find_meeting(&d);
  return here | elsewhere;
}

void Warp::go_alone() {
  const int first = std::countr_zero(waiting.partners);
  Mask group = 0;
  for (Mask m = waiting.partners; m; m &= m - 1) {
    const int l = std::countr_zero(m);
    group |= static_cast<Mask>(at[l] == at[first] && in[l] == in[first]) << l;
  }
  waiting.partners &= ~group;
  park(group, in[first], at[first]);
  alone = true;
}

void Warp::endless() {
  const int lane = std::countr_zero(ready ? ready : live);
  fault(*at[lane], Fault::Kind::endless, lane,
        "a warp has executed more than " + std::to_string(block.grid.options.budget) + " instructions");
}

// --- Calls and ends ----------------------------------------------------------------------------------------

void Warp::enter_frame(Frame& to) {
  frame = &to;
  if (block.grid.counts) counts_ = block.worker.counts[static_cast<size_t>(to.code->index)].data();
  bank[static_cast<int>(Bank::frame)] = to.registers;
}

Frame& Warp::activation(const Code& code, int depth) {
  for (const auto& f : frames_)
    if (f->code == &code && f->depth == depth) return *f;
  frames_.push_back(std::make_unique<Frame>());
  Frame& f = *frames_.back();
  f.code = &code;
  f.depth = depth;
  f.memory = std::make_unique<std::byte[]>(code.frame_bytes + 64);
  f.registers = f.memory.get() + (-reinterpret_cast<uintptr_t>(f.memory.get()) & 63);
  return f;
}

namespace {

void pass(Warp& w, std::byte* const to_frame, const std::vector<Passed>& to, std::byte* const from_frame,
          const std::vector<Passed>& from, Mask lanes) {
  const auto place = [&](std::byte* in_frame, const Passed& p) {
    return p.place.bank() == 0 ? in_frame + p.place.offset() : w.lanes<std::byte>(p.place);
  };
  for (size_t i = 0; i < std::min(to.size(), from.size()); ++i) {
    std::byte *t = place(to_frame, to[i]), *f = place(from_frame, from[i]);
    for (Mask m = lanes; m; m &= m - 1) {
      const int l = std::countr_zero(m);
      std::memcpy(t + l * to[i].stride, f + l * from[i].stride, std::min(to[i].bytes, from[i].bytes));
    }
  }
}

}  // namespace

const Decoded* Warp::call(const Decoded& d, Mask lanes, const Code& callee) {
  Frame& inner = activation(callee, frame->depth + 1);
  for (Mask m = lanes; m; m &= m - 1) {
    const int l = std::countr_zero(m);
    inner.caller[l] = frame;
    inner.call[l] = &d;
    inner.local[l] = frame->local[l] + frame->code->local_bytes + kCallBytes;
    if (inner.local[l] + callee.local_bytes > local_stride)
      return fault(d, Fault::Kind::stack, l,
                   "the stack overflows: " + std::to_string(inner.depth) +
                       " calls in one another do not fit into its " + std::to_string(local_stride) + " bytes");
  }
  pass(*this, inner.registers, callee.params, frame->registers, d.site->arguments, lanes);
  if (lanes != active) park(active & ~lanes, frame, &d + 1);
  enter_frame(inner);
  for (const auto& [ref, offset] : callee.locals)
    for (Mask m = lanes; m; m &= m - 1) {
      const int l = std::countr_zero(m);
      this->lanes<uint64_t>(ref)[l] = inner.local[l] + offset;
    }
  active = lanes;
  find_meeting(callee.code.data());
  return callee.code.data();
}

const Decoded* Warp::ret(const Decoded& d, Mask lanes) {
  if (frame->depth == 0) return exit(d, lanes);
  const int first = std::countr_zero(lanes);
  Frame* const outer = frame->caller[first];
  const Decoded* const call = frame->call[first];
  Mask same = 0;
  for (Mask m = lanes; m; m &= m - 1) {
    const int l = std::countr_zero(m);
    same |= static_cast<Mask>(frame->caller[l] == outer && frame->call[l] == call) << l;
  }
  if (same != lanes) hold(d, lanes & ~same);
  pass(*this, outer->registers, call->site->results, frame->registers, frame->code->results, same);
  park(same, outer, call + 1);
  active &= ~same;
  return regroup(d);
}

const Decoded* Warp::exit(const Decoded& d, Mask lanes) {
  if (observed)
    for (Observer* o : block.grid.observers) o->exit(place(d), lanes);
  live &= ~lanes;
  active &= ~lanes;
  // Who waits for partners looks again whether all are there.
  for (Mask m = waiting.partners; m; m &= m - 1) {
    const int l = std::countr_zero(m);
    park(1u << l, in[l], at[l]);
  }
  waiting.partners = 0;
  block.left(static_cast<uint32_t>(std::popcount(lanes)));
  return regroup(d);
}

// --- What others hear --------------------------------------------------------------------------------------

Place Warp::place(const Decoded& d) const {
  return {&block.grid.launch, d.site->code->function, d.site->instruction, block.index, index};
}

void Warp::report_branch(const Decoded& d, Mask taken) {
  for (Observer* o : block.grid.observers) o->branch(place(d), active, taken);
}

void Warp::report_fence(const Decoded& d, Mask lanes) {
  for (Observer* o : block.grid.observers) o->fence(place(d), lanes, d.site->scope);
}

const Decoded* Warp::fault(const Decoded& d, Fault::Kind kind, int lane, std::string what) {
  Fault f;
  f.kind = kind;
  f.space = d.space;
  f.bytes = d.bytes;
  f.is_write = d.access != AccessKind::load;
  f.what = std::move(what);
  return fault(d, lane, std::move(f));
}

const Decoded* Warp::fault(const Decoded& d, int lane, Fault f) {
  f.function = d.site->code->function;
  f.instruction = d.site->instruction;
  f.block = block.index;
  f.thread = index * kLanes + static_cast<uint32_t>(lane);
  failed_ = true;
  block.worker.fail(std::move(f));
  return nullptr;
}

}  // namespace vgpu
