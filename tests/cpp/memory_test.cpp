// api/memory.h on the CPU: blocks, copies, pools, running out, and many threads at once.
#include "oprt/api/memory.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cstring>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace {

constexpr oprt_device_t kCpu = {OPRT_BACKEND_CPU, 0};
constexpr size_t kMiB = size_t{1} << 20;

std::string message() { return oprt_last_error_message(); }

oprt_memory_pool_t make_pool(uint64_t limit = 0) {
  oprt_memory_pool_t pool = nullptr;
  EXPECT_EQ(oprt_memory_pool_create(kCpu, limit, &pool), OPRT_SUCCESS);
  return pool;
}

oprt_memory_pool_stats_t stats_of(oprt_memory_pool_t pool) {
  oprt_memory_pool_stats_t stats = {};
  stats.struct_size = sizeof(stats);
  EXPECT_EQ(oprt_memory_pool_get_stats(pool, &stats), OPRT_SUCCESS);
  return stats;
}

void* take(oprt_memory_pool_t pool, size_t bytes) {
  void* data = nullptr;
  EXPECT_EQ(oprt_memory_pool_alloc(pool, bytes, nullptr, &data), OPRT_SUCCESS) << message();
  return data;
}

TEST(Memory, BlocksAreAlignedAndWritable) {
  for (const auto alloc : {oprt_memory_alloc, oprt_memory_alloc_pinned}) {
    const auto free = alloc == oprt_memory_alloc ? oprt_memory_free : oprt_memory_free_pinned;
    for (size_t bytes : {size_t{1}, size_t{255}, size_t{256}, size_t{4097}, 3 * kMiB}) {
      void* data = nullptr;
      ASSERT_EQ(alloc(kCpu, bytes, &data), OPRT_SUCCESS);
      EXPECT_EQ(reinterpret_cast<uintptr_t>(data) % 256, 0u);
      std::memset(data, 0xA5, bytes);
      EXPECT_EQ(free(kCpu, data), OPRT_SUCCESS);
    }
    void* data = &data;
    ASSERT_EQ(alloc(kCpu, 0, &data), OPRT_SUCCESS);
    EXPECT_EQ(data, nullptr);
    EXPECT_EQ(free(kCpu, nullptr), OPRT_SUCCESS);
    EXPECT_EQ(alloc(kCpu, 16, nullptr), OPRT_ERR_INVALID_ARG);
    EXPECT_EQ(alloc({OPRT_BACKEND_CPU, 3}, 16, &data), OPRT_ERR_INVALID_ARG);
    EXPECT_EQ(free({OPRT_BACKEND_AUTO, 0}, nullptr), OPRT_ERR_INVALID_ARG);
  }
}

TEST(Memory, HostileSizesRunOutAndLeaveEverythingUsable) {
  const oprt_memory_pool_t pool = make_pool();
  for (size_t bytes : {SIZE_MAX, SIZE_MAX - 1, SIZE_MAX - 255, SIZE_MAX / 2 + 1, SIZE_MAX / 2, size_t{1} << 62,
                       (size_t{1} << 62) + 1, size_t{1} << 50}) {
    void* data = &data;
    EXPECT_EQ(oprt_memory_alloc(kCpu, bytes, &data), OPRT_ERR_OUT_OF_MEMORY);
    EXPECT_EQ(data, nullptr);
    EXPECT_NE(message().find(std::to_string(bytes)), std::string::npos) << message();
    EXPECT_EQ(oprt_memory_alloc_pinned(kCpu, bytes, &data), OPRT_ERR_OUT_OF_MEMORY);
    EXPECT_EQ(oprt_memory_pool_alloc(pool, bytes, nullptr, &data), OPRT_ERR_OUT_OF_MEMORY);
    EXPECT_EQ(data, nullptr);
    void* small = take(pool, 100);
    EXPECT_NE(small, nullptr);
    EXPECT_EQ(oprt_memory_pool_free(pool, small, nullptr), OPRT_SUCCESS);
  }
  EXPECT_EQ(stats_of(pool).used_bytes, 0u);
  EXPECT_EQ(oprt_memory_pool_destroy(pool), OPRT_SUCCESS);
}

