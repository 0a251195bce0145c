// What lanes, warps and blocks do together: warp-level instructions, copies in flight, clusters, matrices.
#include <bit>
#include <cmath>
#include <random>

#include "engine.h"

namespace vgpu::test {
namespace {

std::vector<uint32_t> run_grid(const std::string& body, uint32_t blocks, uint32_t threads, uint32_t cluster = 1) {
  Device device(kernel(kAddress + body));
  device.launch.cluster = {cluster, 1, 1};
  const uint64_t out = device.buffer(std::vector<uint32_t>(blocks * threads));
  const Fault fault = device.run("k", {blocks, 1, 1}, {threads, 1, 1}, Params() << out);
  EXPECT_EQ(fault.kind, Fault::Kind::none) << fault.what;
  return device.read<uint32_t>(out);
}

TEST(Company, ShuffleOfPartsOfTheWarp) {
  // The halves of the warp shuffle in different branches, each with its own mask.
  const std::vector<uint32_t> out = run_grid(R"(
    setp.lt.u32 %p1, %r1, 16;
    @%p1 bra LOW;
    shfl.sync.down.b32 %r5|%p2, %r1, 1, 31, 0xffff0000;
    bra END;
  LOW:
    shfl.sync.idx.b32 %r5|%p2, %r1, 3, 0x181f, 0xffff;
  END:
    selp.b32 %r6, 100, 0, %p2;
    add.s32 %r5, %r5, %r6;
    st.global.u32 [%rd1], %r5;
  )",
                                             1, 32);
  for (uint32_t t = 0; t < 32; ++t) EXPECT_EQ(out[t], t < 16 ? (t & 24) + 3 + 100 : t == 31 ? 31 : t + 1 + 100) << t;
}

TEST(Company, PartedLanesWaitForEachOtherAtAShuffle) {
  // The mask names all: the lanes that come first wait for those on the longer way.
  const std::vector<uint32_t> out = run_grid(R"(
    mov.u32 %r5, %r1;
    and.b32 %r6, %r1, 1;
    setp.eq.u32 %p1, %r6, 0;
    @%p1 bra MEET;
    add.s32 %r5, %r5, 100;
  MEET:
    shfl.sync.bfly.b32 %r7, %r5, 1, 31, 0xffffffff;
    st.global.u32 [%rd1], %r7;
  )",
                                             1, 32);
  for (uint32_t t = 0; t < 32; ++t) EXPECT_EQ(out[t], t % 2 ? t - 1 : t + 1 + 100) << t;
}

TEST(Company, VotesMatchesAndReductions) {
  const std::vector<uint32_t> out = run_grid(R"(
    setp.gt.u32 %p1, %r1, 28;
    vote.sync.ballot.b32 %r5, %p1, -1;
    and.b32 %r6, %r1, 3;
    match.any.sync.b32 %r7, %r6, -1;
    redux.sync.max.s32 %r8, %r1, -1;
    vote.sync.any.pred %p2, %p1, -1;
    vote.sync.all.pred %p3, !%p1, -1;
    selp.b32 %r9, 5, 0, %p2;
    selp.b32 %r10, 7, 0, %p3;
    xor.b32 %r5, %r5, %r7;
    add.s32 %r5, %r5, %r8;
    add.s32 %r5, %r5, %r9;
    add.s32 %r5, %r5, %r10;
    st.global.u32 [%rd1], %r5;
  )",
                                             1, 32);
  for (uint32_t t = 0; t < 32; ++t) EXPECT_EQ(out[t], (0xe0000000u ^ (0x11111111u << t % 4)) + 31 + 5) << t;
}

TEST(Company, AMissingLaneDoesNotStopTheWarp) {
  // Undefined on hardware; here the shuffle goes on with the lanes that there are, and observers hear of it.
  class Watcher : public Observer {
   public:
    uint32_t lanes = 0, mask = 0;
    void warp_sync(const Place&, uint32_t l, uint32_t m, uint32_t) override { lanes = l, mask = m; }
  } watcher;
  Device device(kernel(std::string(kAddress) + R"(
    setp.lt.u32 %p1, %r1, 8;
    @%p1 bra WAIT;
    shfl.sync.bfly.b32 %r5, %r1, 1, 31, -1;
  WAIT:
    bar.sync 0;
  )"));
  device.options.observers = {&watcher};
  EXPECT_EQ(device.run("k", {1, 1, 1}, {32, 1, 1}, Params() << device.buffer(std::vector<int>(32))).kind,
            Fault::Kind::none);
  EXPECT_EQ(watcher.lanes, 0xffffff00u);
  EXPECT_EQ(watcher.mask, 0xffffffffu);
}

TEST(Company, WarpBarriersOfDifferentBranchesMeet) {
  const std::vector<uint32_t> out = run_grid(R"(
    .shared .align 4 .b8 box[8];
    mov.u32 %r5, box;
    setp.ge.u32 %p1, %r1, 16;
    @%p1 bra READ;
    st.shared.u32 [%r5], 77;
    bar.warp.sync 0xffffffff;
    mov.u32 %r6, 1;
    bra END;
  READ:
    bar.warp.sync 0xffffffff;
    ld.shared.u32 %r6, [%r5];
  END:
    st.global.u32 [%rd1], %r6;
  )",
                                             1, 32);
  for (uint32_t t = 0; t < 32; ++t) EXPECT_EQ(out[t], t < 16 ? 1u : 77u);
}

