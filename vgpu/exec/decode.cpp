// From ptx::Function to Code: registers get places, operands become lane arrays, mnemonics become handlers.
#include <algorithm>
#include <bit>
#include <cstring>
#include <map>

#include "exec/kernel.h"
#include "exec/resize.h"
#include "exec/system.h"
#include "exec/warp.h"
#include "isa/table.h"

namespace vgpu {
namespace {

using ptx::Operand;
using ptx::Refers;
using ptx::Space;
using ptx::Type;

// No function has as much: what is larger is a mistake, and no place for it is looked for.
constexpr uint64_t kMostFrameBytes = uint64_t{1} << 28;      // registers of a warp; Ref counts to four times that
constexpr uint64_t kMostParameterBytes = uint64_t{1} << 20;  // of a call
constexpr uint64_t kMostLocalBytes = 512 * 1024;             // of a thread, as the CUDA programming guide says
constexpr uint64_t kMostSharedBytes = uint64_t{1} << 24;     // kSharedStride
constexpr uint64_t kMostKernelParameterBytes = 32764;

// Local memory of a thread whose calls recurse, beside what the kernel itself needs (cudaLimitStackSize's idea).

uint64_t round_up(uint64_t value, uint64_t to) { return to ? (value + to - 1) / to * to : value; }

bool is_signed(Type type) { return type == Type::s8 || type == Type::s16 || type == Type::s32; }

// --- Constants: lane arrays of the launch bank, each value once --------------------------------------------

class Constants {
 public:
  explicit Constants(std::vector<std::byte>& bytes) : bytes_(bytes) { bytes_.resize(sizeof(LaunchSpecials)); }

  Ref add(uint64_t value, int width) {
    if (width < 8) value &= (uint64_t{1} << width * 8) - 1;
    const auto [it, is_new] = places_.try_emplace({value, width}, Ref());
    if (is_new) {
      const size_t offset = round_up(bytes_.size(), 64);
      bytes_.resize(offset + static_cast<size_t>(kLanes * width));
      for (int l = 0; l < kLanes; ++l)  // of 16 bytes the upper half stays zero
        std::memcpy(&bytes_[offset + static_cast<size_t>(l * width)], &value,
                    std::min<size_t>(8, static_cast<size_t>(width)));
      it->second = Ref(Bank::launch, static_cast<uint32_t>(offset));
    }
    return it->second;
  }
  static Ref predicate(bool value) {
    return Ref(Bank::launch, value ? offsetof(LaunchSpecials, all) : offsetof(LaunchSpecials, none));
  }

 private:
  std::vector<std::byte>& bytes_;
  std::map<std::pair<uint64_t, int>, Ref> places_;
};

// An immediate as the bits of an operand of this type.
uint64_t bits_as(const Operand& o, Type type) {
  using Literal = Operand::Literal;
  if (type == Type::f32 && o.literal == Literal::f64)
    return std::bit_cast<uint32_t>(static_cast<float>(std::bit_cast<double>(o.bits)));
  if (type == Type::f64 && o.literal == Literal::f32)
    return std::bit_cast<uint64_t>(static_cast<double>(std::bit_cast<float>(static_cast<uint32_t>(o.bits))));
  return o.bits;
}

// --- A kernel with all that it calls -----------------------------------------------------------------------

class KernelDecoder {
 public:
  KernelDecoder(Kernel& kernel, const Symbols& symbols)
      : kernel(kernel), symbols(symbols), constants(kernel.constants) {}

  bool run();
  Code* code_of(int function);  // made at the first call; decoded later
  bool fail(const ptx::Function& f, const ptx::Instruction& in, const std::string& why) {
    kernel.error = f.name + ": line " + std::to_string(in.line) + " of the PTX: `" + std::string(in.text) + "` " + why;
    return false;
  }
  bool fail(const ptx::Function& f, const std::string& why) {
    kernel.error = f.name + ": " + why;
    return false;
  }
  // The offset of a variable in the kernel's shared memory. Dynamic shared memory goes behind the rest: placed last.
  uint64_t shared_offset(const ptx::Variable& v) {
    for (const Placed& p : kernel.shared)
      if (p.variable == &v) return p.offset;
    return 0;
  }
  uint64_t function_address(int index) {
    if (!kernel.module.functions[static_cast<size_t>(index)]->is_extern) code_of(index);
    return kCodeWindow + 16 * (static_cast<uint64_t>(index) + 1);
  }

