// All that the runtime knows of the checks and the reporter: one Session lives as long as the program that is run.
//
// The runtime calls it from one thread at a time. Findings are printed when they are found (a program may abort next);
// the summary and a report file are written by finish().
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "exec/engine.h"
#include "exec/memory.h"
#include "exec/observer.h"
#include "report/diagnostic.h"

namespace vgpu {

struct SessionOptions {
  bool memory = true, race = true, init = true, sync = true, perf = true;  // --check
  enum class Format : uint8_t { text, json, html } format = Format::text;  // --report
  std::string file;                                                        // of the report; empty: text on stderr
};

class Session {
 public:
  Session(SessionOptions options, const Memory& memory);
  ~Session();

  // What happens to device memory outside of kernels.
  void allocated(const Allocation& allocation);
  void freed(const Allocation& allocation);
  void written(uint64_t address, uint64_t bytes);           // from the host, or by a memset
  void copied(uint64_t to, uint64_t from, uint64_t bytes);  // on the device: what was not initialised stays so

  // Around a launch: who watches it, and whether executed instructions are counted; then how it ended, with what run()
  // put into `executed`. A fault becomes a diagnostic here.
  std::vector<Observer*> observers();
  bool counts() const;
  void finished(const Launch& launch, const Fault& fault,
                const std::vector<std::pair<const ptx::Function*, std::vector<Executed>>>& executed);

  // What the runtime itself finds: E08 on the host, E10, a copy outside of its allocation. `host_site` is the return
  // address of the API call in the program.
  void found(Diagnostic diagnostic, void* host_site);
  bool has_errors() const;  // an E among the findings
  const Diagnostics& diagnostics() const;
  void finish();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace vgpu
