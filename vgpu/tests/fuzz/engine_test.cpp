// Decoder, engine and checks, on kernels of instructions put together at random: each instruction is refused with a
// sentence, or runs, whatever its registers hold; a launch ends, and what is found about it can be told.
#include "exec/engine.h"

#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <iterator>
#include <sstream>
#include <string>
#include <vector>

#include "check/session.h"
#include "isa/table.h"
#include "random.h"
#include "report/report.h"

namespace vgpu {
namespace {

using test::Random;

const char* const kHead = R"(.version 9.0
.target sm_90a
.address_size 64
.extern .func (.param .b32 length) vprintf(.param .b64 format, .param .b64 arguments);
.extern .func (.param .b64 address) malloc(.param .b64 bytes);
.extern .func free(.param .b64 address);
.global .align 16 .b8 memory[512];
.const .align 16 .b32 numbers[8] = {1, 2, 3};
.global .align 8 .b8 text[8] = {37, 100, 37, 115, 10, 0};
.func (.param .b32 result) twice(.param .b32 x)
{ .reg .b32 a; ld.param.b32 a, [x]; add.u32 a, a, a; st.param.b32 [result], a; ret; }
.visible .entry k(.param .u64 p, .param .align 16 .b8 s[32])
{
.reg .pred %p<4>; .reg .b16 %h<4>; .reg .b32 %r<8>; .reg .b64 %q<8>; .reg .f32 %f<4>; .reg .f64 %d<4>;
.reg .b128 %w<2>; .shared .align 16 .b8 tile[1024]; .local .align 16 .b8 depot[64];
.param .b32 in; .param .b32 out; .param .b64 wide;
ld.param.u64 %q0, [p]; mov.u64 %q1, depot; cvta.local.u64 %q2, %q1; mov.u64 %q3, tile; cvta.shared.u64 %q4, %q3;
mov.u64 %q5, memory; mov.u64 %q6, twice; mov.u64 %q7, 0x123456789abcdef0;
mov.u32 %r0, %tid.x; mul.lo.u32 %r1, %r0, 16; mov.u32 %r2, 4; mov.u32 %r3, -1; mov.u32 %r4, tile; mov.u32 %r5, 16;
mov.f32 %f0, 0f3FC00000; mov.f64 %d0, 0d7FF0000000000000; setp.lt.u32 %p1, %r0, 7; mov.u32 %r6, 0x80000000;
)";

// Instructions whose binders read the modifiers themselves. The kinds of their operands: r a register or a number, m
// memory, v a vector, p a predicate, | a register and a predicate, l a label.
struct Form {
  const char *mnemonic, *operands;
};
const Form kForms[] = {
    {"ld.global.u32", "rm"},
    {"ld.shared.v4.b32", "vm"},
    {"ld.param.b64", "rm"},
    {"ld.local.s8", "rm"},
    {"ld.const.f32", "rm"},
    {"ld.volatile.b128", "rm"},
    {"ld.acquire.gpu.global.b16", "rm"},
    {"ldu.global.u64", "rm"},
    {"st.global.v2.f64", "mv"},
    {"st.shared.u8", "mr"},
    {"st.param.b32", "mr"},
    {"st.local.b32", "mr"},
    {"st.release.sys.b64", "mr"},
    {"atom.global.add.f32", "rmr"},
    {"atom.shared.cas.b64", "rmrr"},
    {"atom.exch.b128", "rmr"},
    {"atom.acq_rel.cta.max.s32", "rmr"},
    {"atom.global.add.v4.f32", "vmv"},
    {"red.global.add.noftz.bf16x2", "mr"},
    {"red.shared.inc.u32", "mr"},
    {"cp.async.ca.shared.global", "mmr"},
    {"cp.async.cg.shared.global", "mmrr"},
    {"cp.async.commit_group", ""},
    {"cp.async.wait_group", "r"},
    {"cp.async.wait_all", ""},
    {"cp.async.mbarrier.arrive.noinc.shared.b64", "m"},
    {"cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes", "mmrm"},
    {"cp.async.bulk.global.shared::cta.bulk_group", "mmr"},
    {"mbarrier.init.shared.b64", "mr"},
    {"mbarrier.arrive.shared.b64", "rm"},
    {"mbarrier.arrive.expect_tx.shared.b64", "rmr"},
    {"mbarrier.arrive_drop.shared.b64", "rm"},
    {"mbarrier.try_wait.parity.shared.b64", "pmr"},
    {"mbarrier.test_wait.shared.b64", "pmr"},
    {"mbarrier.pending_count.b64", "rr"},
    {"bar.sync", "r"},
    {"bar.arrive", "rr"},
    {"bar.red.popc.u32", "rrp"},
    {"barrier.sync.aligned", "rr"},
    {"barrier.red.and.pred", "prp"},
    {"membar.gl", ""},
    {"fence.acq_rel.gpu", ""},
    {"fence.proxy.async", ""},
    {"ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16", "vm"},
    {"ldmatrix.sync.aligned.m8n8.x1.shared.b16", "rm"},
    {"stmatrix.sync.aligned.m8n8.x2.shared.b16", "mv"},
    {"mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32", "vvvv"},
    {"mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64", "vrrv"},
    {"mma.sync.aligned.m8n8k16.row.col.satfinite.s32.s8.u8.s32", "vrrv"},
    {"mma.sync.aligned.m8n8k128.row.col.s32.b1.b1.s32.xor.popc", "vrrv"},
    {"wmma.load.a.sync.aligned.row.m16n16k16.shared.f16", "vmr"},
    {"wmma.store.d.sync.aligned.row.m16n16k16.shared.f32", "mvr"},
    {"wmma.mma.sync.aligned.row.col.m16n16k16.f32.f32", "vvvv"},
    {"shfl.sync.bfly.b32", "|rrr"},
    {"bra", "l"},
    {"bra.uni", "l"},
    {"brx.idx", "r, targets"},
    {"call", "(out), twice, (in)"},
    {"call", "(out), %q6, (in), shape"},
    {"call", "(out), vprintf, (wide, wide)"},
    {"call", "(wide), malloc, (wide)"},
    {"call", "free, (wide)"},
    {"elect.sync", "|r"},
    {"vadd4.u32.s32.u32.sat.add", "rrrr"},
};

class Generator {
 public:
  explicit Generator(uint64_t seed) : random_(seed), mnemonics_(all_mnemonics()), words_(all_words()) {}

