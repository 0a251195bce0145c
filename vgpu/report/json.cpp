// The report as JSON: {"vgpu": 1, "launches", "clean", "findings": [...], "kernels": [...]}.
#include "explain/explain.h"
#include "report/report.h"
#include "report/source.h"

namespace vgpu {
namespace {

std::string quoted(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (c == '\n') {
      out += "\\n";
    } else if (static_cast<unsigned char>(c) < 0x20) {
      char escape[8];
      std::snprintf(escape, sizeof escape, "\\u%04x", c);
      out += escape;
    } else {
      out += c;
    }
  }
  return out + "\"";
}

// Writes `name: value` pairs of one object, and lists of what `each` writes.
class Object {
 public:
  Object& put(const char* name, std::string raw) {
    text_ += (text_.empty() ? "" : ", ") + quoted(name) + ": " + raw;
    return *this;
  }
  Object& text(const char* name, std::string_view value) { return put(name, quoted(value)); }
  Object& number(const char* name, uint64_t value) { return put(name, std::to_string(value)); }
  std::string done() const { return "{" + text_ + "}"; }

 private:
  std::string text_;
};

template <class List, class Each>
std::string list_of(const List& list, const char* indent, Each&& each) {
  std::string text;
  for (const auto& item : list) text += (text.empty() ? "" : ",") + std::string("\n") + indent + each(item);
  return "[" + text + "]";
}

std::string index_of(const Dim3& index) {
  return "[" + std::to_string(index.x) + ", " + std::to_string(index.y) + ", " + std::to_string(index.z) + "]";
}

std::string of(const SourceLine& line) {
  Object o;
  o.text("file", line.file).number("line", line.line).number("column", line.column).text("function", line.function);
  return o.done();
}

std::string of(const Spot& spot) {
  Object o;
  if (spot.instruction) {
    o.put("source", list_of(source_of(*spot.module, *spot.function, *spot.instruction), "          ",
                            [](const SourceLine& line) { return of(line); }));
    o.text("ptx", spot.instruction->text).number("ptx_line", spot.instruction->line);
  }
  o.put("block", index_of(spot.block)).put("thread", index_of(spot.thread)).text("did", spot.did);
  return o.done();
}

std::string of(const Diagnostic& d) {
  Object o;
  o.text("code", d.code)
      .text("title", title_of(d.code))
      .text("kernel", d.kernel)
      .text("launched", d.launched)
      .text("what", d.what);
  if (d.device >= 0) o.number("device", uint64_t(d.device));
  o.text("where", d.object).text("why", d.reason).text("try", d.hint).number("times", d.times);
  o.put("ends_launch", d.ends_launch ? "true" : "false");
  o.put("spots", list_of(d.spots, "        ", [](const Spot& spot) { return of(spot); }));
  return o.done();
}

std::string of(const Traffic& t) {
  Object o;
  o.number("requests", t.requests)
      .number("sectors", t.sectors)
      .number("ideal_sectors", t.ideal)
      .number("bytes", t.bytes);
  return o.done();
}

void put(Object& o, const Counters& c) {
  o.number("warp_instructions", c.warps).number("active_lanes", c.lanes);
  o.put("load", of(c.load)).put("store", of(c.store)).put("atomic", of(c.atomic));
  o.number("shared_requests", c.shared_requests).number("shared_wavefronts", c.wavefronts);
  o.number("ideal_shared_wavefronts", c.ideal_wavefronts).number("barriers", c.barriers);
  o.number("branches", c.branches).number("divergent_branches", c.divergent);
}

std::string of(const KernelCounters& kernel) {
  Object o;
  o.text("name", short_name(kernel.function->name)).text("symbol", kernel.function->name);
  o.number("launches", kernel.launches).put("grid", index_of(kernel.grid)).put("block", index_of(kernel.block));
  put(o, kernel.total());
  o.put("lines", list_of(by_line(kernel), "        ", [](const LineCounters& line) {
          Object l;
          l.text("file", line.file).number("line", line.line);
          put(l, line.sum);
          return l.done();
        }));
  return o.done();
}

}  // namespace

std::string json_of(const Summary& summary) {
  Object o;
  o.number("vgpu", 1).number("launches", summary.launches);
  o.put("clean", summary.found.all().empty() ? "true" : "false");
  o.put("findings", list_of(summary.found.all(), "    ", [](const Diagnostic& d) { return of(d); }));
  o.put("kernels", list_of(summary.kernels, "    ", [](const KernelCounters& k) { return of(k); }));
  return o.done() + "\n";
}

}  // namespace vgpu
