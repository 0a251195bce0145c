// A module's header and declarations. Function bodies are body.cpp's.
#include "ptx/parser.h"

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>

namespace vgpu::ptx {
namespace {

constexpr uint64_t kLargestVariable = uint64_t{1} << 40;   // bytes; so that sums of sizes cannot overflow
constexpr uint64_t kMostInitialBytes = uint64_t{1} << 28;  // of a module: a short text must not ask for much memory
constexpr size_t kMostDimensions = 16;

std::optional<Type> type_of(std::string_view directive) {
  static const std::unordered_map<std::string_view, Type> kTypes = {
      {".pred", Type::pred}, {".b8", Type::b8},         {".b16", Type::b16}, {".b32", Type::b32},
      {".b64", Type::b64},   {".b128", Type::b128},     {".u8", Type::u8},   {".u16", Type::u16},
      {".u32", Type::u32},   {".u64", Type::u64},       {".s8", Type::s8},   {".s16", Type::s16},
      {".s32", Type::s32},   {".s64", Type::s64},       {".f16", Type::f16}, {".f16x2", Type::f16x2},
      {".bf16", Type::bf16}, {".bf16x2", Type::bf16x2}, {".f32", Type::f32}, {".tf32", Type::tf32},
      {".f64", Type::f64}};
  const auto found = kTypes.find(directive);
  return found == kTypes.end() ? std::nullopt : std::optional(found->second);
}

// Of a string token: without quotes, with \" and \\ undone.
std::string unquoted(std::string_view text) {
  std::string plain;
  for (size_t i = 1; i + 1 < text.size(); ++i) {
    if (text[i] == '\\' && i + 2 < text.size()) ++i;
    plain += text[i];
  }
  return plain;
}

}  // namespace

void Parser::parse() {
  header();
  while (tokens_.now.kind != Token::Kind::end) item();
  check_symbols();
  settle_debug_strings();
  settle_aliases();
}

void Parser::header() {
  if (!tokens_.now.is(".version")) tokens_.unexpected("`.version`, with which a module begins,");
  const int line = tokens_.take().line;
  const Token version = tokens_.expect(Token::Kind::number, "a version");
  const size_t dot = version.text.find('.');
  const char* end = version.text.data() + version.text.size();
  const auto major = std::from_chars(version.text.data(), end, module_.version_major);
  if (dot == std::string_view::npos || major.ec != std::errc() || major.ptr != version.text.data() + dot ||
      std::from_chars(major.ptr + 1, end, module_.version_minor).ptr != end || major.ptr + 1 == end) {
    fail(line, in_quotes(version.text) + " is not a version");
  }
  tokens_.expect(".target");
  do {
    const Token target = tokens_.expect(Token::Kind::name, "a target");
    const size_t digits =
        target.text.find('_') + 1;  // sm_90a; others (debug, texmode_unified) say nothing of the device
    if (target.text.starts_with("sm_") || target.text.starts_with("compute_"))
      std::from_chars(target.text.data() + digits, target.text.data() + target.text.size(), module_.sm);
  } while (tokens_.accept(','));
  if (module_.sm == 0) fail(line, "`.target` names no sm_…");
}

void Parser::item() {
  if (tokens_.accept(';')) return;
  const Token token = tokens_.now;
  if (token.is(".address_size")) {
    tokens_.take();
    if (!tokens_.now.is("64"))
      fail(token.line,
           "only 64-bit addresses are understood, not `.address_size " + std::string(tokens_.now.text) + "`");
    tokens_.take();
    return;
  }
  if (token.is(".file")) return file();
  if (token.is(".section")) return section();
  if (token.is(".alias")) return alias();
  if (token.is(".pragma")) {
    tokens_.take();
    do tokens_.expect(Token::Kind::string, "a string");
    while (tokens_.accept(','));
    tokens_.expect(';');
    return;
  }
  if (token.is(".target") || token.is(".version")) fail(token.line, in_quotes(token.text) + " stands twice");

  bool is_extern = false;
  for (;;) {
    if (tokens_.accept(".extern")) {
      is_extern = true;
    } else if (!tokens_.accept(".visible") && !tokens_.accept(".weak") && !tokens_.accept(".common")) {
      break;
    }
  }
  if (tokens_.accept(".entry")) return function(true);
  if (tokens_.accept(".func")) return function(false);
  const auto space = space_of(tokens_.now.text);
  if (!space || *space == Space::local || *space == Space::param) tokens_.unexpected("a declaration");
  tokens_.take();
  module_variables(*space, is_extern);
}

// .file 1 "path" [, time stamp, size]
void Parser::file() {
  tokens_.take();
  const int64_t index = integer_expression(tokens_);
  const Token path = tokens_.expect(Token::Kind::string, "a path");
  if (index >= 0 && index <= INT32_MAX) module_.files[int(index)] = unquoted(path.text);
  if (tokens_.accept(',')) {
    integer_expression(tokens_);
    tokens_.expect(',');
    integer_expression(tokens_);
  }
}

// .section NAME { labels and .b8 … lists }. Only the strings of .debug_str are kept: .loc refers to them.
void Parser::section() {
  tokens_.take();
  const bool strings = tokens_.now.is(".debug_str");
  if (tokens_.now.kind != Token::Kind::directive && tokens_.now.kind != Token::Kind::name)
    tokens_.unexpected("a section's name");
  tokens_.take();
  tokens_.expect('{');
  bool bytes = false;
  while (!tokens_.accept('}')) {
    const Token token = tokens_.now;
    if (token.kind == Token::Kind::end) tokens_.unexpected("the end of a section");
    tokens_.take();
    if (!strings) continue;
    if (token.kind == Token::Kind::directive) {
      bytes = token.is(".b8");
    } else if (token.kind == Token::Kind::number && bytes) {
      int value = 0;
      std::from_chars(token.text.data(), token.text.data() + token.text.size(), value);
      debug_bytes_ += char(value);
    } else if (token.kind == Token::Kind::name && tokens_.now.is(':')) {
      debug_labels_[token.text] = debug_bytes_.size();
    }
  }
}

// .alias name, function;
void Parser::alias() {
  tokens_.take();
  const auto named = [&] {
    const Token token = tokens_.expect(Token::Kind::name, "a function's name");
    const auto found = module_.function_index.find(token.text);
    if (found == module_.function_index.end())
      fail(token.line, in_quotes(token.text) + " is no function declared so far");
    return found->second;
  };
  const int name = named();
  tokens_.expect(',');
  aliases_.push_back({name, named()});
  tokens_.expect(';');
}

// [(results)] name [(parameters)] directives, then `;` or `{ … }`
void Parser::function(bool is_entry) {
  Variable ignored;
  if (tokens_.now.is(".attribute")) attributes(ignored);
  auto made = std::make_unique<Function>();
  Function& fresh = *made;
  fresh.is_entry = is_entry;
  fresh.is_extern = true;
  std::vector<std::string_view> result_names, param_names;
  if (!is_entry && tokens_.now.is('(')) fresh.results = parameters(result_names);
  const Token name = tokens_.expect(Token::Kind::name, "a function's name");
  fresh.name = name.text;
  fresh.line = name.line;
  if (tokens_.now.is('(')) fresh.params = parameters(param_names);
  function_directives(fresh);

  // A declaration and the definition are one Function, whose index calls have noted.
  const auto [place, is_new] = module_.function_index.try_emplace(fresh.name, int(module_.functions.size()));
  const bool defines = tokens_.now.is('{');
  if (is_new) {
    if (!scope_.names.try_emplace(name.text, Binding{.refers = Refers::function, .index = place->second}).second)
      fail(name.line, in_quotes(name.text) + " is declared twice");
    module_.functions.push_back(std::move(made));
  } else {
    Function& known = *module_.functions[place->second];
    if (defines && !known.is_extern) fail(name.line, in_quotes(name.text) + " is defined twice");
    if (!defines) {
      tokens_.expect(';');
      return;
    }
    known = std::move(fresh);
  }
  if (!defines) {
    tokens_.expect(';');
    return;
  }
  Function& function = *module_.functions[place->second];
  function.is_extern = false;
  Body body(*this, function);
  body.bind_parameters(result_names, param_names);
  body.parse();
}

void Parser::function_directives(Function& function) {
  const auto numbers = [&](int* three, size_t most) {
    size_t count = 0;
    do {
      const int line = tokens_.now.line;
      const int64_t value = integer_expression(tokens_);
      if (count == most || value < 0 || value > INT32_MAX) fail(line, "a performance directive has a wrong number");
      three[count++] = int(value);
    } while (tokens_.accept(','));
    while (most == 3 && count < 3) three[count++] = 1;
  };
  int ignored[3];
  while (tokens_.now.kind == Token::Kind::directive) {
    const Token token = tokens_.now;
    if (token.is(".attribute")) {
      Variable ignored_too;
      attributes(ignored_too);
      continue;
    }
    tokens_.take();
    if (token.is(".maxntid"))
      numbers(function.max_threads, 3);
    else if (token.is(".reqntid"))
      numbers(function.required_threads, 3);
    else if (token.is(".reqnctapercluster"))
      numbers(function.cluster, 3);
    else if (token.is(".minnctapersm"))
      numbers(&function.min_blocks, 1);
    else if (token.is(".maxnreg") || token.is(".maxnctapersm") || token.is(".maxclusterrank") ||
             token.is(".abi_preserve") || token.is(".abi_preserve_control"))
      numbers(ignored, 1);
    else if (token.is(".pragma")) {
      tokens_.expect(Token::Kind::string, "a string");
      tokens_.accept(';');
    } else if (!token.is(".noreturn") && !token.is(".explicitcluster") && !token.is(".blocksareclusters") &&
               !token.is(".unique"))
      fail(token.line, in_quotes(token.text) + " is no directive of a function");
  }
}

// ( .param .b64 name, .reg .u32 name, … )
std::vector<Variable> Parser::parameters(std::vector<std::string_view>& names) {
  tokens_.expect('(');
  std::vector<Variable> variables;
  if (tokens_.accept(')')) return variables;
  do {
    const auto space = space_of(tokens_.now.text);
    if (space != Space::param && space != Space::reg) tokens_.unexpected("`.param` or `.reg`");
    tokens_.take();
    Declared declared = declared_types(*space);
    declared_name(declared);
    finish(declared);
    if (declared.is_range) fail(declared.variable.line, "a parameter is no range of registers");
    names.push_back(declared.name);
    variables.push_back(std::move(declared.variable));
  } while (tokens_.accept(','));
  tokens_.expect(')');
  return variables;
}

std::optional<Space> Parser::space_of(std::string_view directive) {
  if (directive == ".reg") return Space::reg;
  if (directive == ".param") return Space::param;
  if (directive == ".local") return Space::local;
  if (directive == ".shared") return Space::shared;
  if (directive == ".global" || directive == ".tex") return Space::global;
  if (directive == ".const") return Space::constant;
  return std::nullopt;
}

Parser::Declared Parser::declared_types(Space space) {
  Declared declared;
  Variable& variable = declared.variable;
  variable.space = space;
  variable.align = 0;
  variable.line = tokens_.now.line;
  variable.type = Type::none;
  bool typed = false, pointer = false;
  while (tokens_.now.kind == Token::Kind::directive) {
    if (tokens_.now.is(".attribute")) {
      attributes(variable);
      continue;
    }
    const Token token = tokens_.take();
    if (token.is(".align")) {
      const int64_t align = integer_expression(tokens_);
      if (align <= 0 || align > 1 << 20 || !std::has_single_bit(uint64_t(align)))
        fail(token.line, "an alignment is a power of two, not " + std::to_string(align));
      if (!pointer) variable.align = align;
    } else if (token.is(".v2") || token.is(".v4") || token.is(".v8")) {
      declared.elements = token.text[2] - '0';
    } else if (token.is(".ptr")) {
      pointer = true;  // what follows tells of the memory pointed to
    } else if (pointer && space_of(token.text)) {
    } else if (token.is(".texref") || token.is(".samplerref") || token.is(".surfref")) {
      typed = true;
    } else if (const auto type = type_of(token.text); type && !typed) {
      variable.type = *type;
      typed = true;
    } else {
      fail(token.line, in_quotes(token.text) + " stands in a declaration");
    }
  }
  if (!typed) tokens_.unexpected("a type");
  return declared;
}

// .attribute(.managed), .attribute(.unified(1, 2))
void Parser::attributes(Variable& variable) {
  tokens_.expect(".attribute");
  tokens_.expect('(');
  for (int depth = 1; depth > 0;) {
    const Token token = tokens_.take();
    if (token.kind == Token::Kind::end) tokens_.unexpected("`)`");
    depth += token.is('(') - token.is(')');
    variable.is_managed |= token.is(".managed");
  }
}

void Parser::declared_name(Declared& declared) {
  const Token name = tokens_.expect(Token::Kind::name, "a name");
  declared.name = name.text;
  declared.variable.name = name.text;
  declared.variable.line = name.line;
  if (tokens_.accept('<')) {
    const Token count = tokens_.now;
    if (count.kind != Token::Kind::number) tokens_.unexpected("a number of registers");
    // Not an expression: `>` closes the range.
    const auto [end, error] = std::from_chars(count.text.data(), count.text.data() + count.text.size(), declared.count);
    if (error != std::errc() || end != count.text.data() + count.text.size() || declared.count > UINT32_MAX)
      fail(count.line, in_quotes(count.text) + " is no number of registers");
    tokens_.take();
    tokens_.expect('>');
    declared.is_range = true;
  }
  while (tokens_.accept('[')) {
    if (declared.dimensions.size() == kMostDimensions)
      fail(name.line, in_quotes(name.text) + " has too many dimensions");
    int64_t extent = 0;
    if (!tokens_.now.is(']')) {
      extent = integer_expression(tokens_);
      if (extent < 0) fail(name.line, in_quotes(name.text) + " has a negative size");
    } else if (!declared.dimensions.empty()) {
      tokens_.unexpected("a size");
    }
    declared.dimensions.push_back(extent);
    tokens_.expect(']');
  }
}

void Parser::finish(Declared& declared) {
  Variable& variable = declared.variable;
  const uint64_t opaque = 8;  // a handle
  const uint64_t element = (variable.type == Type::none ? opaque : size_of(variable.type)) * declared.elements;
  if (variable.align == 0) variable.align = std::bit_ceil(element);
  variable.bytes = element;
  for (const uint64_t extent : declared.dimensions) {
    if (extent != 0 && variable.bytes > kLargestVariable / extent)
      fail(variable.line, in_quotes(variable.name) + " is larger than 2^40 bytes");
    variable.bytes *= extent;
  }
}

void Parser::module_variables(Space space, bool is_extern) {
  if (space == Space::constant && tokens_.accept('[')) {  // a bank, of old
    integer_expression(tokens_);
    tokens_.expect(']');
  }
  const Declared types = declared_types(space);
  do {
    Declared declared = types;
    declared_name(declared);
    if (space == Space::reg) fail(declared.variable.line, "a register is declared outside a function");
    if (declared.is_range)
      fail(declared.variable.line, in_quotes(declared.name) + " is a range, which only registers have");
    add_module_variable(std::move(declared), is_extern, scope_);
  } while (tokens_.accept(','));
  tokens_.expect(';');
}

// With its initialiser. A declaration and the definition are one Variable.
void Parser::add_module_variable(Declared declared, bool is_extern, Scope& scope) {
  finish(declared);
  declared.variable.is_extern = is_extern;
  if (tokens_.accept('=')) {
    initialiser(declared);
    finish(declared);
  }
  const int line = declared.variable.line;
  const auto [found, is_new] = scope.names.try_emplace(
      declared.name,
      Binding{.type = declared.variable.type, .refers = Refers::global, .index = int(module_.variables.size())});
  if (is_new) {
    module_.variables.push_back(std::move(declared.variable));
    return;
  }
  if (found->second.refers != Refers::global) fail(line, in_quotes(declared.name) + " is declared twice");
  Variable& known = module_.variables[found->second.index];
  if (!known.is_extern && !declared.variable.is_extern) fail(line, in_quotes(declared.name) + " is declared twice");
  if (known.is_extern) known = std::move(declared.variable);
}

// = value, = {values}, = {{…}, {…}} row by row
void Parser::initialiser(Declared& declared) {
  Variable& variable = declared.variable;
  if (variable.space != Space::global && variable.space != Space::constant)
    fail(variable.line, "a variable in " + std::string(name_of(variable.space)) + " memory cannot be initialised");
  if (declared.dimensions.empty() && declared.elements == 1) {
    if (!tokens_.now.is('{')) return initial_value(declared, 0);
    tokens_.take();
    if (!tokens_.now.is('}')) initial_value(declared, 0);
    return tokens_.expect('}');
  }
  // The innermost dimension of a vector type's array is the vector.
  if (declared.elements > 1) declared.dimensions.push_back(declared.elements);
  initial_values(declared, 0, 0);
  if (declared.elements > 1) declared.dimensions.pop_back();
}

// The values of one pair of braces, whose first element has the index `first`. An inner pair fills a row; without one,
// values follow each other across rows.
void Parser::initial_values(Declared& declared, size_t depth, uint64_t first) {
  const int line = tokens_.now.line;
  tokens_.expect('{');
  uint64_t row = 1;  // elements of one entry here
  for (size_t inner = depth + 1; inner < declared.dimensions.size(); ++inner) row *= declared.dimensions[inner];
  const uint64_t extent = declared.dimensions[depth];
  const bool open = depth == 0 && extent == 0;
  const uint64_t bytes = size_of(declared.variable.type);
  if (bytes == 0) fail(line, in_quotes(declared.name) + " has a type that cannot be initialised");
  uint64_t at = first;
  if (!tokens_.now.is('}')) {
    do {
      if (!open && at >= first + extent * row)
        fail(tokens_.now.line, in_quotes(declared.name) + " has fewer elements than values");
      if (!tokens_.now.is('{')) {
        initial_value(declared, at++ * bytes);
        continue;
      }
      if (depth + 1 == declared.dimensions.size())
        fail(tokens_.now.line, in_quotes(declared.name) + " has fewer dimensions than its values");
      if (row == 0) fail(tokens_.now.line, in_quotes(declared.name) + " has rows without elements");
      at = (at - first + row - 1) / row * row + first;
      initial_values(declared, depth + 1, at);
      at += row;
    } while (tokens_.accept(','));
  }
  tokens_.expect('}');
  if (open && row != 0) declared.dimensions[0] = (at - first + row - 1) / row;
}

// number, symbol + offset, generic(symbol) + offset, 0xFF00(symbol)
void Parser::initial_value(Declared& declared, uint64_t offset) {
  Variable& variable = declared.variable;
  const uint32_t bytes = size_of(variable.type);
  if (bytes == 0) fail(variable.line, in_quotes(declared.name) + " has a type that cannot be initialised");
  const uint64_t end = offset + bytes;
  if (end > variable.init.size()) {
    initial_bytes_ += end - variable.init.size();
    if (initial_bytes_ > kMostInitialBytes) fail(tokens_.now.line, "the module initialises more than 256 MiB");
    variable.init.resize(end);
  }
  uint64_t bits = 0;
  const auto address = [&](uint64_t mask) {
    Variable::Relocation r{offset, {}, 0, false, bytes, mask};
    Token symbol = tokens_.expect(Token::Kind::name, "a symbol");
    if (symbol.is("generic") && tokens_.accept('(')) {
      r.generic = true;
      symbol = tokens_.expect(Token::Kind::name, "a symbol");
      if (tokens_.now.is('+') || tokens_.now.is('-')) r.addend = integer_expression(tokens_);
      tokens_.expect(')');
    }
    if (tokens_.now.is('+') || tokens_.now.is('-')) r.addend += integer_expression(tokens_);
    r.symbol = symbol.text;
    symbols_.push_back(symbol);
    variable.relocations.push_back(r);
  };
  const Token token = tokens_.now;
  if (token.kind == Token::Kind::name && !token.is("WARP_SZ")) {
    address(~uint64_t{0});
  } else {
    const Constant value = constant_expression(tokens_);
    if (value.is_integer() && tokens_.accept('(')) {
      if (value.bits == 0) fail(token.line, "a mask of an address is zero");
      address(value.bits);
      tokens_.expect(')');
    } else {
      bits = bits_as(variable.type, value, token.line);
    }
  }
  for (uint32_t i = 0; i < std::min(bytes, 8u); ++i) variable.init[offset + i] = uint8_t(bits >> 8 * i);
}

const Mnemonic* Parser::mnemonic(std::string_view text) {
  const auto [found, is_new] = mnemonics_.try_emplace(text, nullptr);
  if (!is_new) return found->second;
  std::vector<std::string_view> words;
  for (size_t from = 0; from <= text.size();) {
    const size_t dot = std::min(text.find('.', from), text.size());
    words.push_back(text.substr(from, dot - from));
    from = dot + 1;
  }
  Mnemonic& fresh = module_.mnemonics.emplace_back();
  fresh.text = text;
  fresh.opcode = words.front();
  fresh.modifiers = module_.words.add(std::span<const std::string_view>(words).subspan(1));
  fresh.id = int(module_.mnemonics.size()) - 1;
  return found->second = &fresh;
}

// A symbol in an initialiser may be declared after it.
void Parser::check_symbols() {
  for (const Token& symbol : symbols_) {
    if (!scope_.names.contains(symbol.text)) fail(symbol.line, in_quotes(symbol.text) + " is not declared");
  }
}

// The names of inlined functions: .loc gives a label into .debug_str, which comes last.
void Parser::settle_debug_strings() {
  const std::string_view bytes = own(std::move(debug_bytes_));
  for (const auto& function : module_.functions) {
    for (Location& location : function->locations) {
      const std::string_view label = location.function.substr(0, location.function.find_first_of("+ \t"));
      uint64_t offset = 0;
      if (const size_t plus = location.function.find('+'); plus != std::string_view::npos) {
        const size_t digit = std::min(location.function.find_first_not_of(" \t", plus + 1), location.function.size());
        std::from_chars(location.function.data() + digit, location.function.data() + location.function.size(), offset);
      }
      const auto found = debug_labels_.find(label);
      location.function = {};
      if (found == debug_labels_.end() || offset > bytes.size()) continue;
      const size_t first = std::min(found->second + offset, bytes.size());
      location.function = bytes.substr(first, std::min(bytes.find('\0', first), bytes.size()) - first);
    }
  }
}

// What was said of an alias is meant for what it stands for.
void Parser::settle_aliases() {
  if (aliases_.empty()) return;
  std::vector<int> meant(module_.functions.size());
  for (size_t i = 0; i < meant.size(); ++i) meant[i] = int(i);
  for (const auto& [alias, aliased] : aliases_) meant[alias] = meant[aliased];
  for (auto& [name, index] : module_.function_index) index = meant[index];
  // The views are of constants; the pools they point into are this parser's to change.
  const auto settle = [&](const Operand& operand) {
    if (operand.refers == Refers::function) const_cast<Operand&>(operand).index = meant[operand.index];
  };
  for (const auto& function : module_.functions) {
    for (const Instruction& instruction : function->code) {
      for (const Operand& operand : instruction.operands) settle(operand);
      if (const Call* call = instruction.call) {
        for (const Operand& operand : call->arguments) settle(operand);
        if (call->callee >= 0) const_cast<Call*>(call)->callee = meant[call->callee];
      }
    }
  }
}

std::unique_ptr<Module> parse(std::string_view text, std::string& error) {
  while (!text.empty() && text.back() == '\0') text.remove_suffix(1);  // as a fat binary pads it
  auto module = std::make_unique<Module>();
  module->text = text;
  try {
    Parser(*module).parse();
  } catch (const SyntaxError& e) {
    error = "line " + std::to_string(e.line) + ": " + e.what;
    return nullptr;
  }
  return module;
}

}  // namespace vgpu::ptx
