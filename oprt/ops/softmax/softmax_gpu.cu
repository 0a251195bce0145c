// softmax on the GPU: an Op on the row skeleton.
//
// m is the largest element of a row's lanes of one warp. The pairs (m, sum of exp(x - m)) are exchanged once between
// warps and blocks. The exponential is computed twice: registers that would keep it are better spent on more rows at a
// time (97 to 100 % of a copy's speed from 128 MB on; kept: 92 to 95).
#include <cmath>

#include "oprt/device/activations.cuh"
#include "oprt/device/rows.cuh"
#include "oprt/ops/softmax/softmax_plan.h"

namespace oprt {
namespace {

// The largest element and the sum of exp(x - shift(max)) of some elements.
struct SoftmaxStat {
  static constexpr int kLeast16 = 16;
  float max, sum;
  __device__ static SoftmaxStat none() { return {-INFINITY, 0.0f}; }
};

// What is subtracted: the maximum, and 0 in place of -inf, where -inf - -inf would be NaN. A row of -inf alone then has
// the sum 0, and 0 / 0 is the NaN it must be. A NaN that the maximum lost is found by the sum.
__device__ float shift(float max) { return max == -INFINITY ? 0.0f : max; }

template <class T>
struct Softmax {
  static constexpr int kInputs = 1, kWeights = 0;
  static constexpr float kMissing = -INFINITY;
  using Local = SoftmaxStat;
  using Stat = SoftmaxStat;

  template <class H, class Group>
  __device__ Local local(const H& held, Group& group, int) const {
    const float max = group.across_lanes(held.largest(), Max()), m = shift(max);
    return {max, held.sum([m](float x) { return exponential<T>(x - m); })};
  }

  template <class H, class Group>
  __device__ Stat gather(const Local& local, const H&, Group& group, float) const {
    const Stat own = {local.max, group.across_lanes(local.sum, Sum())};
    if (group.warps() == 1) return own;
    const Stat of_warp = group.of_warps(own);
    const float max = largest_of_warp(of_warp.max);
    return {max, reduce_lanes(scaled(of_warp, shift(max)), group.warps(), Sum())};
  }

  // The sum of exp(x - m) where the Stat has that of exp(x - shift(max)).
  __device__ static float scaled(const Stat& stat, float m) { return stat.sum * exponential<T>(stat.max - m); }

  __device__ Stat combine(const Stat& low, const Stat& high) const {
    const float max = fmaxf(low.max, high.max), m = shift(max);
    return {max, __fadd_rn(scaled(low, m), scaled(high, m))};  // not fused: the same either way round
  }

  struct Map {
    float m, scale;
    __device__ float operator()(float x) const { return exponential<T>(x - m) * scale; }
  };
  __device__ Map map(const Stat& stat) const { return {shift(stat.max), 1.0f / stat.sum}; }
};

Status softmax_run(const SoftmaxPlan& plan, const Call& call) {
  return with_float(plan.dtype, [&](auto t) {
    using T = decltype(t);
    return map_rows<T>("softmax", plan.rows, call, Softmax<T>{});
  });
}

}  // namespace

OPRT_ROWS_GPU_BACKEND(softmax, SoftmaxPlan, 2, SoftmaxStat);

}  // namespace oprt
