// Device memory: one table of allocations, seen by the runtime (which makes them), the engine (which reaches them) and
// the reporter (which names them). Several devices share the table and the addresses.
//
// A device pointer is an address inside a reserved range that is never mapped, so that a host access faults (E08) and
// is named. The bytes lie `shift` above it, where only the emulator looks. Host memory that a device may use
// (cudaMallocHost, cudaHostRegister, managed) keeps its own address: shift 0. Allocations are 256-byte aligned with a
// gap between them, so that one element past the end is in none.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>

namespace vgpu {

enum class MemoryKind : uint8_t { device, pinned, managed, symbol };

// Whose an allocation is: the device of whose memory it takes, and which devices' kernels may access it.
struct Owner {
  int device = 0;
  // Bit d: device d's may. The device's or the pool's own, which change it as access is given and taken. Null: all may.
  const uint32_t* reach = nullptr;
};

struct Allocation {
  uint64_t address = 0;  // as the program sees it
  uint64_t bytes = 0;    // as asked for, not rounded
  int64_t shift = 0;     // byte k of it lies at host address `address + shift + k`
  MemoryKind kind = MemoryKind::device;
  Owner owner;
  bool freed = false;         // kept, so that a use after free can be told from an access to nothing
  uint64_t serial = 0;        // the how-manieth allocation of the program, from 1
  std::string name;           // of a symbol: the variable's name; else empty
  std::string made_by;        // the call: "cudaMalloc"
  void* host_site = nullptr;  // return address of that call in the program, for file:line
};

class Memory {
 public:
  explicit Memory(uint64_t capacity, int devices = 1);  // bytes that each device has
  ~Memory();
  // Null where the owner's capacity is used up (or the range cannot be mapped).
  const Allocation* allocate(uint64_t bytes, MemoryKind kind, const char* made_by, void* host_site, Owner owner = {},
                             std::string name = {});
  const Allocation* adopt(void* host, uint64_t bytes, MemoryKind kind, const char* made_by, void* host_site,
                          Owner owner = {});  // cudaHostRegister
  bool free(uint64_t address);                // the address must be an allocation's first byte
  // The allocation (live or freed) that holds the address; null if none does.
  const Allocation* find(uint64_t address) const;
  const Allocation* nearest_below(uint64_t address) const;  // for "12 bytes past the end of …"
  bool in_device_range(uint64_t address) const;
  int devices() const;
  uint64_t used(int device = 0) const;
  uint64_t capacity() const;
  std::byte* host(const Allocation& a, uint64_t address) const {
    return reinterpret_cast<std::byte*>(address + a.shift);
  }
  uint64_t version() const;  // changes with every allocate and free: engine caches look at it
 private:
  struct State;
  std::unique_ptr<State> state_;
};

// Generic addresses of the windows that are no global memory. All are above any user-space address. A shared address
// below kSharedStride is the block's own; the block of rank r of the cluster lies at (r + 1) * kSharedStride, in the
// window and as a 32-bit address of .shared::cluster.
constexpr uint64_t kSharedWindow = uint64_t{1} << 56;
constexpr uint64_t kSharedStride = uint64_t{1} << 24;
constexpr uint64_t kLocalWindow = uint64_t{2} << 56;
constexpr uint64_t kParamWindow = uint64_t{3} << 56;
constexpr uint64_t kCodeWindow = uint64_t{4} << 56;  // a function's address: + 16 * (its index in the module + 1)

}  // namespace vgpu
