#include "oprt/core/loop.h"

#include <algorithm>
#include <cstdlib>

#include "oprt/core/view.h"

namespace oprt {
namespace {

struct Axis {
  int64_t length;
  int64_t strides[kMaxOperands];
};

}  // namespace

Loop make_loop(const oprt_tensor_view_t* const* views, int operands) {
  Loop loop = {};
  loop.operands = operands;
  loop.count = count(*views[0]);
  if (loop.count == 0) return loop;

  Axis axes[OPRT_MAX_DIMS];
  int rank = 0;
  for (int d = 0; d < views[0]->ndim; ++d) {
    if (views[0]->shape[d] == 1) continue;
    Axis& axis = axes[rank++];
    axis.length = views[0]->shape[d];
    const bool turn = views[0]->strides[d] < 0;
    for (int i = 0; i < operands; ++i) {
      const int64_t stride = views[i] ? views[i]->strides[d] : 0;
      axis.strides[i] = turn ? -stride : stride;
      if (turn) loop.offset[i] += (axis.length - 1) * stride;
    }
  }

  // Largest output stride first; where that ties (a reduced output has stride 0), the next operand decides.
  std::stable_sort(axes, axes + rank, [&](const Axis& a, const Axis& b) {
    for (int i = 0; i < operands; ++i)
      if (std::abs(a.strides[i]) != std::abs(b.strides[i])) return std::abs(a.strides[i]) > std::abs(b.strides[i]);
    return false;
  });

  for (int d = 0; d < rank; ++d) {
    const Axis& inner = axes[d];
    const int outer = loop.rank - 1;
    bool merges = outer >= 0;
    for (int i = 0; merges && i < operands; ++i) merges = loop.strides[i][outer] == inner.strides[i] * inner.length;
    const int at = merges ? outer : loop.rank++;
    loop.shape[at] = merges ? loop.shape[outer] * inner.length : inner.length;
    for (int i = 0; i < operands; ++i) loop.strides[i][at] = inner.strides[i];
  }
  return loop;
}

Rows make_rows(const oprt_tensor_view_t* const* views, const bool* reduced, int operands, int axis) {
  Rows rows = {};
  View rest[kMaxOperands];
  const View* rest_pointers[kMaxOperands];
  rows.length = 1;
  for (int i = 0; i < operands; ++i) {
    rest_pointers[i] = nullptr;
    if (!views[i]) continue;
    rest[i] = *views[i];
    rest_pointers[i] = &rest[i];
    const bool has_axis = views[i]->ndim > 0;  // rank 0: one row of one element
    if (has_axis) rest[i] = without_axis(*views[i], axis);
    if (reduced[i]) continue;
    rows.length = has_axis ? views[i]->shape[axis] : 1;
    rows.axis_stride[i] = rows.length == 1 ? 1 : views[i]->strides[axis];
  }
  rows.rows = make_loop(rest_pointers, operands);
  return rows;
}

}  // namespace oprt
