// api/device.h on the CPU: devices, streams, events, and what wrong calls say.
#include "oprt/api/device.h"

#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <thread>

namespace {

constexpr oprt_device_t kCpu = {OPRT_BACKEND_CPU, 0};

std::string message() { return oprt_last_error_message(); }

TEST(Device, CountsPerBackend) {
  int32_t count = -1;
  ASSERT_EQ(oprt_device_count(OPRT_BACKEND_CPU, &count), OPRT_SUCCESS);
  EXPECT_EQ(count, 1);
  ASSERT_EQ(oprt_device_count(OPRT_BACKEND_METAX, &count), OPRT_SUCCESS);
  EXPECT_EQ(count, 0) << "no build has both GPU backends, and this one runs without a MetaX device";
  EXPECT_EQ(oprt_device_count(OPRT_BACKEND_AUTO, &count), OPRT_ERR_INVALID_ARG);
  EXPECT_EQ(message(), "device_count: backend: expected cpu, nvidia or metax, got 0");
  EXPECT_EQ(oprt_device_count(static_cast<oprt_backend_t>(77), &count), OPRT_ERR_INVALID_ARG);
  EXPECT_EQ(oprt_device_count(OPRT_BACKEND_CPU, nullptr), OPRT_ERR_INVALID_ARG);
}

TEST(Device, DescribesTheCpu) {
  oprt_device_info_t info = {};
  info.struct_size = sizeof(info);
  ASSERT_EQ(oprt_get_device_info(kCpu, &info), OPRT_SUCCESS);
  EXPECT_GT(std::strlen(info.name), 0u);
  EXPECT_GT(info.total_bytes, uint64_t{1} << 28);
  EXPECT_GT(info.free_bytes, 0u);
  EXPECT_LE(info.free_bytes, info.total_bytes);
  EXPECT_GE(info.multiprocessors, 1);
  EXPECT_LE(info.multiprocessors, static_cast<int>(std::thread::hardware_concurrency()));
  EXPECT_EQ(info.compute_major, 0);
  EXPECT_EQ(info.struct_size, sizeof(info));

  info.struct_size = 8;
  EXPECT_EQ(oprt_get_device_info(kCpu, &info), OPRT_ERR_INVALID_ARG);
  EXPECT_NE(message().find("got 8"), std::string::npos) << message();
}

TEST(Device, RefusesWhatIsNoDevice) {
  EXPECT_EQ(oprt_device_synchronize(kCpu), OPRT_SUCCESS);
  EXPECT_EQ(oprt_device_synchronize({OPRT_BACKEND_CPU, 1}), OPRT_ERR_INVALID_ARG);
  EXPECT_EQ(message(), "device_synchronize: device: expected an index below the 1 there are, got 1");
  EXPECT_EQ(oprt_device_synchronize({OPRT_BACKEND_CPU, -1}), OPRT_ERR_INVALID_ARG);
  EXPECT_EQ(oprt_device_synchronize({OPRT_BACKEND_AUTO, 0}), OPRT_ERR_INVALID_ARG);
  EXPECT_EQ(message(), "device_synchronize: device: expected a device of cpu, nvidia or metax, got backend 0 (auto)");
  EXPECT_EQ(oprt_device_synchronize({static_cast<oprt_backend_t>(-3), 0}), OPRT_ERR_INVALID_ARG);
  EXPECT_EQ(oprt_device_synchronize({OPRT_BACKEND_METAX, 0}), OPRT_ERR_NOT_SUPPORTED);
}

TEST(Device, HasNoErrorsToTakeWhereNothingRan) {
  int64_t count = -1;
  ASSERT_EQ(oprt_take_device_errors(nullptr, &count), OPRT_SUCCESS);
  EXPECT_EQ(count, 0);
  EXPECT_EQ(oprt_take_device_errors(nullptr, nullptr), OPRT_ERR_INVALID_ARG);
  EXPECT_EQ(message(), "take_device_errors: count: expected a pointer to write to, got a null pointer");
}

TEST(Stream, IsMadeUsedAndDestroyed) {
  oprt_stream_t a = nullptr, b = nullptr;
  ASSERT_EQ(oprt_stream_create(kCpu, &a), OPRT_SUCCESS);
  ASSERT_EQ(oprt_stream_create(kCpu, &b), OPRT_SUCCESS);
  EXPECT_NE(a, nullptr);
  EXPECT_NE(a, b);
  EXPECT_EQ(oprt_stream_synchronize(kCpu, a), OPRT_SUCCESS);
  EXPECT_EQ(oprt_stream_synchronize(kCpu, nullptr), OPRT_SUCCESS);
  EXPECT_EQ(oprt_stream_destroy(kCpu, a), OPRT_SUCCESS);
  EXPECT_EQ(oprt_stream_destroy(kCpu, b), OPRT_SUCCESS);
  EXPECT_EQ(oprt_stream_destroy(kCpu, nullptr), OPRT_SUCCESS);
  EXPECT_EQ(oprt_stream_create(kCpu, nullptr), OPRT_ERR_INVALID_ARG);
  a = reinterpret_cast<oprt_stream_t>(1);
  EXPECT_EQ(oprt_stream_create({OPRT_BACKEND_CPU, 9}, &a), OPRT_ERR_INVALID_ARG);
  EXPECT_EQ(a, nullptr) << "the result is null whenever the call fails";
}

TEST(Event, MeasuresTimeBetweenTwoMarks) {
  oprt_event_t start, end;
  ASSERT_EQ(oprt_event_create(kCpu, &start), OPRT_SUCCESS);
  ASSERT_EQ(oprt_event_create(kCpu, &end), OPRT_SUCCESS);
  float ms = -1;
  ASSERT_EQ(oprt_event_record(start, nullptr), OPRT_SUCCESS);
  EXPECT_EQ(oprt_event_elapsed(start, end, &ms), OPRT_ERR_INVALID_ARG);
  EXPECT_EQ(message(), "event_elapsed: end: expected an event that was recorded, got one that never was");
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  ASSERT_EQ(oprt_event_record(end, nullptr), OPRT_SUCCESS);
  ASSERT_EQ(oprt_event_elapsed(start, end, &ms), OPRT_SUCCESS);
  EXPECT_GE(ms, 20.0f);
  EXPECT_LT(ms, 20000.0f);
  float back = 0;
  ASSERT_EQ(oprt_event_elapsed(end, start, &back), OPRT_SUCCESS);
  EXPECT_EQ(back, -ms);

  int32_t done = 0;
  EXPECT_EQ(oprt_event_query(end, &done), OPRT_SUCCESS);
  EXPECT_EQ(done, 1);
  EXPECT_EQ(oprt_event_synchronize(end), OPRT_SUCCESS);
  EXPECT_EQ(oprt_stream_wait_event(kCpu, nullptr, end), OPRT_SUCCESS);
  EXPECT_EQ(oprt_event_destroy(start), OPRT_SUCCESS);
  EXPECT_EQ(oprt_event_destroy(end), OPRT_SUCCESS);
  EXPECT_EQ(oprt_event_destroy(nullptr), OPRT_SUCCESS);
}

TEST(Event, RefusesNull) {
  oprt_event_t event;
  ASSERT_EQ(oprt_event_create(kCpu, &event), OPRT_SUCCESS);
  float ms;
  EXPECT_EQ(oprt_event_create(kCpu, nullptr), OPRT_ERR_INVALID_ARG);
  EXPECT_EQ(oprt_event_record(nullptr, nullptr), OPRT_ERR_INVALID_ARG);
  EXPECT_EQ(oprt_event_synchronize(nullptr), OPRT_ERR_INVALID_ARG);
  EXPECT_EQ(oprt_event_query(event, nullptr), OPRT_ERR_INVALID_ARG);
  EXPECT_EQ(oprt_event_elapsed(nullptr, event, &ms), OPRT_ERR_INVALID_ARG);
  EXPECT_EQ(oprt_event_elapsed(event, nullptr, &ms), OPRT_ERR_INVALID_ARG);
  EXPECT_EQ(oprt_event_elapsed(event, event, nullptr), OPRT_ERR_INVALID_ARG);
  EXPECT_EQ(oprt_stream_wait_event(kCpu, nullptr, nullptr), OPRT_ERR_INVALID_ARG);
  EXPECT_EQ(oprt_event_destroy(event), OPRT_SUCCESS);
}

}  // namespace
