// The parser, on small modules written by hand.
#include <gtest/gtest.h>

#include <bit>
#include <string>

#include "ptx/module.h"

namespace vgpu::ptx {
namespace {

using Kind = Operand::Kind;

std::unique_ptr<Module> parsed(const std::string& text) {
  std::string error;
  auto module = parse(text, error);
  EXPECT_TRUE(module) << error << "\n" << text;
  return module ? std::move(module) : std::make_unique<Module>();
}

// Declarations, behind a header of three lines.
std::unique_ptr<Module> declared(const std::string& text) {
  return parsed(".version 9.0\n.target sm_90\n.address_size 64\n" + text);
}

// A kernel's body, after declarations that most bodies here use. Its first line is line 10.
std::string with_body(const std::string& body) {
  return R"(.version 9.0
.target sm_90
.global .f32 g[4];
.extern .func (.param .b32 r) f(.param .b64 a);
.visible .entry k(.param .u64 p, .param .u32 n)
{
.reg .pred %p<4>; .reg .b16 %rs<4>; .reg .b32 %r<20>; .reg .b64 %rd<9>;
.reg .f32 %f<9>; .reg .f64 %fd<3>; .reg .b32 %r1x<3>;

)" + body +
         "\n}\n";
}

struct Kernel {
  explicit Kernel(const std::string& body) : module(parsed(with_body(body))), function(*module->find("k")) {}
  const Instruction& at(size_t i) const { return function.code.at(i); }
  const Operand& operand(size_t i, size_t k) const { return at(i).operands[k]; }
  std::string reg(const Operand& o) const { return std::string(function.registers.at(o.reg).name); }
  std::unique_ptr<Module> module;
  const Function& function;
};

TEST(Ptx, Header) {
  const auto module = parsed(".version 8.7\n.target sm_100a, debug\n.address_size 64\n");
  EXPECT_EQ(module->version_major, 8);
  EXPECT_EQ(module->version_minor, 7);
  EXPECT_EQ(module->sm, 100);
  EXPECT_TRUE(module->functions.empty());
}

TEST(Ptx, ZeroBytesAfterTheTextArePadding) {
  EXPECT_EQ(parsed(std::string(".version 9.0\n.target sm_80\n\0\0\0", 30))->sm, 80);
}

TEST(Ptx, Variables) {
  const auto module = declared(R"(
.global .align 8 .b8 bytes[24];
.visible .const .align 4 .f32 c[3] = {0f3F800000, 2.5, -1};
.global .u32 grid[2][3] = {{1, 2}, {0x30}};
.global .u16 open[] = {1, 2, 3};
.global .attribute(.managed) .align 8 .f64 managed = 0d4004000000000000;
.global .v4 .f32 four = {1.0, 2.0, 3.0, 4.0};
.extern .shared .align 16 .b8 dynamic[];
.shared .u64 one;
.weak .global .s64 negative = -2, positive = (1 << 4) + WARP_SZ;
.global .texref t;
)");
  ASSERT_EQ(module->variables.size(), 11u);
  const auto& v = module->variables;
  EXPECT_EQ(v[0].name, "bytes");
  EXPECT_EQ(v[0].bytes, 24u);
  EXPECT_EQ(v[0].align, 8u);
  EXPECT_TRUE(v[0].init.empty());
  EXPECT_EQ(v[0].line, 5);
  EXPECT_EQ(v[1].space, Space::constant);
  EXPECT_EQ(v[1].init, (std::vector<uint8_t>{0, 0, 0x80, 0x3F, 0, 0, 0x20, 0x40, 0, 0, 0x80, 0xBF}));
  EXPECT_EQ(v[2].bytes, 24u);
  EXPECT_EQ(v[2].init, (std::vector<uint8_t>{1, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 0x30, 0, 0, 0}));
  EXPECT_EQ(v[3].bytes, 6u);
  EXPECT_EQ(v[3].init, (std::vector<uint8_t>{1, 0, 2, 0, 3, 0}));
  EXPECT_TRUE(v[4].is_managed);
  EXPECT_EQ(v[4].init[7], 0x40);
  EXPECT_EQ(v[5].bytes, 16u);
  EXPECT_EQ(v[5].align, 16u);
  EXPECT_EQ(v[5].init[15], 0x40);
  EXPECT_TRUE(v[6].is_extern);
  EXPECT_EQ(v[6].space, Space::shared);
  EXPECT_EQ(v[6].bytes, 0u);
  EXPECT_EQ(v[6].align, 16u);
  EXPECT_EQ(v[7].bytes, 8u);
  EXPECT_EQ(v[8].init, (std::vector<uint8_t>{0xFE, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF}));
  EXPECT_EQ(v[9].init[0], 48);
  EXPECT_EQ(v[10].type, Type::none);
  EXPECT_EQ(v[10].bytes, 8u);
}

TEST(Ptx, InitialAddresses) {
  const auto module = declared(R"(
.global .b8 text[3] = {97, 98};
.func f() { ret; }
.global .u64 p[4] = {generic(text) + 1, text, f, 7};
.global .u8 low[2] = {0xFF(text), 0xFF00(generic(text) + 4)};
.global .u64 ahead = behind;
.global .u32 behind;
)");
  const auto& r = module->variables[1].relocations;
  ASSERT_EQ(r.size(), 3u);
  EXPECT_EQ(r[0].symbol, "text");
  EXPECT_EQ(r[0].addend, 1);
  EXPECT_TRUE(r[0].generic);
  EXPECT_EQ(r[0].bytes, 8u);
  EXPECT_EQ(r[1].offset, 8u);
  EXPECT_FALSE(r[1].generic);
  EXPECT_EQ(r[2].symbol, "f");
  EXPECT_EQ(module->variables[1].init[24], 7);
  const auto& low = module->variables[2].relocations;
  ASSERT_EQ(low.size(), 2u);
  EXPECT_EQ(low[0].mask, 0xFFu);
  EXPECT_EQ(low[0].bytes, 1u);
  EXPECT_EQ(low[1].mask, 0xFF00u);
  EXPECT_EQ(low[1].addend, 4);
  EXPECT_EQ(module->variables[3].relocations[0].symbol, "behind");
}

TEST(Ptx, ADeclarationAndItsDefinitionAreOne) {
  const auto module = declared(R"(
.extern .global .u32 x;
.global .u64 user = x;
.visible .global .u32 x = 5;
.func (.param .b32 r) f(.param .b32 a);
.func g() { .param .b32 v, w; call (w), f, (v); ret; }
.func (.param .b32 r) f(.param .b32 a) { ret; }
)");
  EXPECT_EQ(module->variables.size(), 2u);
  EXPECT_FALSE(module->variables[0].is_extern);
  EXPECT_EQ(module->variables[0].init[0], 5);
  ASSERT_EQ(module->functions.size(), 2u);
  EXPECT_FALSE(module->functions[0]->is_extern);
  EXPECT_EQ(module->functions[1]->code[0].call->callee, 0);
  EXPECT_EQ(module->functions[0]->code.size(), 1u);
}

TEST(Ptx, Functions) {
  const auto module = declared(R"(
.extern .func (.param .b32 r) vprintf (.param .b64 f, .param .b64 a);
.func stop() .noreturn { trap; }
.weak .func (.param .align 8 .b8 r[16]) wide(.param .align 4 .b8 s[12], .reg .u32 x) { mov.u32 x, 1; ret; }
.visible .entry k (
  .param .u64 .ptr .global .align 16 k_param_0,
  .param .align 8 .b8 k_param_1[40])
.maxntid 128, 2
.reqntid 64
.minnctapersm 3
.maxnreg 40
.explicitcluster
.reqnctapercluster 2, 1, 1
.pragma "abi";
{
  ret;
}
.entry empty { }
)");
  ASSERT_EQ(module->functions.size(), 5u);
  const Function& print = *module->find("vprintf");
  EXPECT_TRUE(print.is_extern);
  EXPECT_EQ(print.params.size(), 2u);
  EXPECT_EQ(print.results.size(), 1u);
  EXPECT_FALSE(module->find("stop")->is_extern);
  const Function& wide = *module->find("wide");
  EXPECT_EQ(wide.results[0].bytes, 16u);
  EXPECT_EQ(wide.params[0].align, 4u);
  EXPECT_EQ(wide.params[1].space, Space::reg);
  EXPECT_EQ(wide.params[1].reg, wide.code[0].operands[0].reg);
  const Function& k = *module->find("k");
  EXPECT_TRUE(k.is_entry);
  EXPECT_EQ(k.params[0].align, 8u) << "the alignment after .ptr is that of the memory pointed to";
  EXPECT_EQ(k.params[1].bytes, 40u);
  EXPECT_EQ(k.max_threads[0], 128);
  EXPECT_EQ(k.max_threads[1], 2);
  EXPECT_EQ(k.max_threads[2], 1);
  EXPECT_EQ(k.required_threads[0], 64);
  EXPECT_EQ(k.cluster[0], 2);
  EXPECT_EQ(k.min_blocks, 3);
  EXPECT_TRUE(module->find("empty")->code.empty());
  EXPECT_EQ(module->find("missing"), nullptr);
}

TEST(Ptx, AnAliasMeansItsFunction) {
  const auto module = declared(R"(
.func real() { ret; }
.func other();
.func user() { .reg .b64 a; call other; mov.u64 a, other; ret; }
.alias other, real;
)");
  EXPECT_EQ(module->find("other"), module->find("real"));
  EXPECT_EQ(module->find("user")->code[0].call->callee, 0);
  EXPECT_EQ(module->find("user")->code[1].operands[1].index, 0);
}

TEST(Ptx, Mnemonics) {
  const Kernel k(
      "ld.global.v2.f32 {%f1, %f2}, [%rd1];\nld.shared::cluster.u32 %r1, [%rd1];\nld.global.v2.f32 {%f3,%f4}, [%rd1];\n"
      "ld .global .u32 %r1, [%rd1];\nret;");
  EXPECT_EQ(k.at(0).mnemonic->text, "ld.global.v2.f32");
  EXPECT_EQ(k.at(0).opcode(), "ld");
  ASSERT_EQ(k.at(0).mnemonic->modifiers.size(), 3u);
  EXPECT_EQ(k.at(0).mnemonic->modifiers[1], "v2");
  EXPECT_TRUE(k.at(0).has("global"));
  EXPECT_FALSE(k.at(0).has("glob"));
  EXPECT_TRUE(k.at(1).has("shared::cluster"));
  EXPECT_EQ(k.at(2).mnemonic, k.at(0).mnemonic);
  EXPECT_EQ(k.at(3).mnemonic->text, "ld.global.u32");
  EXPECT_TRUE(k.at(4).mnemonic->modifiers.empty());
  EXPECT_EQ(k.module->mnemonics.size(), 4u);
  EXPECT_EQ(&k.module->mnemonics[k.at(4).mnemonic->id], k.at(4).mnemonic);
}

TEST(Ptx, TextAndLine) {
  const Kernel k("\t@!%p1  bra \tEND; // away\nadd.s32\n  %r1, /* sum */ %r2,\n\t1;\nEND: ret ;");
  EXPECT_EQ(k.at(0).text, "@!%p1  bra \tEND");
  EXPECT_EQ(k.at(0).line, 10);
  EXPECT_EQ(k.at(1).text, "add.s32 %r1, %r2, 1");
  EXPECT_EQ(k.at(1).line, 11);
  EXPECT_EQ(k.at(2).text, "ret");
  EXPECT_EQ(k.at(2).line, 14);
}

TEST(Ptx, Guards) {
  const Kernel k("@%p1 ret;\n@!%p2 exit;\nret;");
  EXPECT_EQ(k.function.registers[k.at(0).guard].name, "%p1");
  EXPECT_FALSE(k.at(0).guard_negated);
  EXPECT_EQ(k.function.registers[k.at(1).guard].name, "%p2");
  EXPECT_TRUE(k.at(1).guard_negated);
  EXPECT_EQ(k.at(2).guard, -1);
}

TEST(Ptx, Immediates) {
  const struct {
    const char* text;
    Operand::Literal literal;
    uint64_t bits;
  } cases[] = {
      {"0", Operand::Literal::integer, 0},
      {"12", Operand::Literal::integer, 12},
      {"-5", Operand::Literal::integer, uint64_t(-5)},
      {"0x1F", Operand::Literal::integer, 31},
      {"0Xfe", Operand::Literal::integer, 254},
      {"017", Operand::Literal::integer, 15},
      {"0b101", Operand::Literal::integer, 5},
      {"7U", Operand::Literal::integer, 7},
      {"18446744073709551615", Operand::Literal::integer, ~uint64_t{0}},
      {"0f3F800000", Operand::Literal::f32, 0x3F800000},
      {"-0f3f800000", Operand::Literal::f32, 0xBF800000},
      {"0FFF800000", Operand::Literal::f32, 0xFF800000},
      {"0d3FF0000000000000", Operand::Literal::f64, 0x3FF0000000000000},
      {"1.5", Operand::Literal::f64, std::bit_cast<uint64_t>(1.5)},
      {"-1.5e-3", Operand::Literal::f64, std::bit_cast<uint64_t>(-1.5e-3)},
      {"1E5", Operand::Literal::f64, std::bit_cast<uint64_t>(1e5)},
      {".5", Operand::Literal::f64, std::bit_cast<uint64_t>(.5)},
      {"2.", Operand::Literal::f64, std::bit_cast<uint64_t>(2.)},
      {"WARP_SZ", Operand::Literal::integer, 32},
      {"WARP_SZ - 1", Operand::Literal::integer, 31},
      {"1 + 2 * 3", Operand::Literal::integer, 7},
      {"(1 + 2) * 3", Operand::Literal::integer, 9},
      {"10 - 4 - 3", Operand::Literal::integer, 3},
      {"1 << 4 | 3", Operand::Literal::integer, 19},
      {"0xFF & ~0xF ^ 1", Operand::Literal::integer, 0xF1},
      {"-7 / 2", Operand::Literal::integer, uint64_t(-3)},
      {"-7 % 4", Operand::Literal::integer, uint64_t(-3)},
      {"-8 >> 1", Operand::Literal::integer, uint64_t(-4)},
      {"(.u64) -8 >> 60", Operand::Literal::integer, 15},
      {"-1 < 0U", Operand::Literal::integer, 0},
      {"-1 < 0", Operand::Literal::integer, 1},
      {"!3", Operand::Literal::integer, 0},
      {"2 >= 2 && 1 != 2", Operand::Literal::integer, 1},
      {"0 || 0", Operand::Literal::integer, 0},
      {"1 ? 5 : 6", Operand::Literal::integer, 5},
      {"0 ? 5 : 0 ? 6 : 7", Operand::Literal::integer, 7},
      {"0x8000000000000000 / -1", Operand::Literal::integer, 0},
      {"(.s64) 0x8000000000000000 / -1", Operand::Literal::integer, 0x8000000000000000},
      {"1.5 * 2.0", Operand::Literal::f64, std::bit_cast<uint64_t>(3.)},
  };
  for (const auto& c : cases) {
    const Kernel k(std::string("mov.b64 %rd1, ") + c.text + ";");
    ASSERT_EQ(k.operand(0, 1).kind, Kind::immediate) << c.text;
    EXPECT_EQ(k.operand(0, 1).literal, c.literal) << c.text;
    EXPECT_EQ(k.operand(0, 1).bits, c.bits) << c.text;
  }
}

TEST(Ptx, OperandsOfEveryKind) {
  const Kernel k(R"(
mov.u32 %r1, %tid.x;
mov.u64 %rd1, g+8;
mov.u64 %rd1, g[3];
mov.u64 %rd1, f;
mov.u64 %rd1, p;
ld.global.f32 %f1, g[2];
ld.global.f32 %f1, [g+4];
ld.param.u64 %rd2, [p];
ld.global.f32 %f1, [%rd1+-8];
ld.global.f32 %f1, [%rd1 - 8];
ld.global.f32 %f1, [16];
setp.lt.and.s32 %p1|%p2, %r1, %r2, !%p3;
shfl.sync.idx.b32 %r3|_, %r4, 0, 31, -1;
mov.b64 {%r1, _}, %rd1;
atom.global.add.u32 _, [%rd1], 1;
cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%rd1], [%rd2, {%r1, %r2}], [%rd3];
vadd.u32.u32.u32 %r1, %r2.b0, -%r3.h1;
mov.u64 %rd1, %clock64;
mov.u32 %r1, %envreg3;
mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%f1,%f2,%f3,%f4}, {%r1,%r2,%r3,%r4}, {%r5,%r6}, {%f1,%f2,%f3,%f4};
)");
  EXPECT_EQ(k.operand(0, 1).kind, Kind::special);
  EXPECT_EQ(k.operand(0, 1).name, "%tid.x");
  EXPECT_EQ(k.operand(1, 1).kind, Kind::symbol);
  EXPECT_EQ(k.operand(1, 1).refers, Refers::global);
  EXPECT_EQ(k.operand(1, 1).index, 0);
  EXPECT_EQ(k.operand(1, 1).offset, 8);
  EXPECT_EQ(k.operand(2, 1).kind, Kind::symbol);
  EXPECT_EQ(k.operand(2, 1).offset, 12) << "a subscript counts elements";
  EXPECT_EQ(k.operand(3, 1).refers, Refers::function);
  EXPECT_EQ(k.operand(4, 1).refers, Refers::param);
  EXPECT_EQ(k.operand(5, 1).kind, Kind::memory);
  EXPECT_EQ(k.operand(5, 1).offset, 8);
  EXPECT_EQ(k.operand(6, 1).kind, Kind::memory);
  EXPECT_EQ(k.operand(6, 1).refers, Refers::global);
  EXPECT_EQ(k.operand(6, 1).offset, 4);
  EXPECT_EQ(k.operand(7, 1).refers, Refers::param);
  EXPECT_EQ(k.operand(7, 1).index, 0);
  EXPECT_EQ(k.operand(8, 1).offset, -8);
  EXPECT_EQ(k.reg(k.operand(8, 1)), "%rd1");
  EXPECT_EQ(k.operand(9, 1).offset, -8);
  EXPECT_EQ(k.operand(10, 1).reg, -1);
  EXPECT_EQ(k.operand(10, 1).refers, Refers::nothing);
  EXPECT_EQ(k.operand(10, 1).offset, 16);
  EXPECT_EQ(k.reg(k.operand(11, 0)), "%p1");
  ASSERT_TRUE(k.operand(11, 0).pair);
  EXPECT_EQ(k.reg(*k.operand(11, 0).pair), "%p2");
  EXPECT_TRUE(k.operand(11, 3).negated);
  EXPECT_EQ(k.operand(12, 0).pair->kind, Kind::sink);
  EXPECT_EQ(k.operand(12, 4).bits, ~uint64_t{0});
  EXPECT_EQ(k.operand(13, 0).kind, Kind::vector);
  EXPECT_EQ(k.operand(13, 0).parts[1].kind, Kind::sink);
  EXPECT_EQ(k.operand(14, 0).kind, Kind::sink);
  ASSERT_EQ(k.operand(15, 1).parts.size(), 1u);
  EXPECT_EQ(k.operand(15, 1).parts[0].parts.size(), 2u);
  EXPECT_EQ(k.reg(k.operand(15, 2)), "%rd3");
  EXPECT_EQ(k.operand(16, 1).name, "%r2.b0");
  EXPECT_EQ(k.reg(k.operand(16, 1)), "%r2");
  EXPECT_TRUE(k.operand(16, 2).negated);
  EXPECT_EQ(k.operand(17, 1).name, "%clock64");
  EXPECT_EQ(k.operand(18, 1).name, "%envreg3");
  EXPECT_EQ(k.operand(19, 1).parts.size(), 4u);
}

