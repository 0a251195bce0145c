#include "isa/binder.h"

#include <algorithm>
#include <map>

namespace vgpu::isa {

bool Binder::take(std::string_view modifier) {
  if (left_.empty() || left_.front() != modifier) return false;
  left_.erase(left_.begin());
  return true;
}

int Binder::take_one(std::initializer_list<std::string_view> modifiers) {
  if (left_.empty()) return -1;
  const auto found = std::find(modifiers.begin(), modifiers.end(), left_.front());
  if (found == modifiers.end()) return -1;
  left_.erase(left_.begin());
  return static_cast<int>(found - modifiers.begin());
}

ptx::Type Binder::take_type() {
  using ptx::Type;
  static const std::map<std::string_view, Type> types = {
      {"pred", Type::pred}, {"b8", Type::b8},       {"b16", Type::b16},       {"b32", Type::b32}, {"b64", Type::b64},
      {"b128", Type::b128}, {"u8", Type::u8},       {"u16", Type::u16},       {"u32", Type::u32}, {"u64", Type::u64},
      {"s8", Type::s8},     {"s16", Type::s16},     {"s32", Type::s32},       {"s64", Type::s64}, {"f16", Type::f16},
      {"bf16", Type::bf16}, {"f16x2", Type::f16x2}, {"bf16x2", Type::bf16x2}, {"f32", Type::f32}, {"tf32", Type::tf32},
      {"f64", Type::f64}};
  const auto found = types.find(next());
  if (found == types.end()) return Type::none;
  left_.erase(left_.begin());
  return found->second;
}

bool Binder::takes(size_t operands) {
  return count() == operands || fail("takes " + std::to_string(operands) + " operands");
}

bool Binder::bind(ptx::Type result, std::initializer_list<ptx::Type> sources, Handler run) {
  if (!takes(1 + sources.size())) return false;
  out.d = destination(operand(0), result);
  int place = 0;
  for (const ptx::Type type : sources) {
    const ptx::Operand& from = operand(static_cast<size_t>(place) + 1);
    out.*kSources[place] = type == ptx::Type::pred ? predicate(from, place) : source(from, type);
    ++place;
  }
  out.run = run;
  return !failed();
}

Ref Binder::predicate(const ptx::Operand& operand, int place) {
  if (operand.negated) out.flips = static_cast<uint8_t>(out.flips | 1 << place);
  return source(operand, ptx::Type::pred);
}

void Binder::condition() {
  out.a = out.guard;
  out.flips = out.guard_flip ? 1 : 0;
  out.guard = Ref(Bank::launch, 0);  // LaunchSpecials::all
  out.guard_flip = 0;
}

bool Binder::constant(const ptx::Operand& operand, int64_t& value) {
  if (operand.kind != ptx::Operand::Kind::immediate) return fail("needs a constant operand");
  value = static_cast<int64_t>(operand.bits);
  return true;
}

bool Binder::fail(std::string why) {
  if (error_.empty()) error_ = std::move(why);
  return false;
}

}  // namespace vgpu::isa
