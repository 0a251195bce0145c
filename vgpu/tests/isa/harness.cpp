#include "isa/harness.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iomanip>
#include <memory>
#include <set>
#include <span>
#include <sstream>

#include "exec/memory.h"
#include "isa/table.h"
#include "ptx/module.h"

namespace vgpu::isa_test {
namespace {

constexpr uint32_t kBlock = 128;

std::string register_type(const std::string& type) {
  if (type == "f16" || type == "bf16" || type == "s8" || type == "u8") return "b16";
  if (type == "f16x2" || type == "bf16x2") return "b32";
  return type;
}

std::string bits_type(const std::string& type) { return ".b" + std::to_string(8 * bytes_of(type)); }

// What stands before the snippet's text, and behind it.
std::string head(const Snippet& snippet) {
  std::ostringstream text;
  text << ".version 9.0\n.target sm_90a\n.address_size 64\n"
          ".func (.param .b32 r) twice(.param .b32 x)\n"
          "{ .reg .b32 a; ld.param.b32 a, [x]; add.u32 a, a, a; st.param.b32 [r], a; ret; }\n"
          ".func (.param .b32 r) next(.param .b32 x)\n"
          "{ .reg .b32 a; ld.param.b32 a, [x]; add.u32 a, a, 1; st.param.b32 [r], a; ret; }\n"
          ".visible .entry k(.param .u64 in, .param .u64 out, .param .u32 rows)\n{\n"
          ".reg .pred %go; .reg .b32 %i, %n, %t; .reg .b64 %p, %o, %w, %own;\n"
          ".shared .align 16 .b8 tile[4096];\n";
  for (size_t i = 0; i < snippet.in.size(); ++i)
    text << ".reg ." << register_type(snippet.in[i]) << " %a" << i << ";\n";
  for (size_t i = 0; i < snippet.out.size(); ++i) {
    const std::string type = register_type(snippet.out[i]);
    text << ".reg ." << type << " %d" << i << ";\n";
    if (type == "pred") {
      text << "setp.ne.u32 %d" << i << ", 0, 0;\n";
    } else {
      text << "mov" << bits_type(type) << " %d" << i << ", 0;\n";
    }
  }
  text << "mov.u32 %i, %ctaid.x;\nmov.u32 %t, %ntid.x;\nmov.u32 %n, %tid.x;\nmad.lo.u32 %i, %i, %t, %n;\n"
          "ld.param.u32 %n, [rows];\nsetp.ge.u32 %go, %i, %n;\n@%go bra END;\nmul.wide.u32 %w, %i, "
       << 8 * kColumns
       << ";\nld.param.u64 %p, [in];\nadd.u64 %p, %p, %w;\nld.param.u64 %o, [out];\nadd.u64 %o, %o, %w;\nadd.u64 %own, "
          "%o, "
       << 8 * kColumns - kOwnBytes << ";\n";
  for (size_t i = 0; i < snippet.in.size(); ++i) {
    if (snippet.in[i] == "pred") {
      text << "ld.global.u32 %t, [%p+" << 8 * i << "];\nsetp.ne.u32 %a" << i << ", %t, 0;\n";
    } else {
      text << "ld.global" << bits_type(snippet.in[i]) << " %a" << i << ", [%p+" << 8 * i << "];\n";
    }
  }
  return text.str();
}
std::string tail(const Snippet& snippet) {
  std::ostringstream text;
  for (size_t i = 0; i < snippet.out.size(); ++i) {
    if (snippet.out[i] == "pred") {
      text << "selp.u32 %t, 1, 0, %d" << i << ";\nst.global.u32 [%o+" << 8 * i << "], %t;\n";
    } else {
      text << "st.global" << bits_type(snippet.out[i]) << " [%o+" << 8 * i << "], %d" << i << ";\n";
    }
  }
  text << "END:\nret;\n}\n";
  return text.str();
}

std::string module_text(const Snippet& snippet) { return head(snippet) + snippet.text + "\n" + tail(snippet); }

// The snippet as a kernel that could run; `error` says why it cannot.
struct Loaded {
  explicit Loaded(const Snippet& snippet) {
    auto module = ptx::parse(module_text(snippet), error);
    program = module ? Program::load(std::move(module), memory, error) : nullptr;
    kernel = program ? program->kernel("k") : nullptr;
    if (kernel) program->prepare(*kernel, error);
  }
  std::string error;
  Memory memory{uint64_t{1} << 30};
  std::unique_ptr<Program> program;
  const Kernel* kernel = nullptr;
};

std::string shown(const Row& row, size_t columns) {
  std::ostringstream text;
  for (size_t i = 0; i < columns; ++i) text << (i ? ", 0x" : "0x") << std::hex << row[i];
  return text.str();
}

// Writes what a snippet names, for table_test.cpp: "named M" a mnemonic; "taken M" what the binder of an opcode takes
// too when one type in M, or one operation, is replaced by another.
class Listing {
 public:
  explicit Listing(const char* file) : out_(file, std::ios::app) {}

