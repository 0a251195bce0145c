// Fat binaries: what nvcc puts into a program's .nv_fatbin section.
//
//   container  u32 magic BA55ED50, u16 version, u16 header bytes, u64 payload bytes; the payload is a run of entries
//   entry      u16 kind (1: PTX text, 2: machine code), u16 version, u32 header bytes, u64 payload bytes (padded),
//              +16 u32 compressed bytes (0: not compressed), +28 u32 architecture (80), +40 u64 flags,
//              +56 u64 bytes when decompressed
//   flags      0x2000: LZ4 block, 0x8000: zstd frame
//
// All numbers are little-endian. The layout was found by looking at what nvcc 13.0 writes; nothing in it is trusted.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "runtime/error.h"

namespace vgpu {

// The PTX of one architecture, and the architecture's suffix: "90a" runs on sm_90 only.
struct Ptx {
  int sm = 0;
  bool exact = false;  // sm_90a
  std::string text;
};

struct FatBinary {
  std::vector<Ptx> ptx;
  std::vector<int> machine_code;  // architectures that there is only SASS of
};

// Reads one container; `bytes` may be longer than it. False, with a sentence in `error`, where it is damaged.
bool read_fat_binary(std::span<const std::byte> bytes, FatBinary& result, std::string& error);

// The image a program or cudaLibraryLoadData hands over: a container or plain PTX text.
bool read_image(std::span<const std::byte> bytes, FatBinary& result, std::string& error);

// The highest PTX that a device of this architecture runs. Null, with a sentence and a code, if there is none.
const Ptx* choose(const FatBinary& binary, int sm, Error& code, std::string& error);

// The bytes that can be read from `address` on: to the end of its segment in a loaded object. Where it is in none (on
// the heap), as many as a container's header claims, or up to the end of a text.
std::span<const std::byte> readable_from(const void* address);

}  // namespace vgpu
