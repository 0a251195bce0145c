// The parser, on what nvcc makes of the .cu files in ptx/. Skipped where there is no nvcc.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "ptx/module.h"

namespace vgpu::ptx {
namespace {

bool has_nvcc() { return std::system("command -v nvcc > /dev/null 2>&1") == 0; }

std::unique_ptr<Module> compiled(const std::string& name, const std::string& options) {
  const std::string out = std::filesystem::temp_directory_path() / ("vgpu_" + std::to_string(getpid()) + ".ptx");
  const std::string command =
      "nvcc -std=c++17 -ptx " + options + " " VGPU_SOURCE "/tests/ptx/" + name + " -o " + out + " 2>&1";
  EXPECT_EQ(std::system(command.c_str()), 0) << command;
  std::ifstream file(out);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  std::filesystem::remove(out);
  std::string error;
  auto module = parse(text, error);
  EXPECT_TRUE(module) << error;
  return module;
}

const Function* kernel(const Module& module, const std::string& part) {
  for (const auto& function : module.functions) {
    if (function->is_entry && function->name.find(part) != std::string::npos) return function.get();
  }
  ADD_FAILURE() << "no kernel " << part;
  return nullptr;
}

TEST(PtxOfNvcc, LanguageFeatures) {
  if (!has_nvcc()) GTEST_SKIP() << "nvcc is not there";
  for (const char* options : {"-arch=compute_90 -lineinfo", "-arch=compute_80 -G"}) {
    const auto module = compiled("language.cu", options);
    ASSERT_TRUE(module);
    const Function* virtuals = kernel(*module, "virtuals");
    ASSERT_TRUE(virtuals);
    bool indirect = false, prints = false;
    for (const Instruction& i : virtuals->code) {
      if (!i.call) continue;
      indirect |= i.call->callee < 0 && i.call->prototype >= 0;
      prints |= i.call->callee >= 0 && module->functions[i.call->callee]->name == "vprintf";
    }
    EXPECT_TRUE(indirect);
    EXPECT_TRUE(prints);
    const Function* switches = kernel(*module, "switches");
    ASSERT_TRUE(switches);
    EXPECT_EQ(switches->max_threads[0], 128);
    EXPECT_EQ(switches->min_blocks, 2);
    const Function* by_table = kernel(*module, "branch_table");
    ASSERT_TRUE(by_table);
    size_t tables = 0;
    for (const Instruction& i : by_table->code) {
      if (i.opcode() != "brx") continue;
      ++tables;
      ASSERT_EQ(i.targets.size(), 4u);
      EXPECT_LT(i.targets[0], i.targets[1]);
      EXPECT_EQ(i.targets[1], i.targets[2]);
      EXPECT_LT(i.targets[2], i.targets[3]);
      EXPECT_EQ(by_table->code[size_t(i.targets[3])].opcode(), "mov");
    }
    EXPECT_EQ(tables, 1u);
    bool managed = false, table = false;
    for (const Variable& v : module->variables) {
      managed |= v.name == "managed_value" && v.is_managed;
      table |= v.name.starts_with("_ZTV6Square") && !v.relocations.empty();
    }
    EXPECT_TRUE(managed);
    EXPECT_TRUE(table) << "the table of virtual functions holds addresses";
  }
}

TEST(PtxOfNvcc, CooperationWithInlinedAtChains) {
  if (!has_nvcc()) GTEST_SKIP() << "nvcc is not there";
  const auto module = compiled("cooperation.cu", "-arch=compute_90 -lineinfo");
  ASSERT_TRUE(module);
  const Function* clusters = kernel(*module, "clusters");
  ASSERT_TRUE(clusters);
  EXPECT_EQ(clusters->cluster[0], 2);
  const Function* pipes = kernel(*module, "pipes");
  ASSERT_TRUE(pipes);
  size_t shuffles = 0;
  for (const Instruction& i : pipes->code) {
    if (i.opcode() != "shfl") continue;
    ++shuffles;
    ASSERT_GE(i.location, 0);
    // From the header's shuffle outward to the kernel's own line.
    const Location* at = &pipes->locations[i.location];
    EXPECT_NE(at->function.find("shfl_down"), std::string_view::npos);
    while (at->inlined_at >= 0) at = &pipes->locations[at->inlined_at];
    EXPECT_TRUE(module->files.at(at->file).ends_with("cooperation.cu"));
    EXPECT_TRUE(at->function.empty());
  }
  EXPECT_EQ(shuffles, 5u);
}

TEST(PtxOfNvcc, WhatTheEngineRefusesStillParses) {
  if (!has_nvcc()) GTEST_SKIP() << "nvcc is not there";
  const auto module = compiled("tensor_memory.cu", "-arch=compute_90a");
  ASSERT_TRUE(module);
  EXPECT_EQ(module->sm, 90);
  const Function* refused = kernel(*module, "refused");
  ASSERT_TRUE(refused);
  EXPECT_EQ(refused->params[0].bytes, 128u);
  EXPECT_EQ(refused->params[0].align, 64u);
  size_t copies = 0, multiplications = 0;
  for (const Instruction& i : refused->code) {
    copies += i.mnemonic->text.starts_with("cp.async.bulk.tensor.2d");
    multiplications += i.opcode() == "wgmma";
  }
  EXPECT_EQ(copies, 2u);
  EXPECT_EQ(multiplications, 1u);
}

}  // namespace
}  // namespace vgpu::ptx
