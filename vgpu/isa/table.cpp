#include "isa/table.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>

namespace vgpu::isa {
namespace {

// Every mnemonic that the syntax from `at` on allows, behind `head`.
template <class F>
void expand(std::string& head, std::string_view syntax, F&& f) {
  const size_t open = syntax.find('{');
  if (open == syntax.npos) {
    const size_t length = head.size();
    f(head.append(syntax));
    head.resize(length);
    return;
  }
  const size_t close = syntax.find('}', open), length = head.size();
  head.append(syntax.substr(0, open));
  const size_t stem = head.size();
  std::string_view choices = syntax.substr(open + 1, close - open - 1), rest = syntax.substr(close + 1);
  expand(head, rest, f);
  while (!choices.empty()) {
    const size_t comma = std::min(choices.find(','), choices.size());
    head.resize(stem);
    head.append(choices.substr(0, comma));
    expand(head, rest, f);
    choices.remove_prefix(std::min(comma + 1, choices.size()));
  }
  head.resize(length);
}

}  // namespace

void Table::add(std::string_view syntax, Bind bind) {
  std::string head;
  expand(head, syntax, [&](const std::string& mnemonic) { rows_[mnemonic] = bind; });
}

void Table::add(std::initializer_list<std::string_view> syntax, Bind bind) {
  std::string whole;
  for (const std::string_view piece : syntax) whole += piece;
  add(whole, bind);
}

Table::Row Table::find(const ptx::Mnemonic& mnemonic) const {
  if (auto row = rows_.find(std::string(mnemonic.text)); row != rows_.end()) return {row->second, true};
  if (auto row = rows_.find(std::string(mnemonic.opcode)); row != rows_.end()) return {row->second, false};
  return {};
}

std::vector<std::string> Table::mnemonics() const {
  std::vector<std::string> all;
  for (const auto& [mnemonic, bind] : rows_) all.push_back(mnemonic);
  std::sort(all.begin(), all.end());
  return all;
}

namespace baseline {
void add_all(Table&);
}
namespace v3 {
void add_all(Table&);
}

const Table& table() {
  static const Table built = [] {
    Table t;
#ifdef VGPU_HAS_v3
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("f16c") &&
        __builtin_cpu_supports("bmi2")) {
      v3::add_all(t);
      return t;
    }
#endif
#ifdef VGPU_HAS_baseline
    baseline::add_all(t);
    return t;
#else
    std::fputs("vgpu: it was built for processors with AVX2 alone (VGPU_TARGETS), and this one has none\n", stderr);
    std::exit(2);
#endif
  }();
  return built;
}

}  // namespace vgpu::isa