TEST(Ptx, OnlyRegistersThatAreNamedAreListed) {
  const Kernel k("mov.u32 %r7, %r12;\nmov.u32 %r12, %r1x2;\n");
  ASSERT_EQ(k.function.registers.size(), 3u);
  EXPECT_EQ(k.operand(0, 1).reg, k.operand(1, 0).reg);
  EXPECT_EQ(k.reg(k.operand(1, 1)), "%r1x2");
  EXPECT_EQ(k.function.registers[0].type, Type::b32);
}

TEST(Ptx, ARangesNameMayEndInDigits) {
  const Kernel k(".reg .b64 %q2<12>, %q2_1<3>;\nmov.u64 %q25, %q211;\nmov.u64 %q2_12, %q20;");
  EXPECT_EQ(k.function.registers.size(), 4u);
  std::string error;
  EXPECT_FALSE(parse(with_body(".reg .b64 %q2<12>;\nmov.u64 %q212, 0;"), error));
  EXPECT_EQ(error, "line 11: `%q212` is not declared as a register");
  EXPECT_FALSE(parse(with_body("mov.u32 %r07, 0;"), error));
  EXPECT_EQ(error, "line 10: `%r07` is not declared as a register");
}

TEST(Ptx, AVectorRegister) {
  const Kernel k(".reg .v4 .f32 v;\nmov.f32 %f1, v.z;\nst.global.v4.f32 [%rd1], v;\nmov.f32 v.b, 0f00000000;");
  EXPECT_EQ(k.reg(k.operand(0, 1)), "v.z");
  ASSERT_EQ(k.operand(1, 1).parts.size(), 4u);
  EXPECT_EQ(k.operand(1, 1).parts[2].reg, k.operand(0, 1).reg);
  EXPECT_EQ(k.operand(2, 0).reg, k.operand(0, 1).reg);
}

