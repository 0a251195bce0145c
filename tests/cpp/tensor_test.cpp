// oprt::Tensor: views against a naive model of indices, NumPy's rules for slices and broadcasting, DLPack both ways.
#include "oprt/tensor/tensor.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "oprt/tensor/dlpack.h"

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

// 0, 1, 2, ... in row-major order.
Tensor counting(const Shape& shape) {
  Tensor out = Tensor::empty(shape, OPRT_DTYPE_I32);
  for (int64_t i = 0; i < out.count(); ++i) out.data<int32_t>()[i] = static_cast<int32_t>(i);
  return out;
}

using Values = std::vector<int32_t>;

TEST(Tensor, IsMadeFromValues) {
  const Tensor x = Tensor::from_data<float>({1, 2, 3, 4, 5, 6}, {2, 3});
  EXPECT_EQ(x.shape(), (Shape{2, 3}));
  EXPECT_EQ(x.strides(), (Shape{3, 1}));
  EXPECT_EQ(x.rank(), 2);
  EXPECT_EQ(x.count(), 6);
  EXPECT_EQ(x.dtype(), OPRT_DTYPE_F32);
  EXPECT_EQ(x.device(), Device::cpu());
  EXPECT_TRUE(x.is_contiguous());
  EXPECT_EQ(x.to_vector<float>(), (std::vector<float>{1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(Tensor::from_data<int64_t>({7}, {}).to_vector<int64_t>(), (std::vector<int64_t>{7}));
  EXPECT_EQ(Tensor::zeros({2, 2}, OPRT_DTYPE_I64).to_vector<int64_t>(), (std::vector<int64_t>(4)));
  EXPECT_EQ(Tensor::from_data<float>({}, {0, 3}).count(), 0);

  EXPECT_STREQ(error_of([] { Tensor::from_data<float>({1, 2}, {3}); }).what(),
               "Tensor::from_data: values: expected 3 for shape [3], got 2");
  EXPECT_EQ(error_of([&] { x.to_vector<int32_t>(); }).status(), OPRT_ERR_UNSUPPORTED_DTYPE);
  EXPECT_EQ(error_of([] { Tensor::empty({2}, static_cast<oprt_dtype_t>(9)); }).status(), OPRT_ERR_UNSUPPORTED_DTYPE);
  EXPECT_EQ(error_of([] { Tensor::empty(Shape(9, 1)); }).status(), OPRT_ERR_INVALID_ARG);
  EXPECT_EQ(error_of([] { Tensor::empty({2, -1}); }).status(), OPRT_ERR_INVALID_ARG);
  EXPECT_EQ(error_of([] { Tensor::empty({int64_t{1} << 32, int64_t{1} << 32}); }).status(), OPRT_ERR_INVALID_ARG);
  EXPECT_EQ(error_of([] { Tensor::empty({int64_t{1} << 62, 0, 4}); }).status(), OPRT_ERR_INVALID_ARG);
  EXPECT_EQ(error_of([] { Tensor::empty({int64_t{1} << 50}); }).status(), OPRT_ERR_OUT_OF_MEMORY);
}

TEST(Tensor, ViewsShareStorageAndKeepItAlive) {
  Tensor row;
  {
    Tensor x = counting({3, 4});
    row = x.slice(0, 1, 2);
    x.data<int32_t>()[5] = 100;
  }
  EXPECT_EQ(row.to_vector<int32_t>(), (Values{4, 100, 6, 7}));
  const Tensor copy = row.clone();
  row.data<int32_t>()[0] = -1;
  EXPECT_EQ(copy.to_vector<int32_t>()[0], 4);
  EXPECT_EQ(row.contiguous().data<int32_t>(), row.data<int32_t>()) << "contiguous already: no copy";
}

TEST(Tensor, TransposesAndPermutes) {
  const Tensor x = counting({2, 3, 4});
  EXPECT_EQ(x.transpose(0, -1).shape(), (Shape{4, 3, 2}));
  EXPECT_EQ(x.transpose(0, -1).strides(), (Shape{1, 4, 12}));
  EXPECT_EQ(counting({2, 3}).transpose(0, 1).to_vector<int32_t>(), (Values{0, 3, 1, 4, 2, 5}));
  const Tensor y = x.permute({1, 2, 0});
  EXPECT_EQ(y.shape(), (Shape{3, 4, 2}));
  EXPECT_FALSE(y.is_contiguous());
  EXPECT_TRUE(y.contiguous().is_contiguous());
  EXPECT_EQ(y.to_vector<int32_t>()[1], 12);
  EXPECT_STREQ(error_of([&] { x.permute({0, 1}); }).what(), "Tensor::permute: axes: expected 3 of them, got 2");
  EXPECT_STREQ(error_of([&] { x.permute({0, 1, -2}); }).what(),
               "Tensor::permute: axes: expected each axis once, got 1 twice");
  EXPECT_STREQ(error_of([&] { x.transpose(0, 3); }).what(),
               "Tensor::transpose: axis: expected one from -3 to 2, got 3");
}

TEST(Tensor, SqueezesAndUnsqueezes) {
  const Tensor x = counting({2, 3});
  EXPECT_EQ(x.unsqueeze(0).shape(), (Shape{1, 2, 3}));
  EXPECT_EQ(x.unsqueeze(-1).shape(), (Shape{2, 3, 1}));
  EXPECT_EQ(x.unsqueeze(1).squeeze(1).strides(), x.strides());
  EXPECT_TRUE(x.unsqueeze(1).is_contiguous());
  EXPECT_STREQ(error_of([&] { x.squeeze(0); }).what(), "Tensor::squeeze: axis: expected one of length 1, got length 2");
  EXPECT_EQ(error_of([&] { x.unsqueeze(3); }).status(), OPRT_ERR_INVALID_ARG);
  EXPECT_EQ(error_of([] { counting(Shape(8, 1)).unsqueeze(0); }).status(), OPRT_ERR_INVALID_ARG);
  EXPECT_EQ(error_of([] { counting({}).squeeze(0); }).status(), OPRT_ERR_INVALID_ARG);
}

// Against the definition: walk from the first index by step while inside.
TEST(Tensor, SlicesAsNumPyDoes) {
  constexpr int64_t far = std::numeric_limits<int64_t>::max();
  std::vector<std::optional<int64_t>> bounds = {std::nullopt, far, -far - 1};
  for (int64_t b = -7; b <= 7; ++b) bounds.push_back(b);
  int64_t checked = 0;
  for (int64_t n : {0, 1, 2, 5}) {
    const Tensor x = counting({n});
    for (const auto& start : bounds)
      for (const auto& stop : bounds)
        for (int64_t step :
             {int64_t{1}, int64_t{2}, int64_t{3}, int64_t{-1}, int64_t{-2}, int64_t{-5}, far, -far - 1}) {
          const auto resolve = [n](int64_t b) { return b < 0 ? b + n : b; };
          int64_t i = start ? resolve(*start) : step > 0 ? 0 : n - 1;
          const int64_t end = stop ? resolve(*stop) : step > 0 ? n : -1;
          i = step > 0 ? std::max<int64_t>(i, 0) : std::min(i, n - 1);
          Values right;
          while (i >= 0 && i < n && (step > 0 ? i < end : i > end)) {
            right.push_back(static_cast<int32_t>(i));
            if (__builtin_add_overflow(i, step, &i)) break;
          }
          const Tensor got = x.slice(0, start, stop, step);
          ASSERT_EQ(got.to_vector<int32_t>(), right) << n << ": " << (start ? std::to_string(*start) : "") << ":"
                                                     << (stop ? std::to_string(*stop) : "") << ":" << step;
          ++checked;
        }
  }
  EXPECT_GT(checked, 10000);
  EXPECT_STREQ(error_of([] { counting({3}).slice(0, 0, 3, 0); }).what(),
               "Tensor::slice: step: expected a step that moves, got 0");
}

// C28: reversed views, of length 1 too.
TEST(Tensor, C28_ReversedViews) {
  const Tensor x = counting({2, 3});
  EXPECT_EQ(x.slice(0, {}, {}, -1).to_vector<int32_t>(), (Values{3, 4, 5, 0, 1, 2}));
  EXPECT_EQ(x.slice(1, {}, {}, -1).to_vector<int32_t>(), (Values{2, 1, 0, 5, 4, 3}));
  EXPECT_EQ(x.slice(1, {}, {}, -1).slice(1, {}, {}, -1).strides(), x.strides());
  const Tensor one = x.slice(0, 1, 0, -1);
  EXPECT_EQ(one.to_vector<int32_t>(), (Values{3, 4, 5}));
  EXPECT_TRUE(one.is_contiguous());
  EXPECT_EQ(x.slice(1, {}, {}, -1).reshape({6}).to_vector<int32_t>(), (Values{2, 1, 0, 5, 4, 3}));
}

TEST(Tensor, ReshapesWithoutACopyWhereStridesCan) {
  const Tensor x = counting({4, 6});
  const auto shares = [](const Tensor& a, const Tensor& b) { return a.data<int32_t>() == b.data<int32_t>(); };
  EXPECT_EQ(x.reshape({2, -1, 3}).shape(), (Shape{2, 4, 3}));
  EXPECT_TRUE(shares(x.reshape({2, -1, 3}), x));
  const Tensor columns = x.slice(1, 0, 4);
  EXPECT_EQ(columns.reshape({2, 2, 2, 2}).strides(), (Shape{12, 6, 2, 1}));
  EXPECT_TRUE(shares(columns.reshape({2, 2, 2, 2}), x));
  EXPECT_FALSE(shares(columns.reshape({16}), x)) << "rows with gaps are no single axis";
  EXPECT_EQ(columns.reshape({16}).to_vector<int32_t>(), columns.to_vector<int32_t>());
  EXPECT_EQ(counting({1}).reshape({}).rank(), 0);
  EXPECT_EQ(counting({}).reshape({1, 1}).shape(), (Shape{1, 1}));
  EXPECT_EQ(counting({0, 3}).reshape({3, -1}).shape(), (Shape{3, 0}));
  EXPECT_STREQ(error_of([&] { x.reshape({5, -1}); }).what(),
               "Tensor::reshape: shape: expected one of 24 elements, got [5, -1]");
  EXPECT_EQ(error_of([&] { x.reshape({-1, -1}); }).status(), OPRT_ERR_INVALID_ARG);
  EXPECT_EQ(error_of([&] { x.reshape({int64_t{1} << 40, int64_t{1} << 40}); }).status(), OPRT_ERR_INVALID_ARG);
  EXPECT_EQ(error_of([&] { counting({0, 3}).reshape({0, -2}); }).status(), OPRT_ERR_INVALID_ARG);
}

// Chains of random views keep the order of a naive model, and a reshape keeps it again.
TEST(Tensor, RandomChainsOfViewsEqualANaiveModel) {
  std::mt19937 random(11);
  int copied = 0, shared = 0;
  for (int i = 0; i < 3000; ++i) {
    Tensor x = counting({2, 3, 4, 2});
    for (int k = 0; k < 4; ++k) {
      const int axis = static_cast<int>(random() % x.rank());
      const std::vector<int32_t> before = x.to_vector<int32_t>();
      switch (random() % 4) {
        case 0: x = x.transpose(axis, static_cast<int>(random() % x.rank())); break;
        case 1: x = x.slice(axis, {}, {}, random() % 2 ? -1 : 2); break;
        case 2: x = x.rank() < 6 ? x.unsqueeze(axis) : x; break;
        case 3: x = x.slice(axis, random() % 2, {}); break;
      }
      if (x.count() == 0) break;
    }
    if (x.count() == 0) continue;
    // The naive model: every index by strides from the data pointer.
    Values right;
    std::vector<int64_t> index(x.rank(), 0);
    for (int64_t n = x.count(); n > 0; --n) {
      int64_t offset = 0;
      for (int d = 0; d < x.rank(); ++d) offset += index[d] * x.strides()[d];
      right.push_back(x.data<int32_t>()[offset]);
      for (int d = x.rank() - 1; d >= 0 && ++index[d] == x.shape()[d]; --d) index[d] = 0;
    }
    ASSERT_EQ(x.to_vector<int32_t>(), right);
    // A reshape to the prime factors of the count, in random order.
    Shape shape;
    int64_t rest = x.count();
    for (int64_t p = 2; rest > 1; ++p)
      for (; rest % p == 0; rest /= p) shape.push_back(p);
    std::shuffle(shape.begin(), shape.end(), random);
    if (shape.size() > OPRT_MAX_DIMS) continue;
    const Tensor y = x.reshape(shape);
    ASSERT_EQ(y.to_vector<int32_t>(), right) << detail::to_text(shape);
    ++(std::as_const(y).data<int32_t>() == std::as_const(x).data<int32_t>() ? shared : copied);
  }
  EXPECT_GT(copied, 100);
  EXPECT_GT(shared, 100);
}

TEST(Tensor, BroadcastsAsNumPyDoes) {
  EXPECT_EQ(broadcast_shapes({5, 1, 4}, {3, 1}), (Shape{5, 3, 4}));
  EXPECT_EQ(broadcast_shapes({}, {2}), (Shape{2}));
  EXPECT_EQ(broadcast_shapes({0, 1}, {1, 7}), (Shape{0, 7}));
  EXPECT_STREQ(error_of([] { broadcast_shapes({2, 3}, {4}); }).what(),
               "Tensor::broadcast: shape: expected one that broadcasts with [2, 3], got [4]");
  const auto [a, b] = broadcast(counting({3, 1}), counting({2}));
  EXPECT_EQ(a.to_vector<int32_t>(), (Values{0, 0, 1, 1, 2, 2}));
  EXPECT_EQ(b.to_vector<int32_t>(), (Values{0, 1, 0, 1, 0, 1}));
  EXPECT_EQ(counting({3}).expand({2, 3}).strides(), (Shape{0, 1}));
  EXPECT_EQ(counting({1}).expand({4, 0}).count(), 0);
  EXPECT_EQ(error_of([] { counting({3}).expand({2}); }).status(), OPRT_ERR_INVALID_ARG);
  EXPECT_EQ(error_of([] { counting({3}).expand({}); }).status(), OPRT_ERR_INVALID_ARG);
  EXPECT_EQ(error_of([] { counting({1}).expand({int64_t{1} << 62, 4}); }).status(), OPRT_ERR_INVALID_ARG);
}

TEST(Tensor, ConvertsByCast) {
  const Tensor x = Tensor::from_data<float>({0.1f, -65520.0f, INFINITY, 1.0f}, {2, 2});
  const Tensor half = x.transpose(0, 1).to(OPRT_DTYPE_F16);
  EXPECT_TRUE(half.is_contiguous());
  EXPECT_EQ(half.data<f16>()[0].bits, 0x2E66);
  EXPECT_EQ(half.data<f16>()[1].bits, 0x7C00);
  EXPECT_EQ(half.data<f16>()[2].bits, 0xFC00);
  EXPECT_EQ(half.to(OPRT_DTYPE_F32).to_vector<float>()[3], 1.0f);
  EXPECT_EQ(x.to(OPRT_DTYPE_BF16).data<bf16>()[0].bits, 0x3DCD);
  EXPECT_EQ(x.to(OPRT_DTYPE_F32).data<float>(), x.data<float>()) << "the same dtype: no copy";
  EXPECT_EQ(error_of([&] { x.to(OPRT_DTYPE_I32); }).status(), OPRT_ERR_UNSUPPORTED_DTYPE);
  EXPECT_EQ(x.to(Device::cpu()).data<float>(), x.data<float>());
}

TEST(Tensor, ReadOnlyStaysReadOnly) {
  Tensor x = counting({4});
  Tensor fixed = Tensor::borrow(std::make_shared<Tensor>(x), x.device(), x.view(), /*read_only=*/true);
  Tensor part = fixed.slice(0, 1, 3);
  EXPECT_EQ(error_of([&] { part.data<int32_t>(); }).status(), OPRT_ERR_INVALID_ARG);
  EXPECT_EQ(std::as_const(part).data<int32_t>()[0], 1);
  EXPECT_EQ(part.to_vector<int32_t>(), (Values{1, 2}));
  Tensor own = fixed.clone();
  own.data<int32_t>()[0] = 9;
  EXPECT_EQ(x.to_vector<int32_t>()[0], 0);
}

TEST(Dlpack, RoundTripSharesTheElements) {
  DLManagedTensorVersioned* managed = nullptr;
  {
    const Tensor x = counting({3, 4});
    managed = to_dlpack(x.transpose(0, 1).slice(0, {}, {}, -1));
  }
  EXPECT_EQ(managed->version.major, 1u);
  EXPECT_EQ(managed->flags, 0u);
  EXPECT_EQ(managed->dl_tensor.ndim, 2);
  EXPECT_EQ(managed->dl_tensor.dtype.code, kDLInt);
  EXPECT_EQ(managed->dl_tensor.dtype.bits, 32);
  EXPECT_EQ(managed->dl_tensor.device.device_type, kDLCPU);
  EXPECT_EQ(managed->dl_tensor.strides[0], -1);
  void* const data = managed->dl_tensor.data;
  Tensor back = from_dlpack(managed);
  EXPECT_EQ(back.data<int32_t>(), data);
  EXPECT_EQ(back.shape(), (Shape{4, 3}));
  EXPECT_EQ(back.to_vector<int32_t>(), (Values{3, 7, 11, 2, 6, 10, 1, 5, 9, 0, 4, 8}));
}

// A producer that counts how often its deleter is called.
struct Producer {
  explicit Producer(std::vector<int64_t> lengths) : shape(std::move(lengths)) {
    managed.version = {DLPACK_MAJOR_VERSION, 99};  // a newer minor version only adds
    managed.manager_ctx = this;
    managed.deleter = [](DLManagedTensorVersioned* self) { ++static_cast<Producer*>(self->manager_ctx)->deleted; };
    managed.flags = 0;
    managed.dl_tensor = {
        values, {kDLCPU, 0}, static_cast<int32_t>(shape.size()), {kDLFloat, 32, 1}, shape.data(), nullptr, 0};
  }
  float values[6] = {0, 1, 2, 3, 4, 5};
  std::vector<int64_t> shape;
  DLManagedTensorVersioned managed;
  int deleted = 0;
};

TEST(Dlpack, TakesOverAndDeletesOnce) {
  Producer producer({2, 2});
  producer.managed.dl_tensor.byte_offset = 8;
  {
    Tensor view;
    {
      const Tensor x = from_dlpack(&producer.managed);
      EXPECT_EQ(x.strides(), (Shape{2, 1})) << "null strides mean row-major";
      view = x.slice(0, 1, 2);
    }
    EXPECT_EQ(producer.deleted, 0);
    EXPECT_EQ(view.to_vector<float>(), (std::vector<float>{4, 5}));
  }
  EXPECT_EQ(producer.deleted, 1);

  Producer fixed({6});
  fixed.managed.flags = DLPACK_FLAG_BITMASK_READ_ONLY;
  const Tensor x = from_dlpack(&fixed.managed);
  EXPECT_TRUE(x.is_read_only());
  DLManagedTensorVersioned* again = to_dlpack(x);
  EXPECT_EQ(again->flags, DLPACK_FLAG_BITMASK_READ_ONLY);
  again->deleter(again);
}

TEST(Dlpack, RefusesWhatItCannotTake) {
  const auto refused = [](oprt_status_t status, const char* part, auto&& spoil) {
    Producer producer({2, 3});
    spoil(producer.managed);
    const Error error = error_of([&] { from_dlpack(&producer.managed); });
    EXPECT_EQ(error.status(), status) << error.what();
    EXPECT_NE(std::string(error.what()).find(part), std::string::npos) << error.what();
    EXPECT_EQ(producer.deleted, 1) << "taken over even when refused";
  };
  using Managed = DLManagedTensorVersioned;
  refused(OPRT_ERR_NOT_SUPPORTED, "expected major 1, got 2", [](Managed& m) { m.version.major = 2; });
  refused(OPRT_ERR_UNSUPPORTED_DTYPE, "64 bits", [](Managed& m) { m.dl_tensor.dtype.bits = 64; });
  refused(OPRT_ERR_UNSUPPORTED_DTYPE, "4 lanes", [](Managed& m) { m.dl_tensor.dtype.lanes = 4; });
  refused(OPRT_ERR_UNSUPPORTED_DTYPE, "code 1", [](Managed& m) { m.dl_tensor.dtype.code = kDLUInt; });
  refused(OPRT_ERR_NOT_SUPPORTED, "device", [](Managed& m) { m.dl_tensor.device.device_type = kDLMetal; });
  refused(OPRT_ERR_INVALID_ARG, "rank from 0 to 8, got 9", [](Managed& m) { m.dl_tensor.ndim = 9; });
  refused(OPRT_ERR_INVALID_ARG, "lengths", [](Managed& m) { m.dl_tensor.shape[0] = -1; });
  EXPECT_EQ(error_of([] { from_dlpack(nullptr); }).status(), OPRT_ERR_INVALID_ARG);
}

// C42 for C++: empty tensors, results that nobody consumes, a deleter called on another thread.
TEST(Dlpack, C42_EmptyUnconsumedAndForeignThread) {
  DLManagedTensorVersioned* empty = to_dlpack(counting({0, 3}));
  EXPECT_EQ(empty->dl_tensor.shape[1], 3);
  EXPECT_EQ(from_dlpack(empty).shape(), (Shape{0, 3}));
  const Tensor x = counting({2, 2});
  for (int i = 0; i < 1000; ++i) {
    DLManagedTensorVersioned* unused = to_dlpack(x);
    unused->deleter(unused);
  }
  DLManagedTensorVersioned* far = to_dlpack(counting({64}));
  std::thread([far] { far->deleter(far); }).join();
}

}  // namespace
}  // namespace oprt
