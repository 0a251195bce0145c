// A PTX module as plain data: what the parser makes of the text, and all that the other rooms know of PTX.
//
// Nothing here executes. An instruction keeps its mnemonic as it was written, split at the dots; `isa/` finds its
// meaning in the instruction table when a kernel is prepared, so that an unknown instruction is an error with a line
// before anything runs.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace vgpu::ptx {

enum class Type : uint8_t {
  none,
  pred,
  b8,
  b16,
  b32,
  b64,
  b128,
  u8,
  u16,
  u32,
  u64,
  s8,
  s16,
  s32,
  s64,
  f16,
  f16x2,
  bf16,
  bf16x2,
  f32,
  tf32,
  f64
};
int size_of(Type type);  // bytes; 1 for pred

enum class Space : uint8_t { reg, param, local, shared, global, constant, generic };
std::string_view name_of(Space space);  // "shared"

// Where the code came from: .loc, with the call site that it was inlined at. Lines count from 1; line 0 is "no line".
struct Location {
  int file = 0;  // index into Module::files
  int line = 0, column = 0;
  std::string function;  // of inlined code: the (mangled) name of the function whose line this is; else empty
  int inlined_at = -1;   // index into Function::locations, -1 at the outermost
};

struct Register {
  std::string name;  // "%rd4"
  Type type;
};

// A variable of a module or a function: .global, .const, .shared, .local, .param (also a parameter of a function).
struct Variable {
  std::string name;
  Space space = Space::global;
  Type type = Type::b8;
  uint64_t align = 1, bytes = 0;  // bytes is 0 for an `extern .shared d[]`
  bool is_extern = false, is_managed = false;
  int line = 0;               // of the PTX text
  std::vector<uint8_t> init;  // as long as `bytes`, or empty: zeros
  struct Relocation {
    uint64_t offset;
    std::string symbol;
    int64_t addend;
    bool generic;
  };
  std::vector<Relocation> relocations;  // addresses of other symbols inside `init`
};

struct Operand {
  enum class Kind : uint8_t {
    reg,        // reg
    immediate,  // bits: two's complement for integers, IEEE bits for floats (as_f64 tells a double literal,
                // 0d…/decimal, from 0f…)
    symbol,     // name (+ offset): a variable's address, a function, a label
    special,    // name: "%tid.x"
    memory,     // [reg + offset], [name + offset] or [offset]
    vector,     // {parts}
    sink,       // _
  } kind = Kind::sink;
  int reg = -1;  // index into Function::registers
  uint64_t bits = 0;
  bool as_f64 = false;
  bool negated = false;  // !%p
  int64_t offset = 0;
  std::string name;
  std::vector<Operand> parts;  // of a vector; of `%r1|%p1` (second part; then `pair` is true)
  bool pair = false;
};

struct Instruction {
  std::string text;                    // as written, on one line, without the guard's leading spaces and the semicolon
  std::string opcode;                  // "ld"
  std::vector<std::string> modifiers;  // "shared", "v4", "f32"
  std::vector<Operand> operands;
  int guard = -1;  // predicate register, -1: none
  bool guard_negated = false;
  int target = -1;                          // of bra: index of the instruction it jumps to
  std::vector<int> targets;                 // of brx.idx
  std::string callee;                       // of call: the function's name (empty: through a register)
  std::vector<Operand> results, arguments;  // of call
  int prototype = -1;                       // of an indirect call: index into Function::prototypes
  int line = 0;                             // of the PTX text
  int location = -1;                        // index into Function::locations, -1: none
  bool has(std::string_view modifier) const;
};

struct Function {
  std::string name;
  bool is_entry = false, is_extern = false;
  std::vector<Variable> results, params;  // Space::param; offsets follow from align and bytes in this order
  std::vector<Register> registers;
  std::vector<Variable> variables;  // .shared, .local, .param declared in the body, all scopes
  std::vector<Instruction> code;
  std::vector<Location> locations;
  std::vector<std::string> prototypes;  // .callprototype, whole text
  int max_threads[3] = {0, 0, 0}, required_threads[3] = {0, 0, 0}, cluster[3] = {0, 0, 0};  // 0: not said
  int min_blocks = 0;
  int line = 0;
};

struct Module {
  int version_major = 0, version_minor = 0, sm = 0;  // .version 9.0, .target sm_80
  std::map<int, std::string> files;                  // .file
  std::vector<Variable> variables;                   // .global, .const, .shared at module level
  std::vector<std::unique_ptr<Function>> functions;
  const Function* find(std::string_view name) const;
};

// Parses PTX text. On failure returns null and `error` holds one sentence with the line of the text.
std::unique_ptr<Module> parse(std::string_view text, std::string& error);

}  // namespace vgpu::ptx