TEST(Ptx, NamesOfAnInnerBlockHideOuterOnes) {
  const Kernel k(R"(
{ .reg .b32 t; .param .b64 param0; mov.u32 t, 1; st.param.b64 [param0], %rd1;
  { .reg .b64 t; mov.u64 t, 2; }
  mov.u32 t, 3; }
{ .reg .b32 t; .param .b64 param0; mov.u32 t, 4; st.param.b64 [param0+0], %rd1; }
)");
  const auto t = [&](int i) { return k.operand(i, 0).reg; };
  EXPECT_EQ(t(0), t(3));
  EXPECT_NE(t(0), t(2));
  EXPECT_NE(t(0), t(4));
  EXPECT_EQ(k.function.registers[t(2)].type, Type::b64);
  EXPECT_EQ(k.function.variables.size(), 2u);
  EXPECT_EQ(k.operand(1, 0).refers, Refers::local);
  EXPECT_EQ(k.operand(1, 0).index, 0);
  EXPECT_EQ(k.operand(5, 0).index, 1);
}

TEST(Ptx, VariablesOfAFunction) {
  const Kernel k(R"(
.local .align 16 .b8 depot[32];
.shared .align 4 .f32 tile[8][4];
.extern .shared .b8 dynamic[];
.global .u32 kept = 3;
mov.u64 %rd1, depot;
ld.global.u32 %r1, [kept];
)");
  ASSERT_EQ(k.function.variables.size(), 3u);
  EXPECT_EQ(k.function.variables[0].space, Space::local);
  EXPECT_EQ(k.function.variables[1].bytes, 128u);
  EXPECT_TRUE(k.function.variables[2].is_extern);
  EXPECT_EQ(k.operand(1, 1).refers, Refers::global);
  EXPECT_EQ(k.module->variables[k.operand(1, 1).index].name, "kept");
}

