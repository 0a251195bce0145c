// embedding on the CPU: bytes moved, so one body for each element size. Ids are checked before the first byte is
// written. Threads share the elements of out, not its rows: one lookup of a million columns keeps them all busy too.
//
//   embedding_rows       columns contiguous in both: rows copied; past the cache with streaming stores
//   embedding_strided    anything else
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "oprt/ops/embedding/embedding_cpu.cpp"
#include <hwy/foreach_target.h>

#include <algorithm>

#include "oprt/core/parallel.h"
#include "oprt/device/cpu/indices.h"
#include "oprt/device/cpu/move.h"
#include "oprt/device/cpu/odometer.h"
#include "oprt/device/cpu/paths.h"
#include "oprt/ops/embedding/embedding_plan.h"

HWY_BEFORE_NAMESPACE();
namespace oprt {
namespace HWY_NAMESPACE {

// Bytes of a row from which it is streamed: 40 MB of rows of 2000 bytes take 0.7 of the time so, of 400 bytes 0.87. (On
// a busy machine; with less than four whole lines to a row there is little to gain.)
constexpr int64_t kStreamRow = 256;

// body(out, table, n): n elements of one row, for every piece of a row that a thread owns.
template <class T, class Body>
void for_each_piece(const EmbeddingPlan& plan, const Call& call, Body&& body) {
  T* out = first<T>(call, plan.lookups, 0);
  const T* table = static_cast<const T*>(call.data[1]);
  with_index(plan.ids.dtype, [&](auto index) {
    const auto* ids = first<const decltype(index)>(call, plan.lookups, 2);
    parallel_for(plan.lookups.count * plan.width, grain_of(sizeof(T)), [&](int64_t begin, int64_t end) {
      Odometer at(plan.lookups, begin / plan.width);
      for (int64_t column = begin % plan.width; begin < end; column = 0) {
        const int64_t n = std::min(plan.width - column, end - begin);
        const int64_t row = static_cast<int64_t>(ids[at.at[2]]) * plan.table_row;
        body(out + at.at[0] + column * plan.out_column, table + row + column * plan.table_column, n);
        at.advance(1);
        begin += n;
      }
      hwy::FlushStream();
    });
  });
}

template <class F>
void with_bits(const EmbeddingPlan& plan, F&& f) {
  switch (size_of(plan.dtype)) {
    case 2: return f(uint16_t{});
    case 4: return f(uint32_t{});
    case 8: return f(uint64_t{});
  }
}

void rows_run(const EmbeddingPlan& plan, const Call& call) {
  with_bits(plan, [&](auto bits) {
    using T = decltype(bits);
    const int64_t row_bytes = plan.width * static_cast<int64_t>(sizeof(T));
    if (plan.lookups.count * row_bytes >= kStreamBytes && row_bytes >= kStreamRow)
      for_each_piece<T>(plan, call, [](T* out, const T* from, int64_t n) { move_span<true>(out, from, n); });
    else
      for_each_piece<T>(plan, call, [](T* out, const T* from, int64_t n) { move_span<false>(out, from, n); });
  });
}

void strided_run(const EmbeddingPlan& plan, const Call& call) {
  with_bits(plan, [&](auto bits) {
    using T = decltype(bits);
    for_each_piece<T>(plan, call, [&](T* out, const T* from, int64_t n) {
      for (int64_t i = 0; i < n; ++i) out[i * plan.out_column] = from[i * plan.table_column];
    });
  });
}

}  // namespace HWY_NAMESPACE
}  // namespace oprt
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace oprt {
namespace {

HWY_EXPORT(rows_run);
HWY_EXPORT(strided_run);

Status check_ids(const EmbeddingPlan& plan, const Call& call) {
  return with_index(plan.ids.dtype, [&](auto index) {
    return check_inside("embedding", "ids", plan.ids, static_cast<const decltype(index)*>(call.data[2]), plan.rows);
  });
}

Status run_rows(const EmbeddingPlan& plan, const Call& call) {
  OPRT_TRY(check_ids(plan, call));
  HWY_DYNAMIC_DISPATCH(rows_run)(plan, call);
  return {};
}

Status run_strided(const EmbeddingPlan& plan, const Call& call) {
  OPRT_TRY(check_ids(plan, call));
  HWY_DYNAMIC_DISPATCH(strided_run)(plan, call);
  return {};
}

constexpr Kernel<EmbeddingPlan> kKernels[] = {{"embedding_rows", run_rows}, {"embedding_strided", run_strided}};

Status choose(const EmbeddingPlan& plan, const Call&, const Kernel<EmbeddingPlan>** kernel) {
  *kernel = &kKernels[plan.table_column == 1 && plan.out_column == 1 ? 0 : 1];
  return {};
}

}  // namespace

const Backend<EmbeddingPlan> embedding_cpu = {kKernels, 2, choose, nullptr};

}  // namespace oprt
#endif
