// What the names of one pair of braces stand for. Scopes nest: module, function, blocks.
#pragma once

#include <string_view>
#include <unordered_map>
#include <vector>

#include "ptx/module.h"

namespace vgpu::ptx {

// What an operand's name means.
struct Binding {
  enum class Kind : uint8_t {
    reg,     // index into Function::registers, -1 until an instruction names it
    vector,  // `.reg .v4 .f32 v`: v.x, v.y, ... are bound on their own
    place    // `refers` and `index`, as in Operand
  } kind = Kind::place;
  Type type = Type::none;  // of a register or a variable's element
  Refers refers = Refers::nothing;
  int index = -1;
  int elements = 0;  // of a vector
};

// `.reg .b32 %r<100>`: registers %r0 to %r99, of which `known` holds the indices, as far as one was named.
struct RegisterRange {
  Type type;
  uint64_t count;
  std::vector<int> known;
};

struct Label {
  enum class Kind : uint8_t { code, branch_targets, prototype, call_targets } kind;
  int index;  // of an instruction, a table of targets, a prototype
};

// An instruction that named a label before (or after) it was seen: settled when the scope closes.
struct LabelUse {
  std::string_view name;
  int line;
  enum class By : uint8_t { branch, table, branch_through_table, call } by;
  int index, slot;  // of the instruction; of the table and the place in it
};

struct Scope {
  std::unordered_map<std::string_view, Binding> names;
  bool has_percent = false;  // among the names: as registers have it, which are looked up most
  std::unordered_map<std::string_view, RegisterRange> ranges;  // by what stands before the number
  std::unordered_map<std::string_view, Label> labels;
  std::vector<LabelUse> uses;
};

}  // namespace vgpu::ptx
