// E01 E02 E05 E08 E09 E11, assert and trap: the engine says what happened, here it gets names, reason and hint.
#include "check/fault.h"

#include <algorithm>
#include <map>

#include "report/names.h"

namespace vgpu {
namespace {

std::string verb_of(const Fault& fault) { return fault.is_write ? "wrote" : "read"; }

// "a write of 4 bytes, 12 bytes past the end of argument 1 `dst`"
std::string outside(const Fault& fault, const Named& named) {
  std::string text = std::string("a ") + (fault.is_write ? "write" : "read") + " of " + count_of(fault.bytes, "byte");
  if (!named.found) return text + " where nothing was ever allocated";
  const int64_t past = named.offset - int64_t(named.bytes);
  if (named.inside) return text + " that begins in " + named.name + " and ends past its end";
  if (past == 0) return text + " right behind the end of " + named.name;
  return text + ", " + count_of(uint64_t(past), "byte") + " past the end of " + named.name;
}

void out_of_bounds(Diagnostic& d, const Fault& fault, const Named& named) {
  d.what = outside(fault, named);
  const uint64_t element = fault.bytes ? fault.bytes : 1;
  if (named.found && named.bytes) {
    d.object = named.object + ": index " + std::to_string(named.offset / int64_t(element)) + " of " +
               std::to_string(named.bytes / element) + " elements of " + count_of(element, "byte");
  }
  if (fault.space == ptx::Space::shared) {
    d.reason = "the index runs past what the block declared, or the launch gave it too little dynamic shared memory";
    d.hint = "check the index against the array's size, and the third launch parameter <<<grid, block, bytes>>>";
  } else {
    d.reason = "the index is not checked against the size, or the grid covers more elements than there are";
    d.hint = "guard the access, if (i < n), and look at how i and n are computed";
  }
}

// One spot for each line where threads wait, and one for those that left.
void deadlock(Diagnostic& d, const Fault& fault, const Launch& launch, const Findings& findings) {
  struct Group {
    const Fault::Waiting* first;
    uint64_t threads = 0;
  };
  std::vector<Group> groups;
  std::map<const ptx::Instruction*, size_t> known;
  for (const Fault::Waiting& waiting : fault.waiting) {
    auto [entry, is_new] = known.try_emplace(waiting.at, groups.size());
    if (is_new) groups.push_back({&waiting, 0});
    ++groups[entry->second].threads;
  }
  bool left = false;
  for (const Group& group : groups) {
    left |= !group.first->at;
    std::string did = group.first->at ? "waits here" : "has left the kernel";
    if (group.threads > 1) did += ", with " + count_of(group.threads - 1, "other");
    Spot spot = findings.spot(launch, group.first->function, group.first->at, group.first->block, group.first->thread,
                              std::move(did));
    const bool culprit = group.first->at && group.first->at == fault.instruction;
    d.spots.insert(culprit ? d.spots.begin() : d.spots.end(), std::move(spot));
  }
  d.reason =
      "a barrier opens when every thread of the block that has not exited, or the number it names, has come to it";
  d.hint = left ? "let no thread return before a barrier that others wait at: guard the work, not the barrier"
                : "move the barrier out of the branch, so that all threads of the block come to the same one";
}

// The branch that closes the innermost loop around an instruction; the instruction itself where there is none.
const ptx::Instruction* loop_of(const ptx::Function& function, const ptx::Instruction* at) {
  const auto inside = [&](const ptx::Instruction& branch) {
    return !branch.targets.empty() && &branch >= at && function.code.data() + branch.targets[0] <= at;
  };
  const auto closing = std::find_if(function.code.begin(), function.code.end(), inside);
  return closing == function.code.end() || closing->location < 0 ? at : &*closing;
}

}  // namespace

Diagnostic explain(const Fault& fault, const Launch& launch, const Findings& findings) {
  using Kind = Fault::Kind;
  Diagnostic d = findings.about(launch, "");
  d.ends_launch = true;
  d.what = fault.what;
  const Named named = name_at(launch, findings.memory(), fault.space, fault.address);
  if (fault.kind != Kind::deadlock && fault.instruction) {
    d.spots = {findings.spot(launch, fault.function, fault.instruction, fault.block, fault.thread, "")};
  }
  auto did = [&](std::string text) {
    if (!d.spots.empty()) d.spots[0].did = std::move(text);
  };
  switch (fault.kind) {
    case Kind::none: break;
    case Kind::out_of_bounds:
      did(verb_of(fault) + " it");
      if (fault.freed) {
        d.code = "E02";
        d.what = std::string("a ") + (fault.is_write ? "write to" : "read of") + " memory that has been freed";
        d.object = named.object;
        d.reason = "the pointer outlived its memory; by now something else may lie there";
        d.hint = "free after the last kernel that uses it has finished, and pass no pointer that was freed";
      } else {
        d.code = "E01";
        out_of_bounds(d, fault, named);
      }
      break;
    case Kind::deadlock:
      d.code = "E05";
      deadlock(d, fault, launch, findings);
      break;
    case Kind::host_pointer:
      d.code = "E08";
      did(verb_of(fault) + " it");
      d.what =
          std::string("a kernel ") + (fault.is_write ? "writes" : "reads") + " through a pointer to the host's memory";
      d.reason = "memory from malloc, new or a local variable is not the device's";
      d.hint = "cudaMalloc and cudaMemcpy, or cudaMallocManaged, which both may use";
      break;
    case Kind::other_device: {
      const Allocation* allocation = findings.memory().find(fault.address);
      const std::string here = std::to_string(launch.owner.device);
      const std::string there = std::to_string(allocation ? allocation->owner.device : 0);
      d.code = "E08";
      did(verb_of(fault) + " it");
      d.what = "a kernel on device " + here + (fault.is_write ? " writes to" : " reads") + " memory of device " +
               there + ", to which it has no access";
      d.object = named.object;
      d.reason = "a device reaches its own memory, and another's only where it has been given access";
      d.hint = "call cudaDeviceEnablePeerAccess(" + there + ", 0) while device " + here +
               " is current (cudaMemPoolSetAccess for a pool's memory), or copy with cudaMemcpyPeer";
      break;
    }
    case Kind::misaligned:
      d.code = "E09";
      did(verb_of(fault) + " it");
      d.what = "an access of " + count_of(fault.bytes, "byte") + " at an address that is not a multiple of " +
               std::to_string(fault.bytes);
      if (named.found) d.object = "byte " + std::to_string(named.offset) + " of " + named.object;
      d.reason = "the hardware reads 2, 4, 8 or 16 bytes only where the address is a multiple of that";
      d.hint = "cast to a wider type only where base and offset allow it; handle the first elements one by one";
      break;
    case Kind::endless:
      d.code = "E11";
      d.spots = {findings.spot(launch, fault.function, loop_of(*fault.function, fault.instruction), fault.block,
                               fault.thread, "is still in this loop")};
      d.reason = "the loop's condition never becomes false: what it waits for does not change, or is never written";
      d.hint = "look at the loop's step and its end; a flag that others set must be volatile or atomic";
      break;
    case Kind::stack:
      d.code = "E01";
      did("made one call more");
      d.reason = "the recursion has no end, or goes deeper than the stack of a thread has room for";
      d.hint = "bound its depth, or ask for a larger stack: cudaDeviceSetLimit(cudaLimitStackSize, bytes)";
      break;
    case Kind::assertion:
      d.code = "assert";
      did("failed it");
      d.reason = "an assert in the kernel found its condition false";
      break;
    case Kind::trap:
      d.code = "trap";
      did("executed it");
      d.reason = "the kernel gave up by __trap() or by what the compiler put where nothing may go on";
      break;
  }
  return d;
}

}  // namespace vgpu
