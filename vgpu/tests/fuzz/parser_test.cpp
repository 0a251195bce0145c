// The parser, on text that is nearly PTX: it says a sentence or makes a module that holds together, and comes to an
// end.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "ptx/module.h"
#include "random.h"

namespace vgpu::ptx {
namespace {

using test::Random;

std::string seed_text() {
  std::ifstream file(VGPU_SOURCE "/tests/ptx/seed.ptx");
  return {std::istreambuf_iterator<char>(file), {}};
}

// Pieces that mean something, extremes among them.
constexpr std::string_view kPieces[] = {"{",
                                        "}",
                                        "(",
                                        ")",
                                        "[",
                                        "]",
                                        ";",
                                        ",",
                                        ":",
                                        "::",
                                        "|",
                                        "-",
                                        "+",
                                        "!",
                                        "@",
                                        "<",
                                        ">",
                                        "=",
                                        "\"",
                                        "/*",
                                        "//",
                                        "\n",
                                        ".",
                                        "_",
                                        "%",
                                        "0",
                                        "-1",
                                        "0x",
                                        "0f",
                                        "0d7FF0000000000000",
                                        "18446744073709551615",
                                        "99999999999999999999",
                                        "1e999",
                                        "1U",
                                        ".reg",
                                        ".b8",
                                        ".global",
                                        ".shared",
                                        ".param",
                                        ".align",
                                        ".func",
                                        ".entry",
                                        ".extern",
                                        ".alias",
                                        ".loc",
                                        ".section",
                                        ".branchtargets",
                                        ".callprototype",
                                        ".v4",
                                        "<4294967295>",
                                        "%r99",
                                        "%rd1",
                                        "%tid.x",
                                        "p",
                                        "pair",
                                        "bra",
                                        "brx.idx",
                                        "call",
                                        "generic(",
                                        "0xFF(",
                                        "[1099511627776]",
                                        "[-1]",
                                        "{{{{",
                                        "? 1 :",
                                        "<< 64",
                                        "/ 0",
                                        "% -1",
                                        "function_name",
                                        "inlined_at 1 2 3",
                                        "$L__BB0_1",
                                        "$L_table",
                                        ".debug_str",
                                        ".b0",
                                        "WARP_SZ",
                                        "(.s64)",
                                        "ld.global.f32"};

std::string mutated(const std::string& seed, Random& random) {
  std::string text = seed;
  for (size_t changes = 1 + random.below(6); changes > 0; --changes) {
    const size_t at = random.below(text.size() + 1), length = random.below(random.below(8) ? 12 : 400);
    switch (random.below(7)) {
      case 0: text.erase(std::min(at, text.size()), length); break;
      case 1: text.insert(at, std::string(kPieces[random.below(std::size(kPieces))])); break;
      case 2: text.replace(at, std::min(length, text.size() - at), kPieces[random.below(std::size(kPieces))]); break;
      case 3:
        if (at < text.size()) text[at] = char(random.next());
        break;
      case 4: text.insert(at, text.substr(random.below(text.size()), length)); break;  // a piece from elsewhere
      case 5: text.insert(at, text.substr(at, length)); break;
      case 6:
        if (random.below(20) == 0) text.resize(at);
        break;
    }
  }
  return text;
}

// Every index that the engine will follow leads somewhere.
class Checker {
 public:
  explicit Checker(const Module& module) : module_(module) {}
  void check() {
    for (const auto& function : module_.functions) check(*function);
    for (const Mnemonic& mnemonic : module_.mnemonics) ASSERT_FALSE(mnemonic.opcode.empty());
  }

