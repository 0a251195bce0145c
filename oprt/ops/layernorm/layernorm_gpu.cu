// layernorm on the GPU: an Op on the row skeleton. The lanes of a warp find their mean first, then the squares about
// it; warps and parts of a row are put together from their means and squares, in one exchange.
#include "oprt/device/activations.cuh"
#include "oprt/device/rows.cuh"
#include "oprt/ops/layernorm/layernorm_plan.h"

namespace oprt {
namespace {

// Of some elements: how many, their mean, and the sum of squares about it.
struct Moments {
  static constexpr int kLeast16 = 32;
  float count, mean, squares;
  __device__ static Moments none() { return {0.0f, 0.0f, 0.0f}; }
};

// x / y to 1 unit of 2^-23, without the cases that IEEE's division knows: a third of its instructions.
__device__ float divide(float x, float y) {
  const float r = reciprocal_fast(y), q = x * r;
  return fmaf(fmaf(-q, y, x), r, q);
}

struct Layernorm {
  static constexpr int kInputs = 1, kWeights = 2;
  static constexpr float kMissing = 0.0f;
  using Local = Moments;
  using Stat = Moments;

  RowWeight weights[kWeights];  // gamma, beta
  float length, eps;

  template <class H, class Group>
  __device__ Local local(const H& held, Group& group, int lanes_count) const {
    const float sum = group.across_lanes(held.sum([](float x) { return x; }), Sum());
    const float count = static_cast<float>(lanes_count), mean = lanes_count > 0 ? divide(sum, count) : 0.0f;
    const float squares = held.squares([mean](float x, bool there) { return there ? x - mean : 0.0f; });
    return {count, mean, group.across_lanes(squares, Sum())};
  }

  template <class H, class Group>
  __device__ Stat gather(const Local& local, const H&, Group& group, float length) const {
    if (group.warps() == 1) return local;
    const Moments of_warp = group.of_warps(local);
    const float mean = divide(reduce_lanes(of_warp.count * of_warp.mean, group.warps(), Sum()), length);
    const float apart = of_warp.mean - mean, squares = fmaf(of_warp.count * apart, apart, of_warp.squares);
    return {length, mean, reduce_lanes(squares, group.warps(), Sum())};
  }

  // Chan, Golub, LeVeque: Updating Formulae and a Pairwise Algorithm for Computing Sample Variances, 1979. From the
  // middle of both means, so that the order of two parts is nothing to the bits.
  __device__ Stat combine(const Stat& low, const Stat& high) const {
    const float count = low.count + high.count, most = fmaxf(count, 1.0f), apart = high.mean - low.mean;
    const float share = divide(high.count - low.count, most), both = __fdividef(low.count * high.count, most);
    return {count, fmaf(0.5f * apart, share, 0.5f * (low.mean + high.mean)),
            fmaf(apart * apart, both, low.squares + high.squares)};
  }

  struct Map {
    float mean, scale;
    __device__ float operator()(float x, float gamma, float beta) const {
      return fmaf((x - mean) * scale, gamma, beta);
    }
  };
  __device__ Map map(const Stat& stat) const { return {stat.mean, rsqrtf(stat.squares / length + eps)}; }
};

Status layernorm_run(const LayernormPlan& plan, const Call& call) {
  const Layernorm op = {{RowWeight(plan.gamma, call.data[2]), RowWeight(plan.beta, call.data[3])},
                        static_cast<float>(plan.rows.length),
                        plan.eps};
  return with_float(plan.dtype, [&](auto t) { return map_rows<decltype(t)>("layernorm", plan.rows, call, op); });
}

}  // namespace

OPRT_ROWS_GPU_BACKEND(layernorm, LayernormPlan, 2, Moments);

}  // namespace oprt
