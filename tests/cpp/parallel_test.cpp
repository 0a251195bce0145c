// core/parallel.h: every index once, whole units, the number of threads asked for.
#include "oprt/core/parallel.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace oprt {
namespace {

using Piece = std::pair<int64_t, int64_t>;

std::set<Piece> pieces_of(int64_t count, int64_t grain) {
  std::mutex mutex;
  std::set<Piece> pieces;
  parallel_for(count, grain, [&](int64_t begin, int64_t end) {
    std::lock_guard lock(mutex);
    EXPECT_TRUE(pieces.insert({begin, end}).second);
  });
  return pieces;
}

TEST(ParallelFor, CoversEveryIndexOnceInWholeUnits) {
  for (int64_t count : {1, 2, 3, 7, 64, 1000, 1001, 4096, 65537})
    for (int64_t grain : {1, 2, 3, 16, 1000, 100000}) {
      const std::set<Piece> pieces = pieces_of(count, grain);
      EXPECT_LE(static_cast<int>(pieces.size()), parallel_threads());
      EXPECT_LE(static_cast<int64_t>(pieces.size()), std::max<int64_t>(1, count / grain)) << count << " by " << grain;
      int64_t next = 0;
      for (const auto& [begin, end] : pieces) {
        ASSERT_EQ(begin, next) << count << " by " << grain;
        ASSERT_LT(begin, end);
        ASSERT_EQ(begin % std::min(grain, kParallelUnit), 0) << count << " by " << grain;
        next = end;
      }
      ASSERT_EQ(next, count);
    }
}

TEST(ParallelFor, SmallWorkStaysOnTheCallingThread) {
  const std::thread::id caller = std::this_thread::get_id();
  int calls = 0;
  parallel_for(100, 100, [&](int64_t begin, int64_t end) {
    EXPECT_EQ(std::this_thread::get_id(), caller);
    EXPECT_EQ(Piece(begin, end), Piece(0, 100));
    ++calls;
  });
  EXPECT_EQ(calls, 1);
  parallel_for(0, 100, [&](int64_t, int64_t) { ADD_FAILURE() << "nothing to do"; });
}

TEST(ParallelFor, UsesTheThreadsThatAreThere) {
  if (parallel_threads() == 1) GTEST_SKIP() << "one thread";
  std::mutex mutex;
  std::set<std::thread::id> threads;
  parallel_for(1 << 20, 1, [&](int64_t, int64_t) {
    std::lock_guard lock(mutex);
    threads.insert(std::this_thread::get_id());
  });
  EXPECT_GT(threads.size(), 1u);
}

TEST(ParallelFor, MayBeCalledFromManyThreadsAndFromWithin) {
  constexpr int64_t kCount = 10000;
  const auto seen = std::make_unique<std::atomic<int>[]>(kCount);
  std::vector<std::thread> callers;
  for (int t = 0; t < 16; ++t)
    callers.emplace_back([&] {
      parallel_for(kCount, 100, [&](int64_t begin, int64_t end) {
        parallel_for(end - begin, 10, [&, begin](int64_t from, int64_t to) {
          for (int64_t i = from; i < to; ++i) ++seen[begin + i];
        });
      });
    });
  for (std::thread& caller : callers) caller.join();
  for (int64_t i = 0; i < kCount; ++i) ASSERT_EQ(seen[i], 16) << i;
}

// The variable is read when a process starts, so another one must be asked: this program, told to answer.
TEST(ParallelFor, HonoursOmpNumThreads) {
  if (const char* answer = std::getenv("OPRT_TEST_ANSWER")) {
    EXPECT_EQ(parallel_threads(), std::atoi(answer));
    EXPECT_LE(static_cast<int>(pieces_of(1000, 1).size()), std::atoi(answer));
    return;
  }
  for (const char* threads : {"1", "3"}) {
    const std::string command = std::string("OPRT_TEST_ANSWER=") + threads + " OMP_NUM_THREADS=" + threads + " /proc/" +
                                std::to_string(getpid()) +
                                "/exe --gtest_filter=ParallelFor.HonoursOmpNumThreads > /dev/null";
    EXPECT_EQ(std::system(command.c_str()), 0) << command;
  }
}

}  // namespace
}  // namespace oprt