TEST(Ptx, Branches) {
  const Kernel k("bra.uni DOWN;\nUP: add.s32 %r1, %r1, 1;\nDOWN:\n@%p1 bra UP;\nret;\nEND:");
  ASSERT_EQ(k.at(0).targets.size(), 1u);
  EXPECT_EQ(k.at(0).targets[0], 2);
  EXPECT_EQ(k.at(2).targets[0], 1);
  EXPECT_TRUE(k.at(0).operands.empty());
  EXPECT_EQ(k.at(0).mnemonic->text, "bra.uni");
}

TEST(Ptx, LabelsBelongToTheirBlock) {
  const Kernel k("{ L: bra L; bra OUT; }\n{ L: bra L; }\nOUT: ret;");
  EXPECT_EQ(k.at(0).targets[0], 0);
  EXPECT_EQ(k.at(1).targets[0], 3);
  EXPECT_EQ(k.at(2).targets[0], 2);
}

TEST(Ptx, BranchTables) {
  const Kernel k("T: .branchtargets A, B, A;\nbrx.idx %r1, T;\nA: ret;\nB: ret;");
  ASSERT_EQ(k.at(0).targets.size(), 3u);
  EXPECT_EQ(k.at(0).targets[0], 1);
  EXPECT_EQ(k.at(0).targets[1], 2);
  EXPECT_EQ(k.at(0).targets[2], 1);
  EXPECT_EQ(k.reg(k.operand(0, 0)), "%r1");
}

