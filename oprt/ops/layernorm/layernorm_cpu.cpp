// layernorm on the CPU: an Op on the row skeleton. A block's mean first, then its centred squares while it is in cache;
// blocks are put together with Chan's formula, so a row is read twice at most, once more for the output.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "oprt/ops/layernorm/layernorm_cpu.cpp"
#include <hwy/foreach_target.h>

#include "oprt/device/cpu/columns.h"
#include "oprt/ops/layernorm/layernorm_plan.h"

HWY_BEFORE_NAMESPACE();
namespace oprt {
namespace HWY_NAMESPACE {

struct Layernorm : NoPreparation {
  static constexpr int kOut = 0, kIn = 1;
  static constexpr int64_t kKept = 0;

  float eps;
  Weight gamma, beta;
  const void *gamma_data, *beta_data;

  struct Stat {
    VecF32 count, sum, squares;  // squares: of the distances from the mean, sum / count
  };

  template <class Lanes, class T>
  HWY_NOINLINE Stat block(Lanes, int64_t n, const T* x) const {
    const VecF32 count = hn::Set(F32(), static_cast<float>(Lanes::length(n)));
    const VecF32 sum = Lanes::sum(sum_span(Lanes(), n, Plus(), x)), mean = hn::Div(sum, count);
    const auto add_square = [mean](VecF32 squares, VecF32 v) {
      const VecF32 distance = hn::Sub(v, mean);
      return hn::MulAdd(distance, distance, squares);
    };
    return {count, sum, Lanes::sum(sum_span(Lanes(), n, add_square, x))};
  }

  Stat combine(const Stat& a, const Stat& b) const {
    const VecF32 count = hn::Add(a.count, b.count);
    const VecF32 distance = hn::Sub(hn::Div(b.sum, b.count), hn::Div(a.sum, a.count));
    const VecF32 weight = hn::Mul(a.count, hn::Div(b.count, count));
    const VecF32 apart = hn::MulAdd(hn::Mul(distance, distance), weight, hn::Add(a.squares, b.squares));
    return {count, hn::Add(a.sum, b.sum), apart};
  }

  struct Map {
    VecF32 mean, scale;
    VecF32 operator()(VecF32 x, VecF32 g, VecF32 b) const { return hn::MulAdd(hn::Mul(hn::Sub(x, mean), scale), g, b); }
  };
  Map map(const Stat& stat) const {
    const F32 d;
    const VecF32 variance = hn::Div(stat.squares, stat.count);
    return {hn::Div(stat.sum, stat.count), hn::Div(hn::Set(d, 1.0f), hn::Sqrt(hn::Add(variance, hn::Set(d, eps))))};
  }

  std::array<Weights, 2> weights() const {
    return {{Weights(gamma, gamma_data, kOne), Weights(beta, beta_data, kZero)}};
  }
};

void layernorm_run(const LayernormPlan& plan, const Call& call) {
  const Layernorm op{{}, plan.eps, plan.gamma, plan.beta, call.data[2], call.data[3]};
  with_float(plan.dtype, [&](auto t) { map_any_rows<decltype(t)>(op, plan.rows, call); });
}

}  // namespace HWY_NAMESPACE
}  // namespace oprt
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace oprt {
namespace {

HWY_EXPORT(layernorm_run);

Status run(const LayernormPlan& plan, const Call& call) {
  HWY_DYNAMIC_DISPATCH(layernorm_run)(plan, call);
  return {};
}

constexpr Kernel<LayernormPlan> kKernels[] = {
    {"layernorm_row", run}, {"layernorm_columns", run}, {"layernorm_gathered_columns", run}};

Status choose(const LayernormPlan& plan, const Call&, const Kernel<LayernormPlan>** kernel) {
  *kernel = &kKernels[static_cast<int>(map_path(plan.rows))];
  return {};
}

}  // namespace

const Backend<LayernormPlan> layernorm_cpu = {kKernels, 3, choose, nullptr};

}  // namespace oprt
#endif
