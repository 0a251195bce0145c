// Decoded code: what a function is turned into, once, before it first runs.
//
// A decoded instruction is a handler and the places of its operands. Every operand, also an immediate, the address of a
// variable or a special register, is an array of 32 elements, one a lane; so a handler has one form,
//
//     for each lane:  d[lane] = f(a[lane], b[lane], c[lane])
//
// and a predicate is a 32-bit mask. Arrays live in four banks, by how long they last: an operand is a bank and a byte
// offset into it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

#include "exec/observer.h"
#include "ptx/module.h"

namespace vgpu {

class Warp;
struct Code;
struct Decoded;

using Mask = uint32_t;  // bit l: lane l
constexpr int kLanes = 32;
constexpr Mask kAllLanes = 0xffffffffu;

enum class Bank : uint32_t {
  frame,   // the registers of a function's activation
  launch,  // immediates, addresses of variables, %ntid: the same for a whole launch
  block,   // %ctaid
  warp     // %tid, %laneid: the same for the warps of all blocks with one index
};

class Ref {
 public:
  Ref() = default;
  Ref(Bank bank, uint32_t offset) : bits_(static_cast<uint32_t>(bank) << 30 | offset) {}
  uint32_t bank() const { return bits_ >> 30; }
  uint32_t offset() const { return bits_ & 0x3fffffffu; }

 private:
  uint32_t bits_ = 0;
};

// Carries the instruction out for `lanes` (never none: the active lanes whose guard holds) and says what the warp
// executes next; null where its lanes have parted, wait or are gone, and the warp has to choose (warp.h).
using Handler = const Decoded* (*)(Warp&, const Decoded&, Mask lanes);

// Something passed to a function or from it: a variable or a register, `stride` bytes from lane to lane.
struct Passed {
  Ref place;
  uint32_t stride = 0, bytes = 0;
};

struct Site;
struct Decoded {
  Handler run = nullptr;
  Ref d, a, b, c, e;
  Ref guard;            // a predicate; a constant that holds everywhere where the instruction has none
  Mask guard_flip = 0;  // all ones for @!p
  int64_t offset = 0;   // of an address; whatever else a handler needs as a number
  const Decoded* target = nullptr;
  const Site* site = nullptr;
  uint8_t flips = 0;  // bit i: operand a, b, c, e is a negated predicate (!%p)
  // A memory instruction's.
  ptx::Space space = ptx::Space::global;
  AccessKind access = AccessKind::load;
  bool narrow = false;  // the address register has 32 bits
  bool strong = false;  // others may change the memory meanwhile: a loop around it may be a wait
  uint32_t bytes = 0;   // of one lane; the address is a multiple of it
  uint32_t window = 0;  // its number in the kernel, for what is remembered of it (access.h)
};

// What of an instruction is not needed each time that it runs.
struct Site {
  const Code* code = nullptr;
  const ptx::Instruction* instruction = nullptr;  // null: the end of the function
  int index = 0;                                  // of the instruction in its function
  std::vector<Ref> refs;                          // operands beyond the fifth, elements of vectors
  std::vector<const Decoded*> targets;            // of brx.idx
  // A memory instruction's.
  Order order = Order::weak;
  Scope scope = Scope::none;
  bool async = false;
  std::unique_ptr<Decoded> from;  // of a copy: how its source is addressed
  // A call's: the function (null: through operand a), and what the caller passes and takes.
  const Code* callee = nullptr;
  std::vector<Passed> arguments, results;
  Handler system = nullptr;            // vprintf and its like, which the device has built in
  std::shared_ptr<const void> detail;  // what else a family's handlers need (isa/matrix.cpp)
};

struct Code {
  const ptx::Function* function = nullptr;
  int index = 0;               // among the decoded functions of the program
  std::vector<Decoded> code;   // ends with a `ret` that is no instruction's
  std::vector<uint32_t> main;  // by instruction of the function: which decoded one is it (others bring operands)
  std::deque<Site> sites;
  uint32_t frame_bytes = 0;
  uint32_t local_bytes = 0;                      // of .local variables, a lane
  std::vector<std::pair<Ref, uint32_t>> locals;  // lane arrays that hold the address of a .local variable
  std::vector<Passed> params, results;           // of a function that is no kernel
  std::vector<const Code*> callees;
  bool calls_through_registers = false;
};

}  // namespace vgpu
