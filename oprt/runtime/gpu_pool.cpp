// The GPU's memory pool: the driver's own stream-ordered pool. What is added is the books: which blocks are in use, on
// which streams, and how many allocations asked the system for nothing.
#include "oprt/runtime/gpu_pool.h"

#include <algorithm>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "oprt/core/text.h"
#include "oprt/device/gpu.h"
#include "oprt/runtime/gpu_capture.h"

namespace oprt {
namespace {

constexpr size_t kGranularity = 512;  // bytes to which the driver rounds a block up

size_t rounded(size_t bytes) { return (bytes + kGranularity - 1) / kGranularity * kGranularity; }

class GpuPool final : public oprt_memory_pool {
 public:
  GpuPool(oprt_device_t device, uint64_t limit_bytes) : oprt_memory_pool(device), limit_(limit_bytes) {}

  ~GpuPool() override {
    if (!pool_) return;
    const DeviceScope scope(device.index);
    cudaMemPoolDestroy(pool_);
  }

  Status create() {
    const DeviceScope scope(device.index);
    OPRT_TRY(gpu_status("memory_pool_create", scope.error()));
    cudaMemPoolProps properties = {};
    properties.allocType = cudaMemAllocationTypePinned;
    properties.location = {cudaMemLocationTypeDevice, device.index};
    properties.maxSize = limit_;
    OPRT_TRY(gpu_status("memory_pool_create", cudaMemPoolCreate(&pool_, &properties)));
    return set_release_threshold(UINT64_MAX);
  }

  Status alloc(size_t bytes, oprt_stream_t stream, void** data) override {
    std::lock_guard lock(mutex_);
    if (limit_ && bytes > limit_) return out_of_memory(bytes);
    const DeviceScope scope(device.index);
    OPRT_TRY(gpu_status("memory_pool_alloc", scope.error()));
    const OutsideCapture outside;  // what is allocated on a captured stream is the graph's all the same
    const uint64_t reserved = attribute(cudaMemPoolAttrReservedMemCurrent);
    void* block = nullptr;
    cudaError_t error = cudaMallocFromPoolAsync(&block, bytes, pool_, static_cast<cudaStream_t>(stream));
    if (error == cudaErrorMemoryAllocation) {  // what other streams have freed is theirs until they are done
      cudaGetLastError();
      cudaDeviceSynchronize();
      cudaMemPoolTrimTo(pool_, 0);
      error = cudaMallocFromPoolAsync(&block, bytes, pool_, static_cast<cudaStream_t>(stream));
    }
    if (error == cudaErrorMemoryAllocation) {
      cudaGetLastError();
      return out_of_memory(bytes);
    }
    OPRT_TRY(gpu_status("memory_pool_alloc", error));
    const auto give_back = [stream](void* b) { cudaFreeAsync(b, static_cast<cudaStream_t>(stream)); };
    std::unique_ptr<void, decltype(give_back)> owner(block, give_back);  // where the books have no memory left
    blocks_[block] = {rounded(bytes), {}};
    owner.release();
    used_ += rounded(bytes);
    used_peak_ = std::max(used_peak_, used_);
    allocations_ += 1;
    hits_ += attribute(cudaMemPoolAttrReservedMemCurrent) <= reserved;
    *data = block;
    return {};
  }

  // The freeing stream first waits for every other stream that was said to use the block.
  Status free(void* data, oprt_stream_t stream) override {
    std::lock_guard lock(mutex_);
    const auto found = blocks_.find(data);
    if (found == blocks_.end()) return not_a_block("memory_pool_free", data);
    const DeviceScope scope(device.index);
    OPRT_TRY(gpu_status("memory_pool_free", scope.error()));
    const OutsideCapture outside;
    for (const oprt_stream_t other : found->second.streams)
      if (other != stream) OPRT_TRY(order(other, stream));
    OPRT_TRY(gpu_status("memory_pool_free", cudaFreeAsync(data, static_cast<cudaStream_t>(stream))));
    used_ -= found->second.bytes;
    blocks_.erase(found);
    return {};
  }

