// A diagnostic: what a check or the engine found, with everything that its reader needs; report/ prints it as text,
// JSON or HTML.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "exec/engine.h"
#include "ptx/module.h"

namespace vgpu {

// One thread at one line.
struct Spot {
  const ptx::Module* module = nullptr;
  const ptx::Function* function = nullptr;
  const ptx::Instruction* instruction = nullptr;
  Dim3 block{0, 0, 0}, thread{0, 0, 0};
  std::string did;  // "wrote", "read", "waits at the barrier"
};

struct Diagnostic {
  std::string code;      // "E03", "P01"
  std::string kernel;    // demangled
  int device = -1;       // that ran it; -1: there is only one
  std::string launched;  // where the host launched it: "main.cu:14"; empty where that cannot be told
  std::string what;      // one sentence: what happened
  std::string
      object;  // "shared variable `tile`, 4096 bytes" or "argument `src`, 4096 bytes, from cudaMalloc at main.cu:12"
  std::string reason, hint;  // one sentence each
  std::vector<Spot> spots;   // the culprit first
  uint64_t times = 1;        // how often at this place
  bool ends_launch = false;
};

// Collects diagnostics of a process: each once per place (code, kernel, line), in the order of their first appearance.
class Diagnostics {
 public:
  void add(Diagnostic d);
  const std::vector<Diagnostic>& all() const { return all_; }
  bool has_errors() const;  // an E among them
 private:
  std::vector<Diagnostic> all_;
  std::map<std::string, size_t> place_;  // of each in all_
};

}  // namespace vgpu
