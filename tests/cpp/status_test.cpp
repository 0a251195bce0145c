// What api/status.h, dtype.h, backend.h and version.h say of themselves, and whose message is whose.
#include "oprt/api/status.h"

#include <gtest/gtest.h>

#include <string>
#include <thread>

#include "oprt/api/backend.h"
#include "oprt/api/dtype.h"
#include "oprt/api/version.h"
#include "oprt/core/status.h"

namespace oprt {
namespace {

TEST(Strings, EveryValueAndNoneOutside) {
  const char* statuses[] = {"success",       "invalid argument",       "unsupported dtype",
                            "runtime error", "insufficient workspace", "not supported",
                            "out of memory"};
  for (int i = 0; i < 7; ++i) EXPECT_STREQ(oprt_status_string(static_cast<oprt_status_t>(i)), statuses[i]);
  const char* backends[] = {"auto", "nvidia", "metax", "cpu"};
  for (int i = 0; i < 4; ++i) EXPECT_STREQ(oprt_backend_string(static_cast<oprt_backend_t>(i)), backends[i]);
  const char* dtypes[] = {"f16", "f32", "bf16", "i32", "i64"};
  const size_t sizes[] = {2, 4, 2, 4, 8};
  for (int i = 0; i < 5; ++i) {
    EXPECT_STREQ(oprt_dtype_string(static_cast<oprt_dtype_t>(i)), dtypes[i]);
    EXPECT_EQ(oprt_dtype_size(static_cast<oprt_dtype_t>(i)), sizes[i]);
  }
  for (int outside : {-1, 7, 100, 1 << 30}) {
    EXPECT_STREQ(oprt_status_string(static_cast<oprt_status_t>(outside)), "unknown status");
    EXPECT_STREQ(oprt_backend_string(static_cast<oprt_backend_t>(outside)), "unknown");
    EXPECT_STREQ(oprt_dtype_string(static_cast<oprt_dtype_t>(outside)), "unknown");
    EXPECT_EQ(oprt_dtype_size(static_cast<oprt_dtype_t>(outside)), 0u);
  }
}

TEST(Strings, VersionIsThatOfTheHeader) {
  EXPECT_EQ(oprt_abi_version(), OPRT_ABI_VERSION);
  EXPECT_EQ(oprt_version_string(), std::to_string(OPRT_VERSION_MAJOR) + "." + std::to_string(OPRT_VERSION_MINOR) + "." +
                                       std::to_string(OPRT_VERSION_PATCH));
}

TEST(Message, IsTheThreadsAndStaysUntilItsNextFailure) {
  std::thread([] {
    EXPECT_STREQ(oprt_last_error_message(), "") << "before the first failure";
    EXPECT_EQ(oprt_set_backend(static_cast<oprt_backend_t>(99)), OPRT_ERR_INVALID_ARG);
    const std::string own = "set_backend: backend: expected auto, nvidia, metax or cpu, got 99";
    EXPECT_EQ(oprt_last_error_message(), own);
    oprt_backend_t backend;
    EXPECT_EQ(oprt_get_backend(&backend), OPRT_SUCCESS);
    EXPECT_EQ(oprt_last_error_message(), own) << "a success leaves it alone";
    std::thread([] {
      EXPECT_STREQ(oprt_last_error_message(), "");
      EXPECT_EQ(oprt_get_backend(nullptr), OPRT_ERR_INVALID_ARG);
    }).join();
    EXPECT_EQ(oprt_last_error_message(), own) << "another thread's failure too";
  }).join();
}

TEST(Message, IsCutWhereItIsTooLong) {
  EXPECT_EQ(fail(OPRT_ERR_RUNTIME, "what", std::string(5000, 'x')).code(), OPRT_ERR_RUNTIME);
  const std::string message = oprt_last_error_message();
  EXPECT_EQ(message.substr(0, 8), "what: xx");
  EXPECT_EQ(message.size(), 1023u);
}

TEST(Guarded, TurnsExceptionsIntoStatuses) {
  EXPECT_EQ(guarded("op", []() -> Status { throw std::bad_alloc(); }), OPRT_ERR_OUT_OF_MEMORY);
  EXPECT_STREQ(oprt_last_error_message(), "op: host memory ran out");
  EXPECT_EQ(guarded("op", []() -> Status { throw std::runtime_error("reason"); }), OPRT_ERR_RUNTIME);
  EXPECT_STREQ(oprt_last_error_message(), "op: reason");
  EXPECT_EQ(guarded("op", []() -> Status { throw 7; }), OPRT_ERR_RUNTIME);
  EXPECT_STREQ(oprt_last_error_message(), "op: unknown exception");
  EXPECT_EQ(guarded("op", []() -> Status { return {}; }), OPRT_SUCCESS);
}

}  // namespace
}  // namespace oprt
