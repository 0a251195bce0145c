#include "runtime/fatbin.h"

#include <link.h>
#include <lz4.h>
#include <zstd.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace vgpu {
namespace {

constexpr uint32_t kContainerMagic = 0xBA55ED50;
constexpr size_t kContainerHeader = 16, kEntryHeader = 64;
constexpr uint16_t kPtx = 1, kMachineCode = 2;
constexpr uint64_t kLz4 = 0x2000, kZstd = 0x8000;
constexpr uint64_t kMostBytes = uint64_t{1} << 28;  // of a text: a damaged length must not become an allocation

template <class T>
T read(std::span<const std::byte> bytes, size_t offset) {
  T value;
  std::memcpy(&value, bytes.data() + offset, sizeof value);
  return value;
}

std::string_view text_of(std::span<const std::byte> bytes) {
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  return text.substr(0, text.find('\0'));
}

bool decompress(std::span<const std::byte> from, uint64_t flags, uint64_t bytes, std::string& to, std::string& error) {
  if (!(flags & (kZstd | kLz4))) {
    error = "the fat binary holds an entry that is compressed in an unknown way";
    return false;
  }
  // A zstd frame names its own length, LZ4 packs 255 bytes into one at best.
  const bool zstd = flags & kZstd;
  const auto* source = reinterpret_cast<const char*>(from.data());
  if (bytes <= kMostBytes &&
      (zstd ? ZSTD_getFrameContentSize(source, from.size()) == bytes : bytes / 255 <= from.size())) {
    to.resize(bytes);
    const auto got = zstd ? ZSTD_decompress(to.data(), bytes, source, from.size())
                          : size_t(LZ4_decompress_safe(source, to.data(), int(from.size()), int(bytes)));
    if (got == bytes) return true;  // of a failure neither library makes a plausible length
  }
  error = std::string("the fat binary is damaged: its ") + (zstd ? "zstd" : "LZ4") +
          " data does not decompress to the " + std::to_string(bytes) + " bytes that it names";
  return false;
}

// `.target sm_90a, debug` names code for one architecture only.
bool is_exact(std::string_view text) {
  const size_t at = text.find(".target");
  if (at == std::string_view::npos) return false;
  const auto line = text.substr(at, text.find('\n', at) - at);
  const size_t sm = line.find("sm_");
  if (sm == std::string_view::npos) return false;
  const size_t end = line.find_first_not_of("0123456789", sm + 3);
  return end != std::string_view::npos && (line[end] == 'a' || line[end] == 'f');
}

bool read_entry(std::span<const std::byte> entry, size_t header, FatBinary& result, std::string& error) {
  const auto kind = read<uint16_t>(entry, 0);
  const auto sm = read<uint32_t>(entry, 28);
  if (kind == kMachineCode) result.machine_code.push_back(int(sm));
  if (kind != kPtx) return true;
  const auto compressed = read<uint32_t>(entry, 16);
  const auto flags = read<uint64_t>(entry, 40);
  auto payload = entry.subspan(header);
  Ptx ptx;
  ptx.sm = int(sm);
  if (compressed) {
    if (compressed > payload.size()) {
      error = "the fat binary is damaged: a compressed entry is longer than the place it is in";
      return false;
    }
    if (!decompress(payload.first(compressed), flags, read<uint64_t>(entry, 56), ptx.text, error)) return false;
    ptx.text.resize(std::min(ptx.text.find('\0'), ptx.text.size()));
  } else {
    ptx.text = text_of(payload);
  }
  ptx.exact = is_exact(ptx.text);
  result.ptx.push_back(std::move(ptx));
  return true;
}

std::string list(const std::vector<int>& architectures, const char* prefix) {
  std::string text;
  for (size_t i = 0; i < architectures.size(); ++i) {
    if (i) text += i + 1 == architectures.size() ? " and " : ", ";
    text += prefix + std::to_string(architectures[i]);
  }
  return text;
}

}  // namespace