TEST(Memory, CopiesAndZeros) {
  std::vector<unsigned char> from(1000), to(1000, 7);
  for (size_t i = 0; i < from.size(); ++i) from[i] = static_cast<unsigned char>(i * 37 | 1);
  ASSERT_EQ(oprt_memory_copy(to.data(), kCpu, from.data(), kCpu, 999), OPRT_SUCCESS);
  EXPECT_TRUE(std::equal(from.begin(), from.end() - 1, to.begin()));
  EXPECT_EQ(to.back(), 7);
  ASSERT_EQ(oprt_memory_zero(kCpu, to.data() + 1, 998), OPRT_SUCCESS);
  EXPECT_EQ(to[0], from[0]);
  EXPECT_EQ(std::count(to.begin(), to.end(), 0), 998);
  ASSERT_EQ(oprt_memory_copy_async(to.data(), kCpu, from.data(), kCpu, 1000, nullptr), OPRT_SUCCESS);
  EXPECT_EQ(to, from) << "a CPU stream has done the work when the call returns";
  ASSERT_EQ(oprt_memory_zero_async(kCpu, to.data(), 1000, nullptr), OPRT_SUCCESS);
  EXPECT_EQ(std::count(to.begin(), to.end(), 0), 1000);
}

TEST(Memory, RefusesWrongCopies) {
  unsigned char bytes[64] = {};
  EXPECT_EQ(oprt_memory_copy(nullptr, kCpu, nullptr, kCpu, 0), OPRT_SUCCESS);
  EXPECT_EQ(oprt_memory_zero(kCpu, nullptr, 0), OPRT_SUCCESS);
  EXPECT_EQ(oprt_memory_copy(nullptr, kCpu, bytes, kCpu, 4), OPRT_ERR_INVALID_ARG);
  EXPECT_EQ(message(), "memory_copy: dst: expected 4 bytes, got a null pointer");
  EXPECT_EQ(oprt_memory_copy(bytes, kCpu, nullptr, kCpu, 4), OPRT_ERR_INVALID_ARG);
  EXPECT_EQ(oprt_memory_copy(bytes, kCpu, bytes + 31, kCpu, 32), OPRT_ERR_INVALID_ARG);
  EXPECT_EQ(message(),
            "memory_copy: dst: expected memory apart from src, got an overlap, 31 bytes apart with 32 to copy");
  EXPECT_EQ(oprt_memory_copy(bytes, kCpu, bytes + 32, kCpu, 32), OPRT_SUCCESS);
  EXPECT_EQ(oprt_memory_copy(bytes, kCpu, bytes + 32, kCpu, SIZE_MAX), OPRT_ERR_INVALID_ARG);
  EXPECT_EQ(oprt_memory_copy(bytes, {OPRT_BACKEND_CPU, 1}, bytes + 32, kCpu, 1), OPRT_ERR_INVALID_ARG);
  EXPECT_NE(message().find("dst_device"), std::string::npos);
  EXPECT_EQ(oprt_memory_copy(bytes, kCpu, bytes + 32, {OPRT_BACKEND_AUTO, 0}, 1), OPRT_ERR_INVALID_ARG);
  EXPECT_NE(message().find("src_device"), std::string::npos);
  EXPECT_EQ(oprt_memory_zero(kCpu, nullptr, 1), OPRT_ERR_INVALID_ARG);
  EXPECT_EQ(oprt_memory_zero(kCpu, bytes, SIZE_MAX), OPRT_ERR_INVALID_ARG);
}

