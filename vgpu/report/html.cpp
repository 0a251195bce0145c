// The report as one HTML file that needs nothing beside it: the findings, and for each kernel its source with the
// traffic of every line. A click on a line with memory accesses draws one: lanes to sectors, or lanes to banks.
#include <algorithm>
#include <map>
#include <set>

#include "explain/explain.h"
#include "report/report.h"
#include "report/source.h"

namespace vgpu {
namespace {

constexpr const char* kHead = R"html(<!DOCTYPE html>
<html lang="en"><meta charset="utf-8"><title>vgpu report</title>
<style>
body { font: 15px/1.45 system-ui, sans-serif; margin: 2em auto; max-width: 76em; padding: 0 1em; color: #222 }
h1 { font-size: 1.4em } h2 { font-size: 1.15em; margin-top: 2em } code, pre, td, th { font-family: ui-monospace, monospace }
pre { background: #f6f6f4; padding: .8em; overflow-x: auto; font-size: 13px; white-space: pre-wrap }
.E > summary { color: #a40000; font-weight: 600 } .P > summary { color: #8a5a00; font-weight: 600 }
table { border-collapse: collapse; font-size: 12.5px; width: 100% }
th { text-align: right; font-weight: 600; border-bottom: 1px solid #999; padding: 2px 8px; position: sticky; top: 0; background: #fff }
td { text-align: right; padding: 0 8px; white-space: nowrap } td.s, th.s { text-align: left; white-space: pre; width: 100% }
tr.hot { background: #fff1d6 } tr.bad { background: #ffd9d2 } tr.m { cursor: pointer } tr.m:hover { outline: 1px solid #888 }
td.n { color: #888 } tr.picture td { text-align: left; background: #fafafa; padding: 1em; white-space: normal }
svg text { font: 10px ui-monospace, monospace } .note { color: #555; font-size: 13px }
</style>
)html";

constexpr const char* kScript = R"html(<script>
const NS = 'http://www.w3.org/2000/svg';
function draw(sample) {
  const width = 1060, svg = document.createElementNS(NS, 'svg');
  svg.setAttribute('viewBox', `0 0 ${width} 190`);
  const put = (name, attributes, text) => {
    const e = document.createElementNS(NS, name);
    for (const k in attributes) e.setAttribute(k, attributes[k]);
    if (text !== undefined) e.textContent = text;
    svg.append(e);
  };
  const shared = sample.space == 'shared', unit = shared ? 4 : 32;
  const lanes = sample.at.map((at, lane) => ({lane, at})).filter(l => l.at !== null);
  const pieces = new Map();  // sector or word -> the lanes that touch it
  for (const l of lanes) {
    for (let p = Math.floor(l.at / unit); p * unit < l.at + sample.bytes; ++p) {
      if (!pieces.has(p)) pieces.set(p, []);
      pieces.get(p).push(l.lane);
    }
  }
  const order = [...pieces.keys()].sort((a, b) => a - b);
  const boxes = shared ? 32 : order.length, step = (width - 20) / 32, box = Math.min(step, (width - 20) / boxes);
  const depth = new Array(32).fill(0);
  for (const p of order) if (shared) ++depth[p % 32];
  for (let lane = 0; lane < 32; ++lane) {
    const on = sample.at[lane] !== null;
    put('rect', {x: 10 + lane * step, y: 18, width: step - 2, height: 18, fill: on ? '#cfe3ff' : '#eee', stroke: '#789'});
    put('text', {x: 10 + lane * step + step / 2 - 1, y: 31, 'text-anchor': 'middle'}, lane);
  }
  const place = p => 10 + (shared ? p % 32 : order.indexOf(p)) * box + box / 2;
  for (const [p, touching] of pieces) {
    for (const lane of touching) {
      put('line', {x1: 10 + lane * step + step / 2, y1: 36, x2: place(p), y2: 140,
                   stroke: shared && depth[p % 32] > 1 ? '#c33' : '#58a', 'stroke-width': .8});
    }
  }
  for (let i = 0; i < boxes; ++i) {
    const bad = shared && depth[i] > 1, used = shared ? depth[i] : 1;
    put('rect', {x: 10 + i * box, y: 140, width: Math.max(box - 2, 1), height: 18,
                 fill: !used ? '#eee' : bad ? '#f6b8ac' : '#d5efd0', stroke: '#897'});
    if (box > 14) put('text', {x: 10 + i * box + box / 2 - 1, y: 153, 'text-anchor': 'middle'}, shared ? i : order[i]);
    if (bad && box > 14) put('text', {x: 10 + i * box + box / 2 - 1, y: 172, 'text-anchor': 'middle'}, '×' + depth[i]);
  }
  put('text', {x: 10, y: 12}, `lanes, ${sample.bytes} bytes each: ${sample.ptx}`);
  put('text', {x: 10, y: 186}, shared
      ? '32 banks of 4 bytes; ×n: n different words, so n passes'
      : `${order.length} sectors of 32 bytes, numbered from the first one of the array's neighbourhood`);
  return svg;
}
document.querySelectorAll('tr.m').forEach(row => row.addEventListener('click', () => {
  const next = row.nextElementSibling;
  if (next && next.className == 'picture') return next.remove();
  const picture = document.createElement('tr'), cell = document.createElement('td');
  picture.className = 'picture';
  cell.colSpan = row.cells.length;
  JSON.parse(row.dataset.samples).forEach(sample => cell.append(draw(sample)));
  picture.append(cell);
  row.after(picture);
}));
</script>
)html";

std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '<': out += "&lt;"; break;
      case '>': out += "&gt;"; break;
      case '&': out += "&amp;"; break;
      case '"': out += "&quot;"; break;
      default: out += c;
    }
  }
  return out;
}

std::string ratio(uint64_t spent, uint64_t ideal, uint64_t requests) {
  if (!requests) return "";
  char text[48];
  std::snprintf(text, sizeof text, "%.2f / %.2f", double(spent) / double(requests), double(ideal) / double(requests));
  return text;
}

// A sample as JSON; addresses count from a multiple of 128 below the lowest, and null is a lane that takes no part.
std::string json_of(const Sample& sample, std::string_view ptx) {
  uint64_t low = ~uint64_t{0};
  for (int lane = 0; lane < 32; ++lane) {
    if (sample.lanes >> lane & 1) low = std::min(low, sample.address[lane]);
  }
  if (sample.space == ptx::Space::shared) {
    low = 0;  // banks count from the block's first byte
  } else {
    low &= ~uint64_t{127};
  }
  std::string plain;  // an instruction has no quotes; a backslash would be the end of the script
  for (const char c : ptx) plain += c == '"' || c == '\\' ? ' ' : c;
  std::string text = "{\"space\":\"" + std::string(name_of(sample.space)) + "\",\"ptx\":\"" + plain +
                     "\",\"bytes\":" + std::to_string(sample.bytes) + ",\"at\":[";
  for (int lane = 0; lane < 32; ++lane) {
    text += (lane ? "," : "") +
            (sample.lanes >> lane & 1 ? std::to_string(sample.address[lane] - low) : std::string("null"));
  }
  return text + "]}";
}

std::string row_of(const std::string& number, const std::string& source, const Counters& c,
                   const std::string& samples) {
  const bool bad = c.load.sectors >= 2 * std::max<uint64_t>(c.load.ideal, 1) ||
                   c.store.sectors >= 2 * std::max<uint64_t>(c.store.ideal, 1) ||
                   c.wavefronts >= 2 * std::max<uint64_t>(c.ideal_wavefronts, 1);
  char lanes[16] = "";
  if (c.warps) std::snprintf(lanes, sizeof lanes, "%.1f", double(c.lanes) / double(c.warps));
  std::string row = "<tr class=\"" +
                    std::string(bad               ? "bad"
                                : samples.empty() ? ""
                                                  : "hot") +
                    (samples.empty() ? "\"" : " m\" data-samples=\"" + escaped("[" + samples + "]") + "\"") + ">";
  row += "<td class=n>" + number + "</td><td class=s>" + escaped(source) + "</td>";
  for (const std::string& cell :
       {c.warps ? std::to_string(c.warps) : std::string(), std::string(lanes),
        ratio(c.load.sectors, c.load.ideal, c.load.requests), ratio(c.store.sectors, c.store.ideal, c.store.requests),
        ratio(c.atomic.sectors, c.atomic.ideal, c.atomic.requests),
        ratio(c.wavefronts, c.ideal_wavefronts, c.shared_requests),
        c.barriers ? std::to_string(c.barriers) : std::string()}) {
    row += "<td>" + cell + "</td>";
  }
  return row + "</tr>\n";
}

std::string view_of(const KernelCounters& kernel) {
  std::map<std::string, std::map<int, Counters>> files;
  for (const LineCounters& line : by_line(kernel)) files[line.file][line.line] += line.sum;
  std::map<std::pair<std::string, int>, std::string> samples;
  for (const auto& [function, counters] : kernel.code) {
    for (const ptx::Instruction& instruction : function->code) {
      auto sample = kernel.samples.find(&instruction);
      if (sample == kernel.samples.end()) continue;
      const auto chain = source_of(*kernel.module, *function, instruction);
      std::string& list =
          samples[chain.empty() ? std::pair(std::string(), 0) : std::pair(chain[0].file, chain[0].line)];
      list += (list.empty() ? "" : ",") + json_of(sample->second, instruction.text);
    }
  }
  std::string text;
  for (const auto& [file, lines] : files) {
    text += "<h3><code>" + escaped(file.empty() ? "without a line" : file) +
            "</code></h3>\n<table><tr><th></th><th class=s>" +
            "source</th><th>warp instr.</th><th>lanes</th><th>load</th><th>store</th><th>atomic</th><th>shared</th>" +
            "<th>barriers</th></tr>\n";
    // The lines that ran, with a few around them.
    std::set<int> shown;
    for (const auto& [line, counters] : lines) {
      for (int near = std::max(line - 3, 1); near <= line + 3; ++near) shown.insert(near);
    }
    int last = 0;
    for (const int line : shown) {
      const std::string* source = text_of(file, line);
      auto counters = lines.find(line);
      if (!source && counters == lines.end()) continue;
      if (last && line > last + 1) text += "<tr><td class=n>⋮</td></tr>\n";
      last = line;
      auto sample = samples.find({file, line});
      text +=
          row_of(std::to_string(line), source ? *source : "", counters == lines.end() ? Counters{} : counters->second,
                 sample == samples.end() ? "" : sample->second);
    }
    if (lines.count(0)) text += row_of("", "(no line information: build with -lineinfo)", lines.at(0), "");
    text += "</table>\n";
  }
  return text;
}

}  // namespace

std::string html_of(const Summary& summary) {
  std::string text = kHead;
  text += "<h1>vgpu: " + std::to_string(summary.launches) + " launches, " +
          (summary.found.all().empty() ? std::string("clean on this input")
                                       : std::to_string(summary.found.all().size()) + " findings") +
          "</h1>\n";
  for (const Diagnostic& d : summary.found.all()) {
    text += "<details open class=" + std::string(1, d.code[0] == 'P' ? 'P' : 'E') + "><summary>" + escaped(d.code) +
            " " + escaped(title_of(d.code)) + (d.kernel.empty() ? "" : ", in <code>" + escaped(d.kernel) + "</code>") +
            (d.device < 0 ? "" : ", on device " + std::to_string(d.device)) + "</summary><pre>" + escaped(text_of(d)) +
            "</pre></details>\n";
  }
  for (const KernelCounters& kernel : summary.kernels) {
    text += "<h2><code>" + escaped(short_name(kernel.function->name)) + "</code>, " + std::to_string(kernel.launches) +
            (kernel.launches == 1 ? " launch" : " launches") + ", grid " + vgpu::text_of(kernel.grid) + ", block " +
            vgpu::text_of(kernel.block) + "</h2>\n" + view_of(kernel);
  }
  text +=
      "<p class=note>Load, store and atomic: sectors of 32 bytes per request, then what the same bytes need at least. "
      "Shared: wavefronts per request, then the least. Traffic, never time. Click a coloured line for a picture of one "
      "access.</p>\n";
  return text + kScript + "</html>\n";
}

}  // namespace vgpu