  std::string instruction() {
    std::string mnemonic, kinds;
    if (random_.one_in(2)) {
      const Form& form = random_.of(kForms);
      mnemonic = form.mnemonic;
      kinds = form.operands;
    } else {
      mnemonic = random_.of(mnemonics_);
      kinds.assign(1 + random_.below(5), 'r');
      if (mnemonic.starts_with("setp")) kinds[0] = random_.one_in(3) ? '|' : 'p';
    }
    if (random_.one_in(5)) mnemonic = changed(mnemonic);
    std::string guard;
    if (random_.one_in(6)) guard = std::string(random_.one_in(2) ? "@" : "@!") + "%p" + digit(4) + " ";
    if (kinds.find_first_of(",(") != kinds.npos) {  // written out, but for r
      if (kinds[0] == 'r') kinds = operand('r', mnemonic) + kinds.substr(1);
      return guard + mnemonic + " " + kinds + ";";
    }
    std::string operands;
    for (size_t i = 0; i < kinds.size(); ++i) {
      const char kind = random_.one_in(12) ? "rmvp|"[random_.below(5)] : kinds[i];
      operands += (i ? ", " : " ") + operand(kind, mnemonic);
    }
    return guard + mnemonic + operands + ";";
  }
  Random& random() { return random_; }

 private:
  static const std::vector<std::string>& all_mnemonics() {
    static const std::vector<std::string> all = isa::table().mnemonics();
    return all;
  }
  static const std::vector<std::string>& all_words() {
    static const std::vector<std::string> all = [] {
      std::vector<std::string> words;
      for (const std::string& mnemonic : all_mnemonics()) add(words, mnemonic);
      for (const Form& form : kForms) add(words, form.mnemonic);
      std::sort(words.begin(), words.end());
      words.erase(std::unique(words.begin(), words.end()), words.end());
      return words;
    }();
    return all;
  }
  static void add(std::vector<std::string>& words, const std::string& mnemonic) {
    std::stringstream in(mnemonic);
    std::string word;
    std::getline(in, word, '.');
    while (std::getline(in, word, '.')) words.push_back(word);
  }

