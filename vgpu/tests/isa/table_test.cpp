// Nothing in the instruction table goes without a test of its values.
//
// This program runs its own tests of instructions once more, with VGPU_ISA_LISTING: there they run nothing and write
// down which instructions they name. A row that gives a whole mnemonic has to be named as it stands. Where a binder
// reads the modifiers (ld, atom, mma), each mnemonic named is tried with every other type and operation in it; what the
// binder takes has to be named too, whatever the order, scope, space, cache hint or vector length.
#include "isa/table.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>
#include <string>

namespace vgpu::isa_test {
namespace {

// The mnemonic without the modifiers that go with any type.
std::string essence(const std::string& mnemonic) {
  static const std::set<std::string> any = {
      "weak",           "relaxed",     "acquire", "release", "acq_rel", "volatile",
      "mmio",           "cta",         "cluster", "gpu",     "sys",     "global",
      "shared",         "shared::cta", "local",   "const",   "param",   "shared::cluster",
      "L2::cache_hint", "v2",          "v4",      "v8",      "noftz"};
  std::stringstream in(mnemonic);
  std::string text;
  for (std::string part; std::getline(in, part, '.');) {
    if (!any.contains(part)) text += (text.empty() ? "" : ".") + part;
  }
  return text;
}

TEST(IsaTable, EveryInstructionIsNamedByATest) {
  if (std::getenv("VGPU_ISA_LISTING")) return;
  const auto file = std::filesystem::temp_directory_path() / ("vgpu_isa_" + std::to_string(getpid()));
  const auto self = std::filesystem::read_symlink("/proc/self/exe");
  const std::string command =
      "VGPU_ISA_LISTING=" + file.string() + " " + self.string() + " --gtest_filter='Isa*' > /dev/null 2>&1";
  // In the listing the tests compare nothing, and some say that they got nothing.
  (void)!std::system(command.c_str());
  std::set<std::string> named, essences, taken, opcodes;
  std::ifstream list(file);
  for (std::string how, mnemonic; list >> how >> mnemonic;) {
    (how == "named" ? named : taken).insert(mnemonic);
    if (how != "named") continue;
    essences.insert(essence(mnemonic));
    opcodes.insert(mnemonic.substr(0, mnemonic.find('.')));
  }
  std::filesystem::remove(file);
  ASSERT_GT(named.size(), 1000u) << command;

  size_t rows = 0;
  std::string missing;
  for (const std::string& row : isa::table().mnemonics()) {
    ++rows;
    const bool whole = row.find('.') != row.npos;
    if (!named.contains(row) && (whole || !opcodes.contains(row))) missing += "\n  " + row;
  }
  for (const std::string& mnemonic : taken) {
    if (!essences.contains(essence(mnemonic))) missing += "\n  " + mnemonic;
  }
  std::printf("%zu rows in the table, %zu mnemonics in the tests\n", rows, named.size());
  EXPECT_EQ(missing, "") << "no test names these";
}

}  // namespace
}  // namespace vgpu::isa_test
