// cast on the CPU: widen, narrow; between equal dtypes a move of bits.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "oprt/ops/cast/cast_cpu.cpp"
#include <hwy/foreach_target.h>

#include "oprt/device/cpu/elementwise.h"
#include "oprt/device/cpu/move.h"
#include "oprt/ops/cast/cast_plan.h"

HWY_BEFORE_NAMESPACE();
namespace oprt {
namespace HWY_NAMESPACE {

struct Identity {
  VecF32 operator()(VecF32 x) const { return x; }
};

void cast_run(const CastPlan& plan, const Call& call, ElementwisePath path) {
  if (plan.to == plan.from) return move(move_path(plan.loop), plan.loop, call, size_of(plan.to));
  with_float(plan.to, [&](auto to) {
    with_float(plan.from, [&](auto from) {
      using To = decltype(to);
      using From = decltype(from);
      if constexpr (!std::is_same_v<To, From>)
        elementwise(path, plan.loop, Identity{}, first<To>(call, plan.loop, 0), first<const From>(call, plan.loop, 1));
    });
  });
}

}  // namespace HWY_NAMESPACE
}  // namespace oprt
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace oprt {
OPRT_ELEMENTWISE_BACKEND(cast, CastPlan);
}  // namespace oprt
#endif
