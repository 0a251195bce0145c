// Operands, and what their names stand for.
#include <algorithm>
#include <unordered_set>

#include "ptx/parser.h"

namespace vgpu::ptx {
namespace {

constexpr uint64_t kDense = 256;  // see find_register

bool is_special(std::string_view name) {
  static const std::unordered_set<std::string_view> kNames = {"%tid",
                                                              "%ntid",
                                                              "%laneid",
                                                              "%warpid",
                                                              "%nwarpid",
                                                              "%ctaid",
                                                              "%nctaid",
                                                              "%smid",
                                                              "%nsmid",
                                                              "%gridid",
                                                              "%clusterid",
                                                              "%nclusterid",
                                                              "%cluster_ctaid",
                                                              "%cluster_nctaid",
                                                              "%cluster_ctarank",
                                                              "%cluster_nctarank",
                                                              "%is_explicit_cluster",
                                                              "%lanemask_eq",
                                                              "%lanemask_le",
                                                              "%lanemask_lt",
                                                              "%lanemask_ge",
                                                              "%lanemask_gt",
                                                              "%clock",
                                                              "%clock_hi",
                                                              "%clock64",
                                                              "%globaltimer",
                                                              "%globaltimer_lo",
                                                              "%globaltimer_hi",
                                                              "%total_smem_size",
                                                              "%aggr_smem_size",
                                                              "%dynamic_smem_size",
                                                              "%current_graph_exec",
                                                              "%reserved_smem_offset_begin",
                                                              "%reserved_smem_offset_end",
                                                              "%reserved_smem_offset_cap",
                                                              "%reserved_smem_offset_0",
                                                              "%reserved_smem_offset_1"};
  const auto numbered = [name](std::string_view prefix, size_t digits) {
    return name.starts_with(prefix) && name.size() > prefix.size() && name.size() <= prefix.size() + digits &&
           name.find_first_not_of("0123456789", prefix.size()) == name.npos;
  };
  return kNames.contains(name) || numbered("%envreg", 2) || numbered("%pm", 1) ||
         (name.ends_with("_64") && name.size() == 7 && name.starts_with("%pm"));
}

}  // namespace

Operand Body::operand() {
  const Token token = tokens_.now;
  Operand made;
  if (token.is('[')) return memory_operand();
  if (token.is('{')) {
    made = vector_operand();
  } else if (token.kind == Token::Kind::name && !token.is("WARP_SZ")) {
    made = name_operand();
  } else {
    if (token.is('!') || token.is('-')) {
      Tokens ahead = tokens_;
      ahead.take();
      if (ahead.now.kind == Token::Kind::name && !ahead.now.is("WARP_SZ")) {
        tokens_ = ahead;
        made = name_operand();
        if (made.kind != Operand::Kind::reg)
          fail(token.line, in_quotes(ahead.now.text) + " is negated but no register");
        made.negated = true;
        return made;
      }
    }
    const bool begins = token.kind == Token::Kind::number || token.kind == Token::Kind::name || token.is('(') ||
                        token.is('-') || token.is('+') || token.is('~') || token.is('!');
    if (!begins) tokens_.unexpected("an operand");
    const Constant value = constant_expression(tokens_);
    made.kind = Operand::Kind::immediate;
    made.literal = value.literal;
    made.bits = value.bits;
    return made;
  }
  if (tokens_.accept('|')) {
    const Token token = tokens_.now;
    if (token.kind != Token::Kind::name) tokens_.unexpected("a register");
    const Operand second = name_operand();
    if (second.kind != Operand::Kind::reg && second.kind != Operand::Kind::sink)
      fail(token.line, in_quotes(token.text) + " stands where a register should be");
    made.pair = &module_.operands.add(std::span<const Operand>(&second, 1)).front();
  }
  return made;
}

// a, b, …; none of which begins with one of the marks `barred`: operands are no deeper than [a, {b, c}].
std::span<const Operand> Body::operand_list(std::string_view barred) {
  const size_t first = scratch_.size();  // the lists around this one lie below
  do {
    if (tokens_.now.mark && barred.find(tokens_.now.mark) != barred.npos) tokens_.unexpected("a part of an operand");
    scratch_.push_back(operand());
  } while (tokens_.accept(','));
  const auto kept = module_.operands.add(std::span<const Operand>(scratch_).subspan(first));
  scratch_.resize(first);
  return kept;
}

// {a, b, …}
Operand Body::vector_operand() {
  Operand vector;
  vector.kind = Operand::Kind::vector;
  tokens_.expect('{');
  vector.parts = operand_list("{[");
  tokens_.expect('}');
  return vector;
}

int Body::find_register(std::string_view name) {
  // The digits at the end may belong to a range's number or, some of them, to its name.
  size_t digits = name.size();
  while (digits > 0 && name.size() - digits < 10 && name[digits - 1] >= '0' && name[digits - 1] <= '9') --digits;
  for (size_t depth = scopes_.size(); depth-- > 0;) {
    Scope& scope = scopes_[depth];
    if (!scope.names.empty() && (scope.has_percent || name[0] != '%')) {
      const auto found = scope.names.find(name);
      if (found != scope.names.end()) {
        if (found->second.kind != Binding::Kind::reg) return -1;
        int& index = found->second.index;
        if (index < 0) index = new_register(name, found->second.type);
        return index;
      }
    }
    if (scope.ranges.empty()) continue;
    for (size_t split = digits; split < name.size(); ++split) {
      if (name[split] == '0' && split + 1 < name.size()) continue;
      const auto found = scope.ranges.find(name.substr(0, split));
      if (found == scope.ranges.end()) continue;
      RegisterRange& range = found->second;
      uint64_t number = 0;
      for (size_t i = split; i < name.size(); ++i) number = number * 10 + (name[i] - '0');
      if (number >= range.count) continue;
      // A range's numbers come about in order. One far beyond those seen is bound like a name of its own, so that
      // a short text cannot ask for much memory.
      if (number >= std::max<uint64_t>(kDense, 2 * range.known.size())) {
        const int index = new_register(name, range.type);
        scope.names.emplace(name, Binding{.kind = Binding::Kind::reg, .type = range.type, .index = index});
        scope.has_percent |= name[0] == '%';
        return index;
      }
      if (number >= range.known.size()) range.known.resize(std::min(range.count, std::max(kDense, 2 * number)), -1);
      int& index = range.known[number];
      if (index < 0) index = new_register(name, range.type);
      return index;
    }
  }
  return -1;
}

Binding* Body::find_name(std::string_view name) {
  for (size_t depth = scopes_.size(); depth-- > 0;) {
    const auto found = scopes_[depth].names.find(name);
    if (found != scopes_[depth].names.end()) return &found->second;
  }
  const auto found = parser_.scope_.names.find(name);
  return found == parser_.scope_.names.end() ? nullptr : &found->second;
}

// %r1, %r1.b0, v, v.x, %tid.x, name, name + 4, name[3], _
Operand Body::name_operand() {
  Token token = tokens_.now;
  Operand made;
  made.name = token.text;
  if (token.is("_")) {
    tokens_.take();
    return made;
  }
  made.reg = find_register(token.text);
  if (made.reg >= 0) {
    made.kind = Operand::Kind::reg;
    Token widened = token;
    if (tokens_.lexer.widen_by_part(widened)) made.name = widened.text;  // .b0, .h1: a part, of the video instructions
    tokens_.take();
    return made;
  }
  const Binding* binding = find_name(token.text);
  if (binding == nullptr) {
    if (!is_special(token.text)) {
      const bool reg = token.text[0] == '%';
      fail(token.line, in_quotes(token.text) + (reg ? " is not declared as a register" : " is not declared"));
    }
    made.kind = Operand::Kind::special;
    tokens_.lexer.widen_by_part(tokens_.now);
    made.name = tokens_.take().text;
    return made;
  }
  if (binding->kind == Binding::Kind::vector) {
    Token widened = token;
    if (tokens_.lexer.widen_by_part(widened)) {
      const std::string_view part = widened.text.substr(token.text.size() + 1);
      const size_t at = part.size() == 1
                            ? std::min(std::string_view("xyzw").find(part[0]), std::string_view("rgba").find(part[0]))
                            : std::string_view::npos;
      if (at >= size_t(binding->elements)) fail(token.line, in_quotes(widened.text) + " is no element of the vector");
      made.kind = Operand::Kind::reg;
      made.reg = binding->index + int(at);
      made.name = function_.registers[made.reg].name;
    } else {
      made.kind = Operand::Kind::vector;
      std::vector<Operand> parts(binding->elements);
      for (int i = 0; i < binding->elements; ++i) {
        parts[i].kind = Operand::Kind::reg;
        parts[i].reg = binding->index + i;
        parts[i].name = function_.registers[parts[i].reg].name;
      }
      made.parts = module_.operands.add(std::span<const Operand>(parts));
    }
    tokens_.take();
    return made;
  }
  tokens_.take();
  made = place(*binding, token.text);
  if (tokens_.accept('[')) {  // ld.global.f32 %f1, a[3]; but mov.u64 %rd1, a[3] takes the address
    if (!subscript_is_address_) made.kind = Operand::Kind::memory;
    made.offset = int64_t(uint64_t(integer_expression(tokens_)) * std::max(1, size_of(binding->type)));
    tokens_.expect(']');
  } else if (tokens_.now.is('+') || tokens_.now.is('-')) {
    made.offset = integer_expression(tokens_);
  }
  return made;
}

Operand Body::place(const Binding& binding, std::string_view name) {
  Operand made;
  made.kind = Operand::Kind::symbol;
  made.name = name;
  made.refers = binding.refers;
  made.index = binding.index;
  return made;
}

// [register + offset], [name + offset], [offset], [name, {coordinates}, …]
Operand Body::memory_operand() {
  tokens_.expect('[');
  Operand memory;
  const Token base = tokens_.now;
  if (base.kind == Token::Kind::name && !base.is("WARP_SZ")) {
    memory = name_operand();
    if (memory.kind == Operand::Kind::reg) {
      if (tokens_.now.is('+') || tokens_.now.is('-')) memory.offset = integer_expression(tokens_);
    } else if (memory.kind != Operand::Kind::symbol) {
      fail(base.line, in_quotes(base.text) + " is no address");
    }
  } else {
    memory.offset = integer_expression(tokens_);
  }
  memory.kind = Operand::Kind::memory;
  if (tokens_.accept(',')) memory.parts = operand_list("[");
  tokens_.expect(']');
  return memory;
}

}  // namespace vgpu::ptx
