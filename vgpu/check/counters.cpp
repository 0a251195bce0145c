#include "check/counters.h"

#include <algorithm>

#include "check/footprint.h"

namespace vgpu {
namespace {

void add(Traffic& into, const Traffic& more) {
  into.requests += more.requests;
  into.sectors += more.sectors;
  into.ideal += more.ideal;
  into.bytes += more.bytes;
}

void add(std::map<const ptx::Function*, std::vector<Counters>>& into,
         const std::map<const ptx::Function*, std::vector<Counters>>& more) {
  for (const auto& [function, counters] : more) {
    std::vector<Counters>& sums = into[function];
    sums.resize(counters.size());
    for (size_t i = 0; i < counters.size(); ++i) sums[i] += counters[i];
  }
}

}  // namespace

Counters& Counters::operator+=(const Counters& other) {
  warps += other.warps;
  lanes += other.lanes;
  add(load, other.load);
  add(store, other.store);
  add(atomic, other.atomic);
  shared_requests += other.shared_requests;
  wavefronts += other.wavefronts;
  ideal_wavefronts += other.ideal_wavefronts;
  barriers += other.barriers;
  branches += other.branches;
  divergent += other.divergent;
  return *this;
}

Counters KernelCounters::total() const {
  Counters sum;
  for (const auto& [function, counters] : code) {
    for (const Counters& c : counters) sum += c;
  }
  return sum;
}

void CountersCheck::begin(const Launch& launch) {
  launch_ = {launch.module, launch.function, 1, launch.grid, launch.block, {}, {}};
  recent_ = nullptr;
}

Counters& CountersCheck::at(const Place& place) {
  if (recent_ != place.function) {
    recent_ = place.function;
    recent_code_ = &launch_.code[place.function];
    recent_code_->resize(place.function->code.size());
  }
  return (*recent_code_)[place.instruction - place.function->code.data()];
}

void CountersCheck::access(const Access& access) {
  if (access.space != ptx::Space::shared && access.space != ptx::Space::global) return;
  Counters& counters = at(access.place);
  if (!(counters.shared_requests | counters.load.requests | counters.store.requests | counters.atomic.requests)) {
    Sample& sample = launch_.samples[access.place.instruction];
    sample = {access.space, access.kind, access.lanes, access.bytes, {}};
    std::copy(access.address, access.address + 32, sample.address.begin());
  }
  if (access.space == ptx::Space::shared) {
    ++counters.shared_requests;
    if (access.kind == AccessKind::atomic) return;
    const Wavefronts wavefronts = wavefronts_of(access);
    counters.wavefronts += wavefronts.wavefronts;
    counters.ideal_wavefronts += wavefronts.ideal;
  } else {
    const Footprint footprint = sectors_of(access);
    add(access.kind == AccessKind::load    ? counters.load
        : access.kind == AccessKind::store ? counters.store
                                           : counters.atomic,
        {1, footprint.sectors, footprint.ideal, footprint.bytes});
  }
}

void CountersCheck::arrive(const Place& place, uint32_t, int, bool) { ++at(place).barriers; }

void CountersCheck::branch(const Place& place, uint32_t active, uint32_t taken) {
  Counters& counters = at(place);
  ++counters.branches;
  counters.divergent += taken != 0 && taken != active;
}

void CountersCheck::executed(const std::vector<std::pair<const ptx::Function*, std::vector<Executed>>>& counts) {
  for (const auto& [function, code] : counts) {
    std::vector<Counters>& counters = launch_.code[function];
    counters.resize(function->code.size());
    for (size_t i = 0; i < std::min(code.size(), counters.size()); ++i) {
      counters[i].warps += code[i].warps;
      counters[i].lanes += code[i].lanes;
    }
  }
  auto known = std::find_if(kernels_.begin(), kernels_.end(),
                            [&](const KernelCounters& k) { return k.function == launch_.function; });
  if (known == kernels_.end()) {
    kernels_.push_back(launch_);
  } else {
    ++known->launches;
    known->grid = launch_.grid;
    known->block = launch_.block;
    add(known->code, launch_.code);
    known->samples.insert(launch_.samples.begin(), launch_.samples.end());
  }
}

}  // namespace vgpu
