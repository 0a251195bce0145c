// What a row of the instruction table does with an instruction: it takes the modifiers that it knows, says of which
// type each operand is, and chooses a handler. The decoder (exec/decode.cpp) stands behind it and finds the places.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "exec/code.h"

namespace vgpu::isa {

// Where an instruction's sources are, in their order.
inline constexpr Ref Decoded::* kSources[] = {&Decoded::a, &Decoded::b, &Decoded::c, &Decoded::e};

class Binder {
 public:
  Binder(const ptx::Instruction& instruction, Decoded& out, Site& site)
      : in(instruction), out(out), site(site), left_(in.mnemonic->modifiers.begin(), in.mnemonic->modifiers.end()) {}
  virtual ~Binder() = default;

  const ptx::Instruction& in;
  Decoded& out;
  Site& site;

  // --- Modifiers, in the order of the text -----------------------------------------------------------------
  // Takes the next modifier if it is this one, or one of these (then its index; -1: none of them).
  bool take(std::string_view modifier);
  int take_one(std::initializer_list<std::string_view> modifiers);
  ptx::Type take_type();  // none where the next one is no type
  std::string_view next() const { return left_.empty() ? std::string_view() : left_.front(); }
  bool all_taken() const { return left_.empty(); }

  // --- Operands --------------------------------------------------------------------------------------------
  size_t count() const { return in.operands.size(); }
  bool takes(size_t operands);  // or fails
  // One destination, sources of these types (of predicates: they may be negated), and what is done with them.
  bool bind(ptx::Type result, std::initializer_list<ptx::Type> sources, Handler run);
  // One that is not there reads as a sink: `source` and `address` refuse it.
  const ptx::Operand& operand(size_t i) const {
    static const ptx::Operand none;
    return i < count() ? in.operands[i] : none;
  }
  // The lanes of an operand of this type. A register of another width is brought to it before, or after, by an
  // instruction that the decoder adds; a sink is a place that nobody reads.
  virtual Ref source(const ptx::Operand& operand, ptx::Type type) = 0;
  virtual Ref destination(const ptx::Operand& operand, ptx::Type type) = 0;
  // A predicate that may be negated: then `flips` of the instruction gets bit `place`.
  Ref predicate(const ptx::Operand& operand, int place);
  // Bytes of a register; 0 of anything else.
  virtual int width(const ptx::Operand& operand) const = 0;
  virtual bool is_predicate(const ptx::Operand& operand) const = 0;
  // A memory operand. `a` becomes its register or the symbol's address, `offset` the rest; `space`, `narrow` and
  // `window` are set. A parameter is no memory: of a kernel, `offset` is its place in Launch::params, which has
  // `bytes`; of a function, or passed to one, `a` is the variable in the frame, with `bytes` from lane to lane.
  enum class Reached : uint8_t { nothing, memory, kernel_param, frame_param };
  Reached address(const ptx::Operand& operand, ptx::Space space) { return address(operand, space, out); }
  virtual Reached address(const ptx::Operand& operand, ptx::Space space, Decoded& into) = 0;
  // The guard becomes operand a: the instruction runs for all active lanes and looks at it itself.
  void condition();
  // A number that is known now.
  bool constant(const ptx::Operand& operand, int64_t& value);
  // Where a jump goes, whom a call calls.
  virtual bool resolve_targets() = 0;
  virtual bool resolve_call() = 0;

  // The instruction cannot be: `why` is the rest of the sentence. Returns false.
  bool fail(std::string why);
  bool failed() const { return !error_.empty(); }
  const std::string& error() const { return error_; }

 private:
  std::vector<std::string_view> left_;
  std::string error_;
};

using Bind = bool (*)(Binder&);

}  // namespace vgpu::isa
