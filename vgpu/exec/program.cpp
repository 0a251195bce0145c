#include <algorithm>
#include <bit>
#include <cstring>
#include <map>

#include "exec/kernel.h"

namespace vgpu {

struct Program::State {
  std::shared_ptr<const ptx::Module> module;
  Memory* memory = nullptr;
  Owner owner;
  Symbols symbols;
  std::map<std::string, std::unique_ptr<Kernel>, std::less<>> kernels;
  std::map<std::string, const Allocation*, std::less<>> variables;

  bool place_variables(const Program* sibling, std::string& error);
  bool fill(const ptx::Variable& v, const Allocation& a, std::string& error) const;
};

namespace {

// What a thread's registers would be after ptxas has allocated them cannot be told from PTX; this many fit any block.
constexpr uint32_t kRegisters = 32;

uint32_t threads_of(const int (&shape)[3]) {
  uint64_t threads = 1;
  for (int n : shape) threads *= static_cast<uint64_t>(std::max(n, 1));
  return shape[0] ? static_cast<uint32_t>(std::min<uint64_t>(threads, 1024)) : 1024;
}

}  // namespace

bool Program::State::place_variables(const Program* sibling, std::string& error) {
  for (const ptx::Variable& v : module->variables) {
    const Allocation* a = nullptr;
    if ((v.space == ptx::Space::global || v.space == ptx::Space::constant) && !v.is_extern) {
      if (v.is_managed && sibling) {
        a = sibling->variable(v.name);
      } else {
        a = memory->allocate(v.bytes, v.is_managed ? MemoryKind::managed : MemoryKind::symbol,
                             "a variable of the program", nullptr, v.is_managed ? Owner{owner.device, nullptr} : owner,
                             v.name);
      }
      if (!a) {
        error = "device memory has no room for the variable `" + v.name + "` of " + std::to_string(v.bytes) + " bytes";
        return false;
      }
      variables[v.name] = a;
    }
    symbols.variables.push_back(a);
  }
  for (size_t i = 0; i < module->variables.size(); ++i)
    if (const Allocation* a = symbols.variables[i];
        a && a->owner.device == owner.device && !fill(module->variables[i], *a, error))
      return false;
  return true;
}

// The variable's first bytes, and the addresses in them.
bool Program::State::fill(const ptx::Variable& v, const Allocation& a, std::string& error) const {
  std::byte* const bytes = memory->host(a, a.address);
  std::memset(bytes, 0, v.bytes);
  if (!v.init.empty()) std::memcpy(bytes, v.init.data(), v.init.size());
  for (const ptx::Variable::Relocation& r : v.relocations) {
    uint64_t address = 0;
    if (const auto variable = variables.find(r.symbol); variable != variables.end()) {
      address = variable->second->address;
    } else if (const auto function = module->function_index.find(r.symbol); function != module->function_index.end()) {
      address = kCodeWindow + 16 * (static_cast<uint64_t>(function->second) + 1);
    } else {
      error = "the variable `" + v.name + "` holds the address of `" + std::string(r.symbol) +
              "`, which this module does not define";
      return false;
    }
    const uint64_t value = ((address + static_cast<uint64_t>(r.addend)) & r.mask) >> std::countr_zero(r.mask);
    std::memcpy(bytes + r.offset, &value, r.bytes);
  }
  return true;
}

Program::Program() : state_(std::make_unique<State>()) {}

Program::~Program() {
  for (const auto& [name, a] : state_->variables)
    if (a->owner.device == state_->owner.device) state_->memory->free(a->address);
}

std::unique_ptr<Program> Program::load(std::shared_ptr<const ptx::Module> module, Memory& memory, std::string& error,
                                       Owner owner, const Program* sibling) {
  std::unique_ptr<Program> program(new Program);
  State& s = *program->state_;
  s.module = std::move(module);
  s.memory = &memory;
  s.owner = owner;
  if (!s.place_variables(sibling, error)) return nullptr;
  for (const auto& f : s.module->functions) {
    if (!f->is_entry || f->is_extern) continue;
    auto kernel = std::make_unique<Kernel>(*s.module, *f);
    kernel->info.params = f->params;
    kernel->info.registers = kRegisters;
    kernel->info.max_threads = std::min(threads_of(f->max_threads), threads_of(f->required_threads));
    for (const ptx::Variable& v : s.module->variables)
      if (v.space == ptx::Space::constant) kernel->info.constant_bytes += static_cast<uint32_t>(v.bytes);
    s.kernels[f->name] = std::move(kernel);
  }
  return program;
}

const ptx::Module& Program::module() const { return *state_->module; }

const Kernel* Program::kernel(std::string_view name) const {
  const auto found = state_->kernels.find(name);
  return found == state_->kernels.end() ? nullptr : found->second.get();
}

const Allocation* Program::variable(std::string_view name) const {
  const auto found = state_->variables.find(name);
  return found == state_->variables.end() ? nullptr : found->second;
}

bool Program::prepare(const Kernel& kernel, std::string& error) const {
  Kernel& k = const_cast<Kernel&>(kernel);  // of state_->kernels, all of them made by load()
  std::call_once(k.once, [&] {
    if (decode(k, state_->symbols)) k.info.shared = k.shared;
  });
  error = k.error;
  return error.empty();
}

KernelInfo info(const Kernel& kernel) { return kernel.info; }

}  // namespace vgpu