TEST(Ptx, Calls) {
  const Kernel k(R"({ .param .b64 a; .param .b32 r;
call.uni (r), f, (a);
P: .callprototype (.param .b32 _) _ (.param .b64 _, .param .align 8 .b8 _[16]) .noreturn;
call (r), %rd1, (a, 5), P;
T: .calltargets f;
call (_), %rd1, (%rd2), T;
call f;
})");
  const Call& direct = *k.at(0).call;
  EXPECT_EQ(k.module->functions[direct.callee]->name, "f");
  ASSERT_EQ(direct.results.size(), 1u);
  EXPECT_EQ(direct.results[0].index, 1);
  ASSERT_EQ(direct.arguments.size(), 1u);
  EXPECT_EQ(direct.arguments[0].refers, Refers::local);
  const Call& indirect = *k.at(1).call;
  EXPECT_EQ(indirect.callee, -1);
  EXPECT_EQ(k.reg(indirect.target), "%rd1");
  EXPECT_EQ(indirect.arguments[1].bits, 5u);
  ASSERT_EQ(indirect.prototype, 0);
  EXPECT_EQ(k.function.prototypes[0].text,
            ".callprototype (.param .b32 _) _ (.param .b64 _, .param .align 8 .b8 _[16]) .noreturn");
  EXPECT_EQ(k.function.prototypes[0].params[1].bytes, 16u);
  EXPECT_EQ(k.at(2).call->prototype, -1);
  EXPECT_EQ(k.at(2).call->results[0].kind, Kind::sink);
  EXPECT_TRUE(k.at(3).call->arguments.empty());
}

