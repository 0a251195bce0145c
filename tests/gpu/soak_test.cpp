// The GPU backend under load: many threads and streams, a million descriptors, results that never change.
// OPRT_SOAK=N does one Nth of it.
#include <cuda_runtime_api.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <thread>

#include "compare.h"
#include "device_call.h"

namespace oprt_test {
namespace {

using oprt::Device;
using oprt::DeviceBuffer;
using oprt::Stream;

int64_t share_of(int64_t all) {
  const char* part = std::getenv("OPRT_SOAK");
  return part ? std::max<int64_t>(1, all / std::max(1, std::atoi(part))) : all;
}

// A call that many threads execute: a descriptor, inputs, and the output that is right.
struct Work {
  Work(const Functions& op, const Example& example) : op(op), call(op, example) {
    oprt::check(call.create(&desc));
    call.take_workspace(desc);
    oprt::check(call.execute(desc));
    const std::string wrong = call.wrong();
    if (!wrong.empty()) throw std::runtime_error(std::string(op.name) + ": " + wrong);
  }
  ~Work() { op.destroy(desc); }
  Work(const Work&) = delete;

  size_t workspace_bytes() const { return call.workspace ? call.workspace->bytes() : 0; }

  const Functions& op;
  DeviceCall call;
  oprt_operator_descriptor_t desc = nullptr;
};

using Works = std::vector<std::unique_ptr<Work>>;

Works every_operator(std::initializer_list<int64_t> rows) {
  Works works;
  for (const Functions& op : operators())
    for (const int64_t count : rows)
      for (const oprt_dtype_t dtype : {OPRT_DTYPE_F32, OPRT_DTYPE_F16, OPRT_DTYPE_BF16})
        if (!example(op).guessed || op.views.size() <= 3)
          works.push_back(std::make_unique<Work>(op, with_dtype(op, example(op, count), dtype)));
  return works;
}

// A stream with outputs and a workspace of its own.
class Lane {
 public:
  explicit Lane(const Works& works) : stream_(Device(kGpu)), result_(sizeof(Comparison), Device(kGpu)) {
    size_t workspace = 1, outputs[2] = {1, 1};
    for (const auto& work : works) {
      workspace = std::max(workspace, work->workspace_bytes());
      for (int o = 0; o < work->op.outputs; ++o) outputs[o] = std::max(outputs[o], work->call.host.bytes(o));
    }
    workspace_ = std::make_unique<DeviceBuffer>(workspace, Device(kGpu));
    for (int o = 0; o < 2; ++o) {
      outputs_.emplace_back(outputs[o], Device(kGpu));
      cudaMemset(outputs_[o].data(), 0xFF, outputs[o]);
    }
    result_.zero();
    cudaDeviceSynchronize();
  }

  // Executes and compares every bit of what it wrote.
  bool run(const Work& work) {
    std::vector<void*> data = work.call.data;
    for (int o = 0; o < work.op.outputs; ++o) data[o] = outputs_[o].data();
    if (work.op.execute(work.desc, workspace_->data(), workspace_->bytes(), data.data(), stream_.c()) != OPRT_SUCCESS)
      return false;
    for (int o = 0; o < work.op.outputs; ++o) {
      const size_t bytes = work.call.host.bytes(o);
      compare(data[o], work.call.data[o], bytes, bytes, true, static_cast<Comparison*>(result_.data()),
              static_cast<cudaStream_t>(stream_.c()));
      words_ += bytes / 2;
    }
    return true;
  }

  // Waits, and says what was wrong.
  std::string finish() {
    stream_.synchronize();
    Comparison found = {};
    result_.copy_to(&found, sizeof(found));
    if (found.words != words_) return std::to_string(found.words) + " words compared of " + std::to_string(words_);
    return found.different ? std::to_string(found.different) + " words differ" : "";
  }

