#include "ptx/module.h"

#include <algorithm>

namespace vgpu::ptx {

int size_of(Type type) {
  switch (type) {
    case Type::none: return 0;
    case Type::pred:
    case Type::b8:
    case Type::u8:
    case Type::s8: return 1;
    case Type::b16:
    case Type::u16:
    case Type::s16:
    case Type::f16:
    case Type::bf16: return 2;
    case Type::b32:
    case Type::u32:
    case Type::s32:
    case Type::f16x2:
    case Type::bf16x2:
    case Type::f32:
    case Type::tf32: return 4;
    case Type::b64:
    case Type::u64:
    case Type::s64:
    case Type::f64: return 8;
    case Type::b128: return 16;
  }
  return 0;
}

std::string_view name_of(Space space) {
  switch (space) {
    case Space::reg: return "register";
    case Space::param: return "parameter";
    case Space::local: return "local";
    case Space::shared: return "shared";
    case Space::global: return "global";
    case Space::constant: return "constant";
    case Space::generic: return "generic";
  }
  return "";
}

bool Mnemonic::has(std::string_view modifier) const {
  return std::find(modifiers.begin(), modifiers.end(), modifier) != modifiers.end();
}

const Function* Module::find(std::string_view name) const {
  const auto found = function_index.find(name);
  return found == function_index.end() ? nullptr : functions[found->second].get();
}

}  // namespace vgpu::ptx