  void add(const Snippet& snippet) {
    std::string error;
    const auto module = ptx::parse(module_text(snippet), error);
    if (!module) return;
    const auto lines = [](const std::string& text) { return int(std::count(text.begin(), text.end(), '\n')); };
    const int first = 1 + lines(head(snippet)), last = first + lines(snippet.text);
    for (const ptx::Instruction& in : module->find("k")->code) {
      const ptx::Mnemonic& m = *in.mnemonic;
      if (in.line < first || in.line > last || !seen_.insert(std::string(m.text)).second) continue;
      out_ << "named " << m.text << "\n";
      if (isa::table().find(m).whole) continue;
      for (size_t i = 0; i < m.modifiers.size(); ++i) vary(snippet, m, i);
    }
    out_.flush();
  }

 private:
  static constexpr std::string_view kTypes[] = {"b8",   "b16", "b32",  "b64",  "b128", "u8",   "u16",   "u32",    "u64",
                                                "s8",   "s16", "s32",  "s64",  "f16",  "bf16", "f16x2", "bf16x2", "f32",
                                                "tf32", "f64", "pred", "e4m3", "e5m2", "u4",   "s4",    "b1"};
  static constexpr std::string_view kOperations[] = {"and", "or",  "xor", "exch", "add",  "min",
                                                     "max", "inc", "dec", "cas",  "popc", "sub"};

  void vary(const Snippet& snippet, const ptx::Mnemonic& m, size_t place) {
    for (const std::span<const std::string_view> words : {std::span<const std::string_view>(kTypes), {kOperations}}) {
      if (std::find(words.begin(), words.end(), m.modifiers[place]) == words.end()) continue;
      for (const std::string_view word : words) {
        std::string other(m.opcode);
        for (size_t i = 0; i < m.modifiers.size(); ++i) other += "." + std::string(i == place ? word : m.modifiers[i]);
        if (!tried_.insert(other).second) continue;
        Snippet changed = snippet;
        const size_t at = changed.text.find(m.text);
        changed.text.replace(at, m.text.size(), other);
        if (Loaded(changed).error.empty()) out_ << "taken " << other << "\n";
      }
    }
  }