TEST(Company, PollingWhatNobodyWritesIsADeadlock) {
  Device device(kernel(R"(
    ld.param.u64 %rd0, [out];
  WAIT:
    ld.volatile.global.u32 %r1, [%rd0];
    setp.eq.u32 %p1, %r1, 0;
    @%p1 bra WAIT;
  )"));
  device.options.idle = 100000;
  const Fault fault = device.run("k", {2, 1, 1}, {32, 1, 1}, Params() << device.buffer(std::vector<int>(1)));
  EXPECT_EQ(fault.kind, Fault::Kind::deadlock);
  EXPECT_EQ(fault.what, "no thread can go on: 64 wait for a value that nobody writes");
}

TEST(Company, CopiesOfCpAsyncFillWithZeros) {
  const std::vector<uint32_t> out = run_grid(R"(
    .shared .align 16 .b8 tile[512];
    mov.u32 %r5, tile;
    shl.b32 %r6, %r1, 2;
    add.s32 %r7, %r5, %r6;
    st.global.u32 [%rd1], %r1;
    and.b32 %r8, %r1, 1;
    shl.b32 %r9, %r8, 1;
    cp.async.ca.shared.global [%r7], [%rd1], 4, %r9;
    cp.async.commit_group;
    cp.async.wait_group 0;
    ld.shared.u32 %r10, [%r7];
    add.s32 %r10, %r10, 65536;
    st.global.u32 [%rd1], %r10;
  )",
                                             1, 64);
  for (uint32_t t = 0; t < 64; ++t) EXPECT_EQ(out[t], 65536 + (t % 2 ? t : 0));
}

TEST(Company, AClusterSharesItsMemory) {
  // Each block reads the shared memory of the next one of its cluster.
  const std::vector<uint32_t> out = run_grid(R"(
    .shared .align 4 .b8 box[128];
    mov.u32 %r5, box;
    shl.b32 %r6, %r1, 2;
    add.s32 %r7, %r5, %r6;
    st.shared.u32 [%r7], %r4;
    barrier.cluster.arrive.release.aligned;
    barrier.cluster.wait.acquire.aligned;
    mov.u32 %r8, %cluster_ctarank;
    mov.u32 %r9, %cluster_nctarank;
    add.s32 %r8, %r8, 1;
    rem.u32 %r8, %r8, %r9;
    mapa.shared::cluster.u32 %r10, %r7, %r8;
    ld.shared::cluster.u32 %r11, [%r10];
    cvt.u64.u32 %rd3, %r7;
    cvta.shared.u64 %rd4, %rd3;
    mapa.u64 %rd5, %rd4, %r8;
    ld.u32 %r12, [%rd5];
    add.s32 %r11, %r11, %r12;
    barrier.cluster.arrive;
    barrier.cluster.wait;
    st.global.u32 [%rd1], %r11;
  )",
                                             8, 32, 4);
  for (uint32_t i = 0; i < 256; ++i) {
    const uint32_t block = i / 32, next = block / 4 * 4 + (block + 1) % 4;
    EXPECT_EQ(out[i], 2 * (next * 32 + i % 32)) << i;
  }
}