// The chain reads: line 7 of h, inlined at line 5 of g, inlined at line 3 of the kernel.
TEST(Ptx, Locations) {
  const auto module = declared(R"(
.visible .entry k() {
.loc 1 3 1
bar.sync 0;
.loc 2 5 2, function_name $L__info_string0, inlined_at 1 3 1
bar.sync 1;
.loc 2 7 4, function_name $L__info_string1+1, inlined_at 2 5 2
bar.sync 2;
.loc 1 3 1
bar.sync 3;
.loc 1 9 9, function_name $L__nowhere, inlined_at 1 8 8
bar.sync 4;
}
.file 1 "/src/k.cu"
.file 2 "/src/\"h\".cuh", 1234, 567
.section .debug_str
{
$L__info_string0:
.b8 95,90,49
.b8 103,0
$L__info_string1:
.b8 95,104
.b8 0
}
.section .debug_info { .b32 99, $L-4; .b8 1 }
)");
  EXPECT_EQ(module->files.at(1), "/src/k.cu");
  EXPECT_EQ(module->files.at(2), "/src/\"h\".cuh");
  const Function& k = *module->find("k");
  const auto at = [&](int i) { return k.locations.at(k.code.at(i).location); };
  EXPECT_EQ(at(0).line, 3);
  EXPECT_EQ(at(0).inlined_at, -1);
  EXPECT_TRUE(at(0).function.empty());
  EXPECT_EQ(at(1).function, "_Z1g");
  EXPECT_EQ(at(1).inlined_at, k.code[0].location);
  EXPECT_EQ(at(2).line, 7);
  EXPECT_EQ(at(2).column, 4);
  EXPECT_EQ(at(2).function, "h");
  EXPECT_EQ(at(2).inlined_at, k.code[1].location);
  EXPECT_EQ(k.code[3].location, k.code[0].location);
  EXPECT_TRUE(at(4).function.empty());
  EXPECT_EQ(k.locations.at(at(4).inlined_at).line, 8);
}

