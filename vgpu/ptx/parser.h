// The parser's insides: a Parser reads a module (parser.cpp), a Body the braces of one function (body.cpp).
#pragma once

#include <optional>
#include <string>
#include <unordered_map>

#include "ptx/constant.h"
#include "ptx/lexer.h"
#include "ptx/module.h"
#include "ptx/scope.h"

namespace vgpu::ptx {

class Parser {
 public:
  explicit Parser(Module& module) : module_(module), tokens_(module.text) {}
  void parse();

 private:
  friend class Body;

  // A variable with its element type; `dimensions` of an array, the first 0 where it is left open.
  struct Declared {
    Variable variable;
    std::string_view name;
    int elements = 1;  // of a vector type
    std::vector<uint64_t> dimensions;
    bool is_range = false;  // name<count>: a register range
    uint64_t count = 0;
  };

  void header();
  void item();
  void file();
  void section();
  void alias();
  void function(bool is_entry);
  void function_directives(Function& function);
  std::vector<Variable> parameters(std::vector<std::string_view>& names);
  void module_variables(Space space, bool is_extern);
  void add_module_variable(Declared declared, bool is_extern, Scope& scope);

  // Declarations, wherever they stand.
  static std::optional<Space> space_of(std::string_view directive);
  Declared declared_types(Space space);    // .align 4 .v2 .f32, up to the name
  void declared_name(Declared& declared);  // name, name[4][8], name<10>
  void finish(Declared& declared);         // its bytes
  void initialiser(Declared& declared);    // what follows `=`
  void initial_values(Declared& declared, size_t depth, uint64_t first);
  void initial_value(Declared& declared, uint64_t offset);
  void attributes(Variable& variable);  // .attribute(.managed)
  void check_symbols();
  void settle_debug_strings();
  void settle_aliases();

  std::string_view own(std::string text) { return module_.strings.emplace_back(std::move(text)); }
  const Mnemonic* mnemonic(std::string_view text);

  Module& module_;
  Tokens tokens_;
  Scope scope_;
  std::vector<Token> symbols_;  // named in initialisers
  uint64_t initial_bytes_ = 0;  // of all variables
  std::unordered_map<std::string_view, const Mnemonic*> mnemonics_;
  std::string debug_bytes_;                                    // of .debug_str
  std::unordered_map<std::string_view, size_t> debug_labels_;  // where a label stands in them
  struct Alias {
    int alias, aliased;
  };
  std::vector<Alias> aliases_;
};

// The statements between a function's braces.
class Body {
 public:
  Body(Parser& parser, Function& function);
  void bind_parameters(const std::vector<std::string_view>& results, const std::vector<std::string_view>& params);
  void parse();  // from `{` to `}`

 private:
  struct Looked {
    const Binding* binding = nullptr;  // null: nothing of this name
    int reg = -1;
  };

  void statement();
  void directive();
  void loc();
  void label();
  void variables(Space space, bool is_extern);
  void registers();
  int new_register(std::string_view name, Type type);
  void bind(std::string_view name, const Binding& binding, int line);
  void close_scope();
  void settle(const LabelUse& use, const Label& label);

  void instruction();
  std::string_view text_from(const Token& first);
  void branch(Instruction& instruction, int index);
  void call(Instruction& instruction, int index);
  std::span<const Operand> operand_list(std::string_view barred = {});
  std::span<const Operand> operands_in_parentheses();
  Operand operand();
  Operand name_operand();
  Operand memory_operand();
  Operand vector_operand();
  Operand place(const Binding& binding, std::string_view name);
  int find_register(std::string_view name);
  Binding* find_name(std::string_view name);

  Parser& parser_;
  Module& module_;
  Tokens& tokens_;
  Function& function_;
  std::vector<Scope> scopes_;
  std::vector<std::vector<int>> tables_;             // of .branchtargets
  std::vector<Call*> calls_;                         // of code: null but for calls
  std::vector<std::pair<int, int>> table_branches_;  // instruction, table
  std::unordered_map<uint64_t, int> locations_;      // the latest .loc of a file, line and column
  int location_ = -1;
  bool subscript_is_address_ = false;  // of the instruction at hand: a[3] is an address, no access
  std::vector<Operand> scratch_;       // lists of operands, as far as they have been read
};

}  // namespace vgpu::ptx
