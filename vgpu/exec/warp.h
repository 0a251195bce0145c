// A warp: 32 lanes that execute together while they are at the same instruction, each with a program counter of its
// own.
//
// One group of lanes is *active*: it runs, its program counter is a local variable of run(). The other lanes are
// parked: *ready* to go on, waiting at a barrier, waiting for lanes of their warp, or gone. Whenever the active lanes
// part, wait or end, the warp chooses the ready group that is deepest in calls and, there, at the lowest instruction;
// in straight code lanes that are caught up with at their instruction join. So lanes part and meet as compilers expect
// it (structured code meets behind the `if`).
//
// A group that spins on memory would starve the lanes that it waits for. After kPatience polling loops groups take
// turns.
#pragma once

#include <bit>
#include <memory>
#include <vector>

#include "exec/code.h"

namespace vgpu {

class Block;
struct Window;

#define VGPU_INLINE [[gnu::always_inline]] inline

// An activation of a function, by all lanes that are in it at one depth of calls.
struct Frame {
  const Code* code = nullptr;
  int depth = 0;
  std::byte* registers = nullptr;  // 64-byte aligned
  std::unique_ptr<std::byte[]> memory;
  // By lane: where it returns to, and where its .local variables begin.
  Frame* caller[kLanes] = {};
  const Decoded* call[kLanes] = {};
  uint32_t local[kLanes] = {};
};

class Warp {
 public:
  // Lanes that wait, for whom; each is in at most one.
  struct Waiting {
    Mask block = 0;     // at a barrier of the block or cluster
    Mask partners = 0;  // at a warp-level instruction, for lanes that it names
  };

  Warp(Block& block, uint32_t index);
  // At the first instruction of the kernel.
  void start();

  enum class Pause : uint8_t {
    waits,  // every lane waits or is gone
    turn,   // its share of instructions is used up
    fault
  };
  Pause run(uint64_t turn);

  // Lanes that wait for partners which will not come execute their instruction without them.
  void go_alone();
  // Ends the launch: the warp has executed more than its budget.
  void endless();
  bool can_run() const { return ready; }

  // --- What handlers use -----------------------------------------------------------------------------------

  template <class T>
  VGPU_INLINE T* lanes(Ref ref) {
    return reinterpret_cast<T*>(bank[ref.bank()] + ref.offset());
  }
  VGPU_INLINE Mask& mask(Ref ref) { return *lanes<Mask>(ref); }

  // The active lanes go on at `to`.
  VGPU_INLINE const Decoded* jump(const Decoded& d, const Decoded* to) {
    return ready || polled ? jump_parted(d, to) : to;
  }
  // Of the active lanes, `taken` go on at `to` and the others behind d.
  const Decoded* part(const Decoded& d, const Decoded* to, Mask taken);
  // `lanes` will execute d again, later.
  void hold(const Decoded& d, Mask lanes);
  // `lanes` wait at a barrier (kCluster: of the cluster) and go on behind d; the other active ones go on at once.
  const Decoded* wait(const Decoded& d, Mask lanes, int barrier);
  void release(Mask lanes);  // the barrier has opened
  // A warp-level instruction of `lanes` that names `named`. Returns the lanes that execute it now: those that have
  // waited here too. 0: some are missing, `lanes` wait, the handler returns w.behind(d) and is called again.
  Mask gather(const Decoded& d, Mask lanes, Mask named);
  // The same for bar.warp.sync, where others may wait at another instruction of the kind.
  Mask gather_anywhere(const Decoded& d, Mask lanes, Mask named);
  // What is left of the active lanes goes on behind d, if any is.
  const Decoded* behind(const Decoded& d) { return active ? &d + 1 : nullptr; }
  // Other lanes of the warp have become ready: chooses anew.
  const Decoded* regroup(const Decoded& d);
  const Decoded* exit(const Decoded& d, Mask lanes);
  const Decoded* call(const Decoded& d, Mask lanes, const Code& callee);
  const Decoded* ret(const Decoded& d, Mask lanes);
  // Lets other lanes and other warps go first: the program says that it waits.
  const Decoded* yield(const Decoded& d);

  // Reports to observers; the launch has some where `observed`.
  Place place(const Decoded& d) const;
  void report_branch(const Decoded& d, Mask taken);
  void report_fence(const Decoded& d, Mask lanes);
  // Ends the launch. Returns null.
  const Decoded* fault(const Decoded& d, Fault::Kind kind, int lane, std::string what);
  const Decoded* fault(const Decoded& d, int lane, Fault fault);

  std::byte* bank[4] = {};
  Mask active = 0, ready = 0, live = 0;
  Waiting waiting;
  bool observed = false;
  bool polled = false;  // since the last backward jump: read or changed memory that others may change
  bool wrote = false;   // since the block's round began: changed memory, or saw time pass
  bool alone = false;   // a warp-level instruction goes on without the lanes that will not come
  Frame* frame = nullptr;
  Window* windows = nullptr;  // of memory instructions
  std::byte* shared = nullptr;
  uint64_t shared_bytes = 0;
  const std::byte* params = nullptr;
  uint64_t params_bytes = 0;
  Block& block;
  const uint32_t index;        // in the block
  std::byte* local = nullptr;  // the lanes' local memory, `local_stride` apart
  uint64_t local_stride = 0;
  uint64_t executed = 0;  // instructions
  Mask carry = 0;         // the condition code of add.cc and its like
  uint32_t spins = 0;     // polling loops of parted lanes since they parted

  // Parked lanes.
  const Decoded* at[kLanes] = {};
  Frame* in[kLanes] = {};
  uint8_t barrier[kLanes] = {};         // that a lane waits at
  uint32_t cluster_phase[kLanes] = {};  // of its last arrival at the cluster's barrier

  static constexpr int kCluster = 16;  // as a barrier's number

 private:
  const Decoded* jump_parted(const Decoded& d, const Decoded* to);
  // The group that runs next; null if no lane is ready.
  const Decoded* choose();
  void park(Mask lanes, Frame* in, const Decoded* to);
  Mask group_of(int lane) const;
  void join(const Decoded* here);
  void find_meeting(const Decoded* from);
  void enter_frame(Frame& frame);
  Frame& activation(const Code& code, int depth);
  template <bool kCount>
  Pause loop(uint64_t turn);

  const Decoded* meeting_ = nullptr;  // the next instruction of this function at which ready lanes stand
  Executed* counts_ = nullptr;        // of the function's decoded instructions
  bool turn_over_ = false, failed_ = false;
  uint32_t polls_ = 0;                       // polling loops in this turn
  uint64_t stamp_[kLanes] = {}, clock_ = 0;  // when a lane was parked last
  std::vector<std::unique_ptr<Frame>> frames_;
};

}  // namespace vgpu
