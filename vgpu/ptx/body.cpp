// Function bodies: scopes, labels, instructions and their operands.
#include <algorithm>
#include <unordered_set>

#include "ptx/parser.h"

namespace vgpu::ptx {
namespace {

constexpr size_t kDeepestScope = 256;
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

std::string in_quotes(std::string_view name) { return "`" + Tokens::quoted(name) + "`"; }

}  // namespace

Body::Body(Parser& parser, Function& function)
    : parser_(parser), module_(parser.module_), tokens_(parser.tokens_), function_(function) {
  scopes_.emplace_back();
}

void Body::bind_parameters(const std::vector<std::string_view>& results, const std::vector<std::string_view>& params) {
  const auto bind_all = [&](const std::vector<std::string_view>& names, std::vector<Variable>& variables,
                            Refers refers) {
    for (size_t i = 0; i < names.size(); ++i) {
      if (names[i] == "_") continue;
      Binding binding{.type = variables[i].type, .refers = refers, .index = int(i)};
      if (variables[i].space == Space::reg) {
        variables[i].reg = new_register(names[i], variables[i].type);
        binding = {.kind = Binding::Kind::reg, .type = variables[i].type, .index = variables[i].reg};
      }
      bind(names[i], binding, variables[i].line);
    }
  };
  bind_all(results, function_.results, Refers::result);
  bind_all(params, function_.params, Refers::param);
}

void Body::parse() {
  tokens_.expect("{");
  while (!scopes_.empty()) statement();
  for (const auto& [instruction, table] : table_branches_)
    function_.code[instruction].targets = module_.indices.add(std::span<const int>(tables_[table]));
}

void Body::statement() {
  const Token& token = tokens_.now;
  if (token.kind == Token::Kind::directive) return directive();
  if (token.is("@")) return instruction();
  if (token.is("{")) {
    if (scopes_.size() == kDeepestScope) fail(token.line, "blocks are nested too deeply");
    scopes_.emplace_back();
    tokens_.take();
  } else if (token.is("}")) {
    close_scope();
    tokens_.take();
  } else if (token.kind != Token::Kind::name) {
    if (!tokens_.accept(";")) tokens_.unexpected("an instruction");
  } else if (tokens_.lexer.label_follows()) {
    label();
  } else {
    instruction();
  }
}

void Body::directive() {
  if (tokens_.now.is(".loc")) return loc();
  if (tokens_.accept(".pragma")) {
    do tokens_.expect(Token::Kind::string, "a string");
    while (tokens_.accept(","));
    return tokens_.expect(";");
  }
  const bool is_extern = tokens_.accept(".extern");
  const auto space = Parser::space_of(tokens_.now.text);
  if (!space) tokens_.unexpected("a declaration or an instruction");
  tokens_.take();
  if (*space == Space::reg) return registers();
  variables(*space, is_extern);
}

// .loc file line column [, function_name label [+ offset], inlined_at file line column]
void Body::loc() {
  tokens_.take();
  const auto number = [&] {
    const int line = tokens_.now.line;
    const int64_t value = integer_expression(tokens_);
    if (value < 0 || value > INT32_MAX) fail(line, "`.loc` has a wrong number");
    return int(value);
  };
  const auto place = [&] {
    Location location;
    location.file = number();
    location.line = number();
    location.column = number();
    return location;
  };
  const auto key = [](const Location& l) {
    return uint64_t(uint32_t(l.file)) << 48 ^ uint64_t(uint32_t(l.line)) << 16 ^ uint32_t(l.column);
  };
  const auto add = [&](const Location& location) {
    function_.locations.push_back(location);
    return locations_[key(location)] = int(function_.locations.size()) - 1;
  };
  Location location = place();
  while (tokens_.accept(",")) {
    if (tokens_.accept("function_name")) {
      const Token first = tokens_.expect(Token::Kind::name, "a label");
      if (tokens_.accept("+")) number();
      location.function = tokens_.lexer.between(first, tokens_.now);  // a label until the module's end
    } else if (tokens_.accept("inlined_at")) {
      // The call site has had a .loc of its own, with the site that it was inlined at in turn.
      const Location site = place();
      const auto known = locations_.find(key(site));
      location.inlined_at = known != locations_.end() ? known->second : add(site);
    } else {
      tokens_.unexpected("`function_name` or `inlined_at`");
    }
  }
  const auto known = locations_.find(key(location));
  if (known != locations_.end()) {
    const Location& same = function_.locations[known->second];
    if (same.function == location.function && same.inlined_at == location.inlined_at) {
      location_ = known->second;
      return;
    }
  }
  location_ = add(location);
}

// name:, or name: .branchtargets, .calltargets, .callprototype
void Body::label() {
  const Token name = tokens_.take();
  tokens_.expect(":");
  Label label{Label::Kind::code, int(function_.code.size())};
  if (tokens_.accept(".branchtargets")) {
    label = {Label::Kind::branch_targets, int(tables_.size())};
    std::vector<int>& table = tables_.emplace_back();
    do {
      const Token target = tokens_.expect(Token::Kind::name, "a label");
      scopes_.back().uses.push_back({target.text, target.line, LabelUse::By::table, label.index, int(table.size())});
      table.push_back(0);
    } while (tokens_.accept(","));
    tokens_.expect(";");
  } else if (tokens_.accept(".calltargets")) {
    label = {Label::Kind::call_targets, -1};
    do {
      const Token target = tokens_.expect(Token::Kind::name, "a function's name");
      if (!module_.function_index.contains(target.text))
        fail(target.line, in_quotes(target.text) + " is no function declared so far");
    } while (tokens_.accept(","));
    tokens_.expect(";");
  } else if (tokens_.now.is(".callprototype")) {
    label = {Label::Kind::prototype, int(function_.prototypes.size())};
    const Token first = tokens_.take();
    Prototype& prototype = function_.prototypes.emplace_back();
    std::vector<std::string_view> ignored;
    if (tokens_.now.is("(")) prototype.results = parser_.parameters(ignored);
    tokens_.expect(Token::Kind::name, "`_`");
    if (tokens_.now.is("(")) prototype.params = parser_.parameters(ignored);
    Function directives;  // .noreturn and the like
    parser_.function_directives(directives);
    prototype.text = tokens_.lexer.between(first, tokens_.now);
    if (!Lexer::is_one_line(prototype.text)) prototype.text = parser_.own(Lexer::joined(prototype.text));
    tokens_.expect(";");
  }
  if (!scopes_.back().labels.try_emplace(name.text, label).second)
    fail(name.line, "the label " + in_quotes(name.text) + " stands twice");
}

void Body::close_scope() {
  Scope closing = std::move(scopes_.back());
  scopes_.pop_back();
  for (const LabelUse& use : closing.uses) {
    const auto found = closing.labels.find(use.name);
    if (found != closing.labels.end()) {
      settle(use, found->second);
    } else if (!scopes_.empty()) {
      scopes_.back().uses.push_back(use);
    } else {
      fail(use.line, "there is no label " + in_quotes(use.name));
    }
  }
}

void Body::settle(const LabelUse& use, const Label& label) {
  const auto need = [&](Label::Kind kind, const char* what) {
    if (label.kind != kind) fail(use.line, in_quotes(use.name) + " is no " + what);
  };
  switch (use.by) {
    case LabelUse::By::branch:
      need(Label::Kind::code, "label of an instruction");
      function_.code[use.index].targets = module_.indices.add(std::span<const int>(&label.index, 1));
      break;
    case LabelUse::By::table:
      need(Label::Kind::code, "label of an instruction");
      tables_[use.index][use.slot] = label.index;
      break;
    case LabelUse::By::branch_through_table:
      need(Label::Kind::branch_targets, "list of branch targets");
      table_branches_.emplace_back(use.index, label.index);
      break;
    case LabelUse::By::call:
      if (label.kind != Label::Kind::call_targets) need(Label::Kind::prototype, "prototype of a call");
      calls_[use.slot]->prototype = label.index;
      break;
  }
}

void Body::bind(std::string_view name, const Binding& binding, int line) {
  if (!scopes_.back().names.try_emplace(name, binding).second) fail(line, in_quotes(name) + " is declared twice");
}

int Body::new_register(std::string_view name, Type type) {
  function_.registers.push_back({name, type});
  return int(function_.registers.size()) - 1;
}

// .reg [.v4] .f32 name, name<10>;
void Body::registers() {
  const Parser::Declared types = parser_.declared_types(Space::reg);
  const Type type = types.variable.type;
  do {
    Parser::Declared declared = types;
    parser_.declared_name(declared);
    const std::string_view name = declared.name;
    const int line = declared.variable.line;
    if (!declared.dimensions.empty()) fail(line, in_quotes(name) + " is an array, which registers cannot be");
    if (declared.is_range) {
      if (!scopes_.back().ranges.try_emplace(name, RegisterRange{type, declared.count, {}}).second)
        fail(line, in_quotes(name) + " is declared twice");
    } else if (declared.elements == 1) {
      bind(name, {.kind = Binding::Kind::reg, .type = type}, line);
    } else {
      const int first = int(function_.registers.size());
      for (int i = 0; i < declared.elements; ++i)
        new_register(parser_.own(std::string(name) + "." + "xyzw01234567"[i]), type);
      bind(name, {.kind = Binding::Kind::vector, .type = type, .index = first, .elements = declared.elements}, line);
    }
  } while (tokens_.accept(","));
  tokens_.expect(";");
}

void Body::variables(Space space, bool is_extern) {
  const Parser::Declared types = parser_.declared_types(space);
  do {
    Parser::Declared declared = types;
    parser_.declared_name(declared);
    const int line = declared.variable.line;
    if (declared.is_range) fail(line, in_quotes(declared.name) + " is a range, which only registers have");
    if (space == Space::global || space == Space::constant) {  // of the module, but for its name
      parser_.add_module_variable(std::move(declared), is_extern, scopes_.back());
      continue;
    }
    parser_.finish(declared);
    declared.variable.is_extern = is_extern;
    bind(declared.name,
         {.type = declared.variable.type, .refers = Refers::local, .index = int(function_.variables.size())}, line);
    function_.variables.push_back(std::move(declared.variable));
  } while (tokens_.accept(","));
  tokens_.expect(";");
}

void Body::instruction() {
  const Token first = tokens_.now;
  Instruction instruction;
  instruction.line = first.line;
  instruction.location = location_;
  if (tokens_.accept("@")) {
    instruction.guard_negated = tokens_.accept("!");
    const Token guard = tokens_.expect(Token::Kind::name, "a predicate");
    instruction.guard = find_register(guard.text);
    if (instruction.guard < 0) fail(guard.line, in_quotes(guard.text) + " is not declared as a register");
    if (function_.registers[instruction.guard].type != Type::pred)
      fail(guard.line, in_quotes(guard.text) + " is no predicate");
  }
  if (tokens_.now.kind != Token::Kind::name) tokens_.unexpected("an instruction");
  tokens_.lexer.widen_to_mnemonic(tokens_.now);
  const Token name = tokens_.take();
  std::string_view text = name.text;
  if (tokens_.now.kind == Token::Kind::directive) {  // `ld .global .f32` is one mnemonic, too
    std::string joined(text);
    while (tokens_.now.kind == Token::Kind::directive) joined += tokens_.take().text;
    text = parser_.own(std::move(joined));
  }
  instruction.mnemonic = parser_.mnemonic(text);
  const int index = int(function_.code.size());
  const std::string_view opcode = instruction.opcode();
  subscript_is_address_ = opcode == "mov";
  if (opcode == "call") {
    call(instruction, index);
  } else if (opcode == "bra" || opcode == "brx") {
    branch(instruction, index);
  } else if (!tokens_.now.is(";")) {
    std::vector<Operand>& operands = scratch_;
    operands.clear();
    do operands.push_back(operand());
    while (tokens_.accept(","));
    instruction.operands = module_.operands.add(std::span<const Operand>(operands));
  }
  if (!tokens_.now.is(";")) tokens_.unexpected("`;`");
  instruction.text = tokens_.lexer.between(first, tokens_.now);
  if (!Lexer::is_one_line(instruction.text)) instruction.text = parser_.own(Lexer::joined(instruction.text));
  function_.code.push_back(instruction);
  tokens_.take();
}

// bra label; brx.idx index, list;
void Body::branch(Instruction& instruction, int index) {
  const bool through_table = instruction.opcode() == "brx";
  if (through_table) {
    const Operand chosen = operand();
    instruction.operands = module_.operands.add(std::span<const Operand>(&chosen, 1));
    tokens_.expect(",");
  }
  const Token target = tokens_.expect(Token::Kind::name, "a label");
  const auto by = through_table ? LabelUse::By::branch_through_table : LabelUse::By::branch;
  scopes_.back().uses.push_back({target.text, target.line, by, index, 0});
}

// call [(results),] function [, (arguments)] [, prototype or targets];
void Body::call(Instruction& instruction, int index) {
  Call call;
  if (tokens_.now.is("(")) {
    call.results = operands_in_parentheses();
    tokens_.expect(",");
  }
  const Token callee = tokens_.now;
  if (callee.kind != Token::Kind::name) tokens_.unexpected("a function");
  const Operand target = operand();
  if (target.kind == Operand::Kind::symbol && target.refers == Refers::function) {
    call.callee = target.index;
  } else if (target.kind == Operand::Kind::reg) {
    call.target = target;
  } else {
    fail(callee.line, in_quotes(callee.text) + " is no function");
  }
  Token shape;
  if (tokens_.accept(",")) {
    if (tokens_.now.is("(")) {
      call.arguments = operands_in_parentheses();
      if (tokens_.accept(",")) shape = tokens_.expect(Token::Kind::name, "a prototype");
    } else {
      shape = tokens_.expect(Token::Kind::name, "a prototype");
    }
  }
  Call& kept = module_.calls.add(std::span<const Call>(&call, 1)).front();
  instruction.call = &kept;
  if (shape.kind == Token::Kind::name) {
    scopes_.back().uses.push_back({shape.text, shape.line, LabelUse::By::call, index, int(calls_.size())});
    calls_.push_back(&kept);
  } else if (call.callee < 0) {
    fail(callee.line, "an indirect call names no prototype");
  }
}

std::span<const Operand> Body::operands_in_parentheses() {
  tokens_.expect("(");
  std::vector<Operand> operands;
  if (!tokens_.now.is(")")) {
    do operands.push_back(operand());
    while (tokens_.accept(","));
  }
  tokens_.expect(")");
  return module_.operands.add(std::span<const Operand>(operands));
}

Operand Body::operand() {
  const Token token = tokens_.now;
  Operand made;
  if (token.is("[")) return memory_operand();
  if (token.is("{")) {
    made = vector_operand();
  } else if (token.kind == Token::Kind::name && !token.is("WARP_SZ")) {
    made = name_operand();
  } else {
    if (token.is("!") || token.is("-")) {
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
    const Constant value = constant_expression(tokens_);
    made.kind = Operand::Kind::immediate;
    made.literal = value.literal;
    made.bits = value.bits;
    return made;
  }
  if (tokens_.accept("|")) {
    const Operand second = tokens_.now.kind == Token::Kind::name ? name_operand() : Operand{};
    if (second.kind != Operand::Kind::reg && !(second.kind == Operand::Kind::sink && second.name == "_"))
      tokens_.unexpected("a register");
    made.pair = &module_.operands.add(std::span<const Operand>(&second, 1)).front();
  }
  return made;
}

// {a, b, …}
Operand Body::vector_operand() {
  Operand vector;
  vector.kind = Operand::Kind::vector;
  tokens_.expect("{");
  std::vector<Operand> parts;
  do {
    if (tokens_.now.is("{") || tokens_.now.is("[")) tokens_.unexpected("an element");
    parts.push_back(operand());
  } while (tokens_.accept(","));
  tokens_.expect("}");
  vector.parts = module_.operands.add(std::span<const Operand>(parts));
  return vector;
}

int Body::find_register(std::string_view name) {
  // The digits at the end may belong to a range's number or, some of them, to its name.
  size_t digits = name.size();
  while (digits > 0 && name.size() - digits < 10 && name[digits - 1] >= '0' && name[digits - 1] <= '9') --digits;
  for (size_t depth = scopes_.size(); depth-- > 0;) {
    Scope& scope = scopes_[depth];
    if (!scope.names.empty()) {
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
  if (tokens_.accept("[")) {  // ld.global.f32 %f1, a[3]; but mov.u64 %rd1, a[3] takes the address
    if (!subscript_is_address_) made.kind = Operand::Kind::memory;
    made.offset = int64_t(uint64_t(integer_expression(tokens_)) * std::max(1, size_of(binding->type)));
    tokens_.expect("]");
  } else if (tokens_.now.is("+") || tokens_.now.is("-")) {
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
  tokens_.expect("[");
  Operand memory;
  const Token base = tokens_.now;
  if (base.kind == Token::Kind::name && !base.is("WARP_SZ")) {
    memory = name_operand();
    if (memory.kind == Operand::Kind::reg) {
      if (tokens_.now.is("+") || tokens_.now.is("-")) memory.offset = integer_expression(tokens_);
    } else if (memory.kind != Operand::Kind::symbol) {
      fail(base.line, in_quotes(base.text) + " is no address");
    }
  } else {
    memory.offset = integer_expression(tokens_);
  }
  memory.kind = Operand::Kind::memory;
  std::vector<Operand> parts;
  while (tokens_.accept(",")) parts.push_back(operand());
  memory.parts = module_.operands.add(std::span<const Operand>(parts));
  tokens_.expect("]");
  return memory;
}

}  // namespace vgpu::ptx
