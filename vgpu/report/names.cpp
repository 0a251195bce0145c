#include "report/names.h"

#include <cctype>
#include <cstring>
#include <map>
#include <vector>

#include "report/source.h"

namespace vgpu {
namespace {

// The names of a function's parameters, read from its definition's text: for each, the last word before its comma.
std::vector<std::string> names_in(const std::string& text, size_t open) {
  std::vector<std::string> names;
  std::string word;
  int depth = 0;
  bool in_default = false;
  for (size_t i = open; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '(' || c == '<' || c == '[' || c == '{') ++depth;
    if (c == ')' || c == '>' || c == ']' || c == '}') --depth;
    if ((c == ',' && depth == 1) || depth == 0) {
      if (!word.empty()) names.push_back(word);
      word.clear();
      in_default = false;
      if (depth == 0) return names;
    } else if (depth == 1 && c == '=') {
      in_default = true;
    } else if (!in_default && depth == 1 && (std::isalnum(c) || c == '_')) {
      const bool goes_on = i > 0 && (std::isalnum(text[i - 1]) || text[i - 1] == '_');
      if (!goes_on) word.clear();
      word += c;
    }
  }
  return {};
}

std::vector<std::string> parameter_names(const ptx::Module& module, const ptx::Function& kernel) {
  std::string name = short_name(kernel.name);
  name.resize(std::min(name.find('<'), name.size()));
  name = name.substr(name.rfind(':') + 1);
  for (const auto& [number, file] : module.files) {
    const auto* lines = lines_of(file);
    if (!lines) continue;
    std::string text;
    for (const std::string& line : *lines) text += line.substr(0, line.find("//")) + '\n';
    for (size_t at = text.find(name + "("); at != std::string::npos; at = text.find(name + "(", at + 1)) {
      // A definition: __global__ stands before it, in the same statement.
      const size_t statement = text.find_last_of(";}", at);
      const size_t global = text.rfind("__global__", at);
      if (global == std::string::npos || (statement != std::string::npos && global < statement)) continue;
      if (at > 0 && (std::isalnum(text[at - 1]) || text[at - 1] == '_')) continue;
      auto names = names_in(text, at + name.size());
      if (names.size() == kernel.params.size()) return names;
    }
  }
  return {};
}

std::string made_at(const Allocation& allocation) {
  if (allocation.made_by.empty()) return "";
  const std::string line = host_line(allocation.host_site);
  return ", from " + allocation.made_by + (line.empty() ? "" : " at " + line);
}

// "argument 2 `src`" where a parameter of the launch holds an address inside the allocation.
std::string argument_with(const Launch& launch, const Allocation& allocation) {
  uint64_t offset = 0;
  for (size_t p = 0; p < launch.function->params.size(); ++p) {
    const ptx::Variable& param = launch.function->params[p];
    offset = (offset + param.align - 1) / param.align * param.align;
    for (uint64_t at = 0; at + 8 <= param.bytes && offset + at + 8 <= launch.params.size(); at += 8) {
      uint64_t value;
      std::memcpy(&value, launch.params.data() + offset + at, 8);
      if (value < allocation.address || value > allocation.address + allocation.bytes) continue;
      if (value == allocation.address + allocation.bytes && allocation.bytes) continue;
      const std::string name = parameter_name(*launch.module, *launch.function, p);
      std::string text = "argument " + std::to_string(p + 1) + (name.empty() ? "" : " " + name);
      if (param.bytes > 8) text += ", its pointer at byte " + std::to_string(at);
      return text;
    }
    offset += param.bytes;
  }
  return "";
}

}  // namespace

std::string count_of(uint64_t count, const char* what) {
  return std::to_string(count) + " " + what + (count == 1 ? "" : "s");
}

std::string parameter_name(const ptx::Module& module, const ptx::Function& kernel, size_t index) {
  static std::map<std::pair<const ptx::Module*, const ptx::Function*>, std::vector<std::string>> known;
  auto [entry, is_new] = known.try_emplace({&module, &kernel});
  if (is_new) entry->second = parameter_names(module, kernel);
  return index < entry->second.size() ? "`" + entry->second[index] + "`" : "";
}

std::string device_of(const Memory& memory, const Allocation& allocation) {
  const bool on_device = allocation.kind == MemoryKind::device || allocation.kind == MemoryKind::symbol;
  return on_device && memory.devices() > 1 ? ", on device " + std::to_string(allocation.owner.device) : "";
}

Named name_at(const Launch& launch, const Memory& memory, ptx::Space space, uint64_t address) {
  Named named;
  auto set = [&](const std::string& name, uint64_t bytes, uint64_t start, const std::string& origin = "") {
    named.name = name;
    named.bytes = bytes;
    named.object = name + ", " + count_of(bytes, "byte") + origin;
    named.offset = int64_t(address - start);
    named.found = true;
    named.inside = address - start < bytes;
  };
  if (space == ptx::Space::shared) {
    const KernelInfo kernel = info(*launch.kernel);
    const Placed* nearest = nullptr;
    for (const Placed& placed : kernel.shared) {
      if (placed.offset <= address) nearest = &placed;
    }
    if (!nearest) {
      set("shared memory", kernel.static_shared + uint64_t{launch.dynamic_shared}, 0);
    } else if (nearest->variable->bytes == 0) {
      set("dynamic shared memory `" + short_name(nearest->variable->name) + "`", launch.dynamic_shared,
          nearest->offset);
    } else {
      // A variable of a function is mangled as _ZZ…: its name is the last part.
      const std::string full = demangled(nearest->variable->name);
      set("shared variable `" + full.substr(full.rfind(':') == std::string::npos ? 0 : full.rfind(':') + 1) + "`",
          nearest->variable->bytes, nearest->offset);
    }
    return named;
  }
  if (space == ptx::Space::local) {
    set("the thread's local memory", info(*launch.kernel).local_bytes, 0);
    return named;
  }
  if (space == ptx::Space::param) {
    set("the kernel's parameters", launch.params.size(), 0);
    return named;
  }
  const Allocation* allocation = memory.find(address);
  if (!allocation) allocation = memory.nearest_below(address);
  if (!allocation) return named;
  named.freed = allocation->freed;
  if (allocation->kind == MemoryKind::symbol) {
    set("variable `" + demangled(allocation->name) + "`", allocation->bytes, allocation->address,
        device_of(memory, *allocation));
  } else {
    const std::string argument = argument_with(launch, *allocation);
    set(argument.empty() ? "memory at no argument of the kernel" : argument, allocation->bytes, allocation->address,
        device_of(memory, *allocation) + made_at(*allocation));
  }
  return named;
}

}  // namespace vgpu
