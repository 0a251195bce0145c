// The engine: divergence, barriers, calls, faults, printf; instructions one by one are in isa tests.
#include "engine.h"

#include <algorithm>
#include <bit>
#include <map>
#include <numeric>

namespace vgpu::test {
namespace {

std::vector<int> run_threads(const std::string& body, int threads, Fault::Kind expected = Fault::Kind::none) {
  Device device(kernel(kAddress + body));
  const uint64_t out = device.buffer(std::vector<int>(static_cast<size_t>(threads), -1));
  const Fault fault = device.run("k", {1, 1, 1}, {static_cast<uint32_t>(threads), 1, 1}, Params() << out);
  EXPECT_EQ(fault.kind, expected) << fault.what;
  return device.read<int>(out);
}

TEST(Engine, LanesPartAndMeet) {
  const std::vector<int> out = run_threads(R"(
    and.b32 %r5, %r1, 1;
    setp.eq.u32 %p1, %r5, 0;
    @%p1 bra EVEN;
    mul.lo.s32 %r6, %r1, 3;
    bra.uni END;
  EVEN:
    neg.s32 %r6, %r1;
  END:
    activemask.b32 %r7;
    popc.b32 %r8, %r7;
    mad.lo.s32 %r6, %r8, 1000, %r6;
    st.global.u32 [%rd1], %r6;
  )",
                                           32);
  for (int t = 0; t < 32; ++t) EXPECT_EQ(out[static_cast<size_t>(t)], 32000 + (t % 2 ? 3 * t : -t));
}

TEST(Engine, LoopsOfDifferentLengthMeetAgain) {
  const std::vector<int> out = run_threads(R"(
    mov.u32 %r5, 0;
    mov.u32 %r6, 0;
  LOOP:
    setp.ge.s32 %p1, %r5, %r1;
    @%p1 bra END;
    add.s32 %r6, %r6, %r5;
    add.s32 %r5, %r5, 1;
    bra LOOP;
  END:
    activemask.b32 %r7;
    popc.b32 %r8, %r7;
    mad.lo.s32 %r6, %r8, 1000, %r6;
    st.global.u32 [%rd1], %r6;
  )",
                                           32);
  for (int t = 0; t < 32; ++t) EXPECT_EQ(out[static_cast<size_t>(t)], 32000 + t * (t - 1) / 2);
}

// Lanes side by side, all at one place, apart, and only some of them: what a load or a store does is the same.
TEST(Engine, LanesMayStandAnyhow) {
  std::vector<int> in(256);
  std::iota(in.begin(), in.end(), 0);
  const std::string body = R"(
    ld.param.u64 %rd0, [out];
    ld.param.u64 %rd1, [in];
    mov.u32 %r0, %tid.x;
    mul.wide.u32 %rd2, %r0, 32;
    add.s64 %rd3, %rd0, %rd2;
    mul.wide.u32 %rd4, %r0, 8;
    add.s64 %rd5, %rd1, %rd4;
    ld.global.v2.u32 {%r1, %r2}, [%rd5];        // side by side
    ld.global.u32 %r3, [%rd1+400];              // one place
    ld.global.v2.u32 {%r4, %r5}, [%rd1+8];
    mul.wide.u32 %rd6, %r0, 4;
    sub.s64 %rd7, %rd1, %rd6;
    ld.global.u32 %r6, [%rd7+124];              // backwards
    mov.u32 %r7, -1;
    setp.gt.u32 %p1, %r0, 29;
    @%p1 ld.global.u32 %r7, [%rd1+40];          // some lanes
    st.global.v4.u32 [%rd3], {%r1, %r2, %r3, %r4};
    st.global.v4.u32 [%rd3+16], {%r5, %r6, %r7, %r0};
  )";
  Device device(kernel(body, {"out", "in"}));
  const uint64_t from = device.buffer(in), out = device.buffer(std::vector<int>(256));
  ASSERT_EQ(device.run("k", {1, 1, 1}, {32, 1, 1}, Params() << out << from).kind, Fault::Kind::none);
  const std::vector<int> got = device.read<int>(out);
  for (int t = 0; t < 32; ++t) {
    const std::vector<int> lane(got.begin() + 8 * t, got.begin() + 8 * t + 8);
    EXPECT_EQ(lane, (std::vector<int>{2 * t, 2 * t + 1, 100, 2, 3, 31 - t, t > 29 ? 10 : -1, t})) << t;
  }
}