TEST(Company, ABlockThatHasEndedLeavesNoSharedMemory) {
  // Block 1 reads what block 0 wrote, which does not wait for it.
  Device device(kernel(std::string(kAddress) + R"(
    .shared .align 4 .b8 box[128];
    mov.u32 %r5, box;
    st.shared.u32 [%r5], %r4;
    mov.u32 %r6, 0;
    mapa.shared::cluster.u32 %r7, %r5, %r6;
    ld.shared::cluster.u32 %r8, [%r7];
    st.global.u32 [%rd1], %r8;
  )"));
  device.launch.cluster = {2, 1, 1};
  const uint64_t out = device.buffer(std::vector<uint32_t>(64));
  const Fault fault = device.run("k", {2, 1, 1}, {32, 1, 1}, Params() << out);
  EXPECT_EQ(fault.kind, Fault::Kind::out_of_bounds);
  EXPECT_NE(fault.what.find("of the shared memory of block 0 of the cluster, which has ended"), std::string::npos)
      << fault.what;
}

TEST(Company, AnMbarrierCountsItsPhases) {
  // Warp 0 produces, warp 1 consumes, twice.
  const std::vector<uint32_t> out = run_grid(R"(
    .shared .align 8 .b8 full[8];
    .shared .align 4 .b8 box[8];
    mov.u32 %r5, full;
    mov.u32 %r6, box;
    setp.eq.u32 %p1, %r1, 0;
    @%p1 mbarrier.init.shared.b64 [%r5], 32;
    bar.sync 0;
    mov.u32 %r10, 0;
    mov.u32 %r11, 0;
  LOOP:
    setp.ge.u32 %p2, %r1, 32;
    @%p2 bra CONSUME;
    add.s32 %r12, %r11, 5;
    @%p1 st.shared.u32 [%r6], %r12;
    mbarrier.arrive.shared.b64 %rd5, [%r5];
    bra NEXT;
  CONSUME:
    mbarrier.try_wait.parity.shared.b64 %p3, [%r5], %r11;
    @!%p3 bra CONSUME;
    ld.shared.u32 %r13, [%r6];
    mad.lo.s32 %r10, %r10, 10, %r13;
  NEXT:
    bar.sync 0;
    add.s32 %r11, %r11, 1;
    setp.lt.u32 %p4, %r11, 2;
    @%p4 bra LOOP;
    st.global.u32 [%rd1], %r10;
  )",
                                             1, 64);
  for (uint32_t t = 0; t < 64; ++t) EXPECT_EQ(out[t], t < 32 ? 0u : 56u);
}

TEST(Company, BytesAndHalvesOfARegister) {
  const std::vector<uint32_t> out = run_grid(R"(
    mov.u32 %r5, 0xff107f01;
    mov.u32 %r6, 0x01207f05;
    mov.u32 %r7, 0;
    vabsdiff4.u32.u32.u32 %r8, %r5, %r6, %r7;
    vabsdiff4.u32.u32.u32.add %r9, %r5, %r6, %r1;
    vadd4.s32.s32.s32.sat %r10, %r5, %r6, %r7;
    vmax2.s32.s32.s32 %r11, %r5, %r6, %r7;
    vavrg4.s32.s32.s32 %r12, %r5, %r6, %r7;
    st.global.v4.u32 [%rd0], {%r8, %r9, %r10, %r11};
    st.global.u32 [%rd0+16], %r12;
  )",
                                             1, 32);
  EXPECT_EQ(out[0], 0xfe100004u);
  EXPECT_EQ(out[1], 0xfeu + 0x10 + 0x04 + 31);  // lane 31 stores last
  EXPECT_EQ(out[2], 0x00307f06u);               // 127 + 127 is 127
  EXPECT_EQ(out[3], 0x01207f05u);
  EXPECT_EQ(out[4], 0x00187f03u);
}

// --- Matrices ----------------------------------------------------------------------------------------------

uint16_t half_bits(float x) { return std::bit_cast<uint16_t>(static_cast<_Float16>(x)); }

