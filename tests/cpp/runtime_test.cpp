// The C++ classes of oprt/runtime: ownership, lifetimes and exceptions. What the C functions below do is tested in
// device_test.cpp and memory_test.cpp.
#include <gtest/gtest.h>

#include <cstring>
#include <numeric>
#include <optional>
#include <type_traits>
#include <vector>

#include "oprt/runtime/buffer.h"
#include "oprt/runtime/device.h"
#include "oprt/runtime/event.h"
#include "oprt/runtime/memory_pool.h"
#include "oprt/runtime/stream.h"

namespace oprt {
namespace {

template <class F>
Error error_of(F&& f) {
  try {
    f();
  } catch (const Error& error) {
    return error;
  }
  ADD_FAILURE() << "nothing was thrown";
  return {OPRT_SUCCESS, ""};
}

TEST(Device, TellsWhatItIs) {
  const Device cpu = Device::cpu();
  EXPECT_EQ(cpu, Device(OPRT_BACKEND_CPU, 0));
  EXPECT_TRUE(cpu.is_cpu());
  EXPECT_FALSE(cpu.name().empty());
  EXPECT_GT(cpu.total_memory(), cpu.free_memory() / 2);
  EXPECT_GE(cpu.multiprocessors(), 1);
  EXPECT_EQ(cpu.compute_capability().major, 0);
  cpu.synchronize();
  EXPECT_EQ(Device::all().front(), cpu);

  const Error error = error_of([] { Device{OPRT_BACKEND_CPU, 2}; });
  EXPECT_EQ(error.status(), OPRT_ERR_INVALID_ARG);
  EXPECT_STREQ(error.what(), "get_device_info: device: expected an index below the 1 there are, got 2");
  EXPECT_EQ(error_of([] { Device{OPRT_BACKEND_METAX}; }).status(), OPRT_ERR_NOT_SUPPORTED);
}

TEST(Stream, CopiesAreTheSameQueue) {
  std::optional<Stream> first(Device::cpu());
  const Stream copy = *first;
  EXPECT_EQ(copy.c(), first->c());
  EXPECT_NE(copy.c(), Stream(Device::cpu()).c());
  EXPECT_EQ(Stream::default_of(Device::cpu()).c(), nullptr);
  first.reset();
  copy.synchronize();
}

TEST(Event, WaitsAndMeasures) {
  const Stream stream(Device::cpu());
  Event start, end;
  EXPECT_EQ(error_of([&] { end.milliseconds_since(start); }).status(), OPRT_ERR_INVALID_ARG);
  start.record(stream);
  end.record(stream);
  end.hold(Stream::default_of(Device::cpu()));
  end.synchronize();
  EXPECT_TRUE(end.done());
  EXPECT_GE(end.milliseconds_since(start), 0.0f);
  const Event moved = std::move(end);
  EXPECT_TRUE(moved.done());
}

TEST(Buffer, CopiesInAndOut) {
  std::vector<int> from(100), to(100);
  std::iota(from.begin(), from.end(), 1);
  DeviceBuffer a(400), b(400);
  a.copy_from(from.data(), 400);
  b.copy_from(a);
  b.copy_to(to.data(), 400);
  EXPECT_EQ(to, from);

  const Stream stream(Device::cpu());
  PinnedBuffer in(400), out(400);
  std::memcpy(in.data(), to.data(), 400);
  a.zero(stream);
  b.copy_from(a, stream);
  a.copy_from(in, stream);
  a.copy_to(out, stream);
  stream.synchronize();
  EXPECT_EQ(std::memcmp(out.data(), from.data(), 400), 0);
  b.copy_to(to.data(), 400);
  EXPECT_EQ(to, std::vector<int>(100));
  a.zero();
  a.copy_to(to.data(), 40);
  EXPECT_EQ(to[0], 0);
  a.also_used_on(stream);  // nothing to do for a buffer without a pool

  const Error error = error_of([&] { a.copy_from(from.data(), 404); });
  EXPECT_EQ(error.status(), OPRT_ERR_INVALID_ARG);
  EXPECT_STREQ(error.what(), "DeviceBuffer: bytes: expected at most the buffer's 400, got 404");
  EXPECT_EQ(error_of([&] { a.copy_to(to.data(), 404); }).status(), OPRT_ERR_INVALID_ARG);
  EXPECT_EQ(error_of([&] { a.copy_from(DeviceBuffer(401)); }).status(), OPRT_ERR_INVALID_ARG);
  EXPECT_EQ(error_of([&] { a.copy_from(PinnedBuffer(401), stream); }).status(), OPRT_ERR_INVALID_ARG);
}

TEST(Buffer, OwnsItsBlockAlone) {
  static_assert(!std::is_copy_constructible_v<DeviceBuffer> && !std::is_copy_constructible_v<PinnedBuffer>);
  DeviceBuffer a(64);
  void* const data = a.data();
  DeviceBuffer b = std::move(a);
  EXPECT_EQ(b.data(), data);
  EXPECT_EQ(a.data(), nullptr);
  b = DeviceBuffer(0);
  EXPECT_EQ(b.data(), nullptr);
  EXPECT_EQ(error_of([] { DeviceBuffer(SIZE_MAX); }).status(), OPRT_ERR_OUT_OF_MEMORY);
  EXPECT_EQ(error_of([] { PinnedBuffer(SIZE_MAX); }).status(), OPRT_ERR_OUT_OF_MEMORY);
}

TEST(MemoryPool, TakesBackWhatItsBuffersLeave) {
  MemoryPool pool;
  const Stream stream(pool.device());
  const void* first = pool.allocate(1000).data();
  EXPECT_EQ(pool.stats().used_bytes, 0u) << "the buffer is gone";
  DeviceBuffer again = pool.allocate(1000, stream);
  EXPECT_EQ(again.data(), first);
  EXPECT_EQ(pool.stats().hits, 1u);
  again.also_used_on(stream);
  again = pool.allocate(5000);
  EXPECT_EQ(pool.stats().used_bytes, pool.stats().reserved_bytes - 1024);
  pool.set_release_threshold(0);
  EXPECT_EQ(pool.stats().reserved_bytes, pool.stats().used_bytes);
  again = DeviceBuffer(0);
  EXPECT_EQ(pool.stats().reserved_bytes, 0u);
  pool.trim();

  MemoryPool small(Device::cpu(), 4096);
  const Error error = error_of([&] { small.allocate(5000); });
  EXPECT_EQ(error.status(), OPRT_ERR_OUT_OF_MEMORY);
  small.allocate(4096);
}

TEST(MemoryPool, LivesAsLongAsItsBuffers) {
  std::optional<DeviceBuffer> survivor;
  {
    MemoryPool pool;
    survivor = pool.allocate(256, Stream(pool.device()));
  }
  std::memset(survivor->data(), 1, survivor->bytes());
  survivor.reset();  // a leak or a use after free shows under AddressSanitizer
}

}  // namespace
}  // namespace oprt
