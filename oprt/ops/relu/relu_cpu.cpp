// relu on the CPU: a functor on the elementwise skeleton.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "oprt/ops/relu/relu_cpu.cpp"
#include <hwy/foreach_target.h>

#include "oprt/device/cpu/elementwise.h"
#include "oprt/ops/relu/relu_plan.h"

HWY_BEFORE_NAMESPACE();
namespace oprt {
namespace HWY_NAMESPACE {

// Selects with "not greater" so that a NaN takes the multiplied branch and stays one. Slope 0 has its own functor: 0 *
// -inf is NaN where relu(-inf) is 0.
struct Relu {
  VecF32 operator()(VecF32 x) const {
    const auto zero = hn::Zero(F32());
    return hn::IfThenElse(hn::Or(hn::Gt(x, zero), hn::IsNaN(x)), x, zero);
  }
};

struct LeakyRelu {
  float slope;
  VecF32 operator()(VecF32 x) const {
    return hn::IfThenElse(hn::Gt(x, hn::Zero(F32())), x, hn::Mul(x, hn::Set(F32(), slope)));
  }
};

void relu_run(const ReluPlan& plan, const Call& call) {
  with_float(plan.dtype, [&](auto t) {
    using T = decltype(t);
    if (plan.negative_slope == 0.0f)
      elementwise<T, 1>(plan.loop, call, Relu{});
    else
      elementwise<T, 1>(plan.loop, call, LeakyRelu{plan.negative_slope});
  });
}

}  // namespace HWY_NAMESPACE
}  // namespace oprt
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace oprt {
namespace {

HWY_EXPORT(relu_run);

Status run(const ReluPlan& plan, const Call& call) {
  HWY_DYNAMIC_DISPATCH(relu_run)(plan, call);
  return {};
}

constexpr Kernel<ReluPlan> kKernels[] = {{"relu_contiguous", run}, {"relu_rows", run}, {"relu_strided", run}};

Status choose(const ReluPlan& plan, const Call&, const Kernel<ReluPlan>** kernel) {
  *kernel = &kKernels[static_cast<int>(elementwise_path(plan.loop))];
  return {};
}

}  // namespace

const Backend<ReluPlan> relu_cpu = {kKernels, 3, choose, nullptr};

}  // namespace oprt
#endif