  // A modifier more, less, or another one.
  std::string changed(const std::string& mnemonic) {
    std::vector<std::string> parts;
    std::stringstream in(mnemonic);
    for (std::string part; std::getline(in, part, '.');) parts.push_back(part);
    const size_t at = 1 + random_.below(parts.size());
    switch (random_.below(3)) {
      case 0: parts.insert(parts.begin() + long(at), random_.of(words_)); break;
      case 1:
        if (at < parts.size()) parts.erase(parts.begin() + long(at));
        break;
      default:
        if (at < parts.size()) parts[at] = random_.of(words_);
    }
    std::string text;
    for (const std::string& part : parts) text += (text.empty() ? "" : ".") + part;
    return text;
  }

  std::string digit(uint64_t n) { return std::to_string(random_.below(n)); }
  // A register as the mnemonic's last type wants it, mostly.
  std::string a_register(const std::string& mnemonic) {
    if (!random_.one_in(5)) {
      if (mnemonic.ends_with("64")) return (mnemonic.ends_with("f64") && random_.one_in(2) ? "%d" : "%q") + digit(4);
      if (mnemonic.ends_with("pred")) return "%p" + digit(4);
      if (mnemonic.ends_with("16") || mnemonic.ends_with("8")) return "%h" + digit(4);
      if (mnemonic.ends_with("f32") && random_.one_in(2)) return "%f" + digit(4);
      if (mnemonic.ends_with("128")) return "%w" + digit(2);
      return "%r" + digit(8);
    }
    const char* const banks[] = {"%h", "%r", "%r", "%q", "%f", "%d"};
    return random_.of(banks) + digit(4);
  }
  std::string operand(char kind, const std::string& mnemonic) {
    static const char* const numbers[] = {"0",  "1",          "2",          "4",          "8",
                                          "16", "31",         "32",         "64",         "-1",
                                          "15", "0x80000000", "0xffffffff", "0f7FC00000", "0d3FF0000000000000"};
    static const char* const odd[] = {"_",  "%laneid", "%clock64", "%lanemask_lt", "tile",
                                      "in", "twice",   "WARP_SZ",  "depot",        "memory+4",
                                      "p",  "targets", "%envreg3", "%r1|%p2",      "!%p1"};
    static const char* const bases[] = {"%q0", "%q0", "%q1",  "%q2",   "%q3",    "%q4",     "%q5", "%q7", "%r1", "%r4",
                                        "%r6", "%q6", "tile", "depot", "memory", "numbers", "p",   "s",   "in",  "out"};
    static const char* const offsets[] = {"",     "",   "+4",   "+8",     "+16", "+-16",
                                          "+252", "+1", "+500", "+65536", "+-4", "+9223372036854775807"};
    static const size_t lengths[] = {1, 2, 2, 4, 4, 8, 3};
    switch (kind) {
      case 'm': return std::string("[") + random_.of(bases) + random_.of(offsets) + "]";
      case 'v': {
        std::string list = "{";
        for (size_t i = random_.of(lengths); i > 0; --i) list += a_register(mnemonic) + (i > 1 ? ", " : "}");
        return list;
      }
      case 'p': return (random_.one_in(4) ? "!%p" : "%p") + digit(4);
      case '|': return a_register(mnemonic) + "|%p" + digit(4);
      case 'l': return "L" + digit(kLabels);
      default:
        if (random_.one_in(5)) return random_.of(numbers);
        if (random_.one_in(10)) return random_.of(odd);
        return a_register(mnemonic);
    }
  }

 public:
  static constexpr size_t kLabels = 12;

