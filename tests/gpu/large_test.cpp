// C01 to C03 and what is like them, on the GPU's own memory: tensors past 2^31 and 2^32 elements and bytes. Inputs are
// a block of rows again and again, written on the device; the result must be the small call's, again and again, in
// every bit of gigabytes. What the small call makes is compared with the CPU.
#include <cuda_runtime_api.h>

#include <algorithm>
#include <numeric>
#include <random>

#include "compare.h"
#include "device_call.h"

namespace oprt_test {
namespace {

using oprt::Device;
using oprt::DeviceBuffer;
using oprt::PinnedBuffer;
using oprt::Stream;

constexpr int64_t k2To31 = int64_t{1} << 31, k2To32 = int64_t{1} << 32;
constexpr int64_t kWidth = 1024, kPeriod = 1021;  // elements of a row; rows of the block

// The operands of a call with so many rows of kWidth elements; empty for an operator that this does not know.
std::vector<Operand> operands(const Functions& op, int64_t rows, int64_t width, oprt_dtype_t dtype) {
  const auto is = [&](std::initializer_list<const char*> names) {
    return std::any_of(names.begin(), names.end(), [&](const char* name) { return std::strcmp(op.name, name) == 0; });
  };
  const Operand x{{rows, width}, dtype}, weight{{width}, dtype};
  if (is({"silu_and_mul", "gelu_and_mul"})) return {{{rows, width / 2}, dtype}, x};
  if (is({"reduce_sum"})) return {{{rows}, dtype}, x};
  if (is({"layernorm"})) return {x, x, weight, weight};
  if (is({"rmsnorm"})) return {x, x, weight};
  if (is({"add_rmsnorm"})) return {x, x, x, x, weight};
  if (is({"embedding"})) return {x, {{kPeriod, width}, dtype}, {{rows}, OPRT_DTYPE_I32}};
  if (is({"matmul"})) return {x, {{rows, 3}, dtype}, {{3, width}, dtype}, weight};
  if (is({"rope"})) {
    const Operand heads{{rows, 8, width / 8}, dtype}, table{{kPeriod, width / 16}};
    return {heads, heads, table, table, {{rows}, OPRT_DTYPE_I32}};
  }
  return std::vector<Operand>(op.views.size(), x);
}

class Large : public EachOperator {
 protected:
  static size_t bytes_of(const Operand& operand) {
    size_t count = static_cast<size_t>(oprt_dtype_size(operand.dtype));
    for (const int64_t length : operand.shape) count *= static_cast<size_t>(length);
    return count;
  }

  static void randomise(DeviceCall& call, int outputs) {
    std::mt19937 random(7);
    for (size_t i = static_cast<size_t>(outputs); i < call.views.size(); ++i) {
      const oprt_tensor_view_t& view = call.host.views[i];
      const int64_t count = static_cast<int64_t>(call.host.bytes(i) / oprt_dtype_size(view.dtype));
      for (int64_t k = 0; k < count; ++k) {
        const float x = 0.25f * static_cast<float>(static_cast<int>(random() % 17) - 8);  // their products are exact
        if (view.dtype == OPRT_DTYPE_F32) static_cast<float*>(view.data)[k] = x;
        if (view.dtype == OPRT_DTYPE_F16) static_cast<oprt::f16*>(view.data)[k] = oprt::narrow<oprt::f16>(x);
        if (view.dtype == OPRT_DTYPE_BF16) static_cast<oprt::bf16*>(view.data)[k] = oprt::narrow<oprt::bf16>(x);
        if (view.dtype == OPRT_DTYPE_I32)
          static_cast<int32_t*>(view.data)[k] = static_cast<int32_t>(random() % kPeriod);
      }
    }
    call.put();
  }

