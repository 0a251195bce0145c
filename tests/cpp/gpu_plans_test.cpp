// What the GPU's launches are planned with, none of which needs a device: division by multiplication, where a loop's
// i-th element lies, which path a loop takes, how rows are spread over threads.
#include <gtest/gtest.h>

#include <cstdint>
#include <random>
#include <vector>

#include "oprt/core/loop.h"
#include "oprt/device/divide.h"
#include "oprt/device/nest.h"
#include "oprt/device/occupancy.h"
#include "oprt/device/row_shape.h"

namespace oprt {
namespace {

template <class U>
void expect_divides(U n, int64_t by) {
  const Divider<U> divider(by);
  U rest = n;
  const U quotient = divider.divide(rest);
  ASSERT_EQ(quotient, n / static_cast<U>(by)) << n << " / " << by;
  ASSERT_EQ(rest, n % static_cast<U>(by)) << n << " % " << by;
}

TEST(Divider, IsDivision) {
  for (uint32_t by = 1; by < 300; ++by)
    for (uint32_t n = 0; n < 1000; ++n) expect_divides<uint32_t>(n, by);
  std::mt19937_64 random(1);
  for (int bits = 1; bits <= 31; ++bits)
    for (int i = 0; i < 2000; ++i) {
      const auto by = static_cast<int64_t>(random() >> (64 - bits)) + 1;
      if (by >= int64_t{1} << 31) continue;
      for (uint32_t n : {uint32_t{0}, static_cast<uint32_t>(random()) >> 1, static_cast<uint32_t>(by - 1),
                         static_cast<uint32_t>(by), (uint32_t{1} << 31) - 1})
        expect_divides<uint32_t>(n, by);
    }
  for (int bits = 1; bits <= 62; ++bits)
    for (int i = 0; i < 500; ++i) {
      const auto by = static_cast<int64_t>(random() >> (64 - bits)) + 1;
      for (uint64_t n : {uint64_t{0}, random() >> 1, static_cast<uint64_t>(by - 1), static_cast<uint64_t>(by),
                         (uint64_t{1} << 63) - 1})
        expect_divides<uint64_t>(n, by);
    }
}

oprt_tensor_view_t view(std::vector<int64_t> shape, std::vector<int64_t> strides) {
  oprt_tensor_view_t v = {};
  v.dtype = OPRT_DTYPE_F32;
  v.ndim = static_cast<int32_t>(shape.size());
  std::copy(shape.begin(), shape.end(), v.shape);
  std::copy(strides.begin(), strides.end(), v.strides);
  return v;
}

template <class U>
void expect_offsets(const Loop& loop) {
  const Nest<U, 2> nest(loop, loop.rank);
  int64_t index[OPRT_MAX_DIMS] = {};
  for (int64_t i = 0; i < loop.count; ++i) {
    int64_t at[2], expected[2] = {};
    nest.offsets(static_cast<U>(i), at);
    for (int d = 0; d < loop.rank; ++d)
      for (int k = 0; k < 2; ++k) expected[k] += index[d] * loop.strides[k][d];
    ASSERT_EQ(at[0], expected[0]) << i;
    ASSERT_EQ(at[1], expected[1]) << i;
    for (int d = loop.rank - 1; d >= 0 && ++index[d] == loop.shape[d]; --d) index[d] = 0;
  }
}

TEST(Nest, FindsEveryElement) {
  const auto out = view({2, 3, 5, 4}, {100, 30, 5, 1});
  const auto in = view({2, 3, 5, 4}, {-7, 0, 1, 60});
  const Loop loop = make_loop(out, in);
  ASSERT_GT(loop.rank, 2);
  expect_offsets<uint32_t>(loop);
  expect_offsets<uint64_t>(loop);
  expect_offsets<uint32_t>(make_loop(view({}, {}), view({}, {})));
}

TEST(Nest, TakesOperandsInAnyOrder) {
  const Loop loop = make_loop(view({4, 3}, {3, 1}), view({4, 3}, {1, 4}), view({4, 3}, {50, 7}));
  const Loop some = loop_of(loop, {2, 0});
  EXPECT_EQ(some.operands, 2);
  for (int d = 0; d < loop.rank; ++d) {
    EXPECT_EQ(some.strides[0][d], loop.strides[2][d]);
    EXPECT_EQ(some.strides[1][d], loop.strides[0][d]);
  }
}

LoopPath path(const Loop& loop, uintptr_t out, uintptr_t in) {
  const void* data[] = {reinterpret_cast<void*>(out), reinterpret_cast<void*>(in)};
  return loop_path(loop, 4, data);
}

TEST(LoopPath, FollowsStridesAndAddresses) {
  const Loop dense = make_loop(view({6, 8}, {8, 1}), view({6, 8}, {8, 1}));
  EXPECT_EQ(path(dense, 256, 512), LoopPath::kContiguous);
  EXPECT_EQ(path(dense, 256, 516), LoopPath::kUnaligned);
  EXPECT_EQ(path(dense, 264, 512), LoopPath::kUnaligned);
  EXPECT_EQ(path(make_loop(view({3}, {1}), view({3}, {1})), 256, 516), LoopPath::kContiguous) << "less than a piece";
  const Loop row_vector = make_loop(view({6, 8}, {8, 1}), view({6, 8}, {0, 1}));
  const Loop column_scalar = make_loop(view({6, 8}, {8, 1}), view({6, 8}, {1, 0}));
  const Loop padded = make_loop(view({6, 8}, {9, 1}), view({6, 8}, {8, 1}));
  for (const Loop& loop : {row_vector, column_scalar, padded}) EXPECT_EQ(path(loop, 256, 516), LoopPath::kRows);
  const Loop narrow = make_loop(view({6, 3}, {4, 1}), view({6, 3}, {3, 1}));
  const Loop transposed = make_loop(view({6, 8}, {8, 1}), view({6, 8}, {1, 6}));
  const Loop apart = make_loop(view({6, 8}, {16, 2}), view({6, 8}, {8, 1}));
  for (const Loop& loop : {narrow, transposed, apart}) EXPECT_EQ(path(loop, 256, 512), LoopPath::kStrided);
}

TEST(LoopPath, TransposesWhereInputsRunAlongOneOtherAxis) {
  const auto rows = view({2, 20, 40}, {800, 40, 1}), turned = view({2, 20, 40}, {800, 1, 20});
  const auto column = view({2, 20, 40}, {20, 1, 0}), outermost = view({2, 20, 40}, {1, 2, 40});
  EXPECT_EQ(path(make_loop(rows, turned), 256, 512), LoopPath::kTranspose);
  EXPECT_EQ(path(make_loop(rows, turned), 258, 514), LoopPath::kTranspose) << "at any address";
  EXPECT_EQ(turned_axis(make_loop(rows, turned)), 1);
  EXPECT_EQ(turned_axis(make_loop(rows, rows, turned)), 1);
  EXPECT_EQ(turned_axis(make_loop(rows, turned, column)), 1);
  EXPECT_EQ(turned_axis(make_loop(rows, turned, outermost)), -1) << "two inputs along two axes";
  EXPECT_EQ(turned_axis(make_loop(rows, outermost)), -1) << "an axis of 2 fills no tile";
  EXPECT_EQ(turned_axis(make_loop(view({20, 15}, {15, 1}), view({20, 15}, {1, 20}))), -1) << "nor does one of 15";
  EXPECT_EQ(turned_axis(make_loop(view({20, 40}, {80, 2}), view({20, 40}, {1, 20}))), -1) << "out has no rows";
}

TEST(LoopPath, RowsAreAlignedWhereEveryStrideIs) {
  const Loop loop = make_loop(view({3, 6, 8}, {64, 9, 1}), view({3, 6, 8}, {64, 8, 1}));
  const auto* aligned = reinterpret_cast<const void*>(uintptr_t{256});
  const auto* odd = reinterpret_cast<const void*>(uintptr_t{260});
  const int outer = loop.rank - 1;
  EXPECT_FALSE(rows_aligned(loop, 0, aligned, 4, outer));
  EXPECT_TRUE(rows_aligned(loop, 1, aligned, 4, outer));
  EXPECT_FALSE(rows_aligned(loop, 1, odd, 4, outer));
}

// Every element of a row has a thread that holds it, and no thread holds more than its registers do.
void expect_covers(const RowShape& s, int64_t length, int64_t element_bytes, bool contiguous, bool clusters) {
  SCOPED_TRACE(testing::Message() << length << " elements of " << element_bytes << " bytes, contiguous " << contiguous
                                  << ", clusters " << clusters);
  const int64_t piece = contiguous ? 16 / element_bytes : 1;
  ASSERT_GE(s.parts, 1);
  ASSERT_GE(s.parts * s.part_length, length);
  ASSERT_LT((s.parts - 1) * s.part_length, std::max<int64_t>(length, 1)) << "a part without elements";
  const bool warp = s.path == RowPath::kWarp;
  const int64_t sharing = warp ? s.lanes : contiguous ? s.threads : s.threads / kRowLanes;
  ASSERT_GE(sharing * (s.elements / piece) * piece, s.part_length);
  ASSERT_EQ(s.threads % kRowLanes, 0);
  ASSERT_LE(s.threads, kRowThreads);
  ASSERT_EQ(sharing & (sharing - 1), 0) << "groups are powers of two";
  if (s.parts > 1) {
    ASSERT_EQ(s.part_length % piece, 0) << "parts begin at pieces";
  }
  if (s.path == RowPath::kCluster || s.path == RowPath::kClusterColumns) {
    ASSERT_TRUE(clusters);
    ASSERT_LE(s.parts, kRowClusterBlocks);
  }
  if (s.path == RowPath::kCluster) {
    ASSERT_EQ(s.parts & (s.parts - 1), 0);
  }
}

// Of a block, for capability 7.5; 8.6, 8.9 and 12.0; 9.0.
constexpr int64_t kSmallShared = 64 << 10, kMediumShared = 99 << 10, kLargeShared = 227 << 10;

// Of an H200, and of a device whose multiprocessors hold little.
constexpr Multiprocessors kH200 = {132, 228 << 10, 1 << 10, 65536, 2048, 32},
                          kSmall = {68, 64 << 10, 0, 65536, 1024, 16};

// As `cudaOccupancyMaxActiveBlocksPerMultiprocessor` says of kernels without shared memory on an H200.
TEST(BlocksAtOnce, AreBoundByWhatTheyNeedMostOf) {
  const auto of_each = [](int registers, int threads) { return blocks_at_once(registers, threads, kH200) / 132; };
  EXPECT_EQ(of_each(0, 128), 16);  // threads
  EXPECT_EQ(of_each(32, 256), 8);
  EXPECT_EQ(of_each(33, 256), 6);  // registers: 40 of a thread
  EXPECT_EQ(of_each(48, 128), 10);
  EXPECT_EQ(of_each(80, 128), 6);
  EXPECT_EQ(of_each(112, 128), 4);
  EXPECT_EQ(of_each(112, 512), 1);
  EXPECT_EQ(of_each(255, 64), 4);
  EXPECT_EQ(of_each(16, 32), 32);  // blocks
  EXPECT_EQ(of_each(200, 1024), 0);
}

TEST(EvenShare, LeavesRoomForTheShareAndNoMore) {
  for (const Multiprocessors& all : {kH200, kSmall})
    for (int fixed : {0, 16, 1000})
      for (int64_t blocks : {all.count + 1, 2 * all.count, 2 * all.count + 1, 7 * all.count, 16 * all.count}) {
        const int64_t share = (blocks + all.count - 1) / all.count;
        const int64_t block = evenly_shared(blocks, 0, fixed, all) + fixed + all.reserved;
        EXPECT_LE(share * block, all.shared) << blocks;
        EXPECT_GT((share + 1) * block, all.shared) << blocks;
        EXPECT_LE((share + 1) * (block - 128), all.shared) << blocks;  // and by no more than an allocation's unit
      }
}

TEST(EvenShare, LeavesOtherLaunchesAsTheyAre) {
  EXPECT_EQ(evenly_shared(1, 0, 0, kH200), 0);
  EXPECT_EQ(evenly_shared(132, 4096, 0, kH200), 4096);
  EXPECT_EQ(evenly_shared(16 * 132 + 1, 4096, 0, kH200), 4096);
  EXPECT_EQ(evenly_shared(int64_t{1} << 40, 0, 0, kH200), 0);
  EXPECT_EQ(evenly_shared(1000, 100 << 10, 0, kH200), 100 << 10);  // what it needs is more than a share
}

TEST(RowShape, CoversEveryLength) {
  std::vector<int64_t> lengths;
  for (int64_t n = 0; n < 2100; ++n) lengths.push_back(n);
  for (int64_t at = 2048; at <= int64_t{1} << 33; at *= 2)
    for (int64_t n : {at - 1, at, at + 1, at + at / 3}) lengths.push_back(n);
  for (int64_t n : lengths)
    for (int64_t bytes : {2, 4})
      for (bool contiguous : {false, true})
        for (bool clusters : {false, true}) {
          expect_covers(row_shape(n, bytes, contiguous, clusters), n, bytes, contiguous, clusters);
          for (int64_t shared : {kSmallShared, kMediumShared, kLargeShared})
            for (int least16 : {16, 32}) {
              const RowShape shape = map_shape(n, bytes, contiguous, {clusters, shared}, least16);
              expect_covers(shape, n, bytes, contiguous, clusters);
              if (contiguous) {  // what a launch asks for a row of two inputs that are not at 16 bytes
                ASSERT_LE(2 * (shape.threads * shape.elements * bytes + kPieceBytes) + kStaticShared, shared) << n;
              }
            }
        }
}

TEST(RowShape, ClimbsItsLadder) {
  const auto path = [](int64_t n) { return row_shape(n, 2, true, true).path; };
  EXPECT_EQ(path(1), RowPath::kWarp);
  EXPECT_EQ(row_shape(8, 2, true, true).lanes, 1);
  EXPECT_EQ(row_shape(9, 2, true, true).lanes, 2);
  EXPECT_EQ(row_shape(256, 2, true, true).elements, kShortElements);
  EXPECT_EQ(row_shape(257, 2, true, true).elements, kRowElements);
  EXPECT_EQ(path(1024), RowPath::kWarp);
  EXPECT_EQ(path(1025), RowPath::kBlock);
  EXPECT_EQ(row_shape(1025, 2, true, true).threads, 64);
  EXPECT_EQ(row_shape(16384, 2, true, true).threads, 512);
  EXPECT_EQ(path(16385), RowPath::kSplit);
  EXPECT_EQ(row_shape(512, 4, false, true).path, RowPath::kColumns);
  EXPECT_EQ(row_shape(513, 4, false, true).path, RowPath::kClusterColumns);
  EXPECT_EQ(row_shape(513, 4, false, false).path, RowPath::kSplitColumns);
  EXPECT_EQ(row_shape(4096, 4, false, true).path, RowPath::kClusterColumns);
  EXPECT_EQ(row_shape(4097, 4, false, true).path, RowPath::kSplitColumns);
}

TEST(RowShape, OfHeldRowsClimbsAnother) {
  const auto shape = [](int64_t n, int64_t bytes) { return map_shape(n, bytes, true, {true, kLargeShared}); };
  EXPECT_EQ(shape(0, 2).elements, 16);
  EXPECT_EQ(shape(128, 2).elements, 16);
  EXPECT_EQ(shape(128, 2).lanes, 8);
  EXPECT_EQ(shape(128, 4).elements, 8);
  EXPECT_EQ(shape(128, 4).lanes, 16);
  EXPECT_EQ(shape(512, 2).elements, 16);
  EXPECT_EQ(shape(768, 2).elements, 24);
  EXPECT_EQ(shape(1024, 2).elements, 32);
  EXPECT_EQ(shape(768, 4).path, RowPath::kWarp);
  EXPECT_EQ(shape(769, 4).path, RowPath::kBlock);
  EXPECT_EQ(map_shape(4096, 2, true, {true, kLargeShared}, 32).threads, 128);
  EXPECT_EQ(map_shape(4096, 4, true, {true, kLargeShared}, 32).threads, 256);
  EXPECT_EQ(shape(1024, 4).threads, 64);
  EXPECT_EQ(shape(4096, 2).threads, 256);
  EXPECT_EQ(shape(8192, 2).threads, 256);
  EXPECT_EQ(shape(8192, 4).threads, 512);
  EXPECT_EQ(shape(16384, 4).elements, 32);
  EXPECT_EQ(shape(16385, 4).path, RowPath::kCluster);
  EXPECT_EQ(shape(32768, 2).path, RowPath::kBlock);
  EXPECT_EQ(shape(32768, 2).elements, 64);
  EXPECT_EQ(shape(32769, 2).path, RowPath::kCluster);
  EXPECT_EQ(shape(131073, 2).path, RowPath::kSplit);
  EXPECT_EQ(map_shape(16384, 4, true, {true, kSmallShared}).path, RowPath::kSplit);
}

}  // namespace
}  // namespace oprt