  std::ofstream out_;
  std::set<std::string> seen_, tried_;
};

Listing* listing() {
  static const char* const file = std::getenv("VGPU_ISA_LISTING");
  static Listing* const list = file ? new Listing(file) : nullptr;
  return list;
}

}  // namespace

int bytes_of(std::string_view type) {
  if (type == "pred") return 4;
  if (type.ends_with("x2")) return 4;
  if (type.ends_with("16")) return 2;
  if (type.ends_with("8")) return 1;
  return type.ends_with("64") ? 8 : 4;
}

namespace {

// A launch of the loaded snippet; `results` gets a row for each of the inputs.
Fault launched(Loaded& loaded, const std::vector<Row>& inputs, std::vector<Row>& results) {
  Memory& memory = loaded.memory;
  const uint64_t bytes = inputs.size() * sizeof(Row);
  const Allocation* in = memory.allocate(bytes, MemoryKind::device, "test", nullptr);
  const Allocation* out = memory.allocate(bytes, MemoryKind::device, "test", nullptr);
  std::memcpy(memory.host(*in, in->address), inputs.data(), bytes);
  std::memset(memory.host(*out, out->address), 0, bytes);
  struct {
    uint64_t in, out;
    uint32_t rows, padding;
  } const params{in->address, out->address, uint32_t(inputs.size()), 0};
  Launch launch{};
  launch.kernel = loaded.kernel;
  launch.module = &loaded.program->module();
  launch.function = launch.module->find("k");
  launch.grid = {uint32_t((inputs.size() + kBlock - 1) / kBlock), 1, 1};
  launch.block = {kBlock, 1, 1};
  launch.params = std::as_bytes(std::span(&params, 1)).first(20);
  launch.serial = 1;
  RunOptions options;
  options.workers = 1;
  Fault fault = vgpu::run(*loaded.kernel, launch, memory, DeviceLimits{}, options, nullptr);
  results.resize(inputs.size());
  std::memcpy(results.data(), memory.host(*out, out->address), bytes);
  return fault;
}

}  // namespace

Fault fault_of(const Snippet& snippet, const std::vector<Row>& inputs) {
  if (Listing* list = listing()) return list->add(snippet), Fault();
  Loaded loaded(snippet);
  EXPECT_EQ(loaded.error, "") << snippet.text;
  std::vector<Row> results;
  return loaded.error.empty() ? launched(loaded, inputs, results) : Fault();
}

std::vector<Row> run(const Snippet& snippet, const std::vector<Row>& inputs) {
  if (Listing* list = listing()) return list->add(snippet), std::vector<Row>();
  Loaded loaded(snippet);
  std::vector<Row> results;
  if (loaded.error.empty()) {
    const Fault fault = launched(loaded, inputs, results);
    if (fault.kind == Fault::Kind::none) return results;
    loaded.error = fault.what;
  }
  ADD_FAILURE() << snippet.text << "\n" << loaded.error;
  return {};
}

namespace {

// `right(i)` compares row i of the results with what it should be, which it leaves in `wanted`.
void report(const Snippet& snippet, const std::vector<Row>& inputs, const std::vector<Row>& results,
            const std::function<bool(size_t i, Row& wanted)>& right) {
  size_t wrong = 0;
  std::string first;
  for (size_t i = 0; i < inputs.size(); ++i) {
    Row wanted;
    if (right(i, wanted) || wrong++ >= 3) continue;
    first += "\n  row " + std::to_string(i) + " (" + shown(inputs[i], snippet.in.size()) + ") gives " +
             shown(results[i], snippet.out.size()) + ", should give " + shown(wanted, snippet.out.size());
  }
  EXPECT_EQ(wrong, 0u) << "of " << inputs.size() << " rows of: " << snippet.text << first;
}

}  // namespace

void expect(const Snippet& snippet, const std::vector<Row>& inputs, const Reference& wanted, const Same& same) {
  const std::vector<Row> results = run(snippet, inputs);
  if (results.empty()) return;
  report(snippet, inputs, results, [&](size_t i, Row& want) {
    want = wanted(inputs[i]);
    bool right = true;
    for (size_t c = 0; c < snippet.out.size(); ++c)
      right &= same ? same(int(c), inputs[i], results[i][c], want[c]) : results[i][c] == want[c];
    return right;
  });
}

void expect_warp(const Snippet& snippet, const std::vector<Row>& inputs, const WarpReference& wanted) {
  ASSERT_EQ(inputs.size() % 32, 0u);
  const std::vector<Row> results = run(snippet, inputs);
  if (results.empty()) return;
  report(snippet, inputs, results, [&](size_t i, Row& want) {
    want = wanted(&inputs[i / 32 * 32], int(i % 32));
    return std::equal(want.begin(), want.begin() + snippet.out.size(), results[i].begin());
  });
}

uint64_t Random::integer(int bits) {
  const uint64_t value = next();
  switch (next() % 4) {
    case 0: return cut(value >> next() % bits, bits);  // of any magnitude
    case 1: return cut(~(value >> next() % bits), bits);
    default: return cut(value, bits);
  }
}

std::vector<Row> integer_rows(const std::vector<int>& widths, size_t random_rows) {
  const auto edges = [](int bits) {
    const uint64_t top = uint64_t{1} << (bits - 1);
    std::vector<uint64_t> values;
    for (const uint64_t v : {uint64_t{0}, uint64_t{1}, uint64_t{2}, uint64_t{31}, uint64_t{32}, uint64_t{33}, top - 1,
                             top, top + 1, ~uint64_t{0}, ~uint64_t{1}, uint64_t{0x5555555555555555}})
      values.push_back(cut(v, bits));
    return values;
  };
  std::vector<Row> rows{Row{}};
  for (size_t c = 0; c < widths.size(); ++c) {
    std::vector<Row> longer;
    for (const Row& row : rows) {
      for (const uint64_t value : edges(widths[c])) {
        longer.push_back(row);
        longer.back()[c] = value;
      }
    }
    rows = std::move(longer);
  }
  Random random(widths.size() * 64 + widths[0]);
  for (size_t i = 0; i < random_rows; ++i) {
    Row row{};
    for (size_t c = 0; c < widths.size(); ++c) row[c] = random.integer(widths[c]);
    rows.push_back(row);
  }
  return rows;
}

}  // namespace vgpu::isa_test
