#include "check/perf.h"

#include <algorithm>
#include <cstdio>

#include "report/source.h"

namespace vgpu {
namespace {

struct Line {
  const ptx::Function* function;
  const ptx::Instruction* first;  // stands for the line
  Counters sum;
};

// The launch's counters by source line; instructions without one stand alone.
std::vector<Line> lines_of(const KernelCounters& kernel) {
  std::vector<Line> lines;
  for (const auto& [function, counters] : kernel.code) {
    std::map<std::vector<int>, size_t> known;  // file and line, with where they are inlined
    for (size_t i = 0; i < counters.size(); ++i) {
      const ptx::Instruction& instruction = function->code[i];
      std::vector<int> key;
      for (int at = instruction.location; at >= 0; at = function->locations[at].inlined_at) {
        key.push_back(function->locations[at].file);
        key.push_back(function->locations[at].line);
      }
      if (key.empty()) key = {-1, int(i)};
      auto [entry, is_new] = known.try_emplace(key, lines.size());
      if (is_new) lines.push_back({function, &instruction, {}});
      Line& line = lines[entry->second];
      const Counters& c = counters[i];
      const bool memory = c.load.requests || c.store.requests || c.shared_requests;
      const Counters& s = line.sum;
      if (memory && !(s.load.requests || s.store.requests || s.shared_requests)) line.first = &instruction;
      line.sum += c;
    }
  }
  return lines;
}

std::string fixed(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.2f", value);
  return text;
}

}  // namespace

void find_perf(const KernelCounters& kernel, const Launch& launch, Findings& findings,
               const PerfThresholds& thresholds) {
  auto add = [&](const char* code, const ptx::Function* function, const ptx::Instruction* at, std::string what,
                 std::string reason, std::string hint) {
    Diagnostic d = findings.about(launch, code);
    d.spots = {{launch.module, function, at, {}, {}, ""}};
    d.what = std::move(what);
    d.reason = std::move(reason);
    d.hint = std::move(hint);
    findings.add(std::move(d));
  };
  const Counters total = kernel.total();
  const auto too_many = [&](uint64_t spent, uint64_t ideal) { return spent - ideal >= thresholds.least; };
  const auto excessive = [&](uint64_t spent, uint64_t ideal, double ratio) {
    return ideal && double(spent) >= ratio * double(ideal) && too_many(spent, ideal);
  };
  // A small launch, in which all lines together have nothing to say, is not looked at line by line.
  const bool some = too_many(total.load.sectors, total.load.ideal) ||
                    too_many(total.store.sectors, total.store.ideal) ||
                    too_many(total.wavefronts, total.ideal_wavefronts) || too_many(total.divergent, 0);
  const std::vector<Line> lines = some ? lines_of(kernel) : std::vector<Line>();

  for (const Line& line : lines) {
    for (const auto& [traffic, verb] : {std::pair(line.sum.load, "load"), std::pair(line.sum.store, "store")}) {
      if (!excessive(traffic.sectors, traffic.ideal, thresholds.sectors)) continue;
      const double requests = double(traffic.requests);
      add("P01", line.function, line.first,
          std::string("each ") + verb + " of a warp moves " + fixed(double(traffic.sectors) / requests) +
              " sectors of 32 bytes; its bytes would fit in " + fixed(double(traffic.ideal) / requests),
          "memory moves whole sectors: lanes that are far apart each pay for 32 bytes and use a few",
          "let neighbouring lanes touch neighbouring addresses: swap the loops or the index, or go through a shared "
          "tile");
    }
    if (excessive(line.sum.wavefronts, line.sum.ideal_wavefronts, thresholds.wavefronts)) {
      const double ideal = double(line.sum.ideal_wavefronts);
      add("P02", line.function, line.first,
          "lanes ask one bank of shared memory for different words: " + fixed(double(line.sum.wavefronts) / ideal) +
              " passes where one would do",
          "shared memory has 32 banks of 4 bytes, and a bank gives one word at a time",
          "change the stride between lanes to an odd number of words: pad the row, float tile[32][33], or swizzle the "
          "index");
    }
  }

  const uint64_t threads = launch.block.count(), warps = (threads + 31) / 32;
  const double there = double(threads) / double(32 * warps);  // of a warp's lanes
  if (total.warps && total.divergent >= thresholds.least) {
    const double active = double(total.lanes) / double(total.warps) / 32 / there;
    auto worst = std::max_element(lines.begin(), lines.end(),
                                  [](const Line& a, const Line& b) { return a.sum.divergent < b.sum.divergent; });
    if (active < thresholds.active) {
      add("P03", worst->function, worst->first,
          "the lanes of a warp part here " + std::to_string(worst->sum.divergent) + " times; over the kernel " +
              fixed(active * 32 * there) + " of " + fixed(32 * there) + " lanes work in an instruction",
          "a warp runs both sides of a branch, one after the other, with the other lanes idle",
          "branch on what a whole warp shares (threadIdx.x / 32, the block), or let neighbouring lanes do the same "
          "work");
    }
  }
  if (1 - there >= thresholds.idle && warps * launch.grid.count() >= thresholds.warps) {
    const auto& code = launch.function->code;
    auto first = std::find_if(code.begin(), code.end(), [](const ptx::Instruction& i) { return i.location >= 0; });
    add("P04", launch.function, first == code.end() ? nullptr : &*first,
        "a block of " + std::to_string(threads) + " threads takes " + std::to_string(warps) +
            (warps == 1 ? " warp" : " warps") + " of 32 lanes: " + std::to_string(32 * warps - threads) +
            " lanes of it never work",
        "the hardware issues whole warps; a block's last one is filled up with lanes that do nothing",
        "make the block a multiple of 32 threads, 128 or 256 as a start, and guard the tail in the kernel");
  }
}

}  // namespace vgpu
