// softmax on the CPU: an Op on the row skeleton.
//
// A row of up to kKept elements is read once and takes one exponential an element: exp(x - max) is kept and scaled. A
// longer one is read twice: first the pair (max, sum of exp(x - max)) block by block, then exp(x - max) / sum.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "oprt/ops/softmax/softmax_cpu.cpp"
#include <hwy/foreach_target.h>

#include "oprt/device/cpu/columns.h"
#include "oprt/device/cpu/math.h"
#include "oprt/ops/softmax/softmax_plan.h"

HWY_BEFORE_NAMESPACE();
namespace oprt {
namespace HWY_NAMESPACE {

struct Softmax : NoPreparation {
  static constexpr int kOut = 0, kIn = 1;
  static constexpr int64_t kKept = 16384;  // 64 KiB of f32 on the stack, in L2

  struct Stat {
    VecF32 max, sum;  // the sum of exp(x - shift(max))
  };

  // What is subtracted: the maximum, and 0 in place of -inf, where -inf - -inf would be NaN. A row of -inf alone then
  // has the sum 0, and 0 * (1 / 0) is the NaN it must be. A NaN that the maximum lost is found by the sum.
  static VecF32 shift(VecF32 max) {
    return hn::IfThenElse(hn::Eq(max, hn::Set(F32(), -std::numeric_limits<float>::infinity())), hn::Zero(F32()), max);
  }

  template <class Lanes, class T>
  HWY_NOINLINE Stat block(Lanes, int64_t n, const T* x) const {
    const VecF32 max = Lanes::max(max_span(n, x)), m = shift(max);
    const auto add_exp = [m](VecF32 sum, VecF32 v) { return hn::Add(sum, exp_nonpositive_f32(hn::Sub(v, m))); };
    return {max, Lanes::sum(sum_span(Lanes(), n, add_exp, x))};
  }

  Stat combine(const Stat& a, const Stat& b) const {
    const VecF32 max = hn::Max(a.max, b.max), m = shift(max);
    return {max, hn::MulAdd(a.sum, exp_nonpositive_f32(hn::Sub(a.max, m)),
                            hn::Mul(b.sum, exp_nonpositive_f32(hn::Sub(b.max, m))))};
  }

  struct Map {
    VecF32 shift, scale;
    VecF32 operator()(VecF32 x) const { return hn::Mul(exp_nonpositive_f32(hn::Sub(x, shift)), scale); }
  };
  Map map(const Stat& stat) const { return {shift(stat.max), hn::Div(hn::Set(F32(), 1.0f), stat.sum)}; }

  template <class Lanes, class T>
  HWY_NOINLINE Stat keep(Lanes, int64_t n, const T* x, float* kept) const {
    const VecF32 max = Lanes::max(max_span(n, x)), m = shift(max);
    auto keep_exp = [m, kept](VecF32 sum, VecF32 v) mutable {
      const VecF32 e = exp_nonpositive_f32(hn::Sub(v, m));
      store(e, kept);
      kept += lanes();
      return hn::Add(sum, e);
    };
    return {max, Lanes::sum(sum_span(Lanes(), n, keep_exp, x))};
  }

  struct MapKept {
    VecF32 scale;
    VecF32 operator()(VecF32 e) const { return hn::Mul(e, scale); }
  };
  MapKept map_kept(const Stat& stat) const { return {hn::Div(hn::Set(F32(), 1.0f), stat.sum)}; }

  static std::array<Weights, 0> weights() { return {}; }
};

void softmax_run(const SoftmaxPlan& plan, const Call& call) {
  with_float(plan.dtype, [&](auto t) { map_any_rows<decltype(t)>(Softmax(), plan.rows, call); });
}

}  // namespace HWY_NAMESPACE
}  // namespace oprt
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace oprt {
namespace {

HWY_EXPORT(softmax_run);

Status run(const SoftmaxPlan& plan, const Call& call) {
  HWY_DYNAMIC_DISPATCH(softmax_run)(plan, call);
  return {};
}

constexpr Kernel<SoftmaxPlan> kKernels[] = {
    {"softmax_row", run}, {"softmax_columns", run}, {"softmax_gathered_columns", run}};

Status choose(const SoftmaxPlan& plan, const Call&, const Kernel<SoftmaxPlan>** kernel) {
  *kernel = &kKernels[static_cast<int>(map_path(plan.rows))];
  return {};
}

}  // namespace

const Backend<SoftmaxPlan> softmax_cpu = {kKernels, 3, choose, nullptr};

}  // namespace oprt
#endif
