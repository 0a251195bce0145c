// The root-mean-square norm as an Op on the row skeleton, for rmsnorm and add_rmsnorm:
//
//   out[r, i] = in[r, i] / sqrt(mean over j of in[r, j]^2 + eps) * gamma[i]
#if defined(OPRT_DEVICE_CPU_RMS_H) == defined(HWY_TARGET_TOGGLE)
#ifdef OPRT_DEVICE_CPU_RMS_H
#undef OPRT_DEVICE_CPU_RMS_H
#else
#define OPRT_DEVICE_CPU_RMS_H
#endif

#include "oprt/device/cpu/columns.h"

HWY_BEFORE_NAMESPACE();
namespace oprt {
namespace HWY_NAMESPACE {

struct RmsNorm : NoPreparation {
  static constexpr int64_t kKept = 0;

  float length, eps;
  Weight gamma;
  const void* gamma_data;

  struct Stat {
    VecF32 squares;
  };

  template <class Lanes, class T>
  HWY_NOINLINE Stat block(Lanes, int64_t n, const T* x) const {
    const auto add_square = [](VecF32 sum, VecF32 v) { return hn::MulAdd(v, v, sum); };
    return {Lanes::sum(sum_span(Lanes(), n, add_square, x))};
  }

  Stat combine(const Stat& a, const Stat& b) const { return {hn::Add(a.squares, b.squares)}; }

  struct Map {
    VecF32 scale;
    VecF32 operator()(VecF32 x, VecF32 g) const { return hn::Mul(hn::Mul(x, scale), g); }
  };
  Map map(const Stat& stat) const {
    const F32 d;
    const auto mean = hn::Div(stat.squares, hn::Set(d, length));
    return {hn::Div(hn::Set(d, 1.0f), hn::Sqrt(hn::Add(mean, hn::Set(d, eps))))};
  }

  std::array<Weights, 1> weights() const { return {{Weights(gamma, gamma_data, kOne)}}; }
};

}  // namespace HWY_NAMESPACE
}  // namespace oprt
HWY_AFTER_NAMESPACE();

#endif
