// mbarrier, and the copies whose bytes it counts: each thread has a barrier of its own, so that every state is known.
#include <gtest/gtest.h>

#include <string>

#include "isa/harness.h"

namespace vgpu::isa_test {
namespace {

// %t: 32 bytes of the tile for each thread. Its barrier is at [%t], 16 bytes behind it are for copies.
const std::string kOwnTile =
    "mov.u32 %n, %tid.x;\nmov.u32 %t, tile;\nmad.lo.u32 %t, %n, 32, %t;\n.reg .b64 s, s1; .reg .b32 left;\n";

TEST(IsaAsync, ArrivalsCompleteAPhase) {
  for (const std::string space : {".shared", ".shared::cta"}) {
    const std::string b64 = space + ".b64 ";
    // Three arrivals: one, one that counts for two with the state before it, and the next phase begins.
    expect({kOwnTile + "mbarrier.init" + b64 + "[%t], 3;\nmbarrier.arrive" + b64 + "s, [%t];\n" +
                "mbarrier.pending_count.b64 %d0, s;\nmbarrier.test_wait" + b64 + "%d1, [%t], s;\n" +
                "mbarrier.test_wait.parity" + b64 + "%d2, [%t], 0;\nmbarrier.arrive.noComplete" + b64 +
                "s1, [%t], 1;\nmbarrier.pending_count.b64 %d3, s1;\nmbarrier.arrive.release.cta" + b64 +
                "_, [%t], 1;\nmbarrier.test_wait.acquire.cta" + b64 + "%d4, [%t], s;\nmbarrier.try_wait" + b64 +
                "%d5, [%t], s;\nmbarrier.try_wait.parity" + b64 + "%d6, [%t], 0;\nmbarrier.try_wait.parity" + b64 +
                "%d7, [%t], 1;\n" +
                // Who drops out is not waited for in the next phase.
                "mbarrier.arrive_drop" + b64 + "s, [%t];\nmbarrier.pending_count.b64 %d8, s;\nmbarrier.arrive" + b64 +
                "s, [%t], 2;\nmbarrier.arrive" + b64 + "s, [%t];\nmbarrier.pending_count.b64 %d9, s;\n" +
                "mbarrier.inval" + b64 + "[%t];",
            {},
            {"b32", "pred", "pred", "b32", "pred", "pred", "pred", "pred", "b32", "b32"}},
           std::vector<Row>(64, Row{}), [](const Row&) { return Row{3, 0, 0, 2, 1, 1, 1, 0, 3, 2}; });
  }
}

TEST(IsaAsync, BytesOfATransaction) {
  expect({kOwnTile + "mbarrier.init.shared.b64 [%t], 1;\nmbarrier.arrive.expect_tx.shared.b64 s, [%t], 48;\n"
                     "mbarrier.test_wait.shared.b64 %d0, [%t], s;\nmbarrier.complete_tx.shared.b64 [%t], 40;\n"
                     "mbarrier.test_wait.shared.b64 %d1, [%t], s;\nmbarrier.expect_tx.relaxed.cta.shared.b64 [%t], 8;\n"
                     "mbarrier.complete_tx.relaxed.cta.shared::cluster.b64 [%t], 16;\n"
                     "mbarrier.test_wait.shared.b64 %d2, [%t], s;",
          {},
          {"pred", "pred", "pred"}},
         std::vector<Row>(64, Row{}), [](const Row&) { return Row{0, 0, 1}; });
}

TEST(IsaAsync, CopiesArriveAtABarrier) {
  expect({kOwnTile +
              "mbarrier.init.shared.b64 [%t], 1;\nst.global.b64 [%own], %a0;\n"
              "cp.async.ca.shared.global [%t+16], [%own], 8;\n"
              "cp.async.mbarrier.arrive.noinc.shared.b64 [%t];\nmbarrier.test_wait.parity.shared.b64 %d0, [%t], 0;\n"
              "ld.shared.b64 %d1, [%t+16];\n"
              // Without .noinc the arrival was added first: the phase stays as it is.
              "mbarrier.init.shared.b64 [%t], 1;\ncp.async.mbarrier.arrive.shared.b64 [%t];\n"
              "mbarrier.test_wait.parity.shared.b64 %d2, [%t], 0;",
          {"b64"},
          {"pred", "b64", "pred"}},
         integer_rows({64}, 50), [](const Row& x) { return Row{1, x[0], 0}; });
}

TEST(IsaAsync, CopiesOfRunsOfBytes) {
  expect({kOwnTile +
              "mbarrier.init.shared.b64 [%t], 1;\nst.global.v2.b64 [%own], {%a0, %a1};\n"
              "mbarrier.arrive.expect_tx.shared.b64 s, [%t], 16;\nadd.u32 %n, %t, 16;\n"
              "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%n], [%own], 16, [%t];\n"
              "mbarrier.test_wait.shared.b64 %d0, [%t], s;\nld.shared.v2.b64 {%d1, %d2}, [%t+16];\n"
              // And back, in groups that are waited for.
              "st.shared.b64 [%t+16], %a1;\nfence.proxy.async.shared::cta;\n"
              "cp.async.bulk.global.shared::cta.bulk_group [%own+16], [%n], 16;\ncp.async.bulk.commit_group;\n"
              "cp.async.bulk.wait_group.read 0;\ncp.async.bulk.wait_group 0;\nld.global.v2.b64 {%d3, %d4}, [%own+16];\n"
              "cp.async.bulk.prefetch.L2.global [%own], 16;",
          {"b64", "b64"},
          {"pred", "b64", "b64", "b64", "b64"}},
         integer_rows({64, 64}, 50), [](const Row& x) { return Row{1, x[0], x[1], x[1], x[1]}; });
}

}  // namespace
}  // namespace vgpu::isa_test
