// The runtime and the operators on a GPU, real or virtual. Without one every test is skipped.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "oprt/oprt.hpp"

#ifdef OPRT_WITH_CUDA
#include <cuda_runtime_api.h>
#endif

namespace oprt {
namespace {

constexpr oprt_backend_t kGpu = OPRT_BACKEND_NVIDIA;
constexpr size_t kMiB = size_t{1} << 20;

class Gpu : public testing::Test {
 protected:
  void SetUp() override {
    int32_t count = 0;
    ASSERT_EQ(oprt_device_count(kGpu, &count), OPRT_SUCCESS);
    if (count == 0) GTEST_SKIP() << "no GPU";
  }

  static Device device() { return Device(kGpu); }
};

template <class F>
oprt_status_t status_of(F&& f) {
  try {
    f();
  } catch (const Error& error) {
    return error.status();
  }
  return OPRT_SUCCESS;
}

TEST_F(Gpu, TellsWhatItIs) {
  EXPECT_FALSE(device().name().empty());
  EXPECT_GE(device().total_memory(), device().free_memory());
  EXPECT_GT(device().free_memory(), 0u);
  EXPECT_GE(device().compute_capability().major, 7);
  EXPECT_GE(device().multiprocessors(), 1);
  device().synchronize();
  EXPECT_EQ(status_of([] { Device{kGpu, 1000}; }), OPRT_ERR_INVALID_ARG);
}

TEST_F(Gpu, CopiesThereAndBack) {
  std::vector<int> from(3000), to(3000);
  std::iota(from.begin(), from.end(), 1);
  const size_t bytes = from.size() * sizeof(int);
  DeviceBuffer a(bytes, device()), b(bytes, device());
  a.copy_from(from.data(), bytes);
  b.copy_from(a);
  b.copy_to(to.data(), bytes);
  EXPECT_EQ(to, from);
  b.zero();
  b.copy_to(to.data(), bytes);
  EXPECT_EQ(to, std::vector<int>(3000));
  EXPECT_EQ(reinterpret_cast<uintptr_t>(a.data()) % 256, 0u);
}

TEST_F(Gpu, CopiesInTheOrderOfAStream) {
  const Stream stream(device());
  PinnedBuffer in(4 * kMiB, device()), out(4 * kMiB, device());
  std::memset(in.data(), 0x5A, in.bytes());
  DeviceBuffer a(4 * kMiB, device()), b(4 * kMiB, device());
  Event start(device()), end(device());
  start.record(stream);
  b.zero(stream);
  a.copy_from(in, stream);
  b.copy_from(a, stream);
  b.copy_to(out, stream);
  end.record(stream);
  end.synchronize();
  EXPECT_TRUE(end.done());
  EXPECT_GE(end.milliseconds_since(start), 0.0f);
  EXPECT_EQ(std::memcmp(in.data(), out.data(), in.bytes()), 0);
  const Event never(device());
  EXPECT_EQ(status_of([&] { end.milliseconds_since(never); }), OPRT_ERR_INVALID_ARG);
}

TEST_F(Gpu, APoolKeepsWhatComesBack) {
  MemoryPool pool(device());
  const Stream stream(device());
  {
    const DeviceBuffer first = pool.allocate(3 * kMiB, stream);
  }
  stream.synchronize();
  const auto before = pool.stats();
  EXPECT_EQ(before.used_bytes, 0u);
  EXPECT_GE(before.reserved_bytes, 3 * kMiB);
  for (int i = 0; i < 100; ++i) const DeviceBuffer again = pool.allocate(3 * kMiB, stream);
  const auto after = pool.stats();
  EXPECT_EQ(after.reserved_bytes, before.reserved_bytes);
  EXPECT_EQ(after.allocations, before.allocations + 100);
  EXPECT_EQ(after.hits, before.hits + 100);
  EXPECT_GE(after.used_peak, 3 * kMiB);
  stream.synchronize();
  pool.trim();
  EXPECT_EQ(pool.stats().reserved_bytes, 0u);
}

TEST_F(Gpu, APoolKnowsItsBlocks) {
  oprt_memory_pool_t pool = nullptr;
  ASSERT_EQ(oprt_memory_pool_create(device().c(), 0, &pool), OPRT_SUCCESS);
  void* data = nullptr;
  ASSERT_EQ(oprt_memory_pool_alloc(pool, 1000, nullptr, &data), OPRT_SUCCESS);
  EXPECT_EQ(oprt_memory_pool_destroy(pool), OPRT_ERR_INVALID_ARG);
  const Stream other(device());
  EXPECT_EQ(oprt_memory_pool_use(pool, data, other.c()), OPRT_SUCCESS);
  EXPECT_EQ(oprt_memory_pool_free(pool, data, nullptr), OPRT_SUCCESS);
  EXPECT_EQ(oprt_memory_pool_free(pool, data, nullptr), OPRT_ERR_INVALID_ARG);
  EXPECT_EQ(oprt_memory_pool_use(pool, data, nullptr), OPRT_ERR_INVALID_ARG);
  EXPECT_EQ(oprt_memory_pool_destroy(pool), OPRT_SUCCESS);
}

TEST_F(Gpu, RunningOutIsAStatus) {
  void* data = nullptr;
  EXPECT_EQ(oprt_memory_alloc(device().c(), size_t{1} << 60, &data), OPRT_ERR_OUT_OF_MEMORY);
  EXPECT_EQ(data, nullptr);
  MemoryPool pool(device(), 64 * kMiB);
  EXPECT_EQ(status_of([&] { pool.allocate(65 * kMiB); }), OPRT_ERR_OUT_OF_MEMORY);
  EXPECT_EQ(status_of([&] { pool.allocate(kMiB); }), OPRT_SUCCESS);
#ifdef OPRT_WITH_CUDA
  EXPECT_EQ(cudaPeekAtLastError(), cudaSuccess) << "an error is left pending";
#endif
}

// relu of -1, 2, -3, 4, ... on the device.
struct Relu {
  explicit Relu(int64_t n) : n(n), in(n * sizeof(float), Device(kGpu)), out(n * sizeof(float), Device(kGpu)) {
    std::vector<float> values(n);
    for (int64_t i = 0; i < n; ++i) values[i] = static_cast<float>(i % 2 ? i + 1 : -i - 1);
    in.copy_from(values.data(), in.bytes());
    out.zero();
    const oprt_tensor_view_t to = view(out), from = view(in);
    check(oprt_create_relu_descriptor(&desc, &to, &from, 0.0f));
  }
  ~Relu() { oprt_destroy_relu_descriptor(desc); }