  Kernel& kernel;
  const Symbols& symbols;
  Constants constants;

 private:
  bool place_shared();
  void measure_stack();

  std::vector<Code*> undecoded_;
};

// --- One function ------------------------------------------------------------------------------------------

class FunctionDecoder {
 public:
  FunctionDecoder(KernelDecoder& all, Code& code) : all(all), code(code), function(*code.function) {}
  bool run();

  Ref allocate(uint64_t bytes) {
    const uint64_t offset = round_up(code.frame_bytes, 64);
    too_large_ = too_large_ || offset + bytes > kMostFrameBytes;
    if (too_large_) return {};
    code.frame_bytes = static_cast<uint32_t>(offset + bytes);
    return Ref(Bank::frame, static_cast<uint32_t>(offset));
  }
  // Another place of the frame for lanes of this width, of those that no instruction needs beyond itself.
  Ref scratch(int bytes) {
    auto& pool = scratch_[bytes];
    size_t& used = scratch_used_[bytes];
    if (used == pool.size()) pool.push_back(allocate(static_cast<uint64_t>(kLanes * bytes)));
    return pool[used++];
  }

  KernelDecoder& all;
  Code& code;
  const ptx::Function& function;
  std::vector<Ref> registers;
  std::vector<Passed> variables;        // .param ones, by index in Function::variables
  std::vector<Ref> locals;              // lane arrays of addresses, by index in Function::variables
  std::vector<uint64_t> param_offsets;  // of a kernel

 private:
  bool decode_one(size_t index);
  void place_registers();
  void place_variables();

  bool too_large_ = false;  // the frame
  std::map<int, std::vector<Ref>> scratch_;
  std::map<int, size_t> scratch_used_;
  std::vector<uint32_t> first_;  // of each instruction: the first decoded one
};

// The decoder's side of isa::Binder.
class Operands final : public isa::Binder {
 public:
  Operands(FunctionDecoder& f, const ptx::Instruction& in, Decoded& out, Site& site) : Binder(in, out, site), f_(f) {}

  std::vector<Decoded> before, after;

  int width(const Operand& o) const override { return o.kind == Operand::Kind::reg ? register_width(o.reg) : 0; }

  bool is_predicate(const Operand& o) const override {
    return o.kind == Operand::Kind::reg && f_.function.registers[static_cast<size_t>(o.reg)].type == Type::pred;
  }

  Ref source(const Operand& o, Type type) override {
    const int bytes = type == Type::pred ? 4 : ptx::size_of(type);
    switch (o.kind) {
      case Operand::Kind::reg: {
        const Ref place = f_.registers[static_cast<size_t>(o.reg)];
        const bool is_predicate = f_.function.registers[static_cast<size_t>(o.reg)].type == Type::pred;
        if (is_predicate != (type == Type::pred)) return no_place("has an operand of the wrong kind");
        return is_predicate ? place : resized(place, width(o), bytes);
      }
      case Operand::Kind::immediate:
        if (type == Type::pred) return Constants::predicate(o.bits != 0);
        return f_.all.constants.add(bits_as(o, type), bytes);
      case Operand::Kind::symbol: return address_of(o, bytes);
      case Operand::Kind::special: {
        const Special s = special(o.name);
        if (s.type == Type::none) return no_place("reads `" + std::string(o.name) + "`, which is no special register");
        if (s.type == Type::pred) return s.ref;
        Ref place = s.ref;
        if (s.read) {
          place = f_.scratch(ptx::size_of(s.type));
          before.push_back(micro(s.read, place, place));
          f_.all.kernel.order_matters = true;  // time passes as blocks run
        }
        return resized(place, ptx::size_of(s.type), bytes);
      }
      default: return no_place("has an operand that cannot be read");
    }
  }

  Ref destination(const Operand& o, Type type) override {
    const int bytes = type == Type::pred ? 4 : ptx::size_of(type);
    if (o.kind == Operand::Kind::sink) return type == Type::pred ? f_.scratch(1) : f_.scratch(bytes);
    if (o.kind != Operand::Kind::reg) return no_place("has a destination that is no register");
    const Ref place = f_.registers[static_cast<size_t>(o.reg)];
    const bool is_predicate = f_.function.registers[static_cast<size_t>(o.reg)].type == Type::pred;
    if (is_predicate != (type == Type::pred)) return no_place("has a destination of the wrong kind");
    if (is_predicate || width(o) == bytes) return place;
    const Handler handler = resize_handler(bytes, width(o), is_signed(type));
    if (!handler || width(o) < bytes) return no_place("has a destination of the wrong width");
    const Ref narrow = f_.scratch(bytes);
    after.push_back(micro(handler, place, narrow));
    return narrow;
  }

