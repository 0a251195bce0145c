// core/view.h and core/check.h: overlap against brute force, and what hostile shapes and strides are told.
#include "oprt/core/view.h"

#include <gtest/gtest.h>

#include <chrono>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "oprt/core/check.h"
#include "oprt/core/text.h"

namespace oprt {
namespace {

alignas(16) char memory[1 << 16];  // stands for any memory: overlap only computes with addresses

View view(oprt_dtype_t dtype, std::vector<int64_t> shape, std::vector<int64_t> strides, void* data = memory) {
  View v = {};
  v.data = data;
  v.dtype = dtype;
  v.ndim = static_cast<int32_t>(shape.size());
  std::copy(shape.begin(), shape.end(), v.shape);
  std::copy(strides.begin(), strides.end(), v.strides);
  return v;
}

std::string describe(const View& v) {
  return std::string(oprt_dtype_string(v.dtype)) + " shape " + text(v.shape, v.ndim) + " strides " +
         text(v.strides, v.ndim);
}

// Calls f with the element offset of every index.
template <class F>
void for_each_offset(const View& v, F&& f) {
  std::vector<int64_t> index(v.ndim, 0);
  for (int64_t n = count(v); n > 0; --n) {
    int64_t offset = 0;
    for (int i = 0; i < v.ndim; ++i) offset += index[i] * v.strides[i];
    f(offset);
    for (int i = v.ndim - 1; i >= 0 && ++index[i] == v.shape[i]; --i) index[i] = 0;
  }
}

std::set<int64_t> bytes_of(const View& v, int64_t base) {
  std::set<int64_t> bytes;
  for_each_offset(v, [&](int64_t offset) {
    for (int64_t b = 0; b < size_of(v.dtype); ++b) bytes.insert(base + offset * size_of(v.dtype) + b);
  });
  return bytes;
}

View random_view(std::mt19937& random, int64_t longest, int64_t widest) {
  constexpr oprt_dtype_t dtypes[] = {OPRT_DTYPE_F16, OPRT_DTYPE_F32, OPRT_DTYPE_I64};
  View v = view(dtypes[random() % 3], {}, {});
  v.ndim = static_cast<int32_t>(random() % 5);
  for (int i = 0; i < v.ndim; ++i) {
    v.shape[i] = 1 + static_cast<int64_t>(random() % longest);
    v.strides[i] = static_cast<int64_t>(random() % (2 * widest + 1)) - widest;
    if (v.shape[i] == 1 && random() % 2) v.strides[i] = random() % 2 ? INT64_MAX : INT64_MIN;  // meaningless
  }
  return v;
}

TEST(Overlap, EqualsBruteForce) {
  std::mt19937 random(1);
  int found[2] = {};
  for (int i = 0; i < 20000; ++i) {
    const View a = random_view(random, 4, 12), b = random_view(random, 4, 12);
    const int64_t distance = static_cast<int64_t>(random() % 161) - 80;
    bool shared = false;
    const std::set<int64_t> taken = bytes_of(a, 0);
    for (int64_t byte : bytes_of(b, distance)) shared = shared || taken.count(byte);
    const Overlap said = overlap(a, memory + 1000, b, memory + 1000 + distance);
    ASSERT_EQ(said, shared ? Overlap::kYes : Overlap::kNo)
        << describe(a) << " and, " << distance << " bytes on, " << describe(b);
    ++found[shared];
  }
  EXPECT_GT(found[0], 2000);
  EXPECT_GT(found[1], 2000);
}

TEST(Overlap, OfAViewWithItselfEqualsBruteForce) {
  std::mt19937 random(2);
  int found[2] = {};
  for (int i = 0; i < 20000; ++i) {
    const View v = random_view(random, 4, 40);
    std::set<int64_t> offsets;
    if (count(v)) for_each_offset(v, [&](int64_t offset) { offsets.insert(offset); });
    const bool repeats = static_cast<int64_t>(offsets.size()) < count(v);
    ASSERT_EQ(self_overlap(v), repeats ? Overlap::kYes : Overlap::kNo) << describe(v);
    ++found[repeats];
  }
  EXPECT_GT(found[0], 2000);
  EXPECT_GT(found[1], 2000);
}

TEST(Overlap, DecidesTheLayoutsThatTensorsHave) {
  const auto f32 = [](std::vector<int64_t> shape, std::vector<int64_t> strides) {
    return view(OPRT_DTYPE_F32, shape, strides);
  };
  struct {
    const char* what;
    View a, b;
    int64_t distance;  // bytes
    Overlap right;
  } const cases[] = {
      {"two column halves of one buffer", f32({8192, 2048}, {4096, 1}), f32({8192, 2048}, {4096, 1}), 2048 * 4,
       Overlap::kNo},
      {"column halves that share one column", f32({8192, 2049}, {4096, 1}), f32({8192, 2048}, {4096, 1}), 2048 * 4,
       Overlap::kYes},
      {"even and odd elements", f32({1 << 20}, {2}), f32({1 << 20}, {2}), 4, Overlap::kNo},
      {"even elements and all", f32({1 << 20}, {2}), f32({1 << 20}, {1}), 4, Overlap::kYes},
      {"a buffer and itself shifted by one", f32({1 << 28}, {1}), f32({1 << 28}, {1}), 4, Overlap::kYes},
      {"a matrix and its transpose", f32({1024, 1024}, {1024, 1}), f32({1024, 1024}, {1, 1024}), 0, Overlap::kYes},
      {"a buffer and itself reversed", f32({4096}, {1}), f32({4096}, {-1}), 4095 * 4, Overlap::kYes},
      {"halves, the second reversed", f32({4096}, {1}), f32({4096}, {-1}), 8191 * 4, Overlap::kNo},
      {"heads of a fused projection", f32({512, 32, 128}, {12288, 128, 1}), f32({512, 32, 128}, {12288, 128, 1}),
       4096 * 4, Overlap::kNo},
      {"one batch of a cache and its neighbour", f32({16, 8, 1024, 64}, {1 << 22, 65536, 64, 1}),
       f32({16, 8, 1024, 64}, {1 << 22, 65536, 64, 1}), 8 * 65536 * 4, Overlap::kNo},
      {"interleaved triples", f32({1 << 20, 2}, {3, 1}), f32({1 << 20}, {3}), 8, Overlap::kNo},
      {"a broadcast row inside the output", f32({64, 64}, {64, 1}), f32({64, 64}, {0, 1}), 63 * 64 * 4, Overlap::kYes},
      {"touching, not sharing", f32({100}, {1}), f32({100}, {1}), 400, Overlap::kNo},
      {"one byte shared", f32({100}, {1}), f32({100}, {1}), 399, Overlap::kYes},
  };
  for (const auto& c : cases) {
    EXPECT_EQ(overlap(c.a, memory, c.b, memory + c.distance), c.right) << c.what;
    EXPECT_EQ(overlap(c.b, memory + c.distance, c.a, memory), c.right) << c.what << ", the other way round";
  }
}

TEST(Overlap, HasNoAddressTooHigh) {
  const View v = view(OPRT_DTYPE_F32, {4}, {1});
  const auto at = [](uintptr_t address) { return reinterpret_cast<void*>(address); };
  EXPECT_EQ(overlap(v, at(0x7FFFFFFFFFFFFFF0), v, at(0x8000000000000000)), Overlap::kNo);
  EXPECT_EQ(overlap(v, at(0x7FFFFFFFFFFFFFF4), v, at(0x8000000000000000)), Overlap::kYes);
  EXPECT_EQ(overlap(v, at(16), v, at(0xFFFFFFFFFFFFFFE0)), Overlap::kNo);
}

// Strides made to defeat the search: the answer may be "unknown", which create refuses, but comes at once.
TEST(Overlap, HostileLayoutsTakeBoundedWork) {
  std::mt19937_64 random(3);
  int unknown = 0;
  const auto begin = std::chrono::steady_clock::now();
  for (int i = 0; i < 200; ++i) {
    View v = view(OPRT_DTYPE_F32, std::vector<int64_t>(8, 40), std::vector<int64_t>(8, 0));
    for (int d = 0; d < 8; ++d) v.strides[d] = static_cast<int64_t>(random() % (int64_t{1} << 50)) | 1;
    ASSERT_TRUE(check_view("op", "out", v).ok());
    unknown += self_overlap(v) == Overlap::kUnknown;
    unknown += overlap(v, memory, v, memory + 4 * (random() % 1000)) == Overlap::kUnknown;
  }
  const auto each = (std::chrono::steady_clock::now() - begin) / 400;
  EXPECT_GT(unknown, 100) << "the strides are meant to be too hard";
  EXPECT_LT(each, std::chrono::milliseconds(20));
}

TEST(Broadcast, FollowsNumPy) {
  struct {
    std::vector<int64_t> a, b, right;
  } const cases[] = {{{}, {}, {}},          {{}, {3}, {3}},           {{1}, {3}, {3}},
                     {{2, 3}, {3}, {2, 3}}, {{4, 1}, {1, 3}, {4, 3}}, {{5, 1, 4}, {3, 1}, {5, 3, 4}},
                     {{0}, {1}, {0}},       {{2, 0}, {1, 1}, {2, 0}}};
  for (const auto& c : cases) {
    int64_t shape[OPRT_MAX_DIMS];
    int32_t ndim;
    const View a = view(OPRT_DTYPE_F32, c.a, std::vector<int64_t>(c.a.size(), 7));
    const View b = view(OPRT_DTYPE_F32, c.b, std::vector<int64_t>(c.b.size(), 7));
    ASSERT_TRUE(broadcast_shape(a, b, shape, &ndim));
    EXPECT_EQ(std::vector<int64_t>(shape, shape + ndim), c.right);
  }
  int64_t shape[OPRT_MAX_DIMS];
  int32_t ndim;
  EXPECT_FALSE(broadcast_shape(view(OPRT_DTYPE_F32, {2}, {1}), view(OPRT_DTYPE_F32, {3}, {1}), shape, &ndim));
  EXPECT_FALSE(broadcast_shape(view(OPRT_DTYPE_F32, {0}, {1}), view(OPRT_DTYPE_F32, {3}, {1}), shape, &ndim));

  View out;
  ASSERT_TRUE(broadcast(view(OPRT_DTYPE_F32, {3, 1}, {5, 9}), view(OPRT_DTYPE_F32, {2, 3, 4}, {}), &out));
  EXPECT_EQ(std::vector<int64_t>(out.strides, out.strides + 3), (std::vector<int64_t>{0, 5, 0}));
  EXPECT_FALSE(broadcast(view(OPRT_DTYPE_F32, {2, 3}, {3, 1}), view(OPRT_DTYPE_F32, {3}, {1}), &out));
  EXPECT_FALSE(broadcast(view(OPRT_DTYPE_F32, {2}, {1}), view(OPRT_DTYPE_F32, {1}, {1}), &out));
}

std::string refusal(const View& v) {
  const Status status = check_view("op", "in", v);
  EXPECT_EQ(status.code(), OPRT_ERR_INVALID_ARG) << describe(v);
  return oprt_last_error_message();
}

TEST(CheckView, RefusesWhatDoesNotFit64Bits) {
  constexpr int64_t big = int64_t{1} << 61;
  EXPECT_EQ(refusal(view(OPRT_DTYPE_F32, {big}, {1})),
            "op: in: expected fewer than 2^63 bytes, got shape [2305843009213693952]");
  refusal(view(OPRT_DTYPE_F16, {INT64_MAX}, {1}));
  refusal(view(OPRT_DTYPE_F32, {1 << 30, 1 << 30, 2}, {0, 0, 0}));  // 2^63 bytes of indices at one address
  refusal(view(OPRT_DTYPE_F32, {big, big, 0}, {0, 0, 0}));          // empty, and every product over part of it wraps
  refusal(view(OPRT_DTYPE_F32, {0, big, big}, {0, 0, 0}));
  EXPECT_NE(refusal(view(OPRT_DTYPE_F32, {2}, {INT64_MAX})).find("strides [9223372036854775807] with shape [2]"),
            std::string::npos);
  refusal(view(OPRT_DTYPE_F32, {2}, {INT64_MIN}));
  refusal(view(OPRT_DTYPE_F32, {3, 3}, {big / 2, big / 2}));
  refusal(view(OPRT_DTYPE_F32, {2, 2}, {big - 1, 1 - big}));  // each reach fits, the span does not
  refusal(view(OPRT_DTYPE_F32, {2, -1}, {1, 1}));
  EXPECT_EQ(refusal(view(OPRT_DTYPE_F32, {2, 3}, {3, 1}, nullptr)),
            "op: in: expected data for shape [2, 3], got a null pointer");
  View v = view(OPRT_DTYPE_F32, {2}, {1});
  for (int32_t ndim : {-1, 9, INT32_MAX, INT32_MIN}) {
    v.ndim = ndim;
    EXPECT_EQ(refusal(v), "op: in: expected a rank from 0 to 8, got rank " + std::to_string(ndim));
  }
  v.ndim = 1;
  v.dtype = static_cast<oprt_dtype_t>(5);
  EXPECT_EQ(check_view("op", "in", v).code(), OPRT_ERR_UNSUPPORTED_DTYPE);
}

TEST(CheckView, TakesWhatFits) {
  const auto fits = [](const View& v) { EXPECT_TRUE(check_view("op", "in", v).ok()) << oprt_last_error_message(); };
  fits(view(OPRT_DTYPE_F32, {}, {}));
  fits(view(OPRT_DTYPE_F32, {1}, {INT64_MIN}));  // the stride of a length of 1 means nothing
  fits(view(OPRT_DTYPE_F32, {0}, {INT64_MAX}, nullptr));
  fits(view(OPRT_DTYPE_F32, {3, 0, 5}, {INT64_MAX, INT64_MIN, 7}, nullptr));
  fits(view(OPRT_DTYPE_F32, {int64_t{1} << 60}, {0}));
  fits(view(OPRT_DTYPE_F16, {2}, {(int64_t{1} << 61)}));
  fits(view(OPRT_DTYPE_F16, {2}, {-(int64_t{1} << 61)}));
}

TEST(CheckAxis, CountsFromTheEndWhereNegative) {
  int axis = -1;
  EXPECT_TRUE(check_axis("op", -1, 3, &axis).ok());
  EXPECT_EQ(axis, 2);
  EXPECT_TRUE(check_axis("op", -3, 3, &axis).ok());
  EXPECT_EQ(axis, 0);
  EXPECT_TRUE(check_axis("op", -1, 0, &axis).ok());
  EXPECT_EQ(axis, 0);
  for (int64_t wrong : {int64_t{3}, int64_t{-4}, INT64_MAX, INT64_MIN, int64_t{1} << 32})
    EXPECT_EQ(check_axis("op", wrong, 3, &axis).code(), OPRT_ERR_INVALID_ARG);
  EXPECT_STREQ(oprt_last_error_message(), "op: axis: expected an axis from -3 to 2, got 4294967296");
  EXPECT_EQ(check_axis("op", 1, 0, &axis).code(), OPRT_ERR_INVALID_ARG);
}

}  // namespace
}  // namespace oprt