  Status use(void* data, oprt_stream_t stream) override {
    std::lock_guard lock(mutex_);
    const auto found = blocks_.find(data);
    if (found == blocks_.end()) return not_a_block("memory_pool_use", data);
    std::vector<oprt_stream_t>& streams = found->second.streams;
    if (std::find(streams.begin(), streams.end(), stream) == streams.end()) streams.push_back(stream);
    return {};
  }

  Status trim(uint64_t keep_bytes) override {
    std::lock_guard lock(mutex_);
    const DeviceScope scope(device.index);
    OPRT_TRY(gpu_status("memory_pool_trim", scope.error()));
    cudaError_t error = cudaDeviceSynchronize();  // what was freed in stream order is free once the streams are done
    if (error == cudaSuccess) error = cudaMemPoolTrimTo(pool_, keep_bytes);
    return gpu_status("memory_pool_trim", error);
  }

  Status set_release_threshold(uint64_t bytes) override {
    std::lock_guard lock(mutex_);
    const OutsideCapture outside;
    return gpu_status("memory_pool_set_release_threshold",
                      cudaMemPoolSetAttribute(pool_, cudaMemPoolAttrReleaseThreshold, &bytes));
  }

  oprt_memory_pool_stats_t stats() override {
    std::lock_guard lock(mutex_);
    oprt_memory_pool_stats_t stats = {};
    stats.reserved_bytes = attribute(cudaMemPoolAttrReservedMemCurrent);
    stats.reserved_peak = attribute(cudaMemPoolAttrReservedMemHigh);
    stats.used_bytes = used_;
    stats.used_peak = used_peak_;
    stats.allocations = allocations_;
    stats.hits = hits_;
    return stats;
  }

 private:
  struct Block {
    size_t bytes;
    std::vector<oprt_stream_t> streams;  // that use it beside the one it will be freed on
  };

  uint64_t attribute(cudaMemPoolAttr which) const {
    const OutsideCapture outside;
    uint64_t value = 0;
    if (cudaMemPoolGetAttribute(pool_, which, &value) != cudaSuccess) cudaGetLastError();
    return value;
  }

  // What is submitted to `after` from now on waits for what `before` holds now; the caller does where there is no
  // event.
  static Status order(oprt_stream_t before, oprt_stream_t after) {
    cudaEvent_t event = nullptr;
    if (cudaEventCreateWithFlags(&event, cudaEventDisableTiming) != cudaSuccess) {
      cudaGetLastError();
      return gpu_status("memory_pool_free", cudaStreamSynchronize(static_cast<cudaStream_t>(before)));
    }
    cudaError_t error = cudaEventRecord(event, static_cast<cudaStream_t>(before));
    if (error == cudaSuccess) error = cudaStreamWaitEvent(static_cast<cudaStream_t>(after), event, 0);
    cudaEventDestroy(event);  // the wait stands
    return gpu_status("memory_pool_free", error);
  }

  Status out_of_memory(size_t bytes) const {
    const std::string limit = limit_ ? "a limit of " + std::to_string(limit_) : "no limit";
    return fail(OPRT_ERR_OUT_OF_MEMORY, "memory_pool_alloc",
                std::to_string(bytes) + " bytes do not fit a pool with " + limit + " and " + std::to_string(used_) +
                    " bytes in use");
  }

  static Status not_a_block(const char* what, const void* data) {
    return invalid(what, "data", "a block of this pool in use", address(data));
  }

  std::mutex mutex_;
  std::unordered_map<void*, Block> blocks_;  // in use
  const uint64_t limit_;                     // bytes; 0: none
  cudaMemPool_t pool_ = nullptr;
  uint64_t used_ = 0, used_peak_ = 0, allocations_ = 0, hits_ = 0;
};

}  // namespace

Status make_gpu_pool(oprt_device_t device, uint64_t limit_bytes, oprt_memory_pool** pool) {
  const OutsideCapture outside;
  auto made = std::make_unique<GpuPool>(device, limit_bytes);
  OPRT_TRY(made->create());
  *pool = made.release();
  return {};
}

}  // namespace oprt
