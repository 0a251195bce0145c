// The stride of an axis of length 1, and every stride of an empty tensor, means nothing: any value must work (C27), on
// every operator. UndefinedBehaviorSanitizer sees where one is computed with all the same.
#include <gtest/gtest.h>

#include <algorithm>

#include "operators.h"

namespace oprt_test {
namespace {

constexpr int64_t kMeaningless[] = {INT64_MAX, INT64_MIN, -1, int64_t{1} << 62};

class EveryOperator : public testing::TestWithParam<size_t> {
 protected:
  const Functions& op() const { return operators()[GetParam()]; }

  // The call with `rows` rows and no strange stride, executed.
  std::vector<std::string> outputs_of(Call& call) {
    oprt_operator_descriptor_t desc = nullptr;
    EXPECT_EQ(call.create(&desc), OPRT_SUCCESS) << oprt_last_error_message();
    call.take_workspace(desc);
    EXPECT_EQ(call.execute(desc), OPRT_SUCCESS) << oprt_last_error_message();
    op().destroy(desc);
    std::vector<std::string> outputs;
    for (int o = 0; o < op().outputs; ++o) outputs.push_back(call.output(o));
    return outputs;
  }

  bool has_example() const {
    Call call(op(), example(op(), 1));
    oprt_operator_descriptor_t desc = nullptr;
    const bool made = call.create(&desc) == OPRT_SUCCESS;
    op().destroy(desc);
    return made || !example(op()).guessed;
  }
};

TEST_P(EveryOperator, IgnoresTheStrideOfLengthOne) {
  if (!has_example()) GTEST_SKIP() << "no example of it in operators.h";
  Call plain(op(), example(op(), 1));
  const std::vector<std::string> right = outputs_of(plain);
  int changed = 0;
  for (const int64_t stride : kMeaningless) {
    Call call(op(), example(op(), 1));
    for (oprt_tensor_view_t& view : call.views)
      for (int axis = 0; axis < view.ndim; ++axis)
        if (view.shape[axis] == 1) view.strides[axis] = stride, ++changed;
    EXPECT_EQ(outputs_of(call), right) << "stride " << stride;
  }
  EXPECT_GT(changed, 0);
}

TEST_P(EveryOperator, IgnoresEverythingOfAnEmptyTensorButItsShape) {
  if (!has_example()) GTEST_SKIP() << "no example of it in operators.h";
  for (const int64_t stride : kMeaningless) {
    Call call(op(), example(op(), 0));
    for (size_t i = 0; i < call.views.size(); ++i) {
      oprt_tensor_view_t& view = call.views[i];
      if (std::find(view.shape, view.shape + view.ndim, 0) == view.shape + view.ndim) continue;
      std::fill(view.strides, view.strides + view.ndim, stride);
      view.data = nullptr;
      call.data[i] = nullptr;
    }
    const std::string before = call.memory();
    oprt_operator_descriptor_t desc = nullptr;
    ASSERT_EQ(call.create(&desc), OPRT_SUCCESS) << oprt_last_error_message();
    EXPECT_STREQ(oprt_descriptor_kernel(desc), "none");
    EXPECT_EQ(call.execute(desc), OPRT_SUCCESS) << oprt_last_error_message();
    EXPECT_STREQ(oprt_last_kernel(), "none");
    EXPECT_EQ(op().destroy(desc), OPRT_SUCCESS);
    EXPECT_TRUE(call.memory() == before) << "memory was written";
  }
}

INSTANTIATE_TEST_SUITE_P(Operators, EveryOperator, testing::Range(size_t{0}, operators().size()),
                         [](const auto& of) { return std::string(operators()[of.param].name); });

}  // namespace
}  // namespace oprt_test