  // offset: elements by which every operand is shifted past an aligned address.
  void run(int64_t rows, int64_t width, oprt_dtype_t dtype, int64_t offset = 0) {
    const std::vector<double> scalars = example(op()).scalars;
    const Example small_example{operands(op(), kPeriod, width, dtype), scalars};
    const Example big{operands(op(), rows, width, dtype), scalars};
    size_t needed = size_t{1} << 30;
    for (const Operand& operand : big.operands) needed += bytes_of(operand);
    const Device device(kGpu);
    if (needed > device.free_memory()) GTEST_SKIP() << "takes " << (needed >> 30) << " GiB";

    DeviceCall small(op(), small_example, device);
    randomise(small, op().outputs);
    oprt_operator_descriptor_t desc = nullptr;
    ASSERT_EQ(small.create(&desc), OPRT_SUCCESS) << oprt_last_error_message();
    small.take_workspace(desc);
    ASSERT_EQ(small.execute(desc), OPRT_SUCCESS) << oprt_last_error_message();
    op().destroy(desc);
    ASSERT_EQ(small.wrong(), "") << "already the small call";

    std::vector<DeviceBuffer> buffers;
    std::vector<oprt_tensor_view_t> views = small.views;
    std::vector<void*> data;
    std::vector<const oprt_tensor_view_t*> pointers;
    for (size_t i = 0; i < views.size(); ++i) {
      const size_t bytes = bytes_of(big.operands[i]),
                   shift = static_cast<size_t>(offset * oprt_dtype_size(views[i].dtype));
      buffers.emplace_back(bytes + shift, device);
      char* const first = static_cast<char*>(buffers[i].data()) + shift;
      if (static_cast<int>(i) < op().outputs)
        ASSERT_EQ(cudaMemset(first, 0xFF, bytes), cudaSuccess);
      else
        repeat(first, small.buffers[i], bytes);
      views[i].data = first;
      for (size_t a = 0; a < big.operands[i].shape.size(); ++a) views[i].shape[a] = big.operands[i].shape[a];
      data.push_back(first);
    }
    for (const oprt_tensor_view_t& view : views) pointers.push_back(&view);
    ASSERT_EQ(op().create(&desc, pointers.data(), small.host.scalars.data()), OPRT_SUCCESS)
        << oprt_last_error_message();
    size_t workspace_bytes = 0;
    op().workspace_size(desc, &workspace_bytes);
    const DeviceBuffer workspace(workspace_bytes, device);
    ASSERT_EQ(op().execute(desc, workspace.data(), workspace_bytes, data.data(), nullptr), OPRT_SUCCESS)
        << oprt_last_error_message();
    op().destroy(desc);
    for (int o = 0; o < op().outputs; ++o)
      expect_repeats(data[o], bytes_of(big.operands[o]), small.buffers[o], op().views[o]);
  }

  // Fills `bytes` from `data` with the block again and again.
  static void repeat(char* data, const DeviceBuffer& block, size_t bytes) {
    size_t done = std::min(bytes, block.bytes());
    ASSERT_EQ(cudaMemcpy(data, block.data(), done, cudaMemcpyDeviceToDevice), cudaSuccess);
    for (; done < bytes; done += std::min(done, bytes - done))
      ASSERT_EQ(cudaMemcpy(data + done, data, std::min(done, bytes - done), cudaMemcpyDeviceToDevice), cudaSuccess);
  }