 private:
  Random random_;
  const std::vector<std::string>&mnemonics_, &words_;
};

std::string module_of(const std::vector<std::string>& lines) {
  std::string text = kHead;
  text += "targets: .branchtargets L0, L3, L7;\nshape: .callprototype (.param .b32 _) _ (.param .b32 _);\n";
  for (size_t i = 0; i < lines.size(); ++i) text += "L" + std::to_string(i) + ": " + lines[i] + "\n";
  return text + "ret;\n}\n";
}

// Loads the kernel; lines that are refused go, and others remain. Null: nothing is left.
std::unique_ptr<Program> load(std::vector<std::string>& lines, Memory& memory, size_t& refused) {
  const int first = 1 + int(std::count(kHead, kHead + std::strlen(kHead), '\n')) + 2;
  for (;;) {
    const std::string text = module_of(lines);
    std::string error;
    auto module = ptx::parse(text, error);
    auto program = module ? Program::load(std::move(module), memory, error) : nullptr;
    if (program && program->prepare(*program->kernel("k"), error)) return program;
    EXPECT_FALSE(error.empty());
    EXPECT_EQ(error.find('\n'), std::string::npos) << error;
    const size_t at = error.find("line ");
    const int line = at == error.npos ? -1 : std::atoi(error.c_str() + at + 5) - first;
    if (line < 0 || line >= int(lines.size())) {
      ADD_FAILURE() << error << "\n" << text;
      return nullptr;
    }
    if (lines[size_t(line)] == ";") {
      ADD_FAILURE() << error;
      return nullptr;
    }
    lines[size_t(line)] = ";";  // an empty statement: the labels stay
    ++refused;
  }
}

void run_once(uint64_t round, size_t& refused, size_t& ran, size_t& faults) {
  Generator generator(round);
  Random& random = generator.random();
  std::vector<std::string> lines;
  for (size_t i = 0; i < Generator::kLabels; ++i) lines.push_back(generator.instruction());
  SCOPED_TRACE("round " + std::to_string(round));

  Memory memory(uint64_t{1} << 24);
  const auto program = load(lines, memory, refused);
  if (!program) return;
  SessionOptions quiet;
  quiet.file = "/dev/null";
  Session session(quiet, memory);
  const Allocation* buffer = memory.allocate(4096, MemoryKind::device, "cudaMalloc", nullptr);
  session.allocated(*buffer);
  std::memset(memory.host(*buffer, buffer->address), int(random.below(256)), buffer->bytes);
  if (random.one_in(2)) session.written(buffer->address, 2048);
  std::array<std::byte, 48> params{};
  const uint64_t address = buffer->address;
  std::memcpy(params.data(), &address, sizeof address);
  Launch launch{};
  launch.kernel = program->kernel("k");
  launch.module = &program->module();
  launch.function = program->module().find("k");
  launch.grid = {2, 1, 1};
  launch.block = {uint32_t(random.one_in(2) ? 64 : 1 + random.below(80)), 1, 1};
  launch.cluster = {uint32_t(1 + random.below(2)), 1, 1};
  launch.params = params;
  launch.cooperative = random.one_in(5);
  launch.serial = 1;
  RunOptions options;
  options.workers = 1;
  options.seed = random.below(3);
  options.budget = 400;
  options.idle = 4000;
  options.print = [](const std::string&) {};
  if (!random.one_in(4)) options.observers = session.observers();
  std::vector<std::pair<const ptx::Function*, std::vector<Executed>>> executed;
  const Fault fault = vgpu::run(*launch.kernel, launch, memory, DeviceLimits{}, options, &executed);
  ++ran;
  if (fault.kind != Fault::Kind::none) {
    ++faults;
    EXPECT_FALSE(fault.what.empty());
  }
  session.finished(launch, fault, executed);
  for (const Diagnostic& d : session.diagnostics().all()) EXPECT_FALSE(text_of(d).empty());
}

TEST(EngineFuzz, KernelsOfRandomInstructions) {
  size_t refused = 0, ran = 0, faults = 0;
  const size_t rounds = test::rounds(1500);
  for (uint64_t round = 0; round < rounds; ++round) {
    run_once(round, refused, ran, faults);
    if (HasFailure()) FAIL() << "in round " << round;
  }
  std::printf("%zu kernels ran, %zu of them into a fault; %zu instructions were refused\n", ran, faults, refused);
  EXPECT_EQ(ran, rounds);
  EXPECT_GT(faults, rounds / 20) << "some go wrong";
  EXPECT_LT(faults, rounds - rounds / 20) << "and some do not";
}

}  // namespace
}  // namespace vgpu