  oprt_tensor_view_t view(const DeviceBuffer& buffer) const { return {buffer.data(), OPRT_DTYPE_F32, 1, {n}, {1}}; }
  oprt_status_t run(oprt_stream_t stream) const {
    return oprt_execute_relu(desc, nullptr, 0, out.data(), in.data(), stream);
  }
  bool is_right() const {
    std::vector<float> values(n);
    out.copy_to(values.data(), out.bytes());
    for (int64_t i = 0; i < n; ++i)
      if (values[i] != static_cast<float>(i % 2 ? i + 1 : 0)) return false;
    return true;
  }

  int64_t n;
  DeviceBuffer in, out;
  oprt_operator_descriptor_t desc = nullptr;
};

TEST_F(Gpu, RunsAnOperator) {
  for (int64_t n : {1, 5, 1024, 100003}) {
    const Relu relu(n);
    EXPECT_STREQ(oprt_descriptor_kernel(relu.desc), "relu_contiguous");
    ASSERT_EQ(relu.run(nullptr), OPRT_SUCCESS) << oprt_last_error_message();
    EXPECT_STREQ(oprt_last_kernel(), "relu_contiguous");
    EXPECT_TRUE(relu.is_right());
  }
}

TEST_F(Gpu, ManyThreadsShareADescriptor) {
  const Relu relu(5000);
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t)
    threads.emplace_back([&] {
      const Stream stream(Device{kGpu});
      DeviceBuffer out(relu.out.bytes(), Device(kGpu));
      for (int i = 0; i < 20; ++i)
        EXPECT_EQ(oprt_execute_relu(relu.desc, nullptr, 0, out.data(), relu.in.data(), stream.c()), OPRT_SUCCESS);
      stream.synchronize();
      std::vector<float> values(relu.n);
      out.copy_to(values.data(), out.bytes());
      EXPECT_EQ(values[4999], 5000.0f);
      EXPECT_EQ(values[4998], 0.0f);
    });
  for (std::thread& thread : threads) thread.join();
}

TEST_F(Gpu, RefusesMixedPlaces) {
  const Relu relu(4);
  std::vector<float> host(4);
  const oprt_tensor_view_t here = {host.data(), OPRT_DTYPE_F32, 1, {4}, {1}}, there = relu.view(relu.in);
  oprt_operator_descriptor_t desc = nullptr;
  EXPECT_EQ(oprt_create_relu_descriptor(&desc, &here, &there, 0.0f), OPRT_ERR_INVALID_ARG);
  EXPECT_NE(std::string(oprt_last_error_message()).find("nvidia:0"), std::string::npos);
}

// Creating a descriptor loads the kernels for all addresses: these products take one of two, with more shared memory
// than a kernel has unless asked.
TEST_F(Gpu, ADescriptorTakesOtherAddresses) {
  struct Ones {
    oprt_dtype_t dtype;
    uint16_t one, sixty_four;
    int64_t made_at, run_at;  // elements
  };
  for (const Ones& ones : {Ones{OPRT_DTYPE_BF16, 0x3F80, 0x4280, 0, 1}, Ones{OPRT_DTYPE_F16, 0x3C00, 0x5400, 1, 0}})
    for (const auto& [m, n] :
         {std::pair<int64_t, int64_t>{8, 64}, {64, 64}, {12 * 128, 11 * 128}}) {  // a tile of each kind
      const std::vector<uint16_t> values(std::max(m, n) * 64 + 1, ones.one);
      DeviceBuffer in(values.size() * 2, device()), out((m * n + 1) * 2, device());
      in.copy_from(values.data(), in.bytes());
      const auto at = [](const DeviceBuffer& buffer, int64_t offset) {
        return static_cast<void*>(static_cast<uint16_t*>(buffer.data()) + offset);
      };
      const oprt_tensor_view_t c = {at(out, ones.made_at), ones.dtype, 2, {m, n}, {n, 1}};
      const oprt_tensor_view_t a = {at(in, ones.made_at), ones.dtype, 2, {m, 64}, {64, 1}};
      const oprt_tensor_view_t b = {at(in, ones.made_at), ones.dtype, 2, {64, n}, {n, 1}};
      oprt_operator_descriptor_t desc = nullptr;
      check(oprt_create_matmul_descriptor(&desc, &c, &a, &b, OPRT_MATMUL_TILED, nullptr));
      void* const from = at(in, ones.run_at);
      EXPECT_EQ(oprt_execute_matmul(desc, nullptr, 0, at(out, ones.run_at), from, from, nullptr, nullptr), OPRT_SUCCESS)
          << oprt_last_error_message();
      oprt_destroy_matmul_descriptor(desc);
      std::vector<uint16_t> got(m * n + 1);
      out.copy_to(got.data(), out.bytes());
      for (int64_t i = 0; i < m * n; ++i) ASSERT_EQ(got[ones.run_at + i], ones.sixty_four) << m << ", " << i;
    }
}

#ifdef OPRT_WITH_CUDA
TEST_F(Gpu, AFirstCallMayBeCaptured) {
  std::optional<Relu> relu(1000);
  const Stream stream(device());
  const auto native = static_cast<cudaStream_t>(stream.c());
  ASSERT_EQ(cudaStreamBeginCapture(native, cudaStreamCaptureModeGlobal), cudaSuccess);
  EXPECT_EQ(relu->run(stream.c()), OPRT_SUCCESS) << oprt_last_error_message();
  int64_t count = 0;
  EXPECT_EQ(oprt_take_device_errors(stream.c(), &count), OPRT_ERR_NOT_SUPPORTED);
  cudaGraph_t graph = nullptr;
  ASSERT_EQ(cudaStreamEndCapture(native, &graph), cudaSuccess);
  cudaGraphExec_t replay = nullptr;
  ASSERT_EQ(cudaGraphInstantiate(&replay, graph, 0), cudaSuccess);
  oprt_destroy_relu_descriptor(relu->desc);
  relu->desc = nullptr;
  for (int i = 0; i < 10; ++i) {
    relu->out.zero(stream);
    ASSERT_EQ(cudaGraphLaunch(replay, native), cudaSuccess);
    stream.synchronize();
    EXPECT_TRUE(relu->is_right());
  }
  cudaGraphExecDestroy(replay);
  cudaGraphDestroy(graph);
}
#endif

}  // namespace
}  // namespace oprt
