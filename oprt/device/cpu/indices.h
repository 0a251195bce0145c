// Ids and positions on the CPU: looked at before anything is written, so that a bad one leaves the output alone.
#pragma once

#include <atomic>

#include "oprt/core/parallel.h"
#include "oprt/core/status.h"
#include "oprt/core/text.h"
#include "oprt/core/view.h"

namespace oprt {

// Offset in elements of a view's flat-th element, counted in the order of its indices (the last axis fastest).
inline int64_t offset_of(const View& v, int64_t flat) {
  int64_t offset = 0;
  for (int d = v.ndim - 1; d >= 0; --d) {
    offset += flat % v.shape[d] * v.strides[d];
    flat /= v.shape[d];
  }
  return offset;
}

// The first index outside [0, limit), counted as offset_of does; count(indices) where all are inside.
template <class Index>
int64_t first_outside(const View& indices, const Index* data, int64_t limit) {
  const int64_t total = count(indices);
  if (total == 0) return 0;
  const int64_t row = indices.ndim ? indices.shape[indices.ndim - 1] : 1;
  const int64_t stride = indices.ndim ? indices.strides[indices.ndim - 1] : 0;
  std::atomic<int64_t> first{total};
  parallel_for(total, int64_t{1} << 14, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end;) {
      const int64_t left = row - i % row;
      const int64_t n = left < end - i ? left : end - i;
      const Index* p = data + offset_of(indices, i);
      bool inside = true;
      for (int64_t j = 0; j < n; ++j)  // no early end, so that it is a vector loop
        inside &= static_cast<uint64_t>(static_cast<int64_t>(p[j * stride])) < static_cast<uint64_t>(limit);
      if (!inside) {
        int64_t bad = i;
        while (p[0] >= 0 && static_cast<int64_t>(p[0]) < limit) p += stride, ++bad;
        int64_t known = first.load();
        while (bad < known && !first.compare_exchange_weak(known, bad)) {
        }
        return;
      }
      i += n;
    }
  });
  return first.load();
}

// Fails with the first bad index: "embedding: ids: expected a row from 0 to 9, got 12 at [3, 0]".
template <class Index>
Status check_inside(const char* op, const char* argument, const View& indices, const Index* data, int64_t limit) {
  const int64_t flat = first_outside(indices, data, limit);
  if (flat == count(indices)) return {};
  const int64_t value = data[offset_of(indices, flat)];
  int64_t at[OPRT_MAX_DIMS];
  int64_t rest = flat;
  for (int d = indices.ndim - 1; d >= 0; --d) {
    at[d] = rest % indices.shape[d];
    rest /= indices.shape[d];
  }
  const std::string expected = limit ? "a row from 0 to " + text(limit - 1) : "no index into a table without rows";
  return invalid(op, argument, expected, text(value) + " at " + text(at, indices.ndim));
}

}  // namespace oprt