TEST(MemoryPool, ReusesWhatWasFreed) {
  const oprt_memory_pool_t pool = make_pool();
  void* first = take(pool, 5000);
  const uint64_t reserved = stats_of(pool).reserved_bytes;
  EXPECT_GE(reserved, 5000u);
  EXPECT_LE(reserved, 5000u + 5000u / 8 + 256);
  for (int i = 0; i < 10; ++i) {
    ASSERT_EQ(oprt_memory_pool_free(pool, first, nullptr), OPRT_SUCCESS);
    EXPECT_EQ(stats_of(pool).used_bytes, 0u);
    EXPECT_EQ(take(pool, 5000), first);
  }
  const oprt_memory_pool_stats_t after = stats_of(pool);
  EXPECT_EQ(after.reserved_bytes, reserved) << "a size that comes back reserves nothing new";
  EXPECT_EQ(after.allocations, 11u);
  EXPECT_EQ(after.hits, 10u);

  void* second = take(pool, 5000);
  EXPECT_NE(second, first);
  EXPECT_EQ(stats_of(pool).reserved_bytes, 2 * reserved);
  ASSERT_EQ(oprt_memory_pool_free(pool, first, nullptr), OPRT_SUCCESS);
  ASSERT_EQ(oprt_memory_pool_free(pool, second, nullptr), OPRT_SUCCESS);
  ASSERT_EQ(oprt_memory_pool_trim(pool, reserved), OPRT_SUCCESS);
  EXPECT_EQ(stats_of(pool).reserved_bytes, reserved);
  ASSERT_EQ(oprt_memory_pool_trim(pool, 0), OPRT_SUCCESS);
  const oprt_memory_pool_stats_t end = stats_of(pool);
  EXPECT_EQ(end.reserved_bytes, 0u);
  EXPECT_EQ(end.reserved_peak, 2 * reserved);
  EXPECT_EQ(end.used_peak, 2 * reserved);
  EXPECT_EQ(oprt_memory_pool_destroy(pool), OPRT_SUCCESS);
}

TEST(MemoryPool, ReleaseThresholdBoundsWhatIsCached) {
  const oprt_memory_pool_t pool = make_pool();
  ASSERT_EQ(oprt_memory_pool_set_release_threshold(pool, kMiB), OPRT_SUCCESS);
  std::vector<void*> blocks;
  for (int i = 0; i < 4; ++i) blocks.push_back(take(pool, kMiB));
  EXPECT_EQ(stats_of(pool).reserved_bytes, 4 * kMiB) << "the threshold never fails an allocation";
  for (void* block : blocks) ASSERT_EQ(oprt_memory_pool_free(pool, block, nullptr), OPRT_SUCCESS);
  EXPECT_EQ(stats_of(pool).reserved_bytes, kMiB);
  ASSERT_EQ(oprt_memory_pool_set_release_threshold(pool, 0), OPRT_SUCCESS);
  EXPECT_EQ(stats_of(pool).reserved_bytes, 0u);
  EXPECT_EQ(oprt_memory_pool_destroy(pool), OPRT_SUCCESS);
}

TEST(MemoryPool, LimitReleasesCachedBlocksBeforeItRefuses) {
  const oprt_memory_pool_t pool = make_pool(4 * kMiB);
  void* a = take(pool, kMiB);
  void* b = take(pool, 2 * kMiB);
  ASSERT_EQ(oprt_memory_pool_free(pool, b, nullptr), OPRT_SUCCESS);
  void* c = take(pool, 3 * kMiB);  // only fits once b has gone back
  EXPECT_EQ(stats_of(pool).reserved_bytes, 4 * kMiB);
  void* d = &d;
  EXPECT_EQ(oprt_memory_pool_alloc(pool, 256, nullptr, &d), OPRT_ERR_OUT_OF_MEMORY);
  EXPECT_EQ(d, nullptr);
  EXPECT_EQ(message(),
            "memory_pool_alloc: 256 bytes do not fit a pool with a limit of 4194304 and 4194304 bytes in use");
  ASSERT_EQ(oprt_memory_pool_free(pool, a, nullptr), OPRT_SUCCESS);
  d = take(pool, 256);
  ASSERT_EQ(oprt_memory_pool_free(pool, c, nullptr), OPRT_SUCCESS);
  ASSERT_EQ(oprt_memory_pool_free(pool, d, nullptr), OPRT_SUCCESS);
  EXPECT_EQ(oprt_memory_pool_destroy(pool), OPRT_SUCCESS);
}

