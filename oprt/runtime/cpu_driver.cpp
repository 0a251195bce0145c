// The CPU behind the face of api/device.h and api/memory.h. Streams have no queue: each call does its work and returns.
#include <sched.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <string>
#include <thread>

#include "oprt/core/text.h"
#include "oprt/runtime/cpu_memory.h"
#include "oprt/runtime/driver.h"

namespace oprt {

uint64_t host_memory_bytes() {
  return static_cast<uint64_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
}

Status host_alloc(const char* what, size_t bytes, void** data) {
  const uint64_t most = host_memory_bytes();
  if (bytes <= most) {
    *data = std::aligned_alloc(kHostAlignment, (bytes + kHostAlignment - 1) / kHostAlignment * kHostAlignment);
    if (*data) return {};
  }
  return fail(OPRT_ERR_OUT_OF_MEMORY, what,
              "no room for " + std::to_string(bytes) + " bytes on a machine of " + std::to_string(most));
}

namespace {

class CpuEvent final : public oprt_event {
 public:
  using oprt_event::oprt_event;

  Status record(oprt_stream_t) override {
    recorded_ =
        std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch())
            .count();
    return {};
  }

  Status synchronize() override { return {}; }

  Status query(bool* done) override {
    *done = true;
    return {};
  }

  Status elapsed_since(oprt_event& start, float* milliseconds) override {
    const int64_t begin = static_cast<CpuEvent&>(start).recorded_, end = recorded_;
    if (begin == kNever || end == kNever)
      return invalid("event_elapsed", begin == kNever ? "start" : "end", "an event that was recorded",
                     "one that never was");
    *milliseconds = static_cast<float>(static_cast<double>(end - begin) * 1e-6);
    return {};
  }

 private:
  static constexpr int64_t kNever = INT64_MIN;
  std::atomic<int64_t> recorded_{kNever};  // nanoseconds of the steady clock
};

// The value of a "key : value" line in a file of /proc; empty where there is none.
std::string proc_value(const char* path, const std::string& key) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    const size_t colon = line.find(':');
    if (line.compare(0, key.size(), key) != 0 || colon == std::string::npos) continue;
    const size_t begin = line.find_first_not_of(" \t", colon + 1);
    return begin == std::string::npos ? "" : line.substr(begin);
  }
  return "";
}

int32_t usable_processors() {
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof(set), &set) == 0) return CPU_COUNT(&set);
  return static_cast<int32_t>(std::thread::hardware_concurrency());  // more processors than a cpu_set_t holds
}

// What a stream of the CPU is: an address of its own.
struct CpuStream {};

class CpuDriver final : public Driver {
 public:
  int32_t device_count() override { return 1; }

  Status info(int32_t, oprt_device_info_t* info) override {
    const std::string name = proc_value("/proc/cpuinfo", "model name");
    std::snprintf(info->name, sizeof(info->name), "%s", name.empty() ? "CPU" : name.c_str());
    info->total_bytes = host_memory_bytes();
    info->free_bytes = std::strtoull(proc_value("/proc/meminfo", "MemAvailable").c_str(), nullptr, 10) * 1024;
    info->compute_major = 0;
    info->compute_minor = 0;
    info->multiprocessors = usable_processors();
    return {};
  }

  Status synchronize(int32_t) override { return {}; }

  Status stream_create(int32_t, oprt_stream_t* stream) override {
    *stream = new CpuStream;
    return {};
  }

  Status stream_destroy(int32_t, oprt_stream_t stream) override {
    delete static_cast<CpuStream*>(stream);
    return {};
  }

  Status stream_synchronize(int32_t, oprt_stream_t) override { return {}; }

  // The event may be a GPU's: then this is the moment to wait for it.
  Status stream_wait(int32_t, oprt_stream_t, oprt_event& event) override { return event.synchronize(); }

  Status event_create(int32_t index, oprt_event** event) override {
    *event = new CpuEvent({OPRT_BACKEND_CPU, index});
    return {};
  }

  Status alloc(int32_t, size_t bytes, void** data) override { return host_alloc("memory_alloc", bytes, data); }

  Status free(int32_t, void* data) override {
    std::free(data);
    return {};
  }

  // All of the CPU's memory is within its own reach.
  Status alloc_pinned(int32_t, size_t bytes, void** data) override {
    return host_alloc("memory_alloc_pinned", bytes, data);
  }

  Status free_pinned(int32_t index, void* data) override { return free(index, data); }

  Status copy(void* dst, oprt_device_t, const void* src, oprt_device_t, size_t bytes, oprt_stream_t, bool) override {
    std::memcpy(dst, src, bytes);
    return {};
  }

  Status zero(int32_t, void* data, size_t bytes, oprt_stream_t, bool) override {
    std::memset(data, 0, bytes);
    return {};
  }

  Status pool_create(int32_t index, uint64_t limit_bytes, oprt_memory_pool** pool) override {
    return make_cpu_pool({OPRT_BACKEND_CPU, index}, limit_bytes, pool);
  }
};

}  // namespace

Driver& cpu_driver() {
  static CpuDriver driver;
  return driver;
}

}  // namespace oprt
