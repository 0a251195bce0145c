// Prints what a session found: as text while the program runs, as JSON or one HTML file at its end.
#pragma once

#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "check/counters.h"
#include "check/session.h"
#include "report/diagnostic.h"

namespace vgpu {

struct Summary {
  const Diagnostics& found;
  const std::vector<KernelCounters>& kernels;
  uint64_t launches;
  const SessionOptions& options;
};

class Reporter {
 public:
  virtual ~Reporter() = default;
  virtual void found(const Diagnostic&) {}  // at once, the first time
  virtual void finish(const Summary&) = 0;
};

std::unique_ptr<Reporter> make_reporter(const SessionOptions& options);

std::string text_of(const Diagnostic& d);
std::string text_of(const Summary& summary);  // the closing lines
std::string json_of(const Summary& summary);
std::string html_of(const Summary& summary);

// "(3,0,0)"
std::string text_of(const Dim3& index);

// One line of source of one kernel, with all its instructions' counters.
struct LineCounters {
  std::string file;
  int line = 0;  // 0: no line information
  Counters sum;
};
// By file and line. An instruction of inlined code counts for its own line.
std::vector<LineCounters> by_line(const KernelCounters& kernel);

}  // namespace vgpu