 private:
  void check(const Function& f) {
    function_ = &f;
    for (const Location& location : f.locations) below(location.inlined_at, f.locations.size(), true);
    for (const Instruction& i : f.code) {
      ASSERT_TRUE(i.mnemonic);
      ASSERT_EQ(i.text.find('\n'), std::string_view::npos);
      below(i.guard, f.registers.size(), true);
      below(i.location, f.locations.size(), true);
      for (const int target : i.targets) below(target, f.code.size() + 1);
      if (i.opcode() == "bra") {
        ASSERT_EQ(i.targets.size(), 1u);
      }
      ASSERT_EQ(i.call != nullptr, i.opcode() == "call");
      for (const Operand& o : i.operands) check(o);
      if (!i.call) continue;
      below(i.call->callee, module_.functions.size(), true);
      below(i.call->prototype, f.prototypes.size(), true);
      if (i.call->callee < 0) check(i.call->target);
      for (const Operand& o : i.call->arguments) check(o);
      for (const Operand& o : i.call->results) check(o);
    }
  }
  void check(const Operand& o) {
    if (o.kind == Operand::Kind::reg) below(o.reg, function_->registers.size());
    if (o.kind == Operand::Kind::memory) below(o.reg, function_->registers.size(), true);
    if (o.pair) check(*o.pair);
    for (const Operand& part : o.parts) check(part);
    switch (o.refers) {
      case Refers::nothing: ASSERT_NE(o.kind, Operand::Kind::symbol); break;
      case Refers::local: below(o.index, function_->variables.size()); break;
      case Refers::param: below(o.index, function_->params.size()); break;
      case Refers::result: below(o.index, function_->results.size()); break;
      case Refers::global: below(o.index, module_.variables.size()); break;
      case Refers::function: below(o.index, module_.functions.size()); break;
      case Refers::label: FAIL() << "no operand is a label";
    }
  }
  void below(int index, size_t size, bool may_be_none = false) {
    ASSERT_GE(index, may_be_none ? -1 : 0);
    ASSERT_LT(index, int64_t(size));
  }
  const Module& module_;
  const Function* function_ = nullptr;
};

void check(const std::string& text, size_t& parsed) {
  std::string error;
  const std::clock_t began = std::clock();
  const auto module = parse(text, error);
  ASSERT_LT((std::clock() - began) / CLOCKS_PER_SEC, 5) << "seconds of this processor's time";
  if (module) {
    ++parsed;
    Checker(*module).check();
  } else {
    ASSERT_TRUE(error.starts_with("line ")) << error;
    const int line = std::atoi(error.c_str() + 5);
    ASSERT_GE(line, 1);
    ASSERT_LE(line, 1 + std::count(text.begin(), text.end(), '\n'));
    ASSERT_EQ(error.find('\n'), std::string::npos) << error;
  }
}

TEST(PtxFuzz, MutatedText) {
  const std::string seed = seed_text();
  size_t parsed = 0;
  ASSERT_NO_FATAL_FAILURE(check(seed, parsed));
  ASSERT_EQ(parsed, 1u) << "the text that mutations start from is right";
  const size_t rounds = test::rounds(20000);
  for (size_t round = 0; round < rounds; ++round) {
    Random random(round);
    const std::string text = mutated(seed, random);
    ASSERT_NO_FATAL_FAILURE(check(text, parsed)) << "round " << round << "\n" << text;
    if (HasFailure()) FAIL() << "round " << round << "\n" << text;
  }
  EXPECT_GT(parsed, rounds / 100) << "some mutations leave the text right";
  EXPECT_LT(parsed, rounds / 2);
}

TEST(PtxFuzz, EveryTruncation) {
  const std::string seed = seed_text();
  size_t parsed = 0;
  for (size_t size = 0; size < seed.size(); ++size) ASSERT_NO_FATAL_FAILURE(check(seed.substr(0, size), parsed));
}

// Text that asks for much work or memory in few characters, or for deep recursion.
TEST(PtxFuzz, Repetition) {
  const std::string head = ".version 9.0\n.target sm_90\n", kernel = head + ".entry k() {\n.reg .b32 %r<4000000000>;\n";
  const auto times = [](const std::string& piece, int n) {
    std::string all;
    for (int i = 0; i < n; ++i) all += piece;
    return all;
  };
  std::string ranges, names, far;
  for (int i = 0; i < 50000; ++i) {
    const std::string n = std::to_string(i);
    ranges += ".reg .b32 a" + n + "_<99999>;\nmov.b32 a" + n + "_255, 0;\n";
    names += ".reg .b32 n" + n + ";\nmov.b32 n" + n + ", %r" + n + ";\n";
    far += "mov.b32 %r" + std::to_string(3999999999u - 70000u * i) + ", 0;\n";
  }
  size_t parsed = 0;
  for (const std::string& text : {
           kernel + ranges + "}",
           kernel + names + "}",
           kernel + far + "}",
           kernel + times("{", 100000),
           kernel + times("{ bra A; }\n", 100000) + "A: }",
           kernel + "mov.b32 %r1, " + times("(", 1000000),
           kernel + "mov.b32 %r1, " + times("-", 1000000) + "1;}",
           kernel + "mov.b32 %r1, " + times("1 ? ", 1000000),
           kernel + "mov.b32 %r1, 1" + times(" + 1", 1000000) + ";}",
           kernel + "mov.b32 %r1, %r" + times("9", 1000000) + ";}",
           kernel + "mov.b32 " + times("{", 1000000),
           kernel + "ld.b32 %r1, " + times("[4, ", 100000),
           head + ".global .u8 a" + times("[2]", 100000) + ";",
           head + ".global .u8 a = {" + times("{", 100000),
           head + times(".global .u8 a", 100000),
           head + times("/*", 1000000),
           head + times(".attribute(", 100000),
       }) {
    ASSERT_NO_FATAL_FAILURE(check(text, parsed)) << text.substr(0, 100);
  }
  EXPECT_EQ(parsed, 5u);
}

}  // namespace
}  // namespace vgpu::ptx
