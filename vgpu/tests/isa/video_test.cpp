// SIMD video instructions: the halves or the bytes of a register, in every combination of signs.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <string>

#include "isa/harness.h"

namespace vgpu::isa_test {
namespace {

struct Operation {
  const char* name;
  int64_t (*compute)(int64_t a, int64_t b);
};
constexpr Operation kOperations[] = {
    {"vadd", [](int64_t a, int64_t b) { return a + b; }},
    {"vsub", [](int64_t a, int64_t b) { return a - b; }},
    {"vavrg", [](int64_t a, int64_t b) { return (a + b + (a + b >= 0 ? 1 : 0)) >> 1; }},
    {"vabsdiff", [](int64_t a, int64_t b) { return std::abs(a - b); }},
    {"vmin", [](int64_t a, int64_t b) { return std::min(a, b); }},
    {"vmax", [](int64_t a, int64_t b) { return std::max(a, b); }},
};

TEST(IsaVideo, PartsOfARegister) {
  for (const Operation& operation : kOperations) {
    for (const int parts : {2, 4}) {
      for (int signs = 0; signs < 8; ++signs) {
        const bool d_signed = signs & 1, a_signed = signs & 2, b_signed = signs & 4;
        const int bits = 32 / parts;
        const auto type = [](bool is_signed) { return is_signed ? ".s32" : ".u32"; };
        const std::string name =
            operation.name + std::to_string(parts) + type(d_signed) + type(a_signed) + type(b_signed);
        const std::string operands = ", %a0, %a1, %a2;\n";
        expect({name + " %d0" + operands + name + ".sat %d1" + operands + name + ".add %d2" + operands + name +
                    ".sat.add %d3" + operands,
                {"b32", "b32", "b32"},
                std::vector<std::string>(4, "b32")},
               integer_rows({32, 32, 32}, 500), [&](const Row& x) {
                 const auto part = [&](uint64_t word, int i, bool is_signed) {
                   const uint64_t p = cut(word >> bits * i, bits);
                   return is_signed ? sign_extended(p, bits) : int64_t(p);
                 };
                 const int64_t least = d_signed ? -(int64_t{1} << (bits - 1)) : 0,
                               most = (int64_t{1} << (bits - d_signed)) - 1;
                 Row row{0, 0, x[2], x[2]};
                 for (int i = 0; i < parts; ++i) {
                   const int64_t exact = operation.compute(part(x[0], i, a_signed), part(x[1], i, b_signed));
                   const int64_t clamped = std::clamp(exact, least, most);
                   row[0] |= cut(uint64_t(exact), bits) << bits * i;
                   row[1] |= cut(uint64_t(clamped), bits) << bits * i;
                   row[2] = cut(row[2] + uint64_t(exact), 32);
                   row[3] = cut(row[3] + uint64_t(clamped), 32);
                 }
                 return row;
               });
      }
    }
  }
}

}  // namespace
}  // namespace vgpu::isa_test
