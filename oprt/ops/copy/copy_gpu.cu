// copy on the GPU: the elementwise skeleton on integers of the elements' size, and a tiled transpose.
#include <iterator>

#include "oprt/device/elementwise.cuh"
#include "oprt/ops/copy/copy.cuh"
#include "oprt/ops/copy/copy_plan.h"
#ifdef OPRT_HAS_CUTE
#include <cstdlib>
#include <cstring>

#include "oprt/ops/copy/copy_cute.cuh"
#endif

namespace oprt {
namespace {

struct Identity {
  template <class X>
  __device__ X operator()(X x) const {
    return x;
  }
};

template <LoopPath kPath>
Status run(const CopyPlan& plan, const Call& call) {
  const auto move = [&](auto t) {
    using T = decltype(t);
    if (kPath == LoopPath::kTranspose) return transpose<T>("copy", plan.loop, call);
    const Sources<T, 1> in = {{first<const T>(call, plan.loop, 1)}};
    return elementwise<false>("copy", kPath, plan.loop, call, first<T>(call, plan.loop, 0), in, Identity{});
  };
  switch (plan.element_bytes) {
    case 2: return move(uint16_t{});
    case 4: return move(uint32_t{});
    default: return move(uint64_t{});
  }
}

#ifdef OPRT_HAS_CUTE
Status run_cute(const CopyPlan& plan, const Call& call) {
  const auto at = [&](int k) { return static_cast<char*>(call.data[k]) + plan.loop.offset[k] * plan.element_bytes; };
  return copy_cute(call, at(0), at(1), plan.loop.count * plan.element_bytes);
}

bool wants_cute() {
  static const bool wanted = [] {
    const char* word = std::getenv("OPRT_COPY");
    return word && std::strcmp(word, "cute") == 0;
  }();
  return wanted;
}
#endif

constexpr Kernel<CopyPlan> kKernels[] = {
    {"copy_contiguous", run<LoopPath::kContiguous>},
    {"copy_unaligned", run<LoopPath::kUnaligned>},
    {"copy_rows", run<LoopPath::kRows>},
    {"copy_transpose", run<LoopPath::kTranspose>},
    {"copy_strided", run<LoopPath::kStrided>},
#ifdef OPRT_HAS_CUTE
    {"copy_cute", run_cute},
#endif
};

Status choose(const CopyPlan& plan, const Call& call, const Kernel<CopyPlan>** kernel) {
  const void* data[2];
  for (int k = 0; k < 2; ++k)
    data[k] = static_cast<const char*>(call.data[k]) + plan.loop.offset[k] * plan.element_bytes;
  const LoopPath path = path_for(plan.loop, data, plan.element_bytes, plan.element_bytes);
#ifdef OPRT_HAS_CUTE
  if (path == LoopPath::kContiguous && wants_cute()) {
    *kernel = &kKernels[std::size(kKernels) - 1];
    return {};
  }
#endif
  *kernel = &kKernels[static_cast<int>(path)];
  return {};
}

}  // namespace

const Backend<CopyPlan> copy_gpu = {kKernels, static_cast<int>(std::size(kKernels)), choose, nullptr};

}  // namespace oprt