TEST(MemoryPool, RefusesWhatIsNotItsBlock) {
  const oprt_memory_pool_t pool = make_pool(), other = make_pool();
  void* data = take(pool, 64);
  EXPECT_EQ(oprt_memory_pool_use(pool, data, nullptr), OPRT_SUCCESS);
  EXPECT_EQ(oprt_memory_pool_free(other, data, nullptr), OPRT_ERR_INVALID_ARG);
  EXPECT_EQ(oprt_memory_pool_use(other, data, nullptr), OPRT_ERR_INVALID_ARG);
  EXPECT_EQ(oprt_memory_pool_free(pool, static_cast<char*>(data) + 1, nullptr), OPRT_ERR_INVALID_ARG);
  EXPECT_EQ(oprt_memory_pool_destroy(pool), OPRT_ERR_INVALID_ARG);
  EXPECT_EQ(message(), "memory_pool_destroy: pool: expected a pool with no block in use, got 256 bytes in use");
  EXPECT_EQ(oprt_memory_pool_free(pool, data, nullptr), OPRT_SUCCESS);
  EXPECT_EQ(oprt_memory_pool_free(pool, data, nullptr), OPRT_ERR_INVALID_ARG) << "freed twice";
  EXPECT_NE(message().find("a block of this pool in use"), std::string::npos);
  EXPECT_EQ(stats_of(pool).used_bytes, 0u);
  data = &data;
  EXPECT_EQ(oprt_memory_pool_alloc(pool, 0, nullptr, &data), OPRT_SUCCESS);
  EXPECT_EQ(data, nullptr);
  EXPECT_EQ(oprt_memory_pool_free(pool, nullptr, nullptr), OPRT_SUCCESS);
  EXPECT_EQ(oprt_memory_pool_alloc(nullptr, 8, nullptr, &data), OPRT_ERR_INVALID_ARG);
  EXPECT_EQ(oprt_memory_pool_alloc(pool, 8, nullptr, nullptr), OPRT_ERR_INVALID_ARG);
  EXPECT_EQ(oprt_memory_pool_create({OPRT_BACKEND_NVIDIA, -1}, 0, nullptr), OPRT_ERR_INVALID_ARG);
  oprt_memory_pool_stats_t short_stats = {};
  EXPECT_EQ(oprt_memory_pool_get_stats(pool, &short_stats), OPRT_ERR_INVALID_ARG);
  EXPECT_EQ(oprt_memory_pool_destroy(nullptr), OPRT_SUCCESS);
  EXPECT_EQ(oprt_memory_pool_destroy(pool), OPRT_SUCCESS);
  EXPECT_EQ(oprt_memory_pool_destroy(other), OPRT_SUCCESS);
}

