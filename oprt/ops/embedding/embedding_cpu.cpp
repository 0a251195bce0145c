// embedding on the CPU: bytes moved, so one body for each element size. Ids are checked before the first byte is
// written.
#include <algorithm>
#include <cstring>

#include "oprt/core/parallel.h"
#include "oprt/device/cpu/indices.h"
#include "oprt/device/cpu/odometer.h"
#include "oprt/device/cpu/paths.h"
#include "oprt/ops/embedding/embedding_plan.h"

namespace oprt {
namespace {

// Threads share the elements of out, not its rows: one lookup of a million columns keeps them all busy too.
template <bool kUnitColumns, class T, class Index>
void copy_rows(const EmbeddingPlan& plan, const Call& call) {
  T* out = first<T>(call, plan.lookups, 0);
  const T* table = static_cast<const T*>(call.data[1]);
  const Index* ids = first<const Index>(call, plan.lookups, 2);
  const int64_t width = plan.width;
  parallel_for(plan.lookups.count * width, grain_of(sizeof(T)), [&](int64_t begin, int64_t end) {
    Odometer at(plan.lookups, begin / width);
    for (int64_t column = begin % width; begin < end; column = 0) {
      const int64_t n = std::min(width - column, end - begin);
      T* to = out + at.at[0] + column * plan.out_column;
      const T* from = table + static_cast<int64_t>(ids[at.at[2]]) * plan.table_row + column * plan.table_column;
      if (kUnitColumns)
        std::memcpy(to, from, n * sizeof(T));
      else
        for (int64_t i = 0; i < n; ++i) to[i * plan.out_column] = from[i * plan.table_column];
      at.advance(1);
      begin += n;
    }
  });
}

template <bool kUnitColumns>
Status run(const EmbeddingPlan& plan, const Call& call) {
  return with_index(plan.ids.dtype, [&](auto index) -> Status {
    using Index = decltype(index);
    OPRT_TRY(check_inside("embedding", "ids", plan.ids, static_cast<const Index*>(call.data[2]), plan.rows));
    switch (size_of(plan.dtype)) {
      case 2: copy_rows<kUnitColumns, uint16_t, Index>(plan, call); break;
      case 4: copy_rows<kUnitColumns, uint32_t, Index>(plan, call); break;
      case 8: copy_rows<kUnitColumns, uint64_t, Index>(plan, call); break;
    }
    return {};
  });
}

constexpr Kernel<EmbeddingPlan> kKernels[] = {{"embedding_rows", run<true>}, {"embedding_strided", run<false>}};

Status choose(const EmbeddingPlan& plan, const Call&, const Kernel<EmbeddingPlan>** kernel) {
  *kernel = &kKernels[plan.table_column == 1 && plan.out_column == 1 ? 0 : 1];
  return {};
}

}  // namespace

const Backend<EmbeddingPlan> embedding_cpu = {kKernels, 2, choose, nullptr};

}  // namespace oprt
