// Jumps, calls, ends, barriers and fences.
#include <gtest/gtest.h>

#include <string>

#include "isa/harness.h"

namespace vgpu::isa_test {
namespace {

std::vector<Row> numbers(uint64_t below) {
  std::vector<Row> rows;
  for (uint64_t i = 0; i < 128; ++i) rows.push_back({i * 7 % below});
  return rows;
}

TEST(IsaControl, Jumps) {
  // By a table, into four places of which three fall through; and over what is behind.
  for (const std::string uni : {"", ".uni"}) {
    const std::vector<Row> rows = uni.empty() ? numbers(4) : std::vector<Row>(128, Row{2});
    expect({"TABLE: .branchtargets T0, T1, T2, T3;\nbrx.idx" + uni + " %a0, TABLE;\nT0: add.u32 %d0, %d0, 1;\n" +
                "T1: add.u32 %d0, %d0, 10;\nT2: add.u32 %d0, %d0, 100;\nT3: bra" + uni +
                " OVER;\nmov.u32 %d0, 9;\nOVER: add.u32 %d0, %d0, 1000;",
            {"b32"},
            {"b32"}},
           rows, [](const Row& x) {
             const uint64_t sums[] = {1111, 1110, 1100, 1000};
             return Row{sums[x[0]]};
           });
  }
  // A loop that each lane leaves at its own time.
  expect({"setp.eq.u32 %go, %a0, 0;\n@%go bra DONE;\nLOOP: add.u32 %d0, %d0, %a0;\nsub.u32 %a0, %a0, 1;\n"
          "setp.ne.u32 %go, %a0, 0;\n@%go bra LOOP;\nDONE:",
          {"b32"},
          {"b32"}},
         numbers(50), [](const Row& x) { return Row{x[0] * (x[0] + 1) / 2}; });
}

TEST(IsaControl, CallsDirectAndThroughARegister) {
  for (const std::string uni : {"", ".uni"}) {
    expect({"{ .param .b32 in; .param .b32 out; .reg .b64 f, g;\nst.param.b32 [in], %a0;\ncall" + uni +
                " (out), twice, (in);\nld.param.b32 %d0, [out];\nst.param.b32 [in], %d0;\n" +
                "shape: .callprototype (.param .b32 _) _ (.param .b32 _);\nmov.u64 f, twice;\nmov.u64 g, next;\n" +
                "and.b32 %n, %a0, 1;\nsetp.ne.u32 %go, %n, 0;\nselp.b64 f, f, g, %go;\n" + "call" + uni +
                " (out), f, (in), shape;\nld.param.b32 %d1, [out]; }",
            {"b32"},
            {"b32", "b32"}},
           uni.empty() ? numbers(100) : std::vector<Row>(32, Row{7}),
           [](const Row& x) { return Row{2 * x[0], x[0] % 2 ? 4 * x[0] : 2 * x[0] + 1}; });
  }
}

TEST(IsaControl, Ends) {
  // Lanes that return or exit write nothing more.
  for (const std::string end : {"ret", "ret.uni", "exit"}) {
    std::vector<Row> rows = numbers(2);
    const std::vector<Row> results =
        run({"setp.ne.u32 %go, %a0, 0;\n@%go " + end + ";\nmov.u32 %d0, 5;", {"b32"}, {"b32"}}, rows);
    for (size_t i = 0; i < results.size(); ++i) EXPECT_EQ(results[i][0], rows[i][0] ? 0u : 5u) << end;
  }
  for (const std::string end : {"trap", "brkpt"}) {
    const Fault fault = fault_of({"setp.eq.u32 %go, %a0, 77;\n@%go " + end + ";", {"b32"}, {}}, numbers(128));
    if (std::getenv("VGPU_ISA_LISTING")) continue;
    EXPECT_EQ(fault.kind, Fault::Kind::trap) << end;
    EXPECT_EQ(fault.thread * 7 % 128, 77u) << end;
  }
}

TEST(IsaControl, WhatTakesTimeOrTunesChangesNoValue) {
  expect({"nanosleep.u32 20;\ngriddepcontrol.wait;\ngriddepcontrol.launch_dependents;\n"
          "setmaxnreg.inc.sync.aligned.u32 64;\nsetmaxnreg.dec.sync.aligned.u32 40;\npmevent 3;\npmevent.mask 7;\n"
          "mov.u32 %d0, %a0;",
          {"b32"},
          {"b32"}},
         numbers(100), [](const Row& x) { return x; });
}

// What the other half of the block wrote before the barrier is there behind it.
TEST(IsaControl, BarriersOrderABlock) {
  const std::string write =
                        "mov.u32 %t, tile;\nmov.u32 %n, %tid.x;\nshl.b32 %n, %n, 2;\nadd.u32 %t, %t, %n;\n"
                        "st.shared.u32 [%t], %a0;\n",
                    read = "xor.b32 %n, %n, 256;\nmov.u32 %t, tile;\nadd.u32 %t, %t, %n;\nld.shared.u32 %d0, [%t];";
  for (const std::string barrier :
       {"bar.sync 0", "bar.sync 3, 128", "bar.cta.sync 0", "barrier.sync 0", "barrier.sync.aligned 5, 128",
        "barrier.cta.sync.aligned 0", "bar.arrive 1, 256;\nbar.sync 1, 256", "barrier.arrive 1, 256;\nbar.sync 1, 256",
        "barrier.cluster.arrive;\nbarrier.cluster.wait",
        "barrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned",
        "barrier.cluster.arrive.release;\nbarrier.cluster.wait.acquire",
        "barrier.cluster.arrive.release.aligned;\nbarrier.cluster.wait.acquire.aligned",
        "fence.acq_rel.cluster;\nbarrier.cluster.arrive.relaxed;\nbarrier.cluster.wait",
        "fence.acq_rel.cluster;\nbarrier.cluster.arrive.relaxed.aligned;\nbarrier.cluster.wait"}) {
    const std::vector<Row> rows = numbers(128);
    const std::vector<Row> results = run({write + barrier + ";\n" + read, {"b32"}, {"b32"}}, rows);
    for (size_t i = 0; i < results.size(); ++i) EXPECT_EQ(results[i][0], rows[i ^ 64][0]) << barrier << " " << i;
  }
}

TEST(IsaControl, FencesAreTaken) {
  std::string text;
  for (const char* fence :
       {"membar.cta", "membar.gl", "membar.sys", "fence.proxy.alias", "fence.proxy.async", "fence.proxy.async.global",
        "fence.proxy.async.shared::cta", "fence.mbarrier_init.release.cluster"})
    text += std::string(fence) + ";\n";
  for (const char* order : {"", ".sc", ".acq_rel", ".acquire", ".release"}) {
    for (const char* scope : {".cta", ".cluster", ".gpu", ".sys"}) text += std::string("fence") + order + scope + ";\n";
  }
  expect({text + "mov.u32 %d0, %a0;", {"b32"}, {"b32"}}, numbers(100), [](const Row& x) { return x; });
}

}  // namespace
}  // namespace vgpu::isa_test