  static void expect_repeats(void* data, size_t bytes, const DeviceBuffer& block, const char* name) {
    DeviceBuffer result(sizeof(Comparison), Device(kGpu));
    result.zero();
    compare(data, block.data(), bytes, block.bytes(), false, static_cast<Comparison*>(result.data()), nullptr);
    Comparison found = {};
    result.copy_to(&found, sizeof(found));
    EXPECT_EQ(found.words, bytes / 2) << name;
    EXPECT_EQ(found.different, 0u) << name << ", words of 2 bytes of " << bytes / 2;
  }
};

TEST_P(Large, Past2To31Elements) { run(k2To31 / kWidth + 1, kWidth, OPRT_DTYPE_F16); }
TEST_P(Large, Past2To32Elements) { run(k2To32 / kWidth + 1, kWidth, OPRT_DTYPE_BF16); }
TEST_P(Large, Past2To32Bytes) { run(k2To31 / 2 / kWidth + 1, kWidth, OPRT_DTYPE_F32); }
TEST_P(Large, Past2To32ElementsAtAnOddAddress) { run(k2To32 / kWidth + 1, kWidth, OPRT_DTYPE_F16, 1); }
TEST_P(Large, Past2To32ElementsInShortRows) { run(k2To32 / 32 + 1, 32, OPRT_DTYPE_F16); }

OPRT_EACH_OPERATOR(Large);

class LargeMemory : public testing::Test {
 protected:
  void SetUp() override {
    if (gpu_count() == 0) GTEST_SKIP() << "no GPU";
  }
};

// Rows and columns exchanged past 2^32 elements, there and back: the tiled copy, and the two together are nothing.
TEST_F(LargeMemory, TransposedAndBack) {
  constexpr int64_t kRows = 65'537, kColumns = 65'600;
  const size_t bytes = size_t{2} * kRows * kColumns;
  DeviceBuffer from(bytes, Device(kGpu)), turned(bytes, Device(kGpu)), back(bytes, Device(kGpu));
  const int64_t block = 1'000'003;  // shares no factor with a row
  std::vector<uint16_t> values(block);
  std::iota(values.begin(), values.end(), uint16_t{0});
  ASSERT_EQ(cudaMemcpy(from.data(), values.data(), 2 * block, cudaMemcpyHostToDevice), cudaSuccess);
  for (size_t done = 2 * block; done < bytes;) {
    const size_t more = std::min(done, bytes - done);
    ASSERT_EQ(cudaMemcpy(static_cast<char*>(from.data()) + done, from.data(), more, cudaMemcpyDeviceToDevice),
              cudaSuccess);
    done += more;
  }
  const auto copy = [](const oprt_tensor_view_t& to, const oprt_tensor_view_t& what) {
    oprt_operator_descriptor_t desc = nullptr;
    oprt::check(oprt_create_copy_descriptor(&desc, &to, &what));
    EXPECT_STREQ(oprt_descriptor_kernel(desc), "copy_transpose");
    EXPECT_EQ(oprt_execute_copy(desc, nullptr, 0, to.data, what.data, nullptr), OPRT_SUCCESS);
    oprt_destroy_copy_descriptor(desc);
  };
  const oprt_dtype_t f16 = OPRT_DTYPE_F16;
  copy({turned.data(), f16, 2, {kColumns, kRows}, {kRows, 1}}, {from.data(), f16, 2, {kColumns, kRows}, {1, kColumns}});
  uint16_t one = 0;  // the element of the last row but one and the third column
  const int64_t row = kRows - 2, column = 2;
  ASSERT_EQ(cudaMemcpy(&one, static_cast<uint16_t*>(turned.data()) + column * kRows + row, 2, cudaMemcpyDeviceToHost),
            cudaSuccess);
  EXPECT_EQ(one, values[(row * kColumns + column) % block]);
  copy({back.data(), f16, 2, {kRows, kColumns}, {kColumns, 1}}, {turned.data(), f16, 2, {kRows, kColumns}, {1, kRows}});
  DeviceBuffer result(sizeof(Comparison), Device(kGpu));
  result.zero();
  compare(back.data(), from.data(), bytes, bytes, false, static_cast<Comparison*>(result.data()), nullptr);
  Comparison found = {};
  result.copy_to(&found, sizeof(found));
  EXPECT_EQ(found.different, 0u);
}

// A sum down columns past 2^32 elements. Only the last rows hold something, so it is exact.
TEST_F(LargeMemory, SumsDownColumns) {
  constexpr int64_t kRows = k2To32 / kWidth + 1, kTold = 2;
  const size_t bytes = size_t{2} * kRows * kWidth;
  DeviceBuffer in(bytes, Device(kGpu)), out(2 * kWidth, Device(kGpu));
  in.zero();
  std::vector<oprt::f16> last(kTold * kWidth);
  for (size_t i = 0; i < last.size(); ++i) last[i] = oprt::narrow<oprt::f16>(static_cast<float>(i % 7));
  ASSERT_EQ(cudaMemcpy(static_cast<char*>(in.data()) + bytes - 2 * last.size(), last.data(), 2 * last.size(),
                       cudaMemcpyHostToDevice),
            cudaSuccess);
  const oprt_tensor_view_t from = {in.data(), OPRT_DTYPE_F16, 2, {kRows, kWidth}, {kWidth, 1}};
  const oprt_tensor_view_t to = {out.data(), OPRT_DTYPE_F16, 1, {kWidth}, {1}};
  oprt_operator_descriptor_t desc = nullptr;
  ASSERT_EQ(oprt_create_reduce_sum_descriptor(&desc, &to, &from, 0), OPRT_SUCCESS) << oprt_last_error_message();
  size_t workspace_bytes = 0;
  oprt_get_reduce_sum_workspace_size(desc, &workspace_bytes);
  const DeviceBuffer workspace(workspace_bytes, Device(kGpu));
  ASSERT_EQ(oprt_execute_reduce_sum(desc, workspace.data(), workspace_bytes, out.data(), in.data(), nullptr),
            OPRT_SUCCESS)
      << oprt_last_error_message();
  oprt_destroy_reduce_sum_descriptor(desc);
  std::vector<oprt::f16> got(kWidth);
  out.copy_to(got.data(), out.bytes());
  for (int64_t c = 0; c < kWidth; ++c) {
    const float right = oprt::widen(last[c]) + oprt::widen(last[kWidth + c]);
    ASSERT_EQ(oprt::widen(got[c]), right) << c;
  }
}

constexpr size_t kGiB = size_t{1} << 30;

TEST_F(LargeMemory, AGibibyteThereAndBack) {
  std::vector<uint32_t> from(kGiB / 4), to(kGiB / 4);
  std::iota(from.begin(), from.end(), 1u);
  DeviceBuffer there(kGiB, Device(kGpu)), beside(kGiB, Device(kGpu));
  there.copy_from(from.data(), kGiB);
  beside.copy_from(there);
  beside.copy_to(to.data(), kGiB);
  EXPECT_TRUE(to == from);
}

TEST_F(LargeMemory, AGibibyteThereAndBackOnTwoStreamsAtOnce) {
  const Device device(kGpu);
  const Stream streams[] = {Stream(device), Stream(device)};
  struct Way {
    PinnedBuffer from, to;
    DeviceBuffer there;
  };
  std::vector<Way> ways;
  for (int s = 0; s < 2; ++s) {
    ways.push_back({PinnedBuffer(kGiB, device), PinnedBuffer(kGiB, device), DeviceBuffer(kGiB, device)});
    auto* words = static_cast<uint32_t*>(ways[s].from.data());
    std::iota(words, words + kGiB / 4, s ? 0x80000000u : 0u);
  }
  for (int s = 0; s < 2; ++s) ways[s].there.copy_from(ways[s].from, streams[s]);
  for (int s = 0; s < 2; ++s) ways[s].there.copy_to(ways[s].to, streams[s]);
  for (int s = 0; s < 2; ++s) {
    streams[s].synchronize();
    EXPECT_EQ(std::memcmp(ways[s].from.data(), ways[s].to.data(), kGiB), 0);
  }
}

}  // namespace
}  // namespace oprt_test
