// add_rmsnorm on the CPU: the norm of device/cpu/rms.h on the rows of residual_out, which are added up just before they
// are read and so are still in cache.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "oprt/ops/add_rmsnorm/add_rmsnorm_cpu.cpp"
#include <hwy/foreach_target.h>

#include "oprt/device/cpu/rms.h"
#include "oprt/ops/add_rmsnorm/add_rmsnorm_plan.h"

HWY_BEFORE_NAMESPACE();
namespace oprt {
namespace HWY_NAMESPACE {

template <class T>
struct AddRmsnorm : RmsNorm {
  static constexpr int kOut = 0, kIn = 1;  // kIn: the sum, residual_out

  T* sum;
  const T *in, *residual;
  int64_t sum_stride, in_stride, residual_stride;  // along the axis

  // Positions [from, from + n) of the row whose operands begin at at[...].
  void prepare_row(const int64_t* at, int64_t from, int64_t n) const {
    T* const to = sum + at[1] + from * sum_stride;
    const T* const a = in + at[2] + from * in_stride;
    const T* const b = residual + at[3] + from * residual_stride;
    Plus plus;
    if (sum_stride == 1 && in_stride == 1 && residual_stride == 1)
      elementwise_span<false>(n, plus, to, a, b);
    else
      elementwise_strided(std::index_sequence<0, 1>(),
                          Loop{3, 1, n, {n}, {{sum_stride}, {in_stride}, {residual_stride}}, {}}, plus, to, a, b);
  }

  // The same for each row of the columns.
  void prepare_columns(const Columns& columns, int64_t from, int64_t n) const {
    if (!columns.unit) {
      for (int64_t c = 0; c < columns.count; ++c) {
        const int64_t at[] = {0, columns.offset[1][c], columns.offset[2][c], columns.offset[3][c]};
        prepare_row(at, from, n);
      }
      return;
    }
    Plus plus;
    for (int64_t i = from; i < from + n; ++i)
      elementwise_span<false>(columns.count, plus, sum + columns.offset[1][0] + i * sum_stride,
                              in + columns.offset[2][0] + i * in_stride,
                              residual + columns.offset[3][0] + i * residual_stride);
  }
};

void add_rmsnorm_run(const AddRmsnormPlan& plan, const Call& call) {
  const Rows& rows = plan.rows;
  with_float(plan.dtype, [&](auto t) {
    using T = decltype(t);
    const RmsNorm norm{{}, static_cast<float>(rows.length), plan.eps, plan.gamma, call.data[4]};
    const AddRmsnorm<T> op{norm,
                           first<T>(call, rows.rows, 1),
                           first<const T>(call, rows.rows, 2),
                           first<const T>(call, rows.rows, 3),
                           rows.axis_stride[1],
                           rows.axis_stride[2],
                           rows.axis_stride[3]};
    map_any_rows<T>(op, rows, call);
  });
}

}  // namespace HWY_NAMESPACE
}  // namespace oprt
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace oprt {
namespace {

HWY_EXPORT(add_rmsnorm_run);

Status run(const AddRmsnormPlan& plan, const Call& call) {
  HWY_DYNAMIC_DISPATCH(add_rmsnorm_run)(plan, call);
  return {};
}

constexpr Kernel<AddRmsnormPlan> kKernels[] = {
    {"add_rmsnorm_row", run}, {"add_rmsnorm_columns", run}, {"add_rmsnorm_gathered_columns", run}};

Status choose(const AddRmsnormPlan& plan, const Call&, const Kernel<AddRmsnormPlan>** kernel) {
  *kernel = &kKernels[static_cast<int>(map_path(plan.rows))];
  return {};
}

}  // namespace

const Backend<AddRmsnormPlan> add_rmsnorm_cpu = {kKernels, 3, choose, nullptr};

}  // namespace oprt
#endif
