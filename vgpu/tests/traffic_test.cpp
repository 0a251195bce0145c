// The counters against hardware: what the virtual GPU counts for traffic/kernels.cu is what `ncu` counted on an H200
// (traffic/h200.csv), but for the differences that are listed here, each with its reason.
#include <gtest/gtest.h>

#include <array>
#include <cstdlib>
#include <fstream>
#include <initializer_list>
#include <map>
#include <sstream>
#include <string>

namespace vgpu {
namespace {

const char* const kColumns[] = {"load requests", "load sectors",      "store requests",
                                "store sectors", "shared wavefronts", "active lanes"};
constexpr int kCounts = 5;  // the columns before the last are counts, which are equal or not
using Row = std::array<double, kCounts + 1>;
using Rows = std::map<std::string, Row>;

std::string text_of(const std::string& path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

// kernel, the columns.
Rows measured() {
  Rows rows;
  std::istringstream file(text_of(VGPU_SOURCE "/tests/traffic/h200.csv"));
  std::string line, field;
  std::getline(file, line);  // the names
  while (std::getline(file, line)) {
    std::istringstream fields(line);
    std::getline(fields, field, ',');
    Row& row = rows[field];
    for (double& value : row) {
      std::getline(fields, field, ',');
      value = std::stod(field);
    }
  }
  return rows;
}

// The number behind the names, each of them searched behind the one before.
double number_at(const std::string& json, size_t from, std::initializer_list<const char*> names) {
  for (const char* name : names) {
    const std::string key = "\"" + std::string(name) + "\": ";
    from = json.find(key, from);
    if (from == std::string::npos) return -1;
    from += key.size();
  }
  return std::strtod(json.c_str() + from, nullptr);
}

Rows counted() {
  const std::string report = testing::TempDir() + "vgpu_traffic.json";
  const std::string command = VGPU_COMMAND " run --check perf --report json " + report + " -- " VGPU_TRAFFIC_PROGRAM;
  EXPECT_EQ(std::system((command + " > /dev/null").c_str()), 0);
  const std::string json = text_of(report);
  Rows rows;
  const std::string name = "\"name\": \"";
  for (size_t at = json.find(name); at != std::string::npos; at = json.find(name, at)) {
    at += name.size();
    Row& row = rows[json.substr(at, json.find('"', at) - at)];
    row = {number_at(json, at, {"load", "requests"}),
           number_at(json, at, {"load", "sectors"}),
           number_at(json, at, {"store", "requests"}),
           number_at(json, at, {"store", "sectors"}),
           number_at(json, at, {"shared_wavefronts"}),
           number_at(json, at, {"active_lanes"}) / number_at(json, at, {"warp_instructions"})};
  }
  return rows;
}

// Where the machine code has other memory instructions than the PTX: ptxas joins loads of neighbours in shared memory.
const std::map<std::string, double> kOtherWavefronts = {
    {"tree_interleaved", 1200},  // sums[i] and sums[i + 1], stride 1: one load of 8 bytes
    {"matmul_tiled", 139264},    // four steps of the row of `left`: one load of 16 bytes
};
// The machine code branches, predicates and calls otherwise: a square root, here one instruction, is there a dozen.
constexpr double kLanesDeviation = 0.25;

TEST(Traffic, IsWhatHardwareCounts) {
#ifdef __SANITIZE_ADDRESS__
  GTEST_SKIP() << "its program would have to preload the sanitizer";
#endif
  if (!VGPU_HAS_NVCC) GTEST_SKIP() << "no nvcc to make the kernels";
  const Rows hardware = measured(), ours = counted();
  ASSERT_EQ(hardware.size(), 30u);
  ASSERT_EQ(hardware.size(), ours.size());
  for (const auto& [kernel, row] : hardware) {
    ASSERT_TRUE(ours.count(kernel)) << kernel;
    for (int c = 0; c < kCounts; ++c) {
      const auto other = kOtherWavefronts.find(kernel);
      const bool differs = c == kCounts - 1 && other != kOtherWavefronts.end();
      EXPECT_EQ(ours.at(kernel)[c], differs ? other->second : row[c]) << kernel << ": " << kColumns[c];
    }
    EXPECT_NEAR(ours.at(kernel)[kCounts], row[kCounts], kLanesDeviation * row[kCounts]) << kernel;
  }
}

}  // namespace
}  // namespace vgpu
