// softmax on the GPU: an Op on the row skeleton.
//
// m is the largest element of a row's lanes of one warp, and a thread keeps e = exp(x - m) of its elements in
// registers. The pairs (m, sum of e) are exchanged once between warps and blocks, and e is scaled by exp(m - max) /
// sum: one exponential an element, one exchange.
#include <cmath>

#include "oprt/device/activations.cuh"
#include "oprt/device/rows.cuh"
#include "oprt/ops/softmax/softmax_plan.h"

namespace oprt {
namespace {

// The largest element and the sum of exp(x - shift(max)) of some elements.
struct SoftmaxStat {
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
  __device__ Local local(H& held, Group& group) const {
    float max = -INFINITY;
#pragma unroll
    for (int p = 0; p < H::kPieces; ++p)
#pragma unroll
      for (int i = 0; i < H::kCount; ++i) max = fmaxf(max, held.x[p][i]);
    max = group.across_lanes(max, Max());
    const float m = shift(max);
#pragma unroll
    for (int p = 0; p < H::kPieces; ++p)
#pragma unroll
      for (int i = 0; i < H::kCount; ++i) held.x[p][i] = exponential<T>(held.x[p][i] - m);
    return {max, held.sum([](float e) { return e; })};
  }

  template <class H, class Group>
  __device__ Stat gather(const Local& local, const H&, Group& group, float) const {
    const Stat of_lanes = {local.max, group.across_lanes(local.sum, Sum())};
    return group.across_warps(of_lanes, [this](const Stat& low, const Stat& high) { return combine(low, high); });
  }

  __device__ Stat combine(const Stat& low, const Stat& high) const {
    const float max = fmaxf(low.max, high.max), m = shift(max);
    return {max, fmaf(low.sum, exponential<T>(low.max - m), high.sum * exponential<T>(high.max - m))};
  }

  struct Map {
    float scale;
    __device__ float operator()(float e) const { return e * scale; }
  };
  __device__ Map map(const Local& local, const Stat& stat) const {
    return {exponential<T>(local.max - shift(stat.max)) / stat.sum};
  }
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