// C36, as far as a CPU can: a block that was freed while another stream's copy of it was submitted. On the CPU the copy
// is done by then; the declared use must be accepted and the host must hold the old contents.
TEST(MemoryPool, C36_BlockReusedAfterAnotherStreamReadIt) {
  const oprt_memory_pool_t pool = make_pool();
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t)
    threads.emplace_back([&, t] {
      oprt_stream_t home = nullptr, side = nullptr;
      ASSERT_EQ(oprt_stream_create(kCpu, &home), OPRT_SUCCESS);
      ASSERT_EQ(oprt_stream_create(kCpu, &side), OPRT_SUCCESS);
      for (int i = 0; i < 200; ++i) {
        int host[64] = {};
        void* block = nullptr;
        ASSERT_EQ(oprt_memory_pool_alloc(pool, sizeof(host), t % 2 ? home : nullptr, &block), OPRT_SUCCESS);
        for (int k = 0; k < 64; ++k) static_cast<int*>(block)[k] = t * 1000 + i;
        ASSERT_EQ(oprt_memory_copy_async(host, kCpu, block, kCpu, sizeof(host), side), OPRT_SUCCESS);
        ASSERT_EQ(oprt_memory_pool_use(pool, block, side), OPRT_SUCCESS);
        ASSERT_EQ(oprt_memory_pool_free(pool, block, t % 2 ? home : nullptr), OPRT_SUCCESS);
        void* next = nullptr;
        ASSERT_EQ(oprt_memory_pool_alloc(pool, sizeof(host), home, &next), OPRT_SUCCESS);
        std::memset(next, 0xFF, sizeof(host));
        ASSERT_EQ(oprt_memory_pool_free(pool, next, home), OPRT_SUCCESS);
        ASSERT_EQ(oprt_stream_synchronize(kCpu, side), OPRT_SUCCESS);
        for (int value : host) ASSERT_EQ(value, t * 1000 + i);
      }
      oprt_stream_destroy(kCpu, home);
      oprt_stream_destroy(kCpu, side);
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(stats_of(pool).used_bytes, 0u);
  EXPECT_EQ(oprt_memory_pool_destroy(pool), OPRT_SUCCESS);
}

// C37: a pinned block freed, and a new one filled, right after the copy from it was submitted.
TEST(Memory, C37_PinnedBlockFreedRightAfterItsCopy) {
  void* device = nullptr;
  ASSERT_EQ(oprt_memory_alloc(kCpu, 4096, &device), OPRT_SUCCESS);
  for (int i = 0; i < 100; ++i) {
    void *pinned = nullptr, *next = nullptr;
    ASSERT_EQ(oprt_memory_alloc_pinned(kCpu, 4096, &pinned), OPRT_SUCCESS);
    std::memset(pinned, 1, 4096);
    ASSERT_EQ(oprt_memory_copy_async(device, kCpu, pinned, kCpu, 4096, nullptr), OPRT_SUCCESS);
    ASSERT_EQ(oprt_memory_free_pinned(kCpu, pinned), OPRT_SUCCESS);
    ASSERT_EQ(oprt_memory_alloc_pinned(kCpu, 4096, &next), OPRT_SUCCESS);
    std::memset(next, 9, 4096);
    ASSERT_EQ(oprt_stream_synchronize(kCpu, nullptr), OPRT_SUCCESS);
    ASSERT_EQ(std::count(static_cast<char*>(device), static_cast<char*>(device) + 4096, 1), 4096);
    ASSERT_EQ(oprt_memory_free_pinned(kCpu, next), OPRT_SUCCESS);
  }
  ASSERT_EQ(oprt_memory_free(kCpu, device), OPRT_SUCCESS);
}

// C38: 16 threads, random sizes, a limit so low that most calls release cached blocks or run out, and trims between.
// Each block is stamped by its owner and checked before it goes back: two owners of one block would show.
TEST(MemoryPool, C38_ThreadsAtTheLimit) {
  const oprt_memory_pool_t pool = make_pool(256 * 1024);
  std::atomic<int> served{0}, refused{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 16; ++t)
    threads.emplace_back([&, t] {
      std::mt19937 random(t);
      std::vector<std::pair<unsigned char*, size_t>> mine;
      const auto give_back = [&](size_t i) {
        const auto [data, bytes] = mine[i];
        EXPECT_EQ(data[0], t);
        EXPECT_EQ(data[bytes - 1], t);
        EXPECT_EQ(oprt_memory_pool_free(pool, data, nullptr), OPRT_SUCCESS);
        mine[i] = mine.back();
        mine.pop_back();
      };
      for (int i = 0; i < 2000; ++i) {
        const size_t bytes = 2 + random() % 20000;
        void* data = nullptr;
        const oprt_status_t status = oprt_memory_pool_alloc(pool, bytes, nullptr, &data);
        if (status == OPRT_SUCCESS) {
          std::memset(data, t, bytes);
          mine.push_back({static_cast<unsigned char*>(data), bytes});
          ++served;
        } else {
          EXPECT_EQ(status, OPRT_ERR_OUT_OF_MEMORY);
          ++refused;
        }
        if (!mine.empty() && (status != OPRT_SUCCESS || random() % 2)) give_back(random() % mine.size());
        if (random() % 8 == 0) {
          EXPECT_EQ(oprt_memory_pool_trim(pool, random() % 200000), OPRT_SUCCESS);
        }
        const oprt_memory_pool_stats_t now = stats_of(pool);
        EXPECT_LE(now.used_bytes, now.reserved_bytes);
        EXPECT_LE(now.reserved_bytes, 256u * 1024);
      }
      while (!mine.empty()) give_back(0);
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_GT(served, 0);
  EXPECT_GT(refused, 0) << "the limit is meant to bite";
  EXPECT_EQ(stats_of(pool).used_bytes, 0u);
  EXPECT_EQ(stats_of(pool).allocations, static_cast<uint64_t>(served));
  ASSERT_EQ(oprt_memory_pool_trim(pool, 0), OPRT_SUCCESS);
  EXPECT_EQ(stats_of(pool).reserved_bytes, 0u);
  EXPECT_EQ(oprt_memory_pool_destroy(pool), OPRT_SUCCESS);
}

}  // namespace
