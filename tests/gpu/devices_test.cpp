// C35: tensors on the second GPU while the first is the current one.
#include <cuda_runtime_api.h>

#include <thread>

#include "device_call.h"

namespace oprt_test {
namespace {

int current_device() {
  int device = -1;
  EXPECT_EQ(cudaGetDevice(&device), cudaSuccess);
  return device;
}

class TwoDevices : public EachOperator {
 protected:
  void SetUp() override {
    if (gpu_count() < 2) GTEST_SKIP() << "needs two GPUs, and there are " << gpu_count();
    EachOperator::SetUp();
  }

  // The operator on a device; a sentence where anything is wrong.
  std::string run(int index) const {
    DeviceCall call(op(), example(op(), 100), oprt::Device(kGpu, index));
    oprt_operator_descriptor_t desc = nullptr;
    if (call.create(&desc) != OPRT_SUCCESS) return oprt_last_error_message();
    call.take_workspace(desc);
    const oprt::Stream stream{oprt::Device(kGpu, index)};
    const oprt_status_t status = call.execute(desc, stream.c());
    stream.synchronize();
    op().destroy(desc);
    return status == OPRT_SUCCESS ? call.wrong() : oprt_last_error_message();
  }
};

TEST_P(TwoDevices, RunsWhereItsDataLives) {
  ASSERT_EQ(cudaSetDevice(0), cudaSuccess);
  EXPECT_EQ(run(1), "");
  EXPECT_EQ(current_device(), 0);
  EXPECT_EQ(run(0), "");
  ASSERT_EQ(cudaSetDevice(1), cudaSuccess);
  EXPECT_EQ(run(0), "");
  EXPECT_EQ(current_device(), 1);
  ASSERT_EQ(cudaSetDevice(0), cudaSuccess);
}

TEST_P(TwoDevices, RefusesOperandsOnBoth) {
  for (size_t moved = 0; moved < op().views.size(); ++moved) {
    DeviceCall here(op(), example(op())), there(op(), example(op()), oprt::Device(kGpu, 1));
    here.views[moved].data = there.views[moved].data;
    oprt_operator_descriptor_t desc = nullptr;
    EXPECT_EQ(here.create(&desc), OPRT_ERR_INVALID_ARG) << op().views[moved];
    const std::string message = oprt_last_error_message();
    EXPECT_NE(message.find("nvidia:0"), std::string::npos) << message;
    EXPECT_NE(message.find("nvidia:1"), std::string::npos) << message;
    EXPECT_EQ(current_device(), 0);
  }
}

TEST_P(TwoDevices, ThreadsKeepTheirOwnCurrentDevice) {
  std::vector<std::string> wrong(8);
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t)
    threads.emplace_back([&, t] {
      cudaSetDevice(t / 2 % 2);
      for (int i = 0; i < 10 && wrong[t].empty(); ++i) wrong[t] = run(t % 2);
      if (current_device() != t / 2 % 2) wrong[t] += "the current device has changed";
    });
  for (std::thread& thread : threads) thread.join();
  for (const std::string& what : wrong) EXPECT_EQ(what, "");
}

OPRT_EACH_OPERATOR(TwoDevices);

TEST(TwoDevicesMemory, IsCopiedBetweenThem) {
  if (gpu_count() < 2) GTEST_SKIP() << "needs two GPUs, and there are " << gpu_count();
  const std::string from(1 << 20, '\x3C');
  std::string to(from.size(), '\0');
  oprt::DeviceBuffer first(from.size(), oprt::Device(kGpu, 0)), second(from.size(), oprt::Device(kGpu, 1));
  first.copy_from(from.data(), from.size());
  second.copy_from(first);
  second.copy_to(to.data(), to.size());
  EXPECT_TRUE(to == from);
  EXPECT_EQ(current_device(), 0);
  oprt::MemoryPool pool(oprt::Device(kGpu, 1));
  const oprt::DeviceBuffer block = pool.allocate(1000);
  cudaPointerAttributes attributes = {};
  ASSERT_EQ(cudaPointerGetAttributes(&attributes, block.data()), cudaSuccess);
  EXPECT_EQ(attributes.device, 1);
  EXPECT_EQ(current_device(), 0);
}

}  // namespace
}  // namespace oprt_test
