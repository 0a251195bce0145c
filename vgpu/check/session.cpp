#include "check/session.h"

#include "check/barrier.h"
#include "check/counters.h"
#include "check/fault.h"
#include "check/findings.h"
#include "check/init.h"
#include "check/perf.h"
#include "check/race.h"
#include "check/warp.h"
#include "report/report.h"
#include "report/source.h"

namespace vgpu {

struct Session::State {
  SessionOptions options;
  Findings findings;
  RaceCheck race{findings};
  InitCheck init{findings};
  WarpCheck warp{findings};
  BarrierCheck barrier{findings};
  CountersCheck counters;
  Diagnostics all;
  uint64_t launches = 0;
  std::unique_ptr<Reporter> reporter;

  State(SessionOptions o, const Memory& memory)
      : options(std::move(o)), findings(memory), reporter(make_reporter(options)) {}

  void report(Diagnostic d) {
    const size_t before = all.all().size();
    all.add(std::move(d));
    if (all.all().size() > before) reporter->found(all.all().back());
  }
};

Session::Session(SessionOptions options, const Memory& memory)
    : state_(std::make_unique<State>(std::move(options), memory)) {}

Session::~Session() = default;

void Session::allocated(const Allocation& allocation) {
  if (allocation.kind == MemoryKind::device) state_->init.allocated(allocation.address, allocation.bytes);
}

void Session::freed(const Allocation& allocation) { state_->init.freed(allocation.address); }
void Session::written(uint64_t address, uint64_t bytes) { state_->init.written(address, bytes); }
void Session::copied(uint64_t to, uint64_t from, uint64_t bytes) { state_->init.copied(to, from, bytes); }

std::vector<Observer*> Session::observers() {
  std::vector<Observer*> observers;
  const SessionOptions& options = state_->options;
  if (options.race) observers.push_back(&state_->race);
  if (options.init) observers.push_back(&state_->init);
  if (options.sync) observers.insert(observers.end(), {&state_->warp, &state_->barrier});
  if (options.perf) observers.push_back(&state_->counters);
  return observers;
}

bool Session::counts() const { return state_->options.perf; }

void Session::finished(const Launch& launch, const Fault& fault,
                       const std::vector<std::pair<const ptx::Function*, std::vector<Executed>>>& executed) {
  State& s = *state_;
  ++s.launches;
  if (s.options.perf) {
    s.counters.executed(executed);
    // Where something is wrong, how fast it is says little: lanes that parted at an error stay apart.
    if (fault.kind == Fault::Kind::none && s.findings.empty()) find_perf(s.counters.launch(), launch, s.findings);
  }
  if (fault.kind != Fault::Kind::none) s.findings.add(explain(fault, launch, s.findings));
  for (Diagnostic& d : s.findings.take()) s.report(std::move(d));
}

void Session::found(Diagnostic diagnostic, void* host_site) {
  diagnostic.kernel = short_name(diagnostic.kernel);
  const std::string line = host_line(host_site);
  if (!line.empty()) diagnostic.object += (diagnostic.object.empty() ? "called at " : ", called at ") + line;
  state_->report(std::move(diagnostic));
}

bool Session::has_errors() const { return state_->all.has_errors(); }

const Diagnostics& Session::diagnostics() const { return state_->all; }

void Session::finish() {
  state_->reporter->finish({state_->all, state_->counters.kernels(), state_->launches, state_->options});
}

}  // namespace vgpu
