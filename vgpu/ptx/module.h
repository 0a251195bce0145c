// A PTX module as plain data: what the parser makes of the text, and all that the other rooms know of PTX.
//
// Nothing here executes. An instruction keeps its mnemonic as it was written, split at the dots; `isa/` finds its
// meaning in the instruction table when a kernel is prepared, so that an unknown instruction is an error with a line
// before anything runs.
//
// Every std::string_view and std::span points into the module's own text and pools: they live as long as the Module.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <span>
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
  std::string_view function;  // of inlined code: the (mangled) name of the function whose line this is; else empty
  int inlined_at = -1;        // index into Function::locations, -1 at the outermost
};

// Only registers that some instruction names are listed: `.reg .b32 %r<1000>` alone lists none.
struct Register {
  std::string_view name;  // "%rd4"; two scopes may use one name
  Type type;
};

// A variable of a module or a function: .global, .const, .shared, .local, .param (also a parameter of a function).
struct Variable {
  std::string name;
  Space space = Space::global;
  Type type = Type::b8;           // none: opaque (.texref, .samplerref, .surfref)
  uint64_t align = 1, bytes = 0;  // bytes is 0 for an `extern .shared d[]`
  bool is_extern = false, is_managed = false;
  int reg = -1;               // of a parameter declared .reg (Space::reg): index into Function::registers
  int line = 0;               // of the PTX text
  std::vector<uint8_t> init;  // the first bytes; the rest are zeros
  struct Relocation {  // `bytes` bytes of `init` at `offset` hold ((address of symbol + addend) & mask) >> ctz(mask)
    uint64_t offset;
    std::string_view symbol;  // a variable or a function
    int64_t addend;
    bool generic;  // generic(symbol): its generic address; else its address in its own space
    uint32_t bytes;
    uint64_t mask;
  };
  std::vector<Relocation> relocations;
};

// What a name in an operand stands for; `index` counts in the vector named here.
enum class Refers : uint8_t {
  nothing,
  local,     // Function::variables
  param,     // Function::params
  result,    // Function::results
  global,    // Module::variables
  function,  // Module::functions
  label      // Function::code, where the label stands (code.size() at the end)
};

struct Operand {
  enum class Kind : uint8_t {
    reg,        // reg
    immediate,  // bits: two's complement for integers, IEEE bits for floats (`literal` tells which)
    symbol,     // name (+ offset): the address of a variable or function, a label
    special,    // name: "%tid.x"
    memory,     // [reg + offset], [name + offset] or [offset]; in [map, {x, y}] the coordinates are `parts`
    vector,     // {parts}
    sink        // _
  } kind = Kind::sink;
  enum class Literal : uint8_t { integer, f32, f64 } literal = Literal::integer;  // 7, 0f3F800000, 0d… or 1.5
  Refers refers = Refers::nothing;                                                // of symbol and memory
  bool negated = false;                                                           // !%p
  int reg = -1;    // index into Function::registers; of memory: -1 where the base is no register
  int index = -1;  // with `refers`
  uint64_t bits = 0;
  int64_t offset = 0;
  std::string_view name;
  std::span<const Operand> parts;
  const Operand* pair = nullptr;  // of `%r1|%p1`: the second
};

// A mnemonic, once per module however often it is used: a table indexed by `id` holds what isa/ makes of it.
struct Mnemonic {
  std::string_view text;                        // "ld.shared.v4.f32"
  std::string_view opcode;                      // "ld"
  std::span<const std::string_view> modifiers;  // "shared", "v4", "f32"
  int id = 0;                                   // index into Module::mnemonics
  bool has(std::string_view modifier) const;
};

struct Call {
  int callee = -1;  // index into Module::functions; -1: through `target`
  Operand target;   // the register of an indirect call
  std::span<const Operand> results, arguments;
  int prototype = -1;  // of an indirect call: index into Function::prototypes, -1 with .calltargets
};

struct Instruction {
  std::string_view text;  // as written, on one line, from the guard on, without the semicolon
  const Mnemonic* mnemonic = nullptr;
  std::span<const Operand> operands;  // of bra, brx.idx: the predicate or index if any, no labels; of call: none
  const Call* call = nullptr;         // of call
  std::span<const int> targets;       // of bra (one) and brx.idx: indices into Function::code (code.size(): the end)
  int guard = -1;                     // predicate register, -1: none
  bool guard_negated = false;
  int line = 0;       // of the PTX text
  int location = -1;  // index into Function::locations, -1: none
  std::string_view opcode() const { return mnemonic->opcode; }
  bool has(std::string_view modifier) const { return mnemonic->has(modifier); }
};

// .callprototype: the shape of an indirect call.
struct Prototype {
  std::string_view text;
  std::vector<Variable> results, params;
};

struct Function {
  std::string name;
  bool is_entry = false, is_extern = false;  // extern: declared, not defined, in this module
  std::vector<Variable> results, params;     // Space::param; offsets follow from align and bytes in this order
  std::vector<Register> registers;
  std::vector<Variable> variables;  // .shared, .local, .param declared in the body, all scopes: names may repeat
  std::vector<Instruction> code;
  std::vector<Location> locations;
  std::vector<Prototype> prototypes;
  int max_threads[3] = {0, 0, 0}, required_threads[3] = {0, 0, 0}, cluster[3] = {0, 0, 0};  // 0: not said
  int min_blocks = 0;
  int line = 0;
};

// Owns runs of T that stay where they are.
template <class T>
class Pool {
 public:
  std::span<T> add(std::span<const T> run) {
    if (run.empty()) return {};
    if (run.size() > left_) {
      left_ = std::max<size_t>(run.size(), 1024);
      chunks_.push_back(std::make_unique<T[]>(left_));
      next_ = chunks_.back().get();
    }
    T* first = next_;
    std::copy(run.begin(), run.end(), first);
    next_ += run.size();
    left_ -= run.size();
    return {first, run.size()};
  }

 private:
  std::vector<std::unique_ptr<T[]>> chunks_;
  T* next_ = nullptr;
  size_t left_ = 0;
};

struct Module {
  int version_major = 0, version_minor = 0, sm = 0;  // .version 9.0, .target sm_80
  std::map<int, std::string> files;                  // .file
  std::vector<Variable> variables;                   // .global, .const, .shared at module level
  std::vector<std::unique_ptr<Function>> functions;
  std::deque<Mnemonic> mnemonics;
  const Function* find(std::string_view name) const;  // an .alias finds what it stands for

  // What the views above point into.
  std::string text;
  std::deque<std::string> strings;
  Pool<Operand> operands;
  Pool<Call> calls;
  Pool<int> indices;
  Pool<std::string_view> words;
  std::map<std::string, int, std::less<>> function_index;  // by name, aliases too

  Module() = default;
  Module(const Module&) = delete;
  Module& operator=(const Module&) = delete;
};

// Parses PTX text. On failure returns null and `error` holds one sentence with the line of the text.
std::unique_ptr<Module> parse(std::string_view text, std::string& error);

}  // namespace vgpu::ptx
