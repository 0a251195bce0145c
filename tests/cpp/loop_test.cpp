// core/loop.h: the simplified loop nests visit exactly what a naive loop over every index visits (C27).
#include "oprt/core/loop.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <random>
#include <string>
#include <vector>

#include "oprt/core/text.h"
#include "oprt/core/view.h"

namespace oprt {
namespace {

constexpr int kOperands = 3;
using Offsets = std::array<int64_t, kOperands>;  // elements from each operand's data pointer

View view(std::vector<int64_t> shape, std::vector<int64_t> strides) {
  View v = {};
  v.dtype = OPRT_DTYPE_F32;
  v.ndim = static_cast<int32_t>(shape.size());
  std::copy(shape.begin(), shape.end(), v.shape);
  std::copy(strides.begin(), strides.end(), v.strides);
  return v;
}

template <class F>
void for_each_index(const int64_t* shape, int ndim, F&& f) {
  std::vector<int64_t> index(ndim, 0);
  int64_t n = 1;
  for (int i = 0; i < ndim; ++i) n *= shape[i];
  for (; n > 0; --n) {
    f(index);
    for (int i = ndim - 1; i >= 0 && ++index[i] == shape[i]; --i) index[i] = 0;
  }
}

std::vector<Offsets> naive(const View* const* views) {
  std::vector<Offsets> out;
  for_each_index(views[0]->shape, views[0]->ndim, [&](const std::vector<int64_t>& index) {
    Offsets at = {};
    for (int k = 0; k < kOperands; ++k)
      for (size_t i = 0; views[k] && i < index.size(); ++i) at[k] += index[i] * views[k]->strides[i];
    out.push_back(at);
  });
  return out;
}

std::vector<Offsets> visited(const Loop& loop) {
  std::vector<Offsets> out;
  if (loop.count == 0) return out;
  for_each_index(loop.shape, loop.rank, [&](const std::vector<int64_t>& index) {
    Offsets at;
    for (int k = 0; k < kOperands; ++k) {
      at[k] = loop.offset[k];
      for (size_t i = 0; i < index.size(); ++i) at[k] += index[i] * loop.strides[k][i];
    }
    out.push_back(at);
  });
  return out;
}

std::vector<Offsets> sorted(std::vector<Offsets> offsets) {
  std::sort(offsets.begin(), offsets.end());
  return offsets;
}

// What the header promises of every loop.
void expect_simple(const Loop& loop, const std::string& what) {
  for (int d = 0; d < loop.rank; ++d) {
    EXPECT_GT(loop.shape[d], 1) << what;
    EXPECT_GE(loop.strides[0][d], 0) << what;
    if (d == 0) continue;
    EXPECT_GE(loop.strides[0][d - 1], loop.strides[0][d]) << what;
    bool merges = true;
    for (int k = 0; k < loop.operands; ++k)
      merges = merges && loop.strides[k][d - 1] == loop.strides[k][d] * loop.shape[d];
    EXPECT_FALSE(merges) << what << ": axes " << d - 1 << " and " << d << " are one";
  }
}

TEST(Loop, C27_TenThousandRandomLayoutsEqualANaiveLoop) {
  constexpr int64_t lengths[] = {0, 1, 1, 2, 3, 5};
  std::mt19937 random(27);
  int empty = 0, merged = 0, turned = 0;
  for (int i = 0; i < 10000; ++i) {
    const int rank = static_cast<int>(random() % 7);
    View views[kOperands];
    const View* pointers[kOperands];
    std::vector<int64_t> shape(rank);
    for (int64_t& length : shape) length = lengths[random() % 6];
    if (random() % 4) std::replace(shape.begin(), shape.end(), int64_t{0}, int64_t{2});
    for (int k = 0; k < kOperands; ++k) {
      views[k] = view(shape, shape);
      int64_t packed = 1;
      for (int d = rank - 1; d >= 0; --d) {
        // Most axes continue a packed layout, so that merging has something to do.
        views[k].strides[d] = random() % 8 ? packed : static_cast<int64_t>(random() % 41) - 20;
        if (shape[d] == 1 && random() % 2) views[k].strides[d] = random() % 2 ? INT64_MAX : INT64_MIN;
        packed *= std::max<int64_t>(shape[d], 1);
      }
      pointers[k] = k > 0 && random() % 8 == 0 ? nullptr : &views[k];
    }
    std::string what = "shape " + text(shape.data(), rank);
    for (const View* v : pointers) what.append(" strides ").append(v ? text(v->strides, rank) : "absent");

    const Loop loop = make_loop(pointers, kOperands);
    for (int k = 0; k < kOperands; ++k)  // so that the naive sums do not meet the meaningless strides
      for (int d = 0; d < rank; ++d)
        if (shape[d] == 1) views[k].strides[d] = 0;
    ASSERT_EQ(sorted(visited(loop)), sorted(naive(pointers))) << what;
    ASSERT_EQ(loop.count, count(views[0])) << what;
    expect_simple(loop, what);
    const int longer = static_cast<int>(std::count_if(shape.begin(), shape.end(), [](int64_t n) { return n > 1; }));
    empty += loop.count == 0;
    merged += loop.count > 0 && loop.rank < longer;
    turned += loop.offset[0] != 0;
  }
  EXPECT_GT(empty, 500);
  EXPECT_GT(merged, 500);
  EXPECT_GT(turned, 500);
}

TEST(Loop, C27_LengthOneAxesNeverHinderMerging) {
  const View out = view({2, 1, 3}, {3, 77, 1});
  const Loop loop = make_loop(out, view({2, 1, 3}, {3, -999, 1}));
  EXPECT_EQ(loop.rank, 1);
  EXPECT_EQ(loop.shape[0], 6);
  EXPECT_TRUE(is_contiguous(loop));

  View a = view({4, 3}, {1, 4}), b, c;
  const View sum = view({4, 3}, {3, 1});
  ASSERT_TRUE(broadcast(view({4, 1}, {7, 999}), sum, &b));
  ASSERT_TRUE(broadcast(view({1, 3}, {999, 2}), sum, &c));
  const View* views[] = {&sum, &b, &c};
  EXPECT_EQ(sorted(visited(make_loop(views, 3))), sorted(naive(views)));
  const View* transposed[] = {&sum, &a, &b};
  EXPECT_EQ(sorted(visited(make_loop(transposed, 3))), sorted(naive(transposed)));
}

TEST(Loop, KnowsContiguousFromReversed) {
  EXPECT_TRUE(is_contiguous(make_loop(view({2, 3}, {3, 1}), view({2, 3}, {3, 1}))));
  EXPECT_TRUE(is_contiguous(make_loop(view({2, 3}, {1, 2}), view({2, 3}, {1, 2})))) << "transposed alike";
  EXPECT_TRUE(is_contiguous(make_loop(view({6}, {-1}), view({6}, {-1})))) << "both reversed";
  EXPECT_FALSE(is_contiguous(make_loop(view({6}, {1}), view({6}, {-1}))));
  EXPECT_FALSE(is_contiguous(make_loop(view({2, 3}, {3, 1}), view({2, 3}, {1, 2}))));
  EXPECT_TRUE(is_contiguous(make_loop(view({1}, {-5}), view({1}, {0})))) << "C28: one element, whatever its stride";
  EXPECT_TRUE(is_contiguous(make_loop(view({}, {}), view({}, {}))));
}

TEST(Rows, VisitEveryElementOnce) {
  std::mt19937 random(5);
  for (int i = 0; i < 3000; ++i) {
    const int rank = 1 + static_cast<int>(random() % 4), axis = static_cast<int>(random() % rank);
    View full[2], sum;
    std::vector<int64_t> shape(rank);
    for (int64_t& length : shape) length = 1 + random() % 4;
    for (View& v : full) {
      v = view(shape, shape);
      for (int d = 0; d < rank; ++d) v.strides[d] = static_cast<int64_t>(random() % 41) - 20;
    }
    sum = full[0];
    sum.shape[axis] = 1;
    sum.strides[axis] = INT64_MAX;
    const bool reduces = random() % 2;
    const View* views[] = {reduces ? &sum : &full[0], &full[1]};
    const bool reduced[] = {reduces, false};
    const Rows rows = make_rows(views, reduced, 2, axis);
    ASSERT_EQ(rows.length, shape[axis]);

    std::vector<Offsets> got, right;
    for_each_index(rows.rows.shape, rows.rows.rank, [&](const std::vector<int64_t>& index) {
      for (int64_t j = 0; j < rows.length; ++j) {
        Offsets at = {};
        for (int k = 0; k < 2; ++k) {
          at[k] = rows.rows.offset[k] + j * rows.axis_stride[k];
          for (size_t d = 0; d < index.size(); ++d) at[k] += index[d] * rows.rows.strides[k][d];
        }
        got.push_back(at);
      }
    });
    for_each_index(shape.data(), rank, [&](const std::vector<int64_t>& index) {
      Offsets at = {};
      for (int d = 0; d < rank; ++d) {
        at[0] += reduces && d == axis ? 0 : index[d] * full[0].strides[d];
        at[1] += index[d] * full[1].strides[d];
      }
      right.push_back(at);
    });
    ASSERT_TRUE(rows.length > 1 || rows.axis_stride[1] == 1);
    ASSERT_TRUE(!reduces || rows.axis_stride[0] == 0);
    ASSERT_EQ(sorted(got), sorted(right)) << "shape " << text(shape.data(), rank) << " axis " << axis;
  }
}

}  // namespace
}  // namespace oprt