TEST(Ptx, Messages) {
  const std::string deep(300, '('), blocks(300, '{');
  const struct {
    std::string text, error;
  } cases[] = {
      {"", "line 1: the text ends where `.version`, with which a module begins, should be"},
      {"\n// nothing\n", "line 3: the text ends where `.version`, with which a module begins, should be"},
      {"int main() {}", "line 1: `int` stands where `.version`, with which a module begins, should be"},
      {".version 9\n.target sm_80", "line 1: `9` is not a version"},
      {".version 9.0\n.target sm_80\n.address_size 32",
       "line 3: only 64-bit addresses are understood, not `.address_size 32`"},
      {".version 9.0\n.target debug", "line 1: `.target` names no sm_…"},
      {".version 9.0\n.target sm_80\n.target sm_90", "line 3: `.target` stands twice"},
      {".version 9.0\n.target sm_80\n/* open", "line 3: a comment is never closed"},
      {".version 9.0\n.target sm_80\n.file 1 \"open\n", "line 3: a string is never closed"},
      {".version 9.0\n.target sm_80\n#include", "line 3: the character `#` has no meaning in PTX"},
      {".version 9.0\n.target sm_80\n\x80", "line 3: the byte 0x80 has no meaning in PTX"},
      {".version 9.0\n.target sm_80\n.global .u32 a[2] = {1, 2, 3};", "line 3: `a` has fewer elements than values"},
      {".version 9.0\n.target sm_80\n.global .u32 a[2] = {{1}};", "line 3: `a` has fewer dimensions than its values"},
      {".version 9.0\n.target sm_80\n.global .u32 a = b;", "line 3: `b` is not declared"},
      {".version 9.0\n.target sm_80\n.global .u32 a;\n.global .u32 a;", "line 4: `a` is declared twice"},
      {".version 9.0\n.target sm_80\n.global .u32 a = 1.5;",
       "line 3: a floating-point number initialises a variable of another type"},
      {".version 9.0\n.target sm_80\n.shared .u32 a = 1;", "line 3: a variable in shared memory cannot be initialised"},
      {".version 9.0\n.target sm_80\n.global .align 3 .u32 a;", "line 3: an alignment is a power of two, not 3"},
      {".version 9.0\n.target sm_80\n.global .u32 a[0x10000000][0x10000000];", "line 3: `a` is larger than 2^40 bytes"},
      {".version 9.0\n.target sm_80\n.global .b8 a[2][0x20000000] = {{1}, {2}};",
       "line 3: the module initialises more than 256 MiB"},
      {".version 9.0\n.target sm_80\n.global a;", "line 3: `a` stands where a type should be"},
      {".version 9.0\n.target sm_80\n.global .u32 a", "line 3: the text ends where `;` should be"},
      {".version 9.0\n.target sm_80\n.entry k() .fast { }", "line 3: `.fast` is no directive of a function"},
      {".version 9.0\n.target sm_80\n.func f() { }\n.func f() { }", "line 4: `f` is defined twice"},
      {".version 9.0\n.target sm_80\n.alias a, b;", "line 3: `a` is no function declared so far"},
      {with_body("ret"), "line 11: `}` stands where an operand should be"},
      {with_body("mov.u32 %r1, %r99;"), "line 10: `%r99` is not declared as a register"},
      {with_body("mov.u32 %r1, x;"), "line 10: `x` is not declared"},
      {with_body("mov.u32 %r1, 08;"), "line 10: `08` is not a number"},
      {with_body("mov.f32 %f1, 0f3F8;"), "line 10: `0f3F8` is not a number"},
      {with_body("mov.u32 %r1, 99999999999999999999;"), "line 10: `99999999999999999999` does not fit into 64 bits"},
      {with_body("mov.u32 %r1, 1 / 0;"), "line 10: a constant is divided by zero"},
      {with_body("mov.u32 %r1, 1.0 | 2;"), "line 10: an operator for integers is applied to a floating-point number"},
      {with_body("mov.u32 %r1, " + deep + "1;"), "line 10: an expression is nested too deeply"},
      {with_body(blocks), "line 10: blocks are nested too deeply"},
      {with_body("ld.global.u32 %r1, [%rd1;"), "line 10: `;` stands where `]` should be"},
      {with_body("@%r1 ret;"), "line 10: `%r1` is no predicate"},
      {with_body("@%p9 ret;"), "line 10: `%p9` is not declared as a register"},
      {with_body("\nbra NOWHERE;"), "line 11: there is no label `NOWHERE`"},
      {with_body("A: ret;\nA: ret;"), "line 11: the label `A` stands twice"},
      {with_body("A: bra A;\nbrx.idx %r1, A;"), "line 11: `A` is no list of branch targets"},
      {with_body("T: .branchtargets T;\nbra T;"), "line 10: `T` is no label of an instruction"},
      {with_body("call h;"), "line 10: `h` is not declared"},
      {with_body("call g;"), "line 10: `g` is no function"},
      {with_body("call (%r1), %rd1, (%rd2);"), "line 10: an indirect call names no prototype"},
      {with_body("call %r1;"), "line 10: an indirect call names no prototype"},
      {with_body("call p;"), "line 10: `p` is no function"},
      {with_body(".reg .b32 t;\n.reg .b32 t;"), "line 11: `t` is declared twice"},
      {with_body(".reg .b32 t[3];"), "line 10: `t` is an array, which registers cannot be"},
      {with_body("mov.f32 %f1, {{%f2}};"), "line 10: `{` stands where a part of an operand should be"},
      {with_body("17;"), "line 10: `17` stands where an instruction should be"},
      {with_body(".loc 1 x 3"), "line 10: `x` stands where a number should be"},
      {".version 9.0\n.target sm_80\n.func f() {\nret;", "line 4: the text ends where an instruction should be"},
      {".version 9.0\n.target sm_80\n.section .debug_str {\n.b8 1",
       "line 4: the text ends where the end of a section should be"},
  };
  for (const auto& c : cases) {
    std::string error;
    EXPECT_FALSE(parse(c.text, error)) << c.text;
    EXPECT_EQ(error, c.error) << c.text;
  }
}

}  // namespace
}  // namespace vgpu::ptx
