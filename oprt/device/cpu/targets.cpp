// Which of the instruction sets that the kernels were compiled for is used: oprt_cpu_target of api/device.h.
#include <hwy/highway.h>

#include <cstdlib>
#include <cstring>

#include "oprt/api/device.h"

namespace oprt {
namespace {

// A target is one bit; within an architecture a lower bit is a better target.
constexpr int64_t kPortable = HWY_EMU128 | HWY_SCALAR;
constexpr int64_t kAvx512 = HWY_AVX3 | HWY_AVX3_DL;

constexpr int64_t better_than(int64_t target) { return target - 1; }

// When the library is loaded, before the first kernel can have been chosen.
[[maybe_unused]] const bool restricted = [] {
  const char* wanted = std::getenv("OPRT_CPU_TARGET");
  if (!wanted) return false;
  if (std::strcmp(wanted, "portable") == 0)
    hwy::DisableTargets(~kPortable);
  else if (std::strcmp(wanted, "avx2") == 0)
    hwy::DisableTargets(better_than(HWY_AVX2));
  else if (std::strcmp(wanted, "avx512") == 0)
    hwy::DisableTargets(better_than(kAvx512 & -kAvx512));
  else
    return false;
  return true;
}();

}  // namespace
}  // namespace oprt

const char* oprt_cpu_target(void) {
  const int64_t usable = hwy::SupportedTargets() & HWY_TARGETS;
  const int64_t best = usable & -usable;
  if (best & oprt::kPortable) return "portable";
  if (best == HWY_AVX2) return "avx2";
  if (best & oprt::kAvx512) return "avx512";
  return hwy::TargetName(best);
}
