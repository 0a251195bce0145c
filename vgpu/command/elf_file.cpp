#include "command/elf_file.h"

#include <elf.h>

#include <cstring>
#include <string_view>

namespace vgpu {
namespace {

// A T at an offset; false if it would not lie inside.
template <class T>
bool read(std::span<const std::byte> bytes, uint64_t offset, T& value) {
  if (offset > bytes.size() || bytes.size() - offset < sizeof value) return false;
  std::memcpy(&value, bytes.data() + offset, sizeof value);
  return true;
}

std::string_view text_at(std::span<const std::byte> bytes, uint64_t offset) {
  if (offset >= bytes.size()) return {};
  const std::string_view rest(reinterpret_cast<const char*>(bytes.data()) + offset, bytes.size() - offset);
  return rest.substr(0, rest.find('\0'));
}

}  // namespace

ElfFile read_elf(std::span<const std::byte> bytes) {
  ElfFile result;
  Elf64_Ehdr header;
  if (!read(bytes, 0, header) || std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 ||
      header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_machine != EM_X86_64) {
    return result;
  }
  result.is_elf = true;
  std::vector<Elf64_Shdr> sections;
  for (unsigned i = 0; i < header.e_shnum; ++i) {
    Elf64_Shdr section;
    if (!read(bytes, header.e_shoff + uint64_t{i} * sizeof section, section)) break;
    sections.push_back(section);
  }
  for (const auto& section : sections) {
    if (header.e_shstrndx < sections.size()) {
      const auto name = text_at(bytes, sections[header.e_shstrndx].sh_offset + section.sh_name);
      result.has_kernels |= name == ".nv_fatbin";
    }
    if (section.sh_type != SHT_DYNAMIC || section.sh_link >= sections.size()) continue;
    Elf64_Dyn entry;
    for (uint64_t at = 0; at < section.sh_size && read(bytes, section.sh_offset + at, entry); at += sizeof entry) {
      if (entry.d_tag == DT_NEEDED) {
        result.needed.emplace_back(text_at(bytes, sections[section.sh_link].sh_offset + entry.d_un.d_val));
      }
    }
  }
  return result;
}

std::string refusal(const ElfFile& program) {
  for (const auto& library : program.needed) {
    if (library == "libcudart.so.13") return {};
    if (library.starts_with("libcudart.so")) {
      return "it needs " + library + "; the virtual GPU stands in for libcudart.so.13, so build it with CUDA 13";
    }
  }
  if (!program.has_kernels) return {};  // a script, or a program whose libraries hold the kernels
  return "it has the CUDA runtime linked into it, so that there is nothing to replace; build it with nvcc --cudart "
         "shared";
}

}  // namespace vgpu