// Parameters are memory too, where an index reaches into them.
TEST(Engine, ParametersMayBeIndexed) {
  std::string text = kernel(R"(
    ld.param.u64 %rd0, [out];
    mov.u32 %r0, %tid.x;
    mul.wide.u32 %rd1, %r0, 8;
    mov.b64 %rd2, out;
    add.s64 %rd3, %rd2, 8;
    ld.param.u64 %rd4, [%rd3];                  // the same for all
    add.s64 %rd5, %rd2, %rd1;
    ld.param.u64 %rd6, [%rd5];                  // each lane's own
    add.s64 %rd7, %rd4, %rd6;
    add.s64 %rd8, %rd0, %rd1;
    st.global.u64 [%rd8], %rd7;
  )",
                            {"out", "second", "third"});
  Device device(text);
  const uint64_t out = device.buffer(std::vector<uint64_t>(3));
  const auto params = Params() << out << uint64_t{20} << uint64_t{30};
  ASSERT_EQ(device.run("k", {1, 1, 1}, {3, 1, 1}, params).kind, Fault::Kind::none);
  EXPECT_EQ(device.read<uint64_t>(out), (std::vector<uint64_t>{out + 20, 40, 50}));
  EXPECT_EQ(device.run("k", {1, 1, 1}, {4, 1, 1}, params).kind, Fault::Kind::out_of_bounds);
}

// Every lane takes the lock in turn, in the form that deadlocks where a warp has one program counter.
TEST(Engine, ASpinningLaneLetsTheHolderOfTheLockRun) {
  Device device(kernel(R"(
    ld.param.u64 %rd0, [out];
  SPIN:
    atom.global.cas.b32 %r1, [%rd0], 0, 1;
    setp.ne.s32 %p1, %r1, 0;
    @%p1 bra SPIN;
    ld.volatile.global.u32 %r2, [%rd0+4];
    add.s32 %r2, %r2, 1;
    st.volatile.global.u32 [%rd0+4], %r2;
    atom.global.exch.b32 %r3, [%rd0], 0;
  )"));
  const uint64_t out = device.buffer(std::vector<int>{0, 0});
  device.options.budget = 1 << 22;
  const Fault fault = device.run("k", {3, 1, 1}, {64, 1, 1}, Params() << out);
  EXPECT_EQ(fault.kind, Fault::Kind::none) << fault.what;
  EXPECT_EQ(device.read<int>(out), (std::vector<int>{0, 192}));
}

// Block b waits for block b + 1, which begins later.
TEST(Engine, ABlockThatWaitsForALaterOneLetsItRun) {
  Device device(kernel(R"(
    ld.param.u64 %rd0, [out];
    mov.u32 %r1, %ctaid.x;
    mul.wide.u32 %rd1, %r1, 4;
    add.s64 %rd2, %rd0, %rd1;
    mov.u32 %r2, %nctaid.x;
    add.s32 %r3, %r1, 1;
    setp.eq.s32 %p1, %r3, %r2;
    @%p1 bra DONE;
  WAIT:
    ld.acquire.gpu.global.u32 %r4, [%rd2+4];
    setp.eq.s32 %p2, %r4, 0;
    @%p2 bra WAIT;
  DONE:
    mov.u32 %r5, 1;
    st.release.gpu.global.u32 [%rd2], %r5;
  )"));
  const uint64_t out = device.buffer(std::vector<int>(40, 0));
  device.options.budget = 1 << 22;
  EXPECT_EQ(device.run("k", {40, 1, 1}, {32, 1, 1}, Params() << out).kind, Fault::Kind::none);
  EXPECT_EQ(device.read<int>(out), std::vector<int>(40, 1));
}

TEST(Engine, BarrierJoinsWarps) {
  const std::vector<int> out = run_threads(R"(
    .shared .align 4 .b8 tile[512];
    mov.u32 %r5, tile;
    shl.b32 %r6, %r1, 2;
    add.s32 %r7, %r5, %r6;
    st.shared.u32 [%r7], %r1;
    bar.sync 0;
    mov.u32 %r8, 508;
    sub.s32 %r9, %r8, %r6;
    add.s32 %r10, %r5, %r9;
    ld.shared.u32 %r11, [%r10];
    st.global.u32 [%rd1], %r11;
  )",
                                           128);
  for (int t = 0; t < 128; ++t) EXPECT_EQ(out[static_cast<size_t>(t)], 127 - t);
}

TEST(Engine, BarrierReduces) {
  const std::vector<int> out = run_threads(R"(
    setp.lt.u32 %p1, %r1, 40;
    bar.red.popc.u32 %r5, 0, %p1;
    bar.red.and.pred %p2, 0, %p1;
    bar.red.or.pred %p3, 0, !%p1;
    selp.b32 %r6, 1000, 0, %p2;
    selp.b32 %r7, 100, 0, %p3;
    add.s32 %r5, %r5, %r6;
    add.s32 %r5, %r5, %r7;
    st.global.u32 [%rd1], %r5;
  )",
                                           96);
  EXPECT_EQ(out, std::vector<int>(96, 140));
}

