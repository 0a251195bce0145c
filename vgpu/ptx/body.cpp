// Function bodies: scopes, labels, instructions. Their operands are operand.cpp's.
#include <algorithm>
#include <charconv>

#include "ptx/parser.h"

namespace vgpu::ptx {
namespace {

constexpr size_t kDeepestScope = 256;

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
  tokens_.expect('{');
  while (!scopes_.empty()) statement();
  for (const auto& [instruction, table] : table_branches_)
    function_.code[instruction].targets = module_.indices.add(std::span<const int>(tables_[table]));
}

void Body::statement() {
  const Token& token = tokens_.now;
  if (token.kind == Token::Kind::directive) return directive();
  if (token.is('@')) return instruction();
  if (token.is('{')) {
    if (scopes_.size() == kDeepestScope) fail(token.line, "blocks are nested too deeply");
    scopes_.emplace_back();
    tokens_.take();
  } else if (token.is('}')) {
    close_scope();
    tokens_.take();
  } else if (token.kind != Token::Kind::name) {
    if (!tokens_.accept(';')) tokens_.unexpected("an instruction");
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
    while (tokens_.accept(','));
    return tokens_.expect(';');
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
    const Token token = tokens_.expect(Token::Kind::number, "a number");
    int value = 0;
    const char* end = token.text.data() + token.text.size();
    const auto [rest, error] = std::from_chars(token.text.data(), end, value);
    if (error != std::errc() || rest != end)
      fail(token.line, in_quotes(token.text) + " is no number of a line or column");
    return value;
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
  while (tokens_.accept(',')) {
    if (tokens_.accept("function_name")) {
      const Token first = tokens_.expect(Token::Kind::name, "a label");
      if (tokens_.accept('+')) number();
      location.function = Lexer::between(first, tokens_.now);  // a label until the module's end
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
  tokens_.expect(':');
  Label label{Label::Kind::code, int(function_.code.size())};
  if (tokens_.accept(".branchtargets")) {
    label = {Label::Kind::branch_targets, int(tables_.size())};
    std::vector<int>& table = tables_.emplace_back();
    do {
      const Token target = tokens_.expect(Token::Kind::name, "a label");
      scopes_.back().uses.push_back({target.text, target.line, LabelUse::By::table, label.index, int(table.size())});
      table.push_back(0);
    } while (tokens_.accept(','));
    tokens_.expect(';');
  } else if (tokens_.accept(".calltargets")) {
    label = {Label::Kind::call_targets, -1};
    do {
      const Token target = tokens_.expect(Token::Kind::name, "a function's name");
      if (!module_.function_index.contains(target.text))
        fail(target.line, in_quotes(target.text) + " is no function declared so far");
    } while (tokens_.accept(','));
    tokens_.expect(';');
  } else if (tokens_.now.is(".callprototype")) {
    label = {Label::Kind::prototype, int(function_.prototypes.size())};
    const Token first = tokens_.take();
    Prototype& prototype = function_.prototypes.emplace_back();
    std::vector<std::string_view> ignored;
    if (tokens_.now.is('(')) prototype.results = parser_.parameters(ignored);
    tokens_.expect(Token::Kind::name, "`_`");
    if (tokens_.now.is('(')) prototype.params = parser_.parameters(ignored);
    Function directives;  // .noreturn and the like
    parser_.function_directives(directives);
    prototype.text = text_from(first);
    tokens_.expect(';');
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
  scopes_.back().has_percent |= name.front() == '%';
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
  } while (tokens_.accept(','));
  tokens_.expect(';');
}

void Body::variables(Space space, bool is_extern) {
  const Parser::Declared types = parser_.declared_types(space);
  do {
    Parser::Declared declared = types;
    parser_.declared_name(declared);
    const int line = declared.variable.line;
    scopes_.back().has_percent |= declared.name.front() == '%';
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
  } while (tokens_.accept(','));
  tokens_.expect(';');
}

void Body::instruction() {
  const Token first = tokens_.now;
  Instruction instruction;
  instruction.line = first.line;
  instruction.location = location_;
  if (tokens_.accept('@')) {
    instruction.guard_negated = tokens_.accept('!');
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
  } else if (!tokens_.now.is(';')) {
    instruction.operands = operand_list();
  }
  if (!tokens_.now.is(';')) tokens_.unexpected("`;`");
  instruction.text = text_from(first);
  function_.code.push_back(instruction);
  tokens_.take();
}

// From a token to the current one, on one line.
std::string_view Body::text_from(const Token& first) {
  const std::string_view text = Lexer::between(first, tokens_.now);
  return Lexer::is_plain(first, tokens_.now) ? text : parser_.own(Lexer::joined(std::string(text)));
}

// bra label; brx.idx index, list;
void Body::branch(Instruction& instruction, int index) {
  const bool through_table = instruction.opcode() == "brx";
  if (through_table) {
    const Operand chosen = operand();
    instruction.operands = module_.operands.add(std::span<const Operand>(&chosen, 1));
    tokens_.expect(',');
  }
  const Token target = tokens_.expect(Token::Kind::name, "a label");
  const auto by = through_table ? LabelUse::By::branch_through_table : LabelUse::By::branch;
  scopes_.back().uses.push_back({target.text, target.line, by, index, 0});
}

// call [(results),] function [, (arguments)] [, prototype or targets];
void Body::call(Instruction& instruction, int index) {
  Call call;
  if (tokens_.now.is('(')) {
    call.results = operands_in_parentheses();
    tokens_.expect(',');
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
  if (tokens_.accept(',')) {
    if (tokens_.now.is('(')) {
      call.arguments = operands_in_parentheses();
      if (tokens_.accept(',')) shape = tokens_.expect(Token::Kind::name, "a prototype");
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
  tokens_.expect('(');
  const std::span<const Operand> operands = tokens_.now.is(')') ? std::span<const Operand>() : operand_list();
  tokens_.expect(')');
  return operands;
}

}  // namespace vgpu::ptx
