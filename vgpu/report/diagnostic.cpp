#include "report/diagnostic.h"

#include "report/source.h"

namespace vgpu {
namespace {

// Once per place: code, kernel, and the line of the culprit (the instruction, where there are no lines).
std::string place_of(const Diagnostic& d) {
  std::string place = d.code + "\n" + d.kernel + "\n";
  if (d.spots.empty() || !d.spots[0].instruction) return place + d.what;
  const Spot& spot = d.spots[0];
  auto lines = source_of(*spot.module, *spot.function, *spot.instruction);
  if (lines.empty()) return place + spot.function->name + std::to_string(spot.instruction->line);
  for (const SourceLine& line : lines) place += line.file + ":" + std::to_string(line.line) + "\n";
  return place;
}

}  // namespace

void Diagnostics::add(Diagnostic d) {
  auto [entry, is_new] = place_.try_emplace(place_of(d), all_.size());
  if (is_new) {
    all_.push_back(std::move(d));
  } else {
    all_[entry->second].times += d.times;
  }
}

bool Diagnostics::has_errors() const {
  for (const Diagnostic& d : all_) {
    if (d.code[0] == 'E') return true;
  }
  return false;
}

}  // namespace vgpu
