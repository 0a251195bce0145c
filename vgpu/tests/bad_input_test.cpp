// What no device could run, or this one cannot: a sentence and the right error code, and the next good launch runs.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>

#include "registered.h"
#include "runtime/context.h"

extern "C" int cudaLibraryLoadFromFile(void** library, const char* file, int*, void**, unsigned, int*, void**,
                                       unsigned);
extern "C" int cudaDeviceSynchronize();
extern "C" int cudaGetLastError();

namespace vgpu {
namespace {

using test::fat_binary;
using test::registered;

std::string module_of(const std::string& body, const std::string& version = "9.0",
                      const std::string& target = "sm_80") {
  return ".version " + version + "\n.target " + target + "\n.address_size 64\n.visible .entry k()\n{\n" +
         ".reg .b32 %r<9>;\n" + body + "\nret;\n}\n";
}

struct Told {
  Error code;
  std::string sentence;
};

template <class F>
Told told(F&& call) {
  testing::internal::CaptureStderr();
  const auto code = Error(call());
  return {code, testing::internal::GetCapturedStderr()};
}
Told launch(const std::string& binary, uint32_t magic = 0x466243B1) {
  const void* kernel = registered(binary, "k", magic);
  return told([&] { return cudaLaunchKernel(kernel, {}, {}, nullptr, 0, nullptr); });
}

// One line on standard error with these words in it.
void expect_told(const Told& told, Error code, const std::string& words) {
  EXPECT_EQ(told.code, code) << told.sentence;
  EXPECT_TRUE(told.sentence.starts_with("vgpu: ")) << told.sentence;
  EXPECT_NE(told.sentence.find(words), std::string::npos) << told.sentence;
  EXPECT_EQ(std::count(told.sentence.begin(), told.sentence.end(), '\n'), 1) << told.sentence;
}

class BadInput : public testing::Test {
  void TearDown() override { cudaGetLastError(); }  // which forgets what the calls here have returned
};

TEST_F(BadInput, PtxOfANewerVersion) {
  expect_told(launch(fat_binary(module_of("", "9.9"))), Error::UnsupportedPtxVersion, "its PTX is version 9.9");
  // Whatever its grammar is.
  expect_told(launch(fat_binary(module_of(".. <novelty>", "10.2"))), Error::UnsupportedPtxVersion, "version 10.2");
}

TEST_F(BadInput, UnknownInstructionsAreNamedWithTheirLine) {
  for (const std::string instruction : {"frobnicate.u32 %r1, %r2", "add.rz.u32 %r1, %r2, %r3",
                                        "wgmma.fence.sync.aligned", "tcgen05.fence::before_thread_sync"})
    expect_told(launch(fat_binary(module_of(instruction + ";"))), Error::InvalidPtx,
                "line 7 of the PTX: `" + instruction + "`");
}

TEST_F(BadInput, TextThatIsNoPtx) {
  expect_told(launch(fat_binary(module_of("mov.u32 %r1, ;"))), Error::InvalidPtx, "line 7");
  expect_told(launch(fat_binary(module_of("mov.u32 %r1, nobody;"))), Error::InvalidPtx, "nobody");
}

TEST_F(BadInput, KernelsLargerThanADevice) {
  const std::string head = ".version 9.0\n.target sm_80\n.address_size 64\n";
  expect_told(launch(fat_binary(module_of(".shared .b8 tile[50000];\nst.shared.b8 [tile], 1;"))), Error::InvalidPtx,
              "its shared variables take 50000 bytes");
  expect_told(launch(fat_binary(module_of(".shared .b8 tile[99999999];\nst.shared.b8 [tile], 1;"))), Error::InvalidPtx,
              "larger than any device's shared memory");
  expect_told(launch(fat_binary(module_of(".local .b8 large[600000];"))), Error::InvalidPtx, "larger than a thread's");
  expect_told(launch(fat_binary(head + ".entry k(.param .b8 p[40000]) { ret; }")), Error::InvalidPtx, "32,764 bytes");
  expect_told(launch(fat_binary(head + ".global .b8 g[1099511627776];\n.entry k() { ret; }")), Error::InvalidPtx,
              "no room for the variable `g`");
}

TEST_F(BadInput, FatBinariesThatAreDamagedOrEmpty) {
  const std::string whole = fat_binary(module_of(""));
  std::string broken = whole;
  broken[0] ^= 1;
  expect_told(launch(broken), Error::InvalidKernelImage, "no fat binary");
  broken = whole;
  broken[24 + 6] = 1;  // the entry's length
  expect_told(launch(broken), Error::InvalidKernelImage, "reaches past its end");
  expect_told(launch(whole, 0x12345678), Error::InvalidKernelImage, "magic number 466243B1");
  expect_told(launch(fat_binary("\x7f"
                                "ELF",
                                90, 2)),
              Error::NoKernelImageForDevice, "machine code for sm_90 but no PTX");
  expect_told(launch(fat_binary(module_of("", "9.0", "sm_100"), 100)), Error::NoKernelImageForDevice, "compute_100");
  // Nothing is said of a kernel that the image does not have: the program asked for another one.
  const void* other = registered(whole, "other");
  EXPECT_EQ(told([&] { return cudaLaunchKernel(other, {}, {}, nullptr, 0, nullptr); }).code,
            Error::InvalidDeviceFunction);
}

TEST_F(BadInput, FilesThatAreCutOff) {
  const std::string whole = fat_binary(module_of(""));
  const std::string path = std::filesystem::temp_directory_path() / ("vgpu_cut_" + std::to_string(getpid()));
  for (size_t length = 0; length < whole.size(); length += 9) {
    std::ofstream(path, std::ios::binary | std::ios::trunc) << whole.substr(0, length);
    void* library = nullptr;
    const Told result =
        told([&] { return cudaLibraryLoadFromFile(&library, path.c_str(), nullptr, nullptr, 0, nullptr, nullptr, 0); });
    expect_told(result, Error::InvalidKernelImage, "fat binary");
  }
  std::filesystem::remove(path);
}

TEST_F(BadInput, LaunchesThatTheDeviceRefuses) {
  const void* kernel = registered(fat_binary(module_of("")), "k");
  const struct {
    Dim3 grid, block;
    size_t shared;
    Error code;
    const char* what;
  } cases[] = {
      {{1}, {1025}, 0, Error::InvalidValue, "1025 threads in a block of (1025, 1, 1)"},
      {{1}, {1, 1, 65}, 0, Error::InvalidValue, "(1, 1, 65)"},
      {{1}, {0}, 0, Error::InvalidValue, "0 threads"},
      {{1}, {65536, 65536, 65536}, 0, Error::InvalidValue, "threads in a block"},
      {{0}, {1}, 0, Error::InvalidValue, "gridDim.x of (0, 1, 1)"},
      {{1, 65536}, {1}, 0, Error::InvalidValue, "gridDim.y of (1, 65536, 1)"},
      {{1, 1, 65536}, {1}, 0, Error::InvalidValue, "gridDim.z"},
      {{4294967295u}, {1}, 0, Error::InvalidValue, "gridDim.x"},
      {{1}, {1}, 49153, Error::InvalidValue, "49153 bytes of dynamic shared memory"},
      {{1}, {1}, 300000, Error::InvalidValue, "300000 bytes of dynamic shared memory"},
  };
  const auto& all = Context::get().session.diagnostics().all();
  for (const auto& c : cases) {
    const size_t before = all.size();
    const Told result = told([&] { return cudaLaunchKernel(kernel, c.grid, c.block, nullptr, c.shared, nullptr); });
    EXPECT_EQ(result.code, c.code) << c.what;
    ASSERT_EQ(all.size(), before + 1) << c.what;
    EXPECT_EQ(all.back().code, "E10");
    EXPECT_NE(all.back().what.find(c.what), std::string::npos) << all.back().what;
    EXPECT_FALSE(all.back().reason.empty() || all.back().hint.empty());
  }
  EXPECT_EQ(cudaLaunchKernel(kernel, {}, {}, nullptr, 0, nullptr), 0);
  EXPECT_EQ(cudaDeviceSynchronize(), 0);
}

}  // namespace
}  // namespace vgpu