TEST(Engine, ABarrierDoesNotWaitForThreadsThatLeft) {
  const std::vector<int> out = run_threads(R"(
    setp.ge.u32 %p1, %r1, 70;
    @%p1 exit;
    bar.sync 0;
    st.global.u32 [%rd1], %r1;
  )",
                                           96);
  for (int t = 0; t < 96; ++t) EXPECT_EQ(out[static_cast<size_t>(t)], t < 70 ? t : -1);
}

TEST(Engine, DeadlockNamesWhoWaitsWhere) {
  Device device(kernel(R"(
    mov.u32 %r1, %tid.x;
    setp.lt.u32 %p1, %r1, 32;
    @%p1 bra ONE;
    setp.ge.u32 %p2, %r1, 64;
    @%p2 exit;
    bar.sync 2, 64;
    bra END;
  ONE:
    bar.sync 1, 64;
  END:
  )"));
  const Fault fault = device.run("k", {1, 1, 1}, {96, 1, 1}, Params() << uint64_t{0});
  ASSERT_EQ(fault.kind, Fault::Kind::deadlock);
  std::map<std::string, int> waiting;
  for (const Fault::Waiting& w : fault.waiting) ++waiting[w.at ? std::string(w.at->text) : "left"];
  EXPECT_EQ(waiting, (std::map<std::string, int>{{"bar.sync 1, 64", 32}, {"bar.sync 2, 64", 32}, {"left", 32}}));
  EXPECT_EQ(fault.what, "no thread can go on: 64 wait at barriers, 32 have left");
}

TEST(Engine, AnEndlessLoopIsStopped) {
  Device device(kernel("LOOP: bra LOOP;"));
  device.options.budget = 100000;
  EXPECT_EQ(device.run("k", {1, 1, 1}, {32, 1, 1}, Params() << uint64_t{0}).kind, Fault::Kind::endless);
}

TEST(Engine, RecursionHasAFrameForEachDepthAndLane) {
  Device device(R"(
.version 8.0
.target sm_80
.address_size 64
.func (.param .b32 result) fib(.param .b32 n)
{
  .reg .pred %p<2>;
  .reg .b32 %r<9>;
  ld.param.u32 %r1, [n];
  setp.lt.s32 %p1, %r1, 2;
  @%p1 bra SMALL;
  add.s32 %r2, %r1, -1;
  { .param .b32 a0; st.param.b32 [a0], %r2; .param .b32 r0; call.uni (r0), fib, (a0); ld.param.b32 %r3, [r0]; }
  add.s32 %r4, %r1, -2;
  { .param .b32 a0; st.param.b32 [a0], %r4; .param .b32 r0; call.uni (r0), fib, (a0); ld.param.b32 %r5, [r0]; }
  add.s32 %r6, %r3, %r5;
  st.param.b32 [result], %r6;
  ret;
SMALL:
  st.param.b32 [result], %r1;
  ret;
}
.visible .entry k(.param .u64 out)
{
  .reg .b32 %r<9>;
  .reg .b64 %rd<9>;
  ld.param.u64 %rd1, [out];
  mov.u32 %r1, %tid.x;
  { .param .b32 a0; st.param.b32 [a0], %r1; .param .b32 r0; call.uni (r0), fib, (a0); ld.param.b32 %r2, [r0]; }
  mul.wide.u32 %rd2, %r1, 4;
  add.s64 %rd3, %rd1, %rd2;
  st.global.u32 [%rd3], %r2;
  ret;
}
)");
  const uint64_t out = device.buffer(std::vector<int>(12, 0));
  EXPECT_EQ(device.run("k", {1, 1, 1}, {12, 1, 1}, Params() << out).kind, Fault::Kind::none);
  EXPECT_EQ(device.read<int>(out), (std::vector<int>{0, 1, 1, 2, 3, 5, 8, 13, 21, 34, 55, 89}));
}

// Calls itself as often as each thread's own parameter says, with 16 bytes of local variables.
const char* const kCountDown = R"(
.version 8.0
.target sm_80
.address_size 64
.func down(.param .b32 n)
{
  .local .align 16 .b8 depot[16];
  .reg .pred %p<2>;
  .reg .b32 %r<3>;
  ld.param.u32 %r1, [n];
  st.local.u32 [depot], %r1;
  setp.eq.s32 %p1, %r1, 0;
  @%p1 bra DONE;
  add.s32 %r2, %r1, -1;
  { .param .b32 a0; st.param.b32 [a0], %r2; call.uni down, (a0); }
DONE:
  ret;
}
.visible .entry k(.param .u32 n)
{
  .reg .b32 %r<2>;
  ld.param.u32 %r1, [n];
  { .param .b32 a0; st.param.b32 [a0], %r1; call.uni down, (a0); }
  ret;
}
)";

