// Devices: all with an H200's properties (an A100's for --sm 80) and less memory, and peers of one another.
#include <algorithm>
#include <climits>
#include <cstdio>
#include <cstring>
#include <string>

#include "runtime/context.h"
#include "runtime/pool.h"
#include "runtime/stream.h"

namespace vgpu {
namespace {

constexpr size_t kMostStackBytes = 256 * 1024;  // of a thread; an H200 refuses twice as much
constexpr int kClockKilohertz = 1980000, kMemoryClockKilohertz = 3201000;
// Device 0 is on bus 1, and so on.
std::string bus_id(int device) { return "0000:0" + std::to_string(device + 1) + ":00.0"; }

// Of device 0, and of all in what does not tell them apart.
const DeviceProperties& properties() {
  static const DeviceProperties result = [] {
    const auto& context = Context::get();
    const auto& limits = context.limits;
    const bool hopper = limits.sm >= 90;
    DeviceProperties p{};
    std::snprintf(p.name, sizeof p.name, "Virtual GPU (sm_%d)", limits.sm);
    std::memcpy(p.uuid, "oprt-virtual-gpu", sizeof p.uuid);
    p.global_memory = context.memory.capacity();
    p.shared_per_block = limits.shared_per_block;
    p.registers_per_block = p.registers_per_multiprocessor = int(limits.registers_per_block);
    p.warp_size = 32;
    p.max_pitch = INT_MAX;
    p.threads_per_block = int(limits.threads_per_block);
    const Dim3 &block = limits.block, &grid = limits.grid;
    std::copy_n(std::begin({int(block.x), int(block.y), int(block.z)}), 3, p.block);
    std::copy_n(std::begin({int(grid.x), int(grid.y), int(grid.z)}), 3, p.grid);
    p.constant_memory = 64 * 1024;
    p.major = limits.sm / 10;
    p.minor = limits.sm % 10;
    p.texture_alignment = p.surface_alignment = 512;
    p.texture_pitch_alignment = 32;
    p.multiprocessors = int(limits.multiprocessors);
    p.can_map_host_memory = p.concurrent_kernels = p.ecc = p.unified_addressing = p.stream_priorities = 1;
    p.global_l1_cache = p.local_l1_cache = p.managed_memory = p.concurrent_managed_access = p.compute_preemption = 1;
    p.host_pointer_for_registered = p.cooperative_launch = p.host_register = p.memory_pools = 1;
    p.unified_function_pointers = 0;
    p.pci_bus = 1;
    p.async_engines = 3;
    p.memory_bus_width = hopper ? 6144 : 5120;
    p.l2_bytes = (hopper ? 60 : 40) << 20;
    p.persisting_l2_bytes = p.l2_bytes / 8 * 5;
    p.threads_per_multiprocessor = int(limits.threads_per_multiprocessor);
    p.blocks_per_multiprocessor = int(limits.blocks_per_multiprocessor);
    p.shared_per_multiprocessor = limits.shared_per_multiprocessor;
    p.shared_per_block_optin = limits.shared_per_block_optin;
    p.reserved_shared_per_block = 1024;
    p.access_policy_window_bytes = 128 << 20;
    p.cluster_launch = hopper;
    p.numa_id = -1;
    return p;  // textures, surfaces and sharing between processes: none, so zero
  }();
  return result;
}

DeviceProperties properties_of(int device) {
  auto p = properties();
  p.pci_bus += device;
  if (device) p.uuid[sizeof p.uuid - 1] = char('0' + device);
  return p;
}

// cudaDeviceAttr. -1 is an answer, so what is unknown is told by the return value.
bool attribute(int number, int device, int& value) {
  const auto& p = properties();
  switch (number) {
#define IS(code, answer) \
  case code: value = int(answer); return true;
    IS(1, p.threads_per_block)
    IS(2, p.block[0])
    IS(3, p.block[1])
    IS(4, p.block[2])
    IS(5, p.grid[0])
    IS(6, p.grid[1])
    IS(7, p.grid[2])
    IS(8, p.shared_per_block)
    IS(9, p.constant_memory)
    IS(10, p.warp_size)
    IS(11, p.max_pitch)
    IS(12, p.registers_per_block)
    IS(13, kClockKilohertz)
    IS(14, p.texture_alignment)
    IS(15, 1)  // copies overlap with kernels
    IS(16, p.multiprocessors)
    IS(17, 0)  // no time limit on kernels
    IS(18, p.integrated)
    IS(19, p.can_map_host_memory)
    IS(20, 0)  // compute mode: default
    IS(30, p.surface_alignment)
    IS(31, p.concurrent_kernels)
    IS(32, p.ecc)
    IS(33, p.pci_bus + device)
    IS(34, p.pci_device)
    IS(35, p.tcc_driver)
    IS(36, kMemoryClockKilohertz)
    IS(37, p.memory_bus_width)
    IS(38, p.l2_bytes)
    IS(39, p.threads_per_multiprocessor)
    IS(40, p.async_engines)
    IS(41, p.unified_addressing)
    IS(50, p.pci_domain)
    IS(51, p.texture_pitch_alignment)
    IS(75, p.major)
    IS(76, p.minor)
    IS(78, p.stream_priorities)
    IS(79, p.global_l1_cache)
    IS(80, p.local_l1_cache)
    IS(81, p.shared_per_multiprocessor)
    IS(82, p.registers_per_multiprocessor)
    IS(83, p.managed_memory)
    IS(84, p.multi_gpu_board)
    IS(85, p.multi_gpu_board_group)
    IS(86, p.host_native_atomics)
    IS(87, 2)  // f32 to f64 throughput
    IS(88, p.pageable_access)
    IS(89, p.concurrent_managed_access)
    IS(90, p.compute_preemption)
    IS(91, p.host_pointer_for_registered)
    IS(95, p.cooperative_launch)
    IS(97, p.shared_per_block_optin)
    IS(98, 0)  // remote writes
    IS(99, p.host_register)
    IS(100, p.pageable_access_uses_host_tables)
    IS(101, p.direct_managed_access_from_host)
    IS(106, p.blocks_per_multiprocessor)
    IS(108, p.persisting_l2_bytes)
    IS(109, p.access_policy_window_bytes)
    IS(111, p.reserved_shared_per_block)
    IS(115, p.memory_pools)
    IS(119, p.pool_handle_types)
    IS(120, p.cluster_launch)
    IS(126, 4)  // memory synchronisation domains
    IS(130, p.numa_config)
    IS(131, p.numa_id)
    IS(133, p.mps)
    IS(134, p.host_numa_id)
#undef IS
  }
  value = 0;                          // textures, surfaces, interoperation, other processes: none
  return number > 0 && number < 148;  // cudaDevAttrMax
}

DeviceState& current_state() { return Context::get().devices[size_t(current_device())]; }

// Of a device whose memory the current one may be given access to; null if there is no such.
DeviceState* peer_of_current(int device) {
  const bool is_peer = is_device(device) && device != current_device();
  return is_peer ? &Context::get().devices[size_t(device)] : nullptr;
}

}  // namespace

VGPU_API(cudaGetDeviceCount, int* count) {
  return call([&] {
    if (!count) return Error::InvalidValue;
    *count = Context::get().configuration.devices;
    return Error::Success;
  });
}
VGPU_API(cudaGetDevice, int* device) {
  return call([&] {
    if (!device) return Error::InvalidValue;
    *device = current_device();
    return Error::Success;
  });
}
VGPU_API(cudaSetDevice, int device) {
  return call([&] {
    if (!is_device(device)) return Error::InvalidDevice;
    this_thread().device = device;
    return Error::Success;
  });
}
VGPU_API(cudaInitDevice, int device, unsigned device_flags, unsigned flags) {
  return call([&] {
    constexpr unsigned kFlagsAreValid = 1;
    if (!is_device(device)) return Error::InvalidDevice;
    if (flags & kFlagsAreValid) Context::get().devices[size_t(device)].flags = device_flags;
    return Error::Success;
  });
}
VGPU_API(cudaSetValidDevices, int* devices, int count) {
  return call([&] {
    auto& context = Context::get();
    if (count < 0 || count > context.configuration.devices || (count && !devices)) return Error::InvalidValue;
    if (!std::all_of(devices, devices + count, is_device)) return Error::InvalidDevice;
    context.valid_devices.assign(devices, devices + count);
    return Error::Success;
  });
}
// All match alike, so the first.
VGPU_API(cudaChooseDevice, int* device, const DeviceProperties*) {
  return call([&] {
    if (!device) return Error::InvalidValue;
    *device = 0;
    return Error::Success;
  });
}
VGPU_API(cudaGetDeviceProperties, DeviceProperties* result, int device) {
  return call([&] {
    if (!result) return Error::InvalidValue;
    if (!is_device(device)) return Error::InvalidDevice;
    *result = properties_of(device);
    return Error::Success;
  });
}
VGPU_API(cudaDeviceGetAttribute, int* value, int number, int device) {
  return call([&] {
    if (!is_device(device)) return Error::InvalidDevice;
    return value && attribute(number, device, *value) ? Error::Success : Error::InvalidValue;
  });
}
VGPU_API(cudaSetDeviceFlags, unsigned flags) {
  return call([&] {
    current_state().flags = flags;
    return Error::Success;
  });
}
VGPU_API(cudaGetDeviceFlags, unsigned* flags) {
  return call([&] {
    *flags = current_state().flags | 8;  // host memory can be mapped
    return Error::Success;
  });
}
VGPU_API(cudaDeviceSynchronize) {
  return call([&] {
    trim_pools(current_device());
    return refuse_in_any_capture();
  });
}
// Nothing is destroyed: what a program leaves allocated is of interest to the checks, and errors stick on hardware too.
// Peer access alone ends.
VGPU_API(cudaDeviceReset) {
  return call([] {
    const int device = current_device();
    for (auto& peer : Context::get().devices) peer.reach &= ~(1u << device);
    current_state().reach = 1u << device;
    return Error::Success;
  });
}
VGPU_API(cudaDeviceGetLimit, size_t* value, unsigned limit) {
  return call([&] {
    if (!value) return Error::InvalidValue;
    const auto& limits = current_state().limits;
    if (limit >= limits.size()) return Error::UnsupportedLimit;
    *value = limits[limit];
    return Error::Success;
  });
}
VGPU_API(cudaDeviceSetLimit, unsigned limit, size_t value) {
  return call([&] {
    auto& limits = current_state().limits;
    if (limit >= limits.size()) return Error::UnsupportedLimit;
    if (const Error error = refuse_in_capture(); error != Error::Success) return error;
    if (limit == 0 && value > kMostStackBytes) return Error::InvalidValue;
    limits[limit] = value;
    return Error::Success;
  });
}
VGPU_API(cudaDeviceGetCacheConfig, int* preference) {
  return call([&] {
    *preference = current_state().cache_preference;
    return Error::Success;
  });
}
VGPU_API(cudaDeviceSetCacheConfig, int preference) {
  return call([&] {
    current_state().cache_preference = preference;
    return Error::Success;
  });
}
VGPU_API(cudaDeviceGetSharedMemConfig, int* banks) {
  return call([&] {
    *banks = 1;  // of four bytes, and nothing else since Maxwell
    return Error::Success;
  });
}
VGPU_API(cudaDeviceSetSharedMemConfig, int) {
  return call([] { return Error::Success; });
}
VGPU_API(cudaDeviceGetStreamPriorityRange, int* least, int* greatest) {
  return call([&] {
    if (least) *least = kLowestPriority;
    if (greatest) *greatest = kHighestPriority;
    return Error::Success;
  });
}
VGPU_API(cudaDeviceGetPCIBusId, char* text, int length, int device) {
  return call([&] {
    if (!is_device(device)) return Error::InvalidDevice;
    const auto id = bus_id(device);
    if (!text || length <= int(id.size())) return Error::InvalidValue;
    std::memcpy(text, id.c_str(), id.size() + 1);
    return Error::Success;
  });
}
VGPU_API(cudaDeviceGetByPCIBusId, int* device, const char* text) {
  return call([&] {
    if (!device || !text) return Error::InvalidValue;
    for (*device = 0; is_device(*device); ++*device) {
      const auto id = bus_id(*device);
      if (text == id || text == id.substr(5)) return Error::Success;  // also without the domain
    }
    *device = 0;
    return Error::InvalidDevice;
  });
}
VGPU_API(cudaDeviceCanAccessPeer, int* can, int device, int peer) {
  return call([&] {
    if (!is_device(device) || !is_device(peer)) return Error::InvalidDevice;
    *can = device != peer;  // a device is no peer of its own
    return Error::Success;
  });
}
VGPU_API(cudaDeviceEnablePeerAccess, int device, unsigned flags) {
  return call([&] {
    auto* peer = peer_of_current(device);
    if (!peer) return Error::InvalidDevice;
    if (flags) return Error::InvalidValue;
    const uint32_t bit = 1u << current_device();
    if (peer->reach & bit) return Error::PeerAccessAlreadyEnabled;
    peer->reach |= bit;
    return Error::Success;
  });
}
VGPU_API(cudaDeviceDisablePeerAccess, int device) {
  return call([&] {
    auto* peer = peer_of_current(device);
    if (!peer) return Error::InvalidDevice;
    const uint32_t bit = 1u << current_device();
    if (!(peer->reach & bit)) return Error::PeerAccessNotEnabled;
    peer->reach &= ~bit;
    return Error::Success;
  });
}
VGPU_API(cudaDeviceGetP2PAttribute, int* value, int attribute, int from, int to) {
  return call([&] {
    constexpr int kRank = 1, kAccess = 2, kAtomics = 3, kArrays = 4;
    if (!is_device(from) || !is_device(to) || from == to) return Error::InvalidDevice;
    if (!value || attribute < kRank || attribute > kArrays) return Error::InvalidValue;
    *value = attribute == kAccess || attribute == kAtomics;
    return Error::Success;
  });
}
VGPU_API(cudaCtxResetPersistingL2Cache) {
  return call([] { return Error::Success; });
}

// --- versions, profiler, driver ----------------------------------------------------------------------------

VGPU_API(cudaRuntimeGetVersion, int* version) {
  return call([&] {
    if (!version) return Error::InvalidValue;
    *version = kVersion;
    return Error::Success;
  });
}
VGPU_API(cudaDriverGetVersion, int* version) {
  return call([&] {
    if (!version) return Error::InvalidValue;
    *version = kVersion;
    return Error::Success;
  });
}
VGPU_API(cudaProfilerStart) {
  return call([] { return Error::Success; });
}
VGPU_API(cudaProfilerStop) {
  return call([] { return Error::Success; });
}

namespace {

// There is no driver to hand out functions of: the program learns that the symbol is not there, and we say which.
Error driver_entry_point(const char* symbol, void** result, int* status) {
  constexpr int kSymbolNotFound = 1;
  if (!symbol || !result) return Error::InvalidValue;
  *result = nullptr;
  if (status) *status = kSymbolNotFound;
  Context::get().say(std::string("the driver function ") + symbol + " is not there: the virtual GPU has no driver");
  return status ? Error::Success : Error::SymbolNotFound;
}

}  // namespace

VGPU_API(cudaGetDriverEntryPoint, const char* symbol, void** result, unsigned long long, int* status) {
  return call([&] { return driver_entry_point(symbol, result, status); });
}
VGPU_API(cudaGetDriverEntryPointByVersion, const char* symbol, void** result, unsigned, unsigned long long,
         int* status) {
  return call([&] { return driver_entry_point(symbol, result, status); });
}
}  // namespace vgpu
