// The corpus: each clean kernel is silent whatever the order of warps and blocks, each mutant yields exactly its code
// at its lines. corpus/corpus.h says how the files are written.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <regex>
#include <set>
#include <sstream>

#include "check/session.h"
#include "exec/engine.h"
#include "registered.h"
#include "report/report.h"
#include "report/source.h"
#include "runtime/context.h"

namespace vgpu {
namespace {

using Place = std::pair<std::string, int>;  // code and line; 0 where the code has no line

struct Argument {
  std::string name, type;
  uint64_t count = 0;  // 0: a number by value
  std::string fill;
  int value = 0;
};

struct Mutant {
  std::string code;     // "value": no finding, another result
  std::string changes;  // of the host
};

struct Shape {
  Dim3 grid, block;
  uint32_t shared = 0;
};

struct Case {
  std::string name, ptx;
  Shape shape;
  std::vector<Argument> arguments;
  std::map<int, Mutant> mutants;
  std::map<int, std::set<int>> lines;  // by mutant
};

std::string content(const std::string& path) {
  std::ifstream in(path);
  EXPECT_TRUE(in) << path;
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

std::vector<std::string> parts(const std::string& text, char by) {
  std::vector<std::string> list;
  std::stringstream in(text);
  for (std::string part; std::getline(in, part, by);) {
    part.erase(0, part.find_first_not_of(' '));
    list.push_back(part);
  }
  return list;
}

// "grid 3 4" or "block 128" or "shared 100" sets that field.
bool set_shape(Shape& shape, const std::string& text) {
  std::stringstream in(text);
  std::string what;
  in >> what;
  if (what != "grid" && what != "block" && what != "shared") return false;
  uint32_t x = 1, y = 1, z = 1;
  in >> x;
  if (!(in >> y)) y = 1;
  if (!(in >> z)) z = 1;
  if (what == "shared") {
    shape.shared = x;
  } else {
    (what == "grid" ? shape.grid : shape.block) = {x, y, z};
  }
  return true;
}

Case read(const std::string& name) {
  Case c;
  c.name = name;
  const std::regex mutant(R"(^// (\d+): (\w+)( \(([^)]*)\))?:? .*)"), array(R"((\w+) (\w+)\[(\d+)\]( = (\w+))?)"),
      number(R"((\w+) (\w+) = (\d+))");
  std::stringstream source(content(std::string(VGPU_SOURCE) + "/tests/corpus/" + name + ".cu"));
  int line = 0;
  for (std::string text; std::getline(source, text);) {
    ++line;
    std::smatch match;
    if (text.starts_with("// launch: ")) {
      for (const std::string& part : parts(text.substr(11), ',')) {
        EXPECT_TRUE(part == name || set_shape(c.shape, part)) << part;
      }
    } else if (text.starts_with("// args: ")) {
      for (const std::string& part : parts(text.substr(9), ',')) {
        if (std::regex_match(part, match, array)) {
          c.arguments.push_back({match[2], match[1], std::stoul(match[3]), match[5], 0});
        } else {
          EXPECT_TRUE(std::regex_match(part, match, number)) << part;
          c.arguments.push_back({match[2], match[1], 0, "", std::stoi(match[3])});
        }
      }
    } else if (std::regex_match(text, match, mutant)) {
      c.mutants[std::stoi(match[1])] = {match[2], match[4]};
    } else if (const size_t at = text.find("// here: "); at != std::string::npos) {
      for (const std::string& part : parts(text.substr(at + 9), ',')) c.lines[std::stoi(part)].insert(line);
    }
  }
  EXPECT_FALSE(c.mutants.empty()) << name;
  return c;
}

// The shape that a mutant is launched with, and what else the host does differently, by argument.
std::map<std::string, std::string> changes(const Case& c, int mutant, Shape& shape) {
  std::map<std::string, std::string> change;
  for (const std::string& part : parts(mutant ? c.mutants.at(mutant).changes : "", ',')) {
    if (set_shape(shape, part)) continue;
    const size_t space = part.find(' ');
    change[part.substr(0, space)] = part.substr(space + 1);
  }
  return change;
}

const ptx::Function* kernel_of(const ptx::Module& module, const Case& c, int mutant) {
  const std::string name = c.name + "<" + std::to_string(mutant) + ">";
  for (const auto& function : module.functions) {
    if (function->is_entry && short_name(function->name) == name) return function.get();
  }
  ADD_FAILURE() << "no kernel " << name;
  return nullptr;
}

struct Outcome {
  std::set<Place> found;
  std::vector<std::byte> result;  // the first argument
  std::string report;
};

Outcome run(const Case& c, int mutant, uint64_t seed) {
  Shape shape = c.shape;
  auto change = changes(c, mutant, shape);
  Memory memory(1 << 26);
  SessionOptions session_options;
  session_options.file = "/dev/null";
  Session session(session_options, memory);
  std::string error;
  auto program = Program::load(ptx::parse(c.ptx, error), memory, error);
  EXPECT_TRUE(program) << error;
  Launch launch{};
  launch.function = kernel_of(program->module(), c, mutant);
  launch.kernel = program->kernel(launch.function->name);
  launch.module = &program->module();
  EXPECT_TRUE(program->prepare(*launch.kernel, error)) << error;

  std::vector<std::byte> params;
  std::vector<std::vector<float>> host;  // of pointers that a mutant leaves on the host
  const Allocation* result = nullptr;
  for (const Argument& argument : c.arguments) {
    const auto put = [&](const void* value, size_t bytes) {
      while (params.size() % bytes) params.push_back({});
      const auto* first = static_cast<const std::byte*>(value);
      params.insert(params.end(), first, first + bytes);
    };
    if (!argument.count) {
      put(&argument.value, 4);
      continue;
    }
    const std::string& changed = change[argument.name];
    std::vector<float> values(argument.count);
    for (uint64_t i = 0; i < values.size(); ++i) {
      if (argument.fill == "zeros") continue;
      const int ramp = int(i * 37 % 1009);
      if (argument.type == "float") {
        values[i] = float(ramp % 101) / 8 - 4;
      } else {
        std::memcpy(&values[i], &ramp, 4);
      }
    }
    const Allocation* made = memory.allocate(argument.count * 4, MemoryKind::device, "cudaMalloc", nullptr);
    session.allocated(*made);
    if (!result) result = made;
    uint64_t address = made->address;
    if (!argument.fill.empty() && changed != "unwritten") {
      std::memcpy(memory.host(*made, address), values.data(), values.size() * 4);
      if (changed.starts_with("rows of")) {
        int row = 0, every = 0;
        std::sscanf(changed.c_str(), "rows of %d every %d", &row, &every);
        for (uint64_t at = 0; at + row <= values.size(); at += every) session.written(address + 4 * at, 4 * row);
      } else {
        session.written(address, values.size() * 4);
      }
    }
    if (changed.starts_with("shifted by ")) address += std::stoi(changed.substr(11));
    if (changed == "host") {
      host.push_back(values);
      address = reinterpret_cast<uint64_t>(host.back().data());
    }
    if (changed == "freed") {
      session.freed(*made);
      memory.free(address);
    }
    put(&address, 8);
  }
  launch.params = params;
  launch.grid = shape.grid;
  launch.block = shape.block;
  launch.dynamic_shared = shape.shared;
  launch.serial = 1;

  RunOptions options;
  options.seed = seed;
  options.budget = 20000;
  options.observers = session.observers();
  std::vector<std::pair<const ptx::Function*, std::vector<Executed>>> executed;
  const Fault fault = vgpu::run(*launch.kernel, launch, memory, DeviceLimits{}, options, &executed);
  session.finished(launch, fault, executed);

  Outcome outcome;
  for (const Diagnostic& d : session.diagnostics().all()) {
    int line = 0;
    if (!d.spots.empty() && d.spots[0].instruction) {
      const Spot& spot = d.spots[0];
      const auto chain = source_of(*spot.module, *spot.function, *spot.instruction);
      // The innermost line that is the file's own.
      for (auto at = chain.rbegin(); at != chain.rend(); ++at) {
        if (base_name(at->file) == c.name + ".cu") line = at->line;
      }
    }
    outcome.found.emplace(d.code, line);
    outcome.report += text_of(d);
  }
  const auto* first = memory.host(*result, result->address);
  if (!result->freed) outcome.result.assign(first, first + result->bytes);
  return outcome;
}

// A launch that nothing runs of: through the runtime, as a program with this PTX would make it. What was found, and the
// error code of the call.
std::pair<std::vector<std::string>, int> refused(const Case& c, int mutant) {
  std::string error;
  const auto module = ptx::parse(c.ptx, error);
  const void* host = test::registered(test::fat_binary(c.ptx), kernel_of(*module, c, mutant)->name);
  Shape shape = c.shape;
  changes(c, mutant, shape);
  const auto& all = Context::get().session.diagnostics().all();
  const size_t before = all.size();
  const int code = cudaLaunchKernel(host, shape.grid, shape.block, nullptr, shape.shared, nullptr);
  std::vector<std::string> found;
  for (size_t i = before; i < all.size(); ++i) found.push_back(all[i].code + " " + all[i].kernel);
  return {found, code};
}

std::vector<std::string> names() {
  std::vector<std::string> list;
  for (const auto& entry : std::filesystem::directory_iterator(std::string(VGPU_SOURCE) + "/tests/corpus")) {
    if (entry.path().extension() == ".cu") list.push_back(entry.path().stem());
  }
  std::sort(list.begin(), list.end());
  return list;
}

class Corpus : public testing::TestWithParam<std::string> {};

TEST_P(Corpus, CleanIsSilentAndEachMutantIsFoundAtItsLines) {
  if (!VGPU_HAS_NVCC) GTEST_SKIP() << "no nvcc to make PTX of the corpus";
  Case c = read(GetParam());
  c.ptx = content(std::string(VGPU_CORPUS_PTX) + "/" + c.name + ".ptx");
  const Outcome clean = run(c, 0, 0);
  for (const uint64_t seed : {0, 1, 2}) {
    const Outcome again = run(c, 0, seed);
    EXPECT_TRUE(again.found.empty()) << "seed " << seed << again.report;
  }
  for (const auto& [number, mutant] : c.mutants) {
    if (mutant.code == "E10") {
      const auto [found, code] = refused(c, number);
      EXPECT_EQ(found, std::vector{"E10 " + c.name + "<" + std::to_string(number) + ">"});
      EXPECT_NE(code, 0);
      continue;
    }
    const Outcome outcome = run(c, number, 0);
    std::set<Place> expected;
    if (mutant.code != "value") {
      const auto lines = c.lines.find(number);
      ASSERT_TRUE(lines != c.lines.end()) << c.name << " " << number << ": no line says `here`";
      for (const int line : lines->second) expected.emplace(mutant.code, line);
    } else {
      EXPECT_NE(outcome.result, clean.result) << c.name << " " << number;
    }
    EXPECT_EQ(outcome.found, expected) << c.name << " " << number << outcome.report;
  }
}

INSTANTIATE_TEST_SUITE_P(Kernels, Corpus, testing::ValuesIn(names()), [](const auto& info) { return info.param; });

TEST(Corpus, HasEnoughOfEachCode) {
  std::map<std::string, int> count;
  int mutants = 0;
  for (const std::string& name : names()) {
    for (const auto& [number, mutant] : read(name).mutants) {
      ++count[mutant.code];
      mutants += mutant.code != "value";
    }
  }
  std::printf("%zu kernels, %d mutants:", names().size(), mutants);
  for (const auto& [code, n] : count)
    if (code != "value") std::printf(" %s %d,", code.c_str(), n);
  std::printf(" and %d that only change values\n", count["value"]);
  EXPECT_GE(names().size(), 12u);
  EXPECT_GE(mutants, 60);
  for (const char* code :
       {"E01", "E02", "E03", "E04", "E05", "E06", "E07", "E09", "E10", "E11", "P01", "P02", "P03", "P04"}) {
    EXPECT_GE(count[code], 3) << code;
  }
}

}  // namespace
}  // namespace vgpu
