#include <algorithm>
#include <map>

#include "explain/explain.h"
#include "report/report.h"
#include "report/source.h"

namespace vgpu {
namespace {

// "     14 |     sum[t] += sum[t + stride];" and below it a caret with what happened there.
std::string snippet(const SourceLine& at, const std::string& note) {
  const std::string* text = text_of(at.file, at.line);
  if (!text) return note.empty() ? "" : "        " + note + "\n";
  std::string line = *text;
  std::string pad;
  for (size_t i = 0; i < line.size() && i + 1 < size_t(std::max(at.column, 1)); ++i)
    pad += line[i] == '\t' ? '\t' : ' ';
  char number[16];
  std::snprintf(number, sizeof number, "%6d", at.line);
  return std::string(number) + " | " + line + "\n" + "       | " + pad + "^" + (note.empty() ? "" : " " + note) + "\n";
}

std::string text_of_spot(const Spot& spot, bool has_threads) {
  std::string note;
  if (has_threads) note = "thread " + text_of(spot.thread) + " of block " + text_of(spot.block);
  if (!spot.did.empty()) note += (note.empty() ? "" : " ") + spot.did;
  if (!spot.instruction) return note.empty() ? "" : "  " + note + "\n";
  const auto chain = source_of(*spot.module, *spot.function, *spot.instruction);
  if (chain.empty()) {
    return "  PTX line " + std::to_string(spot.instruction->line) + " of " + short_name(spot.function->name) +
           " (build with -lineinfo to see the source's)\n         " + std::string(spot.instruction->text) + "\n" +
           (note.empty() ? "" : "       ^ " + note + "\n");
  }
  std::string text = "  " + chain[0].file + ":" + std::to_string(chain[0].line) + ", in " + chain[0].function + "\n";
  text += snippet(chain[0], note);
  for (size_t i = 1; i < chain.size(); ++i) {
    text +=
        "    inlined at " + chain[i].file + ":" + std::to_string(chain[i].line) + ", in " + chain[i].function + "\n";
  }
  return text;
}

std::string per(uint64_t sum, uint64_t count) {
  char text[32];
  std::snprintf(text, sizeof text, "%.2f", count ? double(sum) / double(count) : 0.0);
  return text;
}

class TextReporter : public Reporter {
 public:
  explicit TextReporter(const SessionOptions& options)
      : file_(options.file.empty() ? stderr : std::fopen(options.file.c_str(), "w")) {}
  ~TextReporter() override {
    if (file_ && file_ != stderr) std::fclose(file_);
  }
  void found(const Diagnostic& d) override { put(text_of(d)); }
  void finish(const Summary& summary) override { put(text_of(summary)); }

 private:
  void put(const std::string& text) {
    if (!file_) return;
    std::fputs(text.c_str(), file_);
    std::fflush(file_);
  }
  std::FILE* file_;
};

class FileReporter : public Reporter {
 public:
  void finish(const Summary& summary) override {
    const bool html = summary.options.format == SessionOptions::Format::html;
    const std::string text = html ? html_of(summary) : json_of(summary);
    const std::string& name = summary.options.file;
    std::FILE* file = name.empty() ? stderr : std::fopen(name.c_str(), "w");
    if (!file) {
      std::fprintf(stderr, "vgpu: cannot write %s\n", name.c_str());
      return;
    }
    std::fputs(text.c_str(), file);
    if (file != stderr) std::fclose(file);
  }
  void found(const Diagnostic& d) override { std::fputs(text_of(d).c_str(), stderr); }
};

}  // namespace

std::string text_of(const Dim3& index) {
  return "(" + std::to_string(index.x) + "," + std::to_string(index.y) + "," + std::to_string(index.z) + ")";
}

std::string text_of(const Diagnostic& d) {
  std::string text = "\n" + d.code + "  " + std::string(title_of(d.code));
  if (!d.kernel.empty()) text += ", in kernel `" + d.kernel + "`";
  if (d.device >= 0) text += ", on device " + std::to_string(d.device);
  if (!d.launched.empty()) text += ", launched at " + d.launched;
  text += "\n  " + d.what + "\n";
  const bool has_threads = d.code[0] != 'P';
  for (const Spot& spot : d.spots) text += text_of_spot(spot, has_threads);
  if (!d.object.empty()) text += "  where: " + d.object + "\n";
  if (!d.reason.empty()) text += "  why:   " + d.reason + "\n";
  if (!d.hint.empty()) text += "  try:   " + d.hint + "\n";
  if (d.ends_launch && !d.spots.empty())
    text += "  The kernel ended here, and every later call returns the error, as on hardware.\n";
  if (!explain_page(d.code).empty()) text += "  more:  vgpu explain " + d.code + "\n";
  return text;
}

std::string text_of(const Summary& summary) {
  std::map<std::string, uint64_t> codes;
  for (const Diagnostic& d : summary.found.all()) ++codes[d.code];
  std::string text = "\nvgpu: " + std::to_string(summary.launches) + (summary.launches == 1 ? " launch" : " launches");
  if (codes.empty()) text += ", clean on this input";
  for (const auto& [code, count] : codes) {
    text += ", " + code + (count > 1 ? " at " + std::to_string(count) + " places" : "");
  }
  text += "\n";
  if (summary.kernels.empty()) return text;
  char line[256];
  std::snprintf(line, sizeof line, "  %-32s %8s %12s %6s %15s %15s %15s\n", "kernel", "launches", "warp instr.",
                "lanes", "load sectors", "store sectors", "wavefronts");
  text += line;
  for (const KernelCounters& kernel : summary.kernels) {
    const Counters total = kernel.total();
    auto against = [](uint64_t spent, uint64_t ideal, uint64_t requests) {
      return requests ? per(spent, requests) + " / " + per(ideal, requests) : std::string("-");
    };
    std::snprintf(line, sizeof line, "  %-32.32s %8llu %12llu %6s %15s %15s %15s\n",
                  short_name(kernel.function->name).c_str(), static_cast<unsigned long long>(kernel.launches),
                  static_cast<unsigned long long>(total.warps), per(total.lanes, total.warps).c_str(),
                  against(total.load.sectors, total.load.ideal, total.load.requests).c_str(),
                  against(total.store.sectors, total.store.ideal, total.store.requests).c_str(),
                  against(total.wavefronts, total.ideal_wavefronts, total.shared_requests).c_str());
    text += line;
  }
  text += "  Sectors and wavefronts are per request, then what the same bytes need at least.\n";
  return text;
}

std::vector<LineCounters> by_line(const KernelCounters& kernel) {
  std::map<std::pair<std::string, int>, Counters> lines;
  for (const auto& [function, counters] : kernel.code) {
    for (size_t i = 0; i < counters.size(); ++i) {
      const auto chain = source_of(*kernel.module, *function, function->code[i]);
      lines[chain.empty() ? std::pair(std::string(), 0) : std::pair(chain[0].file, chain[0].line)] += counters[i];
    }
  }
  std::vector<LineCounters> list;
  for (auto& [at, sum] : lines) list.push_back({at.first, at.second, sum});
  return list;
}

std::unique_ptr<Reporter> make_reporter(const SessionOptions& options) {
  if (options.format == SessionOptions::Format::text) return std::make_unique<TextReporter>(options);
  return std::make_unique<FileReporter>();
}

}  // namespace vgpu