TEST(Company, MmaOfHalves) {
  // ldmatrix from shared memory, one product, the sums to out by the manual's layout of C.
  Device device(R"(
.version 8.0
.target sm_80
.address_size 64
.visible .entry k(.param .u64 out, .param .u64 a, .param .u64 b)
{
  .shared .align 16 .b8 A[512];
  .reg .b32 %r<40>;
  .reg .b64 %rd<20>;
  .reg .f32 %f<9>;
  ld.param.u64 %rd0, [out];
  ld.param.u64 %rd1, [a];
  ld.param.u64 %rd2, [b];
  mov.u32 %r0, %laneid;
  // A, 16 x 16 by rows, to shared memory: lane l copies 16 bytes.
  mul.wide.u32 %rd3, %r0, 16;
  add.s64 %rd4, %rd1, %rd3;
  ld.global.v4.b32 {%r1, %r2, %r3, %r4}, [%rd4];
  mov.u32 %r5, A;
  mad.lo.s32 %r6, %r0, 16, %r5;
  st.shared.v4.b32 [%r6], {%r1, %r2, %r3, %r4};
  bar.warp.sync -1;
  // Matrices 0 and 1: rows 0..15 of columns 0..7; 2 and 3: of columns 8..15.
  and.b32 %r7, %r0, 15;
  shr.u32 %r8, %r0, 4;
  mad.lo.s32 %r9, %r7, 32, %r5;
  mad.lo.s32 %r9, %r8, 16, %r9;
  ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%r10, %r11, %r12, %r13}, [%r9];
  // B, 16 x 8 by columns: lane l has k = 2 (l % 4) ... of column l / 4.
  shr.u32 %r14, %r0, 2;
  and.b32 %r15, %r0, 3;
  mul.lo.s32 %r16, %r14, 32;
  mad.lo.s32 %r16, %r15, 4, %r16;
  cvt.u64.u32 %rd5, %r16;
  add.s64 %rd6, %rd2, %rd5;
  ld.global.b32 %r17, [%rd6];
  ld.global.b32 %r18, [%rd6+16];
  mov.f32 %f1, 0f3F800000;
  mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%f1, %f2, %f3, %f4},
    {%r10, %r11, %r12, %r13}, {%r17, %r18}, {%f1, %f1, %f1, %f1};
  mul.lo.s32 %r19, %r14, 32;
  mad.lo.s32 %r19, %r15, 8, %r19;
  cvt.u64.u32 %rd7, %r19;
  add.s64 %rd8, %rd0, %rd7;
  st.global.v2.f32 [%rd8], {%f1, %f2};
  st.global.v2.f32 [%rd8+256], {%f3, %f4};
  ret;
}
)");
  std::mt19937 random(7);
  std::vector<uint16_t> a(256), b(128);
  std::vector<float> x(256), y(128);
  for (size_t i = 0; i < 256; ++i) a[i] = half_bits(x[i] = static_cast<float>(random() % 17) / 8 - 1);
  for (size_t i = 0; i < 128; ++i) b[i] = half_bits(y[i] = static_cast<float>(random() % 17) / 8 - 1);
  const uint64_t out = device.buffer(std::vector<float>(128)), pa = device.buffer(a), pb = device.buffer(b);
  const Fault fault = device.run("k", {1, 1, 1}, {32, 1, 1}, Params() << out << pa << pb);
  ASSERT_EQ(fault.kind, Fault::Kind::none) << fault.what;
  const std::vector<float> c = device.read<float>(out);
  for (size_t i = 0; i < 16; ++i)
    for (size_t j = 0; j < 8; ++j) {
      float sum = 1;
      for (size_t k = 0; k < 16; ++k) sum += x[i * 16 + k] * y[j * 16 + k];  // multiples of 1/64: exact
      EXPECT_EQ(c[i * 8 + j], sum) << i << ' ' << j;
    }
}

TEST(Company, WmmaOfHalves) {
  Device device(R"(
.version 8.0
.target sm_80
.address_size 64
.visible .entry k(.param .u64 out, .param .u64 a, .param .u64 b)
{
  .reg .b32 %r<40>;
  .reg .b64 %rd<20>;
  .reg .f32 %f<20>;
  ld.param.u64 %rd0, [out];
  ld.param.u64 %rd1, [a];
  ld.param.u64 %rd2, [b];
  mov.u32 %r0, 16;
  wmma.load.a.sync.aligned.row.m16n16k16.global.f16 {%r1, %r2, %r3, %r4, %r5, %r6, %r7, %r8}, [%rd1], %r0;
  wmma.load.b.sync.aligned.col.m16n16k16.global.f16 {%r11, %r12, %r13, %r14, %r15, %r16, %r17, %r18}, [%rd2], %r0;
  mov.f32 %f10, 0f00000000;
  wmma.mma.sync.aligned.row.col.m16n16k16.f32.f32 {%f1, %f2, %f3, %f4, %f5, %f6, %f7, %f8},
    {%r1, %r2, %r3, %r4, %r5, %r6, %r7, %r8}, {%r11, %r12, %r13, %r14, %r15, %r16, %r17, %r18},
    {%f10, %f10, %f10, %f10, %f10, %f10, %f10, %f10};
  wmma.store.d.sync.aligned.row.m16n16k16.global.f32 [%rd0], {%f1, %f2, %f3, %f4, %f5, %f6, %f7, %f8}, %r0;
  ret;
}
)");
  std::vector<uint16_t> a(256), b(256);
  for (size_t i = 0; i < 256; ++i) {
    a[i] = half_bits(static_cast<float>(i % 7) - 3);
    b[i] = half_bits(static_cast<float>(i % 5) - 2);
  }
  const uint64_t out = device.buffer(std::vector<float>(256)), pa = device.buffer(a), pb = device.buffer(b);
  const Fault fault = device.run("k", {1, 1, 1}, {32, 1, 1}, Params() << out << pa << pb);
  ASSERT_EQ(fault.kind, Fault::Kind::none) << fault.what;
  const std::vector<float> c = device.read<float>(out);
  for (size_t i = 0; i < 16; ++i)
    for (size_t j = 0; j < 16; ++j) {
      float sum = 0;
      for (size_t k = 0; k < 16; ++k)
        sum += (static_cast<float>((i * 16 + k) % 7) - 3) * (static_cast<float>((j * 16 + k) % 5) - 2);
      EXPECT_EQ(c[i * 16 + j], sum) << i << ' ' << j;
    }
}

}  // namespace
}  // namespace vgpu::test
