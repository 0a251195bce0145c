// What the norms share on the row skeleton.
#pragma once

#include "oprt/device/rows.cuh"

namespace oprt {

struct SumStat {
  static constexpr int kLeast16 = 16;
  float sum;
  __device__ static SumStat none() { return {0.0f}; }
};

// y = x * gamma / sqrt(mean(x^2) + eps). With two inputs x is their sum, rounded to T first.
template <int kInputs_>
struct RmsNorm {
  static constexpr int kInputs = kInputs_, kWeights = 1;
  static constexpr float kMissing = 0.0f;
  using Local = SumStat;
  using Stat = SumStat;

  RowWeight weights[kWeights];
  float length, eps;

  template <class H, class Group>
  __device__ Local local(const H& held, Group&, int) const {
    return {held.squares([](float x, bool) { return x; })};  // in f32: 256^2 overflows f16
  }

  template <class H, class Group>
  __device__ Stat gather(const Local& local, const H&, Group& group, float) const {
    return {group.reduce(local.sum, Sum())};
  }

  __device__ Stat combine(const Stat& low, const Stat& high) const { return {low.sum + high.sum}; }

  struct Map {
    float scale;
    __device__ float operator()(float x, float gamma) const { return x * scale * gamma; }
  };
  __device__ Map map(const Stat& stat) const { return {rsqrtf(stat.sum / length + eps)}; }
};

}  // namespace oprt
