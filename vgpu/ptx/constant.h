// Literals and constant expressions: 12, 0x1F, 0f3F800000, 1.5, (4 * WARP_SZ) - 1.
#pragma once

#include <cstdint>

#include "ptx/lexer.h"
#include "ptx/module.h"

namespace vgpu::ptx {

struct Constant {
  Operand::Literal literal = Operand::Literal::integer;
  bool is_unsigned = false;
  uint64_t bits = 0;  // as in Operand
  bool is_integer() const { return literal == Operand::Literal::integer; }
};

// The longest expression from the current token on. Integers are 64-bit, signed unless they do not fit or end in U.
Constant constant_expression(Tokens& tokens);
// The same, which must be an integer.
int64_t integer_expression(Tokens& tokens);
// A constant as the bytes of a variable's element: integers cut, floats rounded to nearest.
uint64_t bits_as(Type type, const Constant& constant, int line);

}  // namespace vgpu::ptx