bool read_fat_binary(std::span<const std::byte> bytes, FatBinary& result, std::string& error) {
  if (bytes.size() < kContainerHeader || read<uint32_t>(bytes, 0) != kContainerMagic) {
    error = "this is no fat binary: it does not start with the magic number BA55ED50";
    return false;
  }
  const size_t header = read<uint16_t>(bytes, 6);
  const auto payload = read<uint64_t>(bytes, 8);
  if (header < kContainerHeader || header > bytes.size() || payload > bytes.size() - header) {
    error = "the fat binary is cut off: its header promises " + std::to_string(payload) + " bytes, " +
            std::to_string(bytes.size() - std::min(header, bytes.size())) + " are there";
    return false;
  }
  auto rest = bytes.subspan(header, payload);
  while (!rest.empty()) {
    const uint64_t entry_header = rest.size() < kEntryHeader ? 0 : read<uint32_t>(rest, 4);
    const uint64_t entry_payload = rest.size() < kEntryHeader ? 0 : read<uint64_t>(rest, 8);
    if (entry_header < kEntryHeader || entry_header > rest.size() || entry_payload > rest.size() - entry_header) {
      error = "the fat binary is damaged: one of its entries reaches past its end";
      return false;
    }
    const auto entry = rest.first(entry_header + entry_payload);
    if (!read_entry(entry, entry_header, result, error)) return false;
    rest = rest.subspan(entry.size());
  }
  return true;
}

bool read_image(std::span<const std::byte> bytes, FatBinary& result, std::string& error) {
  const auto text = text_of(bytes);
  if (bytes.size() >= 4 && std::memcmp(bytes.data(),
                                       "\x7f"
                                       "ELF",
                                       4) == 0) {
    error = "the image is machine code (a cubin); the virtual GPU runs PTX";
    return false;
  }
  if (text.find(".version") == std::string_view::npos) return read_fat_binary(bytes, result, error);
  Ptx ptx;
  if (const size_t at = text.find("sm_"); at != std::string_view::npos) {
    for (size_t i = at + 3; i < text.size() && text[i] >= '0' && text[i] <= '9' && ptx.sm < 10000; ++i) {
      ptx.sm = ptx.sm * 10 + (text[i] - '0');
    }
  }
  ptx.exact = is_exact(text);
  ptx.text = text;
  result.ptx.push_back(std::move(ptx));
  return true;
}

const Ptx* choose(const FatBinary& binary, int sm, Error& code, std::string& error) {
  const Ptx* best = nullptr;
  std::vector<int> others;
  for (const auto& ptx : binary.ptx) {
    others.push_back(ptx.sm);
    if (ptx.exact ? ptx.sm != sm : ptx.sm > sm) continue;
    // Of one architecture the portable text is taken: what only sm_90a has is likely to be refused.
    if (!best || ptx.sm > best->sm || (ptx.sm == best->sm && best->exact)) best = &ptx;
  }
  if (best) return best;
  code = Error::NoKernelImageForDevice;
  if (!others.empty()) {
    error = "the PTX in it is for " + list(others, "compute_") + ", which no sm_" + std::to_string(sm) +
            " runs; build with -arch=compute_" + std::to_string(sm) + ", or raise --sm";
  } else if (!binary.machine_code.empty()) {
    error = "it holds machine code for " + list(binary.machine_code, "sm_") +
            " but no PTX, which is what the virtual GPU runs; build with -arch=compute_80 or add "
            "-gencode arch=compute_80,code=compute_80";
  } else {
    error = "its fat binary is empty";
  }
  return nullptr;
}

std::span<const std::byte> readable_from(const void* address) {
  struct Search {
    uintptr_t address, end;
  } search{reinterpret_cast<uintptr_t>(address), 0};
  dl_iterate_phdr(
      [](dl_phdr_info* info, size_t, void* data) {
        auto& s = *static_cast<Search*>(data);
        for (int i = 0; i < info->dlpi_phnum; ++i) {
          const auto& segment = info->dlpi_phdr[i];
          const uintptr_t first = info->dlpi_addr + segment.p_vaddr;
          if (segment.p_type == PT_LOAD && s.address >= first && s.address - first < segment.p_filesz) {
            s.end = first + segment.p_filesz;
          }
        }
        return s.end != 0 ? 1 : 0;
      },
      &search);
  const auto* bytes = static_cast<const std::byte*>(address);
  if (search.end) return {bytes, search.end - search.address};
  uint32_t magic = 0;
  for (size_t i = 0; i < 4 && (i == 0 || bytes[i - 1] != std::byte{0}); ++i) magic |= uint32_t(bytes[i]) << (8 * i);
  if (magic != kContainerMagic) return {bytes, std::strlen(static_cast<const char*>(address))};
  const auto head = std::span(bytes, kContainerHeader);
  return {bytes, read<uint16_t>(head, 6) + read<uint64_t>(head, 8)};
}

}  // namespace vgpu