  Reached address(const Operand& o, Space space, Decoded& into) override;
  bool resolve_targets() override {
    if (in.targets.empty()) return fail("has no target");
    return true;  // the decoder fills them in when every instruction has its place
  }
  bool resolve_call() override;

 private:
  int register_width(int reg) const { return ptx::size_of(f_.function.registers[static_cast<size_t>(reg)].type); }
  Ref no_place(std::string why) {
    fail(std::move(why));
    return {};
  }
  Decoded micro(Handler handler, Ref d, Ref a) const {
    Decoded m;
    m.run = handler;
    m.d = d;
    m.a = a;
    m.guard = out.guard;
    m.guard_flip = out.guard_flip;
    m.site = &site;
    return m;
  }
  Ref resized(Ref place, int from, int to) {
    if (from == to) return place;
    const Handler handler = resize_handler(from, to, false);
    if (!handler) return no_place("has an operand of the wrong width");
    const Ref other = f_.scratch(to);
    before.push_back(micro(handler, other, place));
    return other;
  }
  Ref address_of(const Operand& o, int bytes);
  Passed passed(const Operand& o);

  FunctionDecoder& f_;
};

// The value of a name: an address in the space of what it names.
Ref Operands::address_of(const Operand& o, int bytes) {
  const auto index = static_cast<size_t>(o.index);
  const ptx::Module& module = f_.all.kernel.module;
  const auto constant = [&](uint64_t address) {
    return f_.all.constants.add(address + static_cast<uint64_t>(o.offset), bytes);
  };
  switch (o.refers) {
    case Refers::local: {
      const ptx::Variable& v = f_.function.variables[index];
      if (v.space == Space::shared) return constant(f_.all.shared_offset(v));
      if (v.space != Space::local) return no_place("takes the address of `" + v.name + "`, which has none");
      if (o.offset) return no_place("takes an address inside a local variable");
      return resized(f_.locals[index], 8, bytes);
    }
    case Refers::param:
      if (!f_.function.is_entry) return no_place("takes the address of a function's parameter");
      return constant(f_.param_offsets[index]);
    case Refers::global: {
      const ptx::Variable& v = module.variables[index];
      if (v.space == Space::shared) return constant(f_.all.shared_offset(v));
      const Allocation* a = f_.all.symbols.variables[index];
      if (!a) return no_place("names `" + v.name + "`, which this module only declares");
      return constant(a->address);
    }
    case Refers::function: return constant(f_.all.function_address(o.index));
    default: return no_place("names `" + std::string(o.name) + "`, which has no address");
  }
}

isa::Binder::Reached Operands::address(const Operand& o, Space space, Decoded& into) {
  into.offset = o.offset;
  into.space = space;
  if (o.kind != Operand::Kind::memory) {
    fail("has an operand that is no address");
    return Reached::nothing;
  }
  into.window = f_.all.kernel.windows++;
  if (o.reg >= 0) {
    into.narrow = register_width(o.reg) == 4;
    if (!into.narrow && register_width(o.reg) != 8) fail("has an address register that is no address");
    into.a = f_.registers[static_cast<size_t>(o.reg)];
    return failed() ? Reached::nothing : Reached::memory;
  }
  const auto index = static_cast<size_t>(o.index);
  const auto frame_param = [&](const Passed& p) {
    into.a = p.place;
    into.bytes = p.stride;
    return Reached::frame_param;
  };
  switch (o.refers) {
    case Refers::nothing: into.a = f_.all.constants.add(0, 8); return Reached::memory;
    case Refers::param:
      if (!f_.function.is_entry) return frame_param(f_.code.params[index]);
      into.offset = static_cast<int64_t>(static_cast<uint64_t>(o.offset) + f_.param_offsets[index]);
      into.bytes = f_.all.kernel.info.param_bytes;
      return Reached::kernel_param;
    case Refers::result: return frame_param(f_.code.results[index]);
    case Refers::local:
      if (f_.function.variables[index].space == Space::param) return frame_param(f_.variables[index]);
      break;
    default: break;
  }
  Operand base = o;
  base.offset = 0;
  into.a = address_of(base, 8);
  return failed() ? Reached::nothing : Reached::memory;
}

Passed Operands::passed(const Operand& o) {
  if (o.kind == Operand::Kind::symbol && o.refers == Refers::local &&
      f_.function.variables[static_cast<size_t>(o.index)].space == Space::param)
    return f_.variables[static_cast<size_t>(o.index)];
  if (o.kind == Operand::Kind::symbol && o.refers == Refers::param && !f_.function.is_entry)
    return f_.code.params[static_cast<size_t>(o.index)];
  if (o.kind == Operand::Kind::reg && !is_predicate(o)) {
    const auto bytes = static_cast<uint32_t>(width(o));
    return {f_.registers[static_cast<size_t>(o.reg)], bytes, bytes};
  }
  if (o.kind == Operand::Kind::immediate) return {f_.all.constants.add(o.bits, 8), 8, 8};
  fail("passes `" + std::string(o.name) + "`, which is no parameter");
  return {};
}

bool Operands::resolve_call() {
  const ptx::Call& call = *in.call;
  for (const Operand& o : call.arguments) site.arguments.push_back(passed(o));
  for (const Operand& o : call.results) {
    if (o.kind == Operand::Kind::immediate) return fail("takes a result into a number");
    site.results.push_back(passed(o));
  }
  if (call.callee < 0) {
    f_.code.calls_through_registers = true;
    out.a = source(call.target, Type::u64);
    return !failed();
  }
  const ptx::Function& callee = *f_.all.kernel.module.functions[static_cast<size_t>(call.callee)];
  if (callee.is_extern) {
    const SystemFunction system = system_function(callee.name);
    if (!system.run) return fail("calls `" + callee.name + "`, which this module only declares");
    if (site.arguments.size() != system.arguments) return fail("passes other arguments than the function takes");
    site.system = system.run;
    f_.all.kernel.order_matters = true;
    return !failed();
  }
  if (site.arguments.size() != callee.params.size() || site.results.size() != callee.results.size())
    return fail("passes other parameters than `" + callee.name + "` takes");
  site.callee = f_.all.code_of(call.callee);
  f_.code.callees.push_back(site.callee);
  return !failed();
}

void FunctionDecoder::place_registers() {
  // Predicates first: 4 bytes each, in one piece.
  uint32_t predicates = 0;
  registers.resize(function.registers.size());
  for (size_t i = 0; i < registers.size(); ++i)
    if (function.registers[i].type == Type::pred) registers[i] = Ref(Bank::frame, 4 * predicates++);
  code.frame_bytes = 4 * predicates;
  for (size_t i = 0; i < registers.size(); ++i)
    if (function.registers[i].type != Type::pred)
      registers[i] =
          allocate(static_cast<uint64_t>(kLanes) * static_cast<uint64_t>(ptx::size_of(function.registers[i].type)));
}

void FunctionDecoder::place_variables() {
  const auto in_frame = [&](const ptx::Variable& v) -> Passed {
    if (v.reg >= 0) {
      const auto bytes = static_cast<uint32_t>(ptx::size_of(function.registers[static_cast<size_t>(v.reg)].type));
      return {registers[static_cast<size_t>(v.reg)], bytes, bytes};
    }
    const auto bytes = static_cast<uint32_t>(std::clamp<uint64_t>(v.bytes, 1, kMostParameterBytes));
    too_large_ = too_large_ || bytes < v.bytes;
    const auto stride = static_cast<uint32_t>(round_up(bytes, 8));
    return {allocate(uint64_t{kLanes} * stride), stride, bytes};
  };
  if (function.is_entry) {
    uint64_t offset = 0;
    for (const ptx::Variable& v : function.params) {
      offset = round_up(offset, v.align);
      param_offsets.push_back(offset);
      offset += v.bytes;
    }
  } else {
    for (const ptx::Variable& v : function.params) code.params.push_back(in_frame(v));
    for (const ptx::Variable& v : function.results) code.results.push_back(in_frame(v));
  }
  uint64_t local = 0;
  for (const ptx::Variable& v : function.variables) {
    variables.push_back(v.space == Space::param ? in_frame(v) : Passed());
    locals.push_back(Ref());
    if (v.space != Space::local) continue;
    local = round_up(local, std::max<uint64_t>(v.align, 16));
    too_large_ = too_large_ || local > kMostLocalBytes || v.bytes > kMostLocalBytes - local;
    if (too_large_) return;
    locals.back() = allocate(uint64_t{kLanes} * 8);
    code.locals.push_back({locals.back(), static_cast<uint32_t>(local)});
    local += v.bytes;
  }
  code.local_bytes = static_cast<uint32_t>(round_up(local, 16));
}

bool FunctionDecoder::decode_one(size_t index) {
  const ptx::Instruction& in = function.code[index];
  Site& site = code.sites.emplace_back();
  site.code = &code;
  site.instruction = &in;
  site.index = static_cast<int>(index);
  Decoded d;
  d.site = &site;
  d.guard = in.guard < 0 ? Constants::predicate(true) : registers[static_cast<size_t>(in.guard)];
  d.guard_flip = in.guard_negated ? kAllLanes : 0;
  const isa::Table::Row row = isa::table().find(*in.mnemonic);
  if (!row.bind) return all.fail(function, in, "is no instruction that the virtual GPU knows");
  scratch_used_.clear();
  Operands operands(*this, in, d, site);
  if (!row.bind(operands) || operands.failed()) return all.fail(function, in, operands.error());
  if (!row.whole && !operands.all_taken())
    return all.fail(function, in,
                    "has a modifier that the virtual GPU does not know there: ." + std::string(operands.next()));
  const bool global = d.space != Space::shared && d.space != Space::local;
  if ((d.strong || d.access == AccessKind::atomic) && global) all.kernel.order_matters = true;
  first_.push_back(static_cast<uint32_t>(code.code.size()));
  code.code.insert(code.code.end(), operands.before.begin(), operands.before.end());
  code.main.push_back(static_cast<uint32_t>(code.code.size()));
  code.code.push_back(d);
  code.code.insert(code.code.end(), operands.after.begin(), operands.after.end());
  return true;
}

const Decoded* return_at_end(Warp& w, const Decoded& d, Mask lanes) { return w.ret(d, lanes); }

bool FunctionDecoder::run() {
  place_registers();
  place_variables();
  for (size_t i = 0; i < function.code.size() && !too_large_; ++i)
    if (!decode_one(i)) return false;
  if (too_large_) return all.fail(function, "its variables and registers are larger than a thread's can be");
  // Who falls off the end returns.
  first_.push_back(static_cast<uint32_t>(code.code.size()));
  Site& end = code.sites.emplace_back();
  end.code = &code;
  end.instruction = function.code.empty() ? nullptr : &function.code.back();
  Decoded d;
  d.run = return_at_end;
  d.guard = Constants::predicate(true);
  d.site = &end;
  code.code.push_back(d);
  for (size_t i = 0; i < function.code.size(); ++i) {
    const std::span<const int> targets = function.code[i].targets;
    if (targets.empty()) continue;
    Decoded& jump = code.code[code.main[i]];
    const auto place = [&](int target) { return &code.code[first_[static_cast<size_t>(target)]]; };
    jump.target = place(targets[0]);
    for (int target : targets) const_cast<Site*>(jump.site)->targets.push_back(place(target));
  }
  return true;
}

Code* KernelDecoder::code_of(int function) {
  const Code*& slot = kernel.by_function[static_cast<size_t>(function)];
  if (!slot) {
    auto code = std::make_unique<Code>();
    code->function = kernel.module.functions[static_cast<size_t>(function)].get();
    code->index = static_cast<int>(kernel.codes.size());
    undecoded_.push_back(code.get());
    slot = code.get();
    kernel.codes.push_back(std::move(code));
  }
  return const_cast<Code*>(slot);
}

// Shared variables of the kernel and of all functions and of the module that its code names, in this order.
bool KernelDecoder::place_shared() {
  const ptx::Module& module = kernel.module;
  std::vector<const ptx::Variable*> used, dynamic;
  std::vector<const ptx::Function*> seen, open = {&kernel.function};
  const auto take = [&](const ptx::Variable& v) {
    auto& list = v.is_extern || !v.bytes ? dynamic : used;
    if (v.space == Space::shared && std::find(list.begin(), list.end(), &v) == list.end()) list.push_back(&v);
  };
  const auto visit = [&](int index) {
    const ptx::Function* f = module.functions[static_cast<size_t>(index)].get();
    if (std::find(seen.begin(), seen.end(), f) == seen.end()) open.push_back(f);
  };
  const auto look = [&](const auto& self, const Operand& o) -> void {
    if (o.refers == Refers::global) take(module.variables[static_cast<size_t>(o.index)]);
    if (o.refers == Refers::function) visit(o.index);
    for (const Operand& part : o.parts) self(self, part);
  };
  while (!open.empty()) {
    const ptx::Function& f = *open.back();
    open.pop_back();
    if (std::find(seen.begin(), seen.end(), &f) != seen.end()) continue;
    seen.push_back(&f);
    for (const ptx::Variable& v : f.variables) take(v);
    for (const ptx::Instruction& in : f.code) {
      for (const Operand& o : in.operands) look(look, o);
      if (in.call && in.call->callee >= 0) visit(in.call->callee);
    }
  }
  uint64_t offset = 0;
  for (const ptx::Variable* v : used) {
    offset = round_up(offset, v->align);
    kernel.shared.push_back({v, offset});
    if (v->bytes > kMostSharedBytes || (offset += v->bytes) > kMostSharedBytes)
      return fail(kernel.function, "its shared variables are larger than any device's shared memory");
  }
  kernel.info.static_shared = static_cast<uint32_t>(offset);
  uint64_t align = 1;
  for (const ptx::Variable* v : dynamic) align = std::max(align, v->align);
  for (const ptx::Variable* v : dynamic) kernel.shared.push_back({v, round_up(offset, align)});
  if (!dynamic.empty()) kernel.info.static_shared = static_cast<uint32_t>(round_up(offset, align));
  return true;
}

// The deepest chain of calls.
void KernelDecoder::measure_stack() {
  std::map<const Code*, uint64_t> depth;
  std::vector<const Code*> path;
  const auto measure = [&](const auto& self, const Code& c) -> uint64_t {
    if (std::find(path.begin(), path.end(), &c) != path.end()) return kernel.recurses = true, 0;
    if (const auto known = depth.find(&c); known != depth.end()) return known->second;
    path.push_back(&c);
    kernel.recurses = kernel.recurses || c.calls_through_registers;
    uint64_t deepest = 0;
    for (const Code* callee : c.callees) deepest = std::max(deepest, kCallBytes + self(self, *callee));
    path.pop_back();
    return depth[&c] = c.local_bytes + deepest;
  };
  kernel.local_bytes = measure(measure, *kernel.entry);
}

bool KernelDecoder::run() {
  const ptx::Module& module = kernel.module;
  kernel.by_function.assign(module.functions.size(), nullptr);
  if (!place_shared()) return false;
  uint64_t offset = 0;
  for (const ptx::Variable& v : kernel.function.params) {
    offset = round_up(offset, v.align);
    if (v.bytes > kMostKernelParameterBytes || (offset += v.bytes) > kMostKernelParameterBytes)
      return fail(kernel.function, "its parameters are larger than the 32,764 bytes that a launch can pass");
  }
  kernel.info.param_bytes = static_cast<uint32_t>(offset);
  for (size_t i = 0; i < module.functions.size(); ++i)
    if (module.functions[i].get() == &kernel.function) kernel.entry = code_of(static_cast<int>(i));
  bool tables_read = false;
  while (!undecoded_.empty()) {
    Code* code = undecoded_.back();
    undecoded_.pop_back();
    if (!FunctionDecoder(*this, *code).run()) return false;
    // A call through a register may reach every function whose address some variable holds (virtual functions).
    if (code->calls_through_registers && !tables_read) {
      tables_read = true;
      for (const ptx::Variable& v : module.variables)
        for (const auto& r : v.relocations)
          for (size_t i = 0; i < module.functions.size(); ++i)
            if (module.functions[i]->name == r.symbol) function_address(static_cast<int>(i));
    }
  }
  measure_stack();
  kernel.info.local_bytes = kernel.entry->local_bytes;
  return true;
}

}  // namespace

bool decode(Kernel& kernel, const Symbols& symbols) { return KernelDecoder(kernel, symbols).run(); }

const Code* Kernel::function_at(uint64_t address) const {
  const uint64_t number = (address - kCodeWindow) / 16;
  if (address < kCodeWindow || address % 16 || number < 1 || number > by_function.size()) return nullptr;
  return by_function[number - 1];
}

}  // namespace vgpu
