// matmul's options struct over versions, its enums, the limits of its library, and the errors of oprt_rope_table's
// struct: what Python, which always passes whole structs and known values, cannot reach.
#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <cstring>
#include <string>
#include <vector>

#include "oprt/oprt.h"

namespace {

oprt_tensor_view_t matrix(float* data, int64_t rows, int64_t columns) {
  return {data, OPRT_DTYPE_F32, 2, {rows, columns}, {columns, 1}};
}

// [1 2] [1; 1] - 10, or without the bias
class Matmul : public testing::Test {
 protected:
  oprt_status_t create(const oprt_matmul_options_t* options, int algorithm = OPRT_MATMUL_AUTO) {
    oprt_destroy_matmul_descriptor(desc_);
    return oprt_create_matmul_descriptor(&desc_, &out_view_, &a_view_, &b_view_, static_cast<oprt_matmul_t>(algorithm),
                                         options);
  }

  // Creates, executes and gives the one element of out; NaN where something was refused.
  float run(const oprt_matmul_options_t* options, const float* bias) {
    out_ = NAN;
    size_t bytes = 0;
    if (create(options) != OPRT_SUCCESS || oprt_get_matmul_workspace_size(desc_, &bytes) != OPRT_SUCCESS) return NAN;
    std::vector<char> workspace(bytes);
    return oprt_execute_matmul(desc_, workspace.data(), bytes, &out_, a_, b_, bias, nullptr) == OPRT_SUCCESS ? out_
                                                                                                             : NAN;
  }

  bool message_says(const char* words) { return std::strstr(oprt_last_error_message(), words) != nullptr; }

  void TearDown() override { oprt_destroy_matmul_descriptor(desc_); }

  float a_[2] = {1, 2}, b_[2] = {1, 1}, out_ = 0, bias_[1] = {-10};
  oprt_tensor_view_t a_view_ = matrix(a_, 1, 2), b_view_ = matrix(b_, 2, 1), out_view_ = matrix(&out_, 1, 1);
  oprt_tensor_view_t bias_view_ = {bias_, OPRT_DTYPE_F32, 1, {1}, {1}};
  oprt_operator_descriptor_t desc_ = nullptr;
};

TEST_F(Matmul, TakesNullOptions) { EXPECT_EQ(run(nullptr, nullptr), 3); }

TEST_F(Matmul, TakesTheStructOfItsOwnVersion) {
  const oprt_matmul_options_t options = {sizeof(options), &bias_view_, OPRT_ACTIVATION_RELU, 1};
  EXPECT_EQ(run(&options, bias_), 0);
}

// What lies past struct_size belongs to the caller: it is not looked at.
TEST_F(Matmul, TakesTheSmallerStructsOfOlderVersions) {
  oprt_matmul_options_t options = {offsetof(oprt_matmul_options_t, activation), &bias_view_, OPRT_ACTIVATION_RELU, 1};
  EXPECT_EQ(run(&options, bias_), -7);
  options.struct_size = offsetof(oprt_matmul_options_t, bias);
  EXPECT_EQ(run(&options, nullptr), 3);
  options.struct_size = offsetof(oprt_matmul_options_t, activation) + 1;  // half a field is none
  EXPECT_EQ(run(&options, bias_), -7);
}

TEST_F(Matmul, TakesALargerStructOnlyWhereTheRestIsZero) {
  struct Newer {
    oprt_matmul_options_t known;
    int64_t unknown;
  } options = {{sizeof(Newer), &bias_view_, OPRT_ACTIVATION_NONE, 0}, 0};
  EXPECT_EQ(run(&options.known, bias_), -7);
  options.unknown = 1;
  EXPECT_EQ(create(&options.known), OPRT_ERR_NOT_SUPPORTED);
  EXPECT_EQ(desc_, nullptr);
  EXPECT_TRUE(message_says("options")) << oprt_last_error_message();
}

TEST_F(Matmul, RefusesAStructSizeThatCannotBe) {
  for (size_t size : {size_t{0}, sizeof(size_t) - 1, size_t{1} << 20, SIZE_MAX}) {
    const oprt_matmul_options_t options = {size, nullptr, OPRT_ACTIVATION_NONE, 0};
    EXPECT_EQ(create(&options), OPRT_ERR_INVALID_ARG) << size;
    EXPECT_TRUE(message_says("struct_size")) << oprt_last_error_message();
  }
}

TEST_F(Matmul, RefusesValuesOutsideItsEnums) {
  for (int value : {-1, 4}) {
    EXPECT_EQ(create(nullptr, value), OPRT_ERR_INVALID_ARG);
    EXPECT_TRUE(message_says("algorithm")) << oprt_last_error_message();
  }
  for (int value : {-1, 5}) {
    oprt_matmul_options_t options = {sizeof(options), nullptr, OPRT_ACTIVATION_NONE, 0};
    std::memcpy(&options.activation, &value, sizeof(value));
    EXPECT_EQ(create(&options), OPRT_ERR_INVALID_ARG);
    EXPECT_TRUE(message_says("activation")) << oprt_last_error_message();
  }
}

TEST_F(Matmul, BiasIsGivenAtExecuteExactlyWhereItWasAtCreate) {
  EXPECT_TRUE(std::isnan(run(nullptr, bias_)));
  EXPECT_TRUE(message_says("bias")) << oprt_last_error_message();
  const oprt_matmul_options_t options = {sizeof(options), &bias_view_, OPRT_ACTIVATION_NONE, 0};
  EXPECT_TRUE(std::isnan(run(&options, nullptr)));
  EXPECT_TRUE(message_says("bias")) << oprt_last_error_message();
}

// A product of hostile size can be described; its workspace is then more than anyone has.
TEST_F(Matmul, WorkspaceOfAHostileShapeDoesNotWrap) {
  const int64_t many = int64_t{1} << 30;
  a_view_ = {a_, OPRT_DTYPE_F32, 2, {2, many}, {0, 0}};
  b_view_ = {b_, OPRT_DTYPE_F32, 2, {many, many}, {0, 0}};
  out_view_ = {&out_, OPRT_DTYPE_F32, 2, {2, many}, {many, 1}};
  ASSERT_EQ(create(nullptr, OPRT_MATMUL_TILED), OPRT_SUCCESS) << oprt_last_error_message();
  size_t bytes = 0;
  ASSERT_EQ(oprt_get_matmul_workspace_size(desc_, &bytes), OPRT_SUCCESS);
  EXPECT_GE(bytes, size_t{1} << 61);
}

TEST_F(Matmul, NamesItsLibrary) {
  const std::string name = oprt_matmul_library();
  const oprt_status_t status = create(nullptr, OPRT_MATMUL_LIBRARY);
  EXPECT_EQ(status, name == "none" ? OPRT_ERR_NOT_SUPPORTED : OPRT_SUCCESS);
}

class RopeTable : public testing::Test {
 protected:
  oprt_status_t fill(const oprt_rope_scaling_t* scaling) { return oprt_rope_table(cos_, sin_, 3, 4, 10000.0, scaling); }
  bool message_says(const char* words) { return std::strstr(oprt_last_error_message(), words) != nullptr; }

