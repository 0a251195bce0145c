// cast on the GPU: widen, narrow, on the elementwise skeleton; between equal dtypes a move of bits.
#include "oprt/device/elementwise.cuh"
#include "oprt/ops/cast/cast_plan.h"

namespace oprt {
namespace {

struct Identity {
  template <class X>
  __device__ X operator()(X x) const {
    return x;
  }
};

template <class To, class From>
Status convert(const CastPlan& plan, const Call& call, LoopPath path) {
  const Sources<From, 1> in = {{first<const From>(call, plan.loop, 1)}};
  return elementwise("cast", path, plan.loop, call, first<To>(call, plan.loop, 0), in, Identity{});
}

Status cast_run(const CastPlan& plan, const Call& call, LoopPath path) {
  if (plan.to == plan.from)
    return size_of(plan.to) == 2 ? convert<uint16_t, uint16_t>(plan, call, path)
                                 : convert<uint32_t, uint32_t>(plan, call, path);
  return with_float(plan.to, [&](auto to) {
    return with_float(plan.from, [&](auto from) -> Status {
      using To = decltype(to);
      using From = decltype(from);
      if constexpr (std::is_same_v<To, From>)
        return {};  // a move, above
      else
        return convert<To, From>(plan, call, path);
    });
  });
}

LoopPath cast_path(const CastPlan& plan, const Call& call) {
  const void* data[] = {static_cast<const char*>(call.data[0]) + plan.loop.offset[0] * size_of(plan.to),
                        static_cast<const char*>(call.data[1]) + plan.loop.offset[1] * size_of(plan.from)};
  return path_for(plan.loop, data, size_of(plan.to), size_of(plan.from));
}

}  // namespace

OPRT_ELEMENTWISE_GPU_BACKEND(cast, CastPlan, cast_path);

}  // namespace oprt