TEST(Engine, RecursionEndsWhereTheStackDoes) {
  Device device(kCountDown);
  // Of 32 bytes a call the 512th is the last that fits.
  EXPECT_EQ(device.run("k", {1, 1, 1}, {64, 1, 1}, Params() << 511u).kind, Fault::Kind::none);
  for (const uint32_t deep : {512u, ~0u}) {
    const Fault fault = device.run("k", {4, 1, 1}, {64, 1, 1}, Params() << deep);
    EXPECT_EQ(fault.kind, Fault::Kind::stack);
    EXPECT_EQ(fault.what, "the stack overflows: 513 calls in one another do not fit into its 16384 bytes");
    EXPECT_EQ(fault.function->name, "down");
  }
  device.launch.stack_bytes = 64 * 1024;
  EXPECT_EQ(device.run("k", {1, 1, 1}, {64, 1, 1}, Params() << 2047u).kind, Fault::Kind::none);
  EXPECT_EQ(device.run("k", {1, 1, 1}, {64, 1, 1}, Params() << 2048u).kind, Fault::Kind::stack);
}

// --- Faults ------------------------------------------------------------------------------------------------

class Faults : public testing::Test {
 protected:
  // Thread t stores 4 bytes at p + 4t.
  Device device_{kernel(std::string(kAddress) + "st.global.u32 [%rd1], %r1;")};
  Fault store(uint64_t p, uint32_t threads = 32) { return device_.run("k", {1, 1, 1}, {threads, 1, 1}, Params() << p); }
};

TEST_F(Faults, OnePastTheEnd) {
  const uint64_t p = device_.buffer(std::vector<int>(31));
  const Fault fault = store(p);
  EXPECT_EQ(fault.kind, Fault::Kind::out_of_bounds);
  EXPECT_EQ(fault.thread, 31u);
  EXPECT_EQ(fault.address, p + 124);
  EXPECT_EQ(fault.instruction->opcode(), "st");
  EXPECT_TRUE(fault.is_write);
  EXPECT_FALSE(fault.freed);
}

TEST_F(Faults, AfterFree) {
  const uint64_t p = device_.buffer(std::vector<int>(32));
  EXPECT_EQ(store(p).kind, Fault::Kind::none);
  EXPECT_TRUE(device_.memory.free(p));
  EXPECT_FALSE(device_.memory.free(p));
  const Fault fault = store(p);
  EXPECT_EQ(fault.kind, Fault::Kind::out_of_bounds);
  EXPECT_TRUE(fault.freed);
}

TEST_F(Faults, Misaligned) {
  const uint64_t p = device_.buffer(std::vector<int>(40));
  EXPECT_EQ(store(p + 2).kind, Fault::Kind::misaligned);
}

TEST_F(Faults, HostPointerAndNull) {
  int host[32];
  EXPECT_EQ(store(reinterpret_cast<uint64_t>(host)).kind, Fault::Kind::host_pointer);
  EXPECT_EQ(store(0).kind, Fault::Kind::out_of_bounds);
}