  float cos_[6] = {}, sin_[6] = {};
  oprt_rope_scaling_t llama3_ = {sizeof(llama3_), OPRT_ROPE_SCALING_LLAMA3, 8, 1, 4, 8192};
};

TEST_F(RopeTable, TakesTheSmallerStructsThatHoldWhatTheKindNeeds) {
  oprt_rope_scaling_t scaling = {offsetof(oprt_rope_scaling_t, factor), OPRT_ROPE_SCALING_NONE, -1, 0, 0, 0};
  EXPECT_EQ(fill(&scaling), OPRT_SUCCESS);
  scaling.kind = OPRT_ROPE_SCALING_LINEAR;
  scaling.factor = 2;
  EXPECT_EQ(fill(&scaling), OPRT_ERR_INVALID_ARG);
  EXPECT_TRUE(message_says("struct_size")) << oprt_last_error_message();
  scaling.struct_size = offsetof(oprt_rope_scaling_t, low_freq_factor);
  EXPECT_EQ(fill(&scaling), OPRT_SUCCESS);
  scaling.struct_size = 0;
  EXPECT_EQ(fill(&scaling), OPRT_ERR_INVALID_ARG);
}

TEST_F(RopeTable, TakesALargerStructOnlyWhereTheRestIsZero) {
  struct Newer {
    oprt_rope_scaling_t known;
    int64_t unknown;
  } scaling = {llama3_, 0};
  scaling.known.struct_size = sizeof(Newer);
  EXPECT_EQ(fill(&scaling.known), OPRT_SUCCESS);
  scaling.unknown = 1;
  EXPECT_EQ(fill(&scaling.known), OPRT_ERR_NOT_SUPPORTED);
}

TEST_F(RopeTable, RefusesWhatItsScalingCannotMean) {
  const auto refused = [&](const char* argument, auto change) {
    oprt_rope_scaling_t scaling = llama3_;
    change(scaling);
    EXPECT_EQ(fill(&scaling), OPRT_ERR_INVALID_ARG) << argument;
    EXPECT_TRUE(message_says(argument)) << oprt_last_error_message();
  };
  refused("kind", [](oprt_rope_scaling_t& s) { s.kind = 3; });
  refused("kind", [](oprt_rope_scaling_t& s) { s.kind = -1; });
  refused(" factor", [](oprt_rope_scaling_t& s) { s.factor = 0; });
  refused(" factor", [](oprt_rope_scaling_t& s) { s.factor = INFINITY; });
  refused("low_freq_factor", [](oprt_rope_scaling_t& s) { s.low_freq_factor = -1; });
  refused("high_freq_factor", [](oprt_rope_scaling_t& s) { s.high_freq_factor = NAN; });
  refused("high_freq_factor", [](oprt_rope_scaling_t& s) { s.high_freq_factor = s.low_freq_factor; });
  refused("original_max_position", [](oprt_rope_scaling_t& s) { s.original_max_position = 0; });
}

TEST_F(RopeTable, RefusesTablesItCannotFill) {
  EXPECT_EQ(oprt_rope_table(nullptr, sin_, 3, 4, 10000.0, nullptr), OPRT_ERR_INVALID_ARG);
  EXPECT_TRUE(message_says("cos"));
  EXPECT_EQ(oprt_rope_table(cos_, nullptr, 3, 4, 10000.0, nullptr), OPRT_ERR_INVALID_ARG);
  EXPECT_TRUE(message_says("sin"));
  EXPECT_EQ(oprt_rope_table(cos_, sin_, INT64_MAX, 1 << 20, 10000.0, nullptr), OPRT_ERR_INVALID_ARG);
  EXPECT_TRUE(message_says("2^63"));
  EXPECT_EQ(oprt_rope_table(nullptr, nullptr, 0, 4, 10000.0, nullptr), OPRT_SUCCESS);
  EXPECT_EQ(oprt_rope_table(nullptr, nullptr, 3, 0, 10000.0, nullptr), OPRT_SUCCESS);
}

}  // namespace