 private:
  Stream stream_;
  DeviceBuffer result_;
  std::unique_ptr<DeviceBuffer> workspace_;
  std::vector<DeviceBuffer> outputs_;
  unsigned long long words_ = 0;
};

class Soak : public testing::Test {
 protected:
  void SetUp() override {
    if (gpu_count() == 0) GTEST_SKIP() << "no GPU";
  }
};

TEST_F(Soak, SixteenThreadsOfEightStreams) {
  constexpr int kThreads = 16, kStreams = 8;
  const int64_t calls = share_of(10'000);  // on each stream
  const Works works = every_operator({3, 70, 1000});
  std::vector<std::string> wrong(kThreads);
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t)
    threads.emplace_back([&, t] {
      std::vector<Lane> lanes;
      for (int s = 0; s < kStreams; ++s) lanes.emplace_back(works);
      for (int64_t i = 0; i < calls && wrong[t].empty(); ++i)
        for (int s = 0; s < kStreams; ++s) {
          const Work& work = *works[static_cast<size_t>(i * 7 + s * 5 + t * 3) % works.size()];
          if (!lanes[s].run(work)) wrong[t] = oprt_last_error_message();
        }
      for (Lane& lane : lanes) wrong[t] += lane.finish();
    });
  for (std::thread& thread : threads) thread.join();
  for (const std::string& what : wrong) EXPECT_EQ(what, "");
  RecordProperty("calls", std::to_string(calls * kThreads * kStreams));
}

TEST_F(Soak, TwentyTimesTheSameBits) {
  const Works works = every_operator({1, 3001, 100'000});
  Lane lane(works);
  for (const auto& work : works)
    for (int i = 0; i < 20; ++i) ASSERT_TRUE(lane.run(*work)) << oprt_last_error_message();
  EXPECT_EQ(lane.finish(), "");
}

int64_t resident_bytes() {
  int64_t pages = 0, resident = 0;
  std::ifstream("/proc/self/statm") >> pages >> resident;
  return resident * sysconf(_SC_PAGESIZE);
}

int64_t free_device_bytes() {
  size_t free = 0, total = 0;
  EXPECT_EQ(cudaMemGetInfo(&free, &total), cudaSuccess);
  return static_cast<int64_t>(free);
}

TEST_F(Soak, AMillionDescriptorsLeaveNothingBehind) {
  const int64_t count = share_of(1'000'000), warm_up = count / 5;
  const Works works = every_operator({5});
  int64_t host = 0, device = 0;
  for (int64_t i = 0; i < count; ++i) {
    if (i == warm_up) host = resident_bytes(), device = free_device_bytes();
    Work& work = *works[static_cast<size_t>(i) % works.size()];
    oprt_operator_descriptor_t desc = nullptr;
    ASSERT_EQ(work.call.create(&desc), OPRT_SUCCESS) << oprt_last_error_message();
    ASSERT_EQ(work.call.execute(desc), OPRT_SUCCESS) << oprt_last_error_message();
    ASSERT_EQ(work.op.destroy(desc), OPRT_SUCCESS);
  }
  ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  EXPECT_LE(resident_bytes() - host, int64_t{2} << 20) << "of host memory more after " << count - warm_up;
  EXPECT_EQ(free_device_bytes(), device);
  for (const auto& work : works) EXPECT_EQ(work->call.wrong(), "") << work->op.name;
}

// What a pool is for: 100 cycles of allocate and free, beside as many that ask the system.
TEST_F(Soak, APoolSparesTheSystem) {
  const Stream stream{Device(kGpu)};
  oprt::MemoryPool pool(Device{kGpu});
  const auto microseconds = [](auto&& cycle) {
    cycle();
    const auto start = std::chrono::steady_clock::now();
    for (int i = 0; i < 100; ++i) cycle();
    return std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - start).count() / 100;
  };
  for (const size_t bytes : {size_t{1} << 10, size_t{1} << 20, size_t{1} << 28}) {
    const double pooled = microseconds([&] { pool.allocate(bytes, stream); });
    const double asked = microseconds([&] { DeviceBuffer(bytes, Device(kGpu)); });
    std::printf("%zu bytes: %.1f us a cycle from the pool, %.1f us from cudaMalloc\n", bytes, pooled, asked);
    if (bytes > size_t{1} << 20) EXPECT_LT(pooled, asked);
  }
  EXPECT_EQ(pool.stats().allocations, 303u);
  EXPECT_GE(pool.stats().hits, 300u);
}

}  // namespace
}  // namespace oprt_test
