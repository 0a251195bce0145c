// The instruction set: from a mnemonic to its meaning.
//
// A row is the syntax of an instruction and the function that binds one to a handler. Rows are written as the PTX
// manual writes them: "add{.rn}{.ftz}.f32" may have or lack what is in braces, "ld{.ca,.cg}.u32" one of several. A
// modifier that no row has makes the instruction unknown, so nothing is ever skipped. Instructions with free
// combinations of many modifiers (ld, atom, mma) have one row with the opcode alone, and their binder reads the
// modifiers.
//
// The files of the families are compiled twice (VGPU_TARGETS), for any x86-64 and with AVX2, FMA and F16C (x86-64-v3),
// into namespaces of their own; table.cpp takes what the machine has.
#pragma once

#include <string>
#include <string_view>
#include <unordered_map>

#include "isa/binder.h"

#ifndef VGPU_TARGET
#define VGPU_TARGET baseline
#endif

namespace vgpu::isa {

class Table {
 public:
  void add(std::string_view syntax, Bind bind);
  void add(std::initializer_list<std::string_view> syntax, Bind bind);  // in pieces
  struct Row {
    Bind bind = nullptr;  // null: there is no such instruction
    bool whole = false;   // the row's syntax is the whole mnemonic; else the binder has to take all modifiers
  };
  Row find(const ptx::Mnemonic& mnemonic) const;
  std::vector<std::string> mnemonics() const;  // whole ones, and opcodes alone where the binder reads the modifiers

 private:
  std::unordered_map<std::string, Bind> rows_;
};

// The table of this machine, built at its first use.
const Table& table();

namespace VGPU_TARGET {
void add_integer(Table&);
void add_logic(Table&);
void add_floating(Table&);
void add_half(Table&);
void add_compare(Table&);
void add_convert(Table&);
void add_memory(Table&);
void add_atomic(Table&);
void add_async(Table&);
void add_control(Table&);
void add_warp(Table&);
void add_matrix(Table&);
void add_video(Table&);
void add_all(Table&);
}  // namespace VGPU_TARGET
}  // namespace vgpu::isa
