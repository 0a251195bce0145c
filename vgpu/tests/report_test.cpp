// What a finding looks like, to the letter.
#include "report/report.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <fstream>

#include "report/names.h"
#include "report/source.h"

namespace vgpu {
namespace {

// A module whose kernel's second instruction is inlined from line 2 of a file that exists.
class Report : public testing::Test {
 protected:
  Report() {
    directory_ = std::filesystem::temp_directory_path() / ("vgpu-report-" + std::to_string(::getpid()));
    std::filesystem::create_directories(directory_);
    file_ = directory_ / "k.cu";
    std::ofstream(file_) << "__device__ float half(const float* src) {\n"
                            "  return *src / 2;\n"
                            "}\n"
                            "__global__ void scale(float* dst, const float* src,\n"
                            "                      int n = f(1, 2)) {\n"
                            "  *dst = half(src);\n"
                            "}\n";
    std::string error;
    const std::string text =
        ".version 8.0\n.target sm_80\n.address_size 64\n"
        ".visible .entry _Z5scalePfPKfi(.param .u64 a, .param .u64 b, .param .u32 c)\n{\n"
        ".reg .b64 %rd<3>;\n.reg .f32 %f<3>;\n"
        ".loc 1 6 3\nld.param.u64 %rd1, [a];\n"
        ".loc 1 2 10, function_name $L_name, inlined_at 1 6 10\nld.global.f32 %f1, [%rd1];\n"
        "ret;\n}\n"
        ".file 1 \"" +
        file_.string() +
        "\"\n"
        ".section .debug_str\n{\n$L_name:\n.b8 95,90,52,104,97,108,102,80,75,102,0\n}\n";
    module_ = ptx::parse(text, error);
    EXPECT_TRUE(module_) << error;
    kernel_ = module_->find("_Z5scalePfPKfi");
  }
  ~Report() override { std::filesystem::remove_all(directory_); }

  Diagnostic finding() const {
    Diagnostic d;
    d.code = "E01";
    d.kernel = "scale";
    d.what = "a read of 4 bytes right behind the end of argument 2 `src`";
    d.object = "argument 2 `src`, 64 bytes, from cudaMalloc: index 16 of 16 elements of 4 bytes";
    d.reason = "the index is not checked";
    d.hint = "guard the access";
    d.spots = {{module_.get(), kernel_, &kernel_->code[1], {1, 0, 0}, {16, 0, 0}, "read it"}};
    d.ends_launch = true;
    return d;
  }

  std::filesystem::path directory_, file_;
  std::unique_ptr<ptx::Module> module_;
  const ptx::Function* kernel_;
};

TEST_F(Report, TextHasSourceThreadAndWhereItIsInlined) {
  const std::string path = file_.string();
  EXPECT_EQ(text_of(finding()),
            "\nE01  Access out of bounds, in kernel `scale`\n"
            "  a read of 4 bytes right behind the end of argument 2 `src`\n"
            "  " +
                path +
                ":2, in half\n"
                "     2 |   return *src / 2;\n"
                "       |          ^ thread (16,0,0) of block (1,0,0) read it\n"
                "    inlined at " +
                path +
                ":6, in scale\n"
                "  where: argument 2 `src`, 64 bytes, from cudaMalloc: index 16 of 16 elements of 4 bytes\n"
                "  why:   the index is not checked\n"
                "  try:   guard the access\n"
                "  The kernel ended here, and every later call returns the error, as on hardware.\n"
                "  more:  vgpu explain E01\n");
}

TEST_F(Report, OncePerPlace) {
  Diagnostics all;
  all.add(finding());
  all.add(finding());
  Diagnostic other = finding();
  other.code = "E09";
  all.add(other);
  ASSERT_EQ(all.all().size(), 2u);
  EXPECT_EQ(all.all()[0].times, 2u);
  EXPECT_TRUE(all.has_errors());
  Diagnostics hints;
  other.code = "P01";
  hints.add(other);
  EXPECT_FALSE(hints.has_errors());
}

TEST_F(Report, NamesOfParametersComeFromTheSource) {
  EXPECT_EQ(parameter_name(*module_, *kernel_, 0), "`dst`");
  EXPECT_EQ(parameter_name(*module_, *kernel_, 1), "`src`");
  EXPECT_EQ(parameter_name(*module_, *kernel_, 2), "`n`");
}

TEST_F(Report, JsonAndHtml) {
  Diagnostics all;
  Diagnostic d = finding();
  d.hint = "a \"quote\", a \\ and\na <line>";
  all.add(d);
  KernelCounters kernel;
  kernel.module = module_.get();
  kernel.function = kernel_;
  kernel.launches = 1;
  kernel.code[kernel_].resize(kernel_->code.size());
  kernel.code[kernel_][1].load = {2, 8, 4, 128};
  kernel.samples[&kernel_->code[1]] = {ptx::Space::global, AccessKind::load, 1, 4, {0x1004}};
  const std::vector<KernelCounters> kernels{kernel};
  SessionOptions options;
  const Summary summary{all, kernels, 1, options};
  const std::string json = json_of(summary);
  EXPECT_NE(json.find("\"try\": \"a \\\"quote\\\", a \\\\ and\\na <line>\""), std::string::npos) << json;
  EXPECT_NE(json.find("\"line\": 2, \"column\": 10, \"function\": \"half\""), std::string::npos) << json;
  EXPECT_NE(json.find("\"load\": {\"requests\": 2, \"sectors\": 8, \"ideal_sectors\": 4, \"bytes\": 128}"),
            std::string::npos)
      << json;
  const std::string html = html_of(summary);
  EXPECT_NE(html.find("a &lt;line&gt;"), std::string::npos);
  EXPECT_NE(html.find("return *src / 2;"), std::string::npos);
  EXPECT_NE(html.find("<td>4.00 / 2.00</td>"), std::string::npos);
  EXPECT_NE(html.find("&quot;at&quot;:[4,null,"), std::string::npos);
}

TEST(Source, Names) {
  EXPECT_EQ(short_name("_Z4copyIfEvPT_PKS0_i"), "copy<float>");
  EXPECT_EQ(short_name("_ZN12_GLOBAL__N_14fillEPi"), "(anonymous namespace)::fill");
  EXPECT_EQ(short_name("plain_c"), "plain_c");
  EXPECT_EQ(base_name("/a/b/c.cu"), "c.cu");
}

}  // namespace
}  // namespace vgpu
