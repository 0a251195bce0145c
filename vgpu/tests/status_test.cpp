// What a process notes for `vgpu run`: its kernels, and those that ran.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>

#include "registered.h"

namespace vgpu {
namespace {

TEST(Status, KernelsAreNotedWithTheirFirstLaunch) {
  const std::string file = testing::TempDir() + "status-" + std::to_string(getpid());
  std::ofstream{file};
  setenv("VGPU_STATUS", file.c_str(), 1);
  setenv("VGPU_KERNELS", "1", 1);
  const std::string head = ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry ", body = "() { ret; }\n";
  const void* ran = test::registered(test::fat_binary(head + "ran" + body), "ran");
  test::registered(test::fat_binary(head + "idle" + body), "idle");
  for (int i = 0; i < 2; ++i) EXPECT_EQ(cudaLaunchKernel(ran, {1, 1, 1}, {1, 1, 1}, nullptr, 0, nullptr), 0);
  unsetenv("VGPU_STATUS");
  unsetenv("VGPU_KERNELS");
  std::ifstream lines(file);
  std::string text{std::istreambuf_iterator<char>(lines), {}};
  if (text.starts_with("has ran\nhas idle\nused\n")) text.erase(17, 5);  // where this is the process' first call
  EXPECT_EQ(text, "has ran\nhas idle\nlaunched ran\n");
  unlink(file.c_str());
}

}  // namespace
}  // namespace vgpu
