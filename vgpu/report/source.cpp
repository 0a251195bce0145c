#include "report/source.h"

#include <cxxabi.h>
#include <dlfcn.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <map>
#include <memory>

namespace vgpu {
namespace {

// .../cuda-13.0/targets/x86_64-linux/include/..., or where PyPI's packages put it: .../nvidia/cu13/include/...
bool of_toolkit(const std::string& file) {
  const bool known = file.find("/cuda") != std::string::npos || file.find("/nvidia/") != std::string::npos;
  return known && file.find("/include/") != std::string::npos;
}

}  // namespace

std::vector<SourceLine> source_of(const ptx::Module& module, const ptx::Function& function,
                                  const ptx::Instruction& instruction) {
  std::vector<SourceLine> chain;
  for (int at = instruction.location; at >= 0 && size_t(at) < function.locations.size();) {
    const ptx::Location& location = function.locations[at];
    if (location.line > 0) {
      auto file = module.files.find(location.file);
      chain.push_back({file == module.files.end() ? "?" : file->second, location.line, location.column,
                       short_name(location.function.empty() ? std::string_view(function.name) : location.function)});
    }
    if (location.inlined_at >= at) break;  // a chain points back in a module that is whole
    at = location.inlined_at;
  }
  const auto own = std::find_if(chain.begin(), chain.end(), [](const SourceLine& l) { return !of_toolkit(l.file); });
  if (own != chain.end()) chain.erase(chain.begin(), own);
  return chain;
}

const std::vector<std::string>* lines_of(const std::string& file) {
  static std::map<std::string, std::unique_ptr<std::vector<std::string>>> files;
  auto [entry, is_new] = files.try_emplace(file);
  if (is_new) {
    std::ifstream in(file);
    if (in) {
      entry->second = std::make_unique<std::vector<std::string>>();
      for (std::string line; std::getline(in, line);) entry->second->push_back(std::move(line));
    }
  }
  return entry->second.get();
}

const std::string* text_of(const std::string& file, int line) {
  const auto* lines = lines_of(file);
  return lines && line >= 1 && size_t(line) <= lines->size() ? &(*lines)[line - 1] : nullptr;
}

std::string demangled(std::string_view name) {
  const std::string mangled(name);
  int status = 0;
  std::unique_ptr<char, void (*)(void*)> plain(abi::__cxa_demangle(mangled.c_str(), nullptr, nullptr, &status),
                                               std::free);
  return status == 0 ? std::string(plain.get()) : mangled;
}

std::string short_name(std::string_view name) {
  std::string text = demangled(name);
  // The parameters: the last top-level parenthesis that opens after the name.
  int angle = 0;
  size_t from = 0, to = text.size();
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '<') ++angle;
    if (text[i] == '>') --angle;
    if (angle) continue;
    if (text.compare(i, 21, "(anonymous namespace)") == 0) {
      i += 20;
    } else if (text[i] == ' ') {
      from = i + 1;  // after the result type
    } else if (text[i] == '(') {
      to = i;
      break;
    }
  }
  return from < to ? text.substr(from, to - from) : text;
}

std::string base_name(std::string_view file) { return std::string(file.substr(file.rfind('/') + 1)); }

std::string host_line(void* return_address) {
  static std::map<void*, std::string> known;
  auto [entry, is_new] = known.try_emplace(return_address);
  Dl_info where;
  if (!is_new || !return_address || !dladdr(return_address, &where) || !where.dli_fname) return entry->second;
  // The call is before its return address. In a program that is not position independent addresses are the file's own.
  const char* call = static_cast<const char*>(return_address) - 1;
  unsigned char kind = 0;
  if (std::FILE* file = std::fopen(where.dli_fname, "rb")) {
    std::fseek(file, 16, SEEK_SET);  // e_type: 2 executable, 3 shared or position independent
    kind = std::fgetc(file);
    std::fclose(file);
  }
  const uintptr_t address = kind == 2 ? uintptr_t(call) : call - static_cast<const char*>(where.dli_fbase);
  if (std::string_view(where.dli_fname).find('\'') != std::string_view::npos) return entry->second;
  char command[4096];
  std::snprintf(command, sizeof command, "addr2line -i -e '%s' %#zx 2>/dev/null", where.dli_fname, size_t(address));
  // The child must not load the library that it runs under.
  const char* preload = std::getenv("LD_LIBRARY_PATH");
  const std::string line = std::string(preload ? "LD_LIBRARY_PATH= " : "") + command;
  if (std::FILE* pipe = popen(line.c_str(), "r")) {
    char text[4096] = "";
    // Inlined calls come first: cudaMalloc is a template of the toolkit's header around the function, which nobody asks
    // about (without optimisation it is not inlined, and there is no line to name).
    while (entry->second.empty() && std::fgets(text, sizeof text, pipe)) {
      std::string found(text);
      found.resize(std::min(found.find_first_of(" \n"), found.size()));
      if (found.find('?') == std::string::npos && found.find("/cuda_runtime.h:") == std::string::npos) {
        entry->second = base_name(found);
      }
    }
    pclose(pipe);
  }
  return entry->second;
}

}  // namespace vgpu
