// A descriptor is immutable: many threads execute one at once, each with its own memory, and all get the bits that one
// thread alone gets. Under ThreadSanitizer this also shows that nothing behind it is written.
#include <gtest/gtest.h>

#include <thread>

#include "operators.h"

#ifdef __SANITIZE_THREAD__
// The C library frees the thread-local storage of threads that the matrix library's OpenMP made and ended; the dynamic
// loader, which does it under its own lock, is not instrumented.
extern "C" const char* __tsan_default_suppressions() { return "race:dl_deallocate_tls\n"; }
#endif

namespace oprt_test {
namespace {

constexpr int kThreads = 16, kRuns = 8;
constexpr int64_t kRows = 8192;  // enough that most operators spread one call over threads of their own

class EveryOperator : public testing::TestWithParam<size_t> {};

TEST_P(EveryOperator, ExecutesOneDescriptorFrom16Threads) {
  const Functions& op = operators()[GetParam()];
  Call alone(op, example(op, kRows));
  oprt_operator_descriptor_t desc = nullptr;
  if (alone.create(&desc) != OPRT_SUCCESS && example(op).guessed) GTEST_SKIP() << "no example of it in operators.h";
  ASSERT_NE(desc, nullptr) << oprt_last_error_message();
  alone.take_workspace(desc);
  ASSERT_EQ(alone.execute(desc), OPRT_SUCCESS) << oprt_last_error_message();

  std::vector<std::string> wrong(kThreads);
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t)
    threads.emplace_back([&, t] {
      Call own(op, example(op, kRows));
      own.take_workspace(desc);
      for (int run = 0; run < kRuns && wrong[t].empty(); ++run) {
        if (own.execute(desc) != OPRT_SUCCESS) wrong[t] = oprt_last_error_message();
        for (int o = 0; o < op.outputs; ++o)
          if (own.output(o) != alone.output(o)) wrong[t] = std::string("other bits in ") + op.views[o];
      }
    });
  for (std::thread& thread : threads) thread.join();
  op.destroy(desc);
  for (const std::string& what : wrong) EXPECT_EQ(what, "");
}

TEST_P(EveryOperator, CreatesAndFailsFrom16ThreadsAtOnce) {
  const Functions& op = operators()[GetParam()];
  std::vector<std::string> wrong(kThreads);
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t)
    threads.emplace_back([&, t] {
      for (int run = 0; run < kRuns; ++run) {
        Call call(op, example(op));
        oprt_operator_descriptor_t desc = nullptr;
        if (call.create(&desc) != OPRT_SUCCESS && !example(op).guessed) wrong[t] = oprt_last_error_message();
        op.destroy(desc);
        call.views[0].ndim = t + 9;  // each thread's message is its own
        const std::string expected = std::string(op.name) + ": " + op.views[0] +
                                     ": expected a rank from 0 to 8, got rank " + std::to_string(t + 9);
        if (call.create(&desc) != OPRT_ERR_INVALID_ARG || oprt_last_error_message() != expected)
          wrong[t] = oprt_last_error_message();
      }
    });
  for (std::thread& thread : threads) thread.join();
  for (const std::string& what : wrong) EXPECT_EQ(what, "");
}

INSTANTIATE_TEST_SUITE_P(Operators, EveryOperator, testing::Range(size_t{0}, operators().size()),
                         [](const auto& of) { return std::string(operators()[of.param].name); });

// A thread that never set a backend sees the value last set anywhere; one that did keeps its own.
TEST(Backend, IsTheThreadsOwn) {
  const auto on_new_thread = [](auto&& body) { std::thread(body).join(); };
  oprt_backend_t seen = OPRT_BACKEND_METAX;
  ASSERT_EQ(oprt_set_backend(OPRT_BACKEND_AUTO), OPRT_SUCCESS);
  on_new_thread([&] {
    oprt_get_backend(&seen);
    EXPECT_EQ(seen, OPRT_BACKEND_AUTO);
    oprt_set_backend(OPRT_BACKEND_CPU);
    oprt_get_backend(&seen);
    EXPECT_EQ(seen, OPRT_BACKEND_CPU);
  });
  oprt_get_backend(&seen);
  EXPECT_EQ(seen, OPRT_BACKEND_AUTO);  // this thread's own
  on_new_thread([&] {
    oprt_get_backend(&seen);
    EXPECT_EQ(seen, OPRT_BACKEND_CPU);  // the last set anywhere
  });
  ASSERT_EQ(oprt_set_backend(OPRT_BACKEND_AUTO), OPRT_SUCCESS);
}

TEST(Backend, RefusedOneChangesNothing) {
  ASSERT_EQ(oprt_set_backend(OPRT_BACKEND_CPU), OPRT_SUCCESS);
  EXPECT_EQ(oprt_set_backend(OPRT_BACKEND_METAX), OPRT_ERR_NOT_SUPPORTED);
  oprt_backend_t seen = OPRT_BACKEND_AUTO;
  oprt_get_backend(&seen);
  EXPECT_EQ(seen, OPRT_BACKEND_CPU);
  ASSERT_EQ(oprt_set_backend(OPRT_BACKEND_AUTO), OPRT_SUCCESS);
}

}  // namespace
}  // namespace oprt_test