TEST_F(Faults, PinnedAndAdoptedHostMemoryIsReached) {
  const Allocation* pinned = device_.memory.allocate(128, MemoryKind::pinned, "cudaMallocHost", nullptr);
  EXPECT_EQ(store(pinned->address).kind, Fault::Kind::none);
  EXPECT_EQ(reinterpret_cast<int*>(pinned->address)[31], 31);
  alignas(4) int own[32] = {};
  device_.memory.adopt(own, sizeof own, MemoryKind::pinned, "cudaHostRegister", nullptr);
  EXPECT_EQ(store(reinterpret_cast<uint64_t>(own)).kind, Fault::Kind::none);
  EXPECT_EQ(own[31], 31);
}

TEST_F(Faults, OnlyLanesUnderTheMaskCount) {
  const uint64_t p = device_.buffer(std::vector<int>(20));
  EXPECT_EQ(store(p, 20).kind, Fault::Kind::none);
}

TEST(Engine, SharedMemoryEndsWhereTheBlockSaid) {
  Device device(kernel(R"(
    .shared .align 4 .b8 tile[64];
    mov.u32 %r1, %tid.x;
    shl.b32 %r2, %r1, 2;
    mov.u32 %r3, tile;
    add.s32 %r4, %r3, %r2;
    st.shared.u32 [%r4], %r1;
  )"));
  EXPECT_EQ(device.run("k", {1, 1, 1}, {16, 1, 1}, Params() << uint64_t{0}).kind, Fault::Kind::none);
  const Fault fault = device.run("k", {1, 1, 1}, {17, 1, 1}, Params() << uint64_t{0});
  EXPECT_EQ(fault.kind, Fault::Kind::out_of_bounds);
  EXPECT_EQ(fault.space, ptx::Space::shared);
  EXPECT_EQ(fault.address, 64u);
}

TEST(Engine, AnUnknownInstructionIsNamedBeforeTheKernelStarts) {
  Device device(kernel("add.s32 %r1, %r1, %r1;\nfrobnicate.u32 %r1, %r2;\n"));
  EXPECT_NE(device.prepare("k").find("`frobnicate.u32 %r1, %r2` is no instruction"), std::string::npos)
      << device.prepare("k");
  Device other(kernel("ld.global.sideways.u32 %r1, [%rd1];"));
  EXPECT_NE(other.prepare("k").find("line 11"), std::string::npos) << other.prepare("k");
}

TEST(Engine, Printf) {
  Device device(R"(
.version 8.0
.target sm_80
.address_size 64
.extern .func (.param .b32 r) vprintf (.param .b64 f, .param .b64 a);
.global .align 1 .b8 format[20] = {37, 100, 32, 37, 46, 50, 102, 32, 37, 115, 32, 37, 108, 108, 100, 37, 37, 10, 0, 0};
.global .align 1 .b8 word[4] = {97, 98, 99, 0};
.visible .entry k()
{
  .local .align 8 .b8 depot[32];
  .reg .b32 %r<9>;
  .reg .b64 %rd<9>;
  .reg .f64 %fd<3>;
  mov.u64 %rd1, depot;
  cvta.local.u64 %rd2, %rd1;
  mov.u32 %r1, %tid.x;
  st.local.u32 [%rd1], %r1;
  cvt.rn.f64.u32 %fd1, %r1;
  mul.f64 %fd1, %fd1, 0d3FD0000000000000;
  st.local.f64 [%rd1+8], %fd1;
  mov.u64 %rd3, word;
  cvta.global.u64 %rd4, %rd3;
  st.local.u64 [%rd1+16], %rd4;
  mov.u64 %rd5, -1234567890123;
  st.local.u64 [%rd1+24], %rd5;
  mov.u64 %rd6, format;
  cvta.global.u64 %rd7, %rd6;
  { .param .b64 a0; st.param.b64 [a0], %rd7; .param .b64 a1; st.param.b64 [a1], %rd2; .param .b32 r0;
    call.uni (r0), vprintf, (a0, a1); }
  ret;
}
)");
  std::string printed;
  device.options.print = [&](const std::string& text) { printed += text; };
  EXPECT_EQ(device.run("k", {1, 1, 1}, {3, 1, 1}, Params()).kind, Fault::Kind::none);
  EXPECT_EQ(printed, "0 0.00 abc -1234567890123%\n1 0.25 abc -1234567890123%\n2 0.50 abc -1234567890123%\n");
}

// What the kernel prints by a format and two 32-bit arguments, and what the engine says of it.
std::pair<std::string, std::string> printed_by(const std::string& format, int32_t first, int32_t second) {
  std::string bytes;
  for (const char c : format) bytes += std::to_string(int(c)) + ", ";
  Device device(R"(
.version 8.0
.target sm_80
.address_size 64
.extern .func (.param .b32 r) vprintf (.param .b64 f, .param .b64 a);
.global .align 1 .b8 format[] = {)" +
                bytes + R"(0};
.visible .entry k(.param .u32 first, .param .u32 second)
{
  .local .align 8 .b8 depot[8];
  .reg .b32 %r<3>;
  .reg .b64 %rd<4>;
  mov.u64 %rd1, depot;
  ld.param.u32 %r1, [first];
  st.local.u32 [%rd1], %r1;
  ld.param.u32 %r2, [second];
  st.local.u32 [%rd1+4], %r2;
  cvta.local.u64 %rd2, %rd1;
  mov.u64 %rd3, format;
  cvta.global.u64 %rd3, %rd3;
  { .param .b64 a0; st.param.b64 [a0], %rd3; .param .b64 a1; st.param.b64 [a1], %rd2; .param .b32 r0;
    call.uni (r0), vprintf, (a0, a1); }
  ret;
}
)");
  std::pair<std::string, std::string> result;
  device.options.print = [&](const std::string& text) { result.first += text; };
  device.options.say = [&](const std::string& sentence) { result.second += sentence; };
  EXPECT_EQ(device.run("k", {1, 1, 1}, {1, 1, 1}, Params() << first << second).kind, Fault::Kind::none);
  return result;
}

TEST(Engine, PrintfTakesWidthsFromFormatAndArguments) {
  using Both = std::pair<std::string, std::string>;
  EXPECT_EQ(printed_by("%05d|%-5d|", 7, 8), Both("00007|8    |", ""));
  EXPECT_EQ(printed_by("%+.3d|% d", 7, 8), Both("+007| 8", ""));
  EXPECT_EQ(printed_by("%*d|", 4, 7), Both("   7|", ""));
  EXPECT_EQ(printed_by("%*d|", -4, 7), Both("7   |", ""));
  EXPECT_EQ(printed_by("%.*d|", 4, 7), Both("%.*d|", ""));  // as on an H200
}

TEST(Engine, PrintfIsNoWiderThanAMegabyte) {
  for (const char* format : {"%2000000000d|", "%-99999999999999999999d|", "%.1048577d|"}) {
    const auto [text, sentence] = printed_by(format, 7, 0);
    EXPECT_EQ(text.size(), (1u << 20) + 1) << format;
    EXPECT_EQ(text.back(), '|');
    EXPECT_NE(sentence.find("columns; 1048576 are printed"), std::string::npos) << sentence;
  }
  for (const int32_t width : {INT32_MAX, INT32_MIN}) {
    EXPECT_EQ(printed_by("%*d|", width, 7).first.size(), (1u << 20) + 1);
  }
  EXPECT_EQ(printed_by("%1048576d|", 7, 0).second, "");
}

// --- Order, counts, observers ------------------------------------------------------------------------------

TEST(Engine, SeedsPermuteBlocksAndTheResultStays) {
  const std::string text =
      kernel(std::string(kAddress) + "atom.global.add.u32 %r5, [%rd0], 1; st.global.u32 [%rd1+4], %r5;");
  const auto order = [&](uint64_t seed) {
    Device device(text);
    device.options.seed = seed;
    const uint64_t out = device.buffer(std::vector<int>(65));
    EXPECT_EQ(device.run("k", {64, 1, 1}, {1, 1, 1}, Params() << out).kind, Fault::Kind::none);
    std::vector<int> tickets = device.read<int>(out);
    tickets.erase(tickets.begin());
    return tickets;
  };
  std::vector<int> in_order(64);
  std::iota(in_order.begin(), in_order.end(), 0);
  EXPECT_EQ(order(0), in_order);
  const std::vector<int> permuted = order(7);
  EXPECT_NE(permuted, in_order);
  EXPECT_EQ(permuted, order(7));
  std::vector<int> sorted = permuted;
  std::sort(sorted.begin(), sorted.end());
  EXPECT_EQ(sorted, in_order);
}

TEST(Engine, CountsInstructionsAndTheirLanes) {
  Device device(kernel(R"(
    mov.u32 %r1, %tid.x;
    setp.lt.u32 %p1, %r1, 10;
    @%p1 bra END;
    add.s32 %r2, %r1, 1;
  END:
    add.s32 %r2, %r1, 2;
  )"));
  EXPECT_EQ(device.run("k", {5, 1, 1}, {48, 1, 1}, Params() << uint64_t{0}).kind, Fault::Kind::none);
  ASSERT_EQ(device.executed.size(), 1u);
  const std::vector<Executed>& e = device.executed[0].second;
  ASSERT_EQ(e.size(), 6u);
  const std::pair<uint64_t, uint64_t> expected[] = {{10, 240}, {10, 240}, {10, 240}, {10, 190}, {10, 240}, {10, 240}};
  for (size_t i = 0; i < e.size(); ++i) EXPECT_EQ(std::pair(e[i].warps, e[i].lanes), expected[i]) << i;
}

class Recorder : public Observer {
 public:
  std::vector<std::string> events;
  std::vector<uint64_t> addresses;
  void begin(const Launch&) override { events.push_back("begin"); }
  void end(const Launch&) override { events.push_back("end"); }
  void access(const Access& a) override {
    events.push_back(std::string(a.kind == AccessKind::load    ? "load "
                                 : a.kind == AccessKind::store ? "store "
                                                               : "atomic ") +
                     std::string(ptx::name_of(a.space)) + " " + std::to_string(a.bytes) + " x" +
                     std::to_string(std::popcount(a.lanes)));
    for (int l = 0; l < 32; ++l)
      if (a.lanes >> l & 1) addresses.push_back(a.address[l]);
  }
  void arrive(const Place& p, uint32_t lanes, int id, bool) override {
    events.push_back("arrive " + std::to_string(id) + " warp " + std::to_string(p.warp) + " x" +
                     std::to_string(std::popcount(lanes)));
  }
  void open(const Launch&, uint32_t, int id) override { events.push_back("open " + std::to_string(id)); }
  void branch(const Place&, uint32_t active, uint32_t taken) override {
    events.push_back("branch " + std::to_string(std::popcount(active)) + " " + std::to_string(std::popcount(taken)));
  }
  void warp_sync(const Place&, uint32_t lanes, uint32_t mask, uint32_t) override {
    events.push_back("sync " + std::to_string(std::popcount(lanes)) + " " + std::to_string(std::popcount(mask)));
  }
};

TEST(Engine, ObserversSeeWhatHappensInOrder) {
  Device device(kernel(R"(
    .shared .align 4 .b8 tile[256];
    ld.param.u64 %rd0, [out];
    mov.u32 %r1, %tid.x;
    setp.lt.u32 %p1, %r1, 40;
    @!%p1 bra NEXT;
    mov.u32 %r2, tile;
    cvt.u64.u32 %rd3, %r2;
    cvta.shared.u64 %rd4, %rd3;
    mul.wide.u32 %rd5, %r1, 4;
    add.s64 %rd6, %rd4, %rd5;
    st.u32 [%rd6], %r1;
  NEXT:
    bar.sync 0;
    shfl.sync.bfly.b32 %r3, %r1, 1, 31, -1;
    atom.global.add.u32 %r4, [%rd0], 1;
  )"));
  Recorder recorder;
  device.options.observers = {&recorder};
  const uint64_t out = device.buffer(std::vector<int>(1));
  EXPECT_EQ(device.run("k", {1, 1, 1}, {64, 1, 1}, Params() << out).kind, Fault::Kind::none);
  EXPECT_EQ(recorder.events, (std::vector<std::string>{
                                 "begin", "branch 32 0", "store shared 4 x32", "arrive 0 warp 0 x32", "branch 32 24",
                                 "store shared 4 x8", "arrive 0 warp 1 x32", "open 0", "sync 32 32",
                                 "atomic global 4 x32", "sync 32 32", "atomic global 4 x32", "end"}));
  EXPECT_EQ(recorder.addresses[1], 4u);  // an offset, though the address was generic
  EXPECT_EQ(recorder.addresses[32], 128u);
}

}  // namespace
}  // namespace vgpu::test
