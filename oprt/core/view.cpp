#include "oprt/core/view.h"

#include <algorithm>
#include <cstdlib>
#include <numeric>

namespace oprt {

Extent extent(const View& v) {
  const int64_t size = size_of(v.dtype);
  Extent e{0, size};
  for (int i = 0; i < v.ndim; ++i) {
    const int64_t reach = v.shape[i] > 1 ? (v.shape[i] - 1) * v.strides[i] * size : 0;
    (reach < 0 ? e.low : e.high) += reach;
  }
  return e;
}

bool same_shape(const View& a, const View& b) {
  return a.ndim == b.ndim && std::equal(a.shape, a.shape + a.ndim, b.shape);
}

bool same_layout(const View& a, const View& b) {
  int i = 0, k = 0;
  for (;; ++i, ++k) {
    while (i < a.ndim && a.shape[i] == 1) ++i;
    while (k < b.ndim && b.shape[k] == 1) ++k;
    if (i == a.ndim || k == b.ndim) return i == a.ndim && k == b.ndim;
    if (a.shape[i] != b.shape[k] || a.strides[i] != b.strides[k]) return false;
  }
}

bool broadcast(const View& v, const View& like, View* out) {
  if (v.ndim > like.ndim) return false;
  View result = v;
  result.ndim = like.ndim;
  const int lead = like.ndim - v.ndim;
  for (int i = 0; i < like.ndim; ++i) {
    result.shape[i] = like.shape[i];
    result.strides[i] = 0;
    if (i < lead) continue;
    const int64_t length = v.shape[i - lead];
    if (length == like.shape[i])
      result.strides[i] = v.strides[i - lead];
    else if (length != 1)
      return false;
  }
  *out = result;
  return true;
}

bool broadcast_shape(const View& a, const View& b, int64_t* shape, int32_t* ndim) {
  *ndim = std::max(a.ndim, b.ndim);
  for (int i = 0; i < *ndim; ++i) {
    const int ia = i - (*ndim - a.ndim), ib = i - (*ndim - b.ndim);
    const int64_t la = ia < 0 ? 1 : a.shape[ia], lb = ib < 0 ? 1 : b.shape[ib];
    if (la != lb && la != 1 && lb != 1) return false;
    shape[i] = la == 1 ? lb : la;
  }
  return true;
}

View without_axis(const View& v, int axis) {
  View out = v;
  std::copy(v.shape + axis + 1, v.shape + v.ndim, out.shape + axis);
  std::copy(v.strides + axis + 1, v.strides + v.ndim, out.strides + axis);
  --out.ndim;
  return out;
}

namespace {

// Overlap is a question about integers: with the terms c_k > 0 and bounds u_k, is there 0 <= x_k <= u_k with
// sum c_k x_k = target? Subset sum in general, yet the strides of real tensors nest, so a search from the largest
// coefficient down, cut by what the rest can still reach and by its gcd, needs a handful of steps. A limit bounds it.
class BoundedSum {
 public:
  void add(int64_t coefficient, int64_t bound) {
    if (coefficient == 0 || bound == 0) return;
    terms_[size_++] = {std::abs(coefficient), bound};
  }

  // Looks for a solution other than x = excluded (in the order of solve's terms after sorting; see self_overlap).
  Overlap solve(__int128 target, bool exclude_centre = false) {
    std::sort(terms_, terms_ + size_, [](const Term& a, const Term& b) { return a.coefficient > b.coefficient; });
    if (!exclude_centre) merge_equal();
    reach_[size_] = 0;
    gcd_[size_] = 0;
    for (int k = size_ - 1; k >= 0; --k) {
      reach_[k] = reach_[k + 1] + static_cast<__int128>(terms_[k].coefficient) * terms_[k].bound;
      gcd_[k] = std::gcd(gcd_[k + 1], terms_[k].coefficient);
    }
    exclude_centre_ = exclude_centre;
    steps_ = 0;
    return search(0, target, true);
  }

 private:
  struct Term {
    int64_t coefficient, bound;
  };
  static constexpr int kMaxTerms = 2 * OPRT_MAX_DIMS + 2;
  static constexpr int kMaxSteps = 20000;  // about 1 ms; real layouts take fewer than 50

  void merge_equal() {
    int kept = 0;
    for (int k = 0; k < size_; ++k) {
      if (kept && terms_[kept - 1].coefficient == terms_[k].coefficient)
        terms_[kept - 1].bound += terms_[k].bound;
      else
        terms_[kept++] = terms_[k];
    }
    size_ = kept;
  }

  Overlap search(int k, __int128 target, bool centred) {
    if (target < 0 || target > reach_[k]) return Overlap::kNo;
    if (k == size_) return exclude_centre_ && centred ? Overlap::kNo : Overlap::kYes;
    if (target % gcd_[k] != 0) return Overlap::kNo;
    const __int128 c = terms_[k].coefficient;
    const __int128 rest = target - reach_[k + 1];
    __int128 x = rest > 0 ? (rest + c - 1) / c : 0;
    const __int128 last = std::min<__int128>(terms_[k].bound, target / c);
    for (; x <= last; ++x) {
      if (++steps_ > kMaxSteps) return Overlap::kUnknown;
      const Overlap found = search(k + 1, target - c * x, centred && 2 * x == terms_[k].bound);
      if (found != Overlap::kNo) return found;
    }
    return Overlap::kNo;
  }

  Term terms_[kMaxTerms];
  int size_ = 0;
  __int128 reach_[kMaxTerms + 1];
  int64_t gcd_[kMaxTerms + 1];
  bool exclude_centre_ = false;
  int steps_ = 0;
};

// Dense: the view fills its extent without a gap, so sharing a byte of the extent is sharing a byte of the view.
bool is_dense(const View& v, const Extent& e) { return count(v) * size_of(v.dtype) == e.high - e.low; }

}  // namespace

Overlap overlap(const View& a, const void* a_data, const View& b, const void* b_data) {
  const Extent ea = extent(a), eb = extent(b);
  const __int128 distance =
      static_cast<__int128>(reinterpret_cast<uintptr_t>(b_data)) - reinterpret_cast<uintptr_t>(a_data);
  if (ea.high <= distance + eb.low || distance + eb.high <= ea.low) return Overlap::kNo;
  if (is_dense(a, ea) && is_dense(b, eb) && self_overlap(a) == Overlap::kNo && self_overlap(b) == Overlap::kNo)
    return Overlap::kYes;

  // sum a_i i_i + p = distance + sum b_j j_j + q with byte offsets 0 <= p < size_a, 0 <= q < size_b. A term with a
  // negative sign is counted from its far end, which moves the target.
  BoundedSum sum;
  __int128 target = distance;
  const auto add = [&](int64_t bytes, int64_t bound) {
    sum.add(bytes, bound);
    if (bytes < 0) target -= static_cast<__int128>(bytes) * bound;
  };
  for (int i = 0; i < a.ndim; ++i)
    if (a.shape[i] > 1) add(a.strides[i] * size_of(a.dtype), a.shape[i] - 1);
  for (int i = 0; i < b.ndim; ++i)
    if (b.shape[i] > 1) add(-b.strides[i] * size_of(b.dtype), b.shape[i] - 1);
  add(1, size_of(a.dtype) - 1);
  add(-1, size_of(b.dtype) - 1);
  return sum.solve(target);
}

Overlap self_overlap(const View& v) {
  // Two indices share an address where sum s_i d_i = 0 for a difference d that is not zero, |d_i| < n_i. Shifted by
  // n_i - 1 each d_i lies in [0, 2 (n_i - 1)], and d = 0 is the centre of the box.
  struct Axis {
    int64_t stride, reach;
  } axes[OPRT_MAX_DIMS];
  int rank = 0;
  if (is_empty(v)) return Overlap::kNo;  // whatever its strides: NumPy's are all 0 then
  for (int i = 0; i < v.ndim; ++i) {
    if (v.shape[i] == 1) continue;
    if (v.strides[i] == 0) return Overlap::kYes;
    axes[rank++] = {std::abs(v.strides[i]), v.shape[i] - 1};
  }
  std::stable_sort(axes, axes + rank, [](const Axis& a, const Axis& b) { return a.stride < b.stride; });
  int64_t inner = 0;
  bool nested = true;  // each stride steps past all that the smaller ones reach
  for (int i = 0; i < rank; ++i) {
    nested = nested && axes[i].stride > inner;
    inner += axes[i].stride * axes[i].reach;
  }
  if (nested) return Overlap::kNo;

  BoundedSum sum;
  __int128 target = 0;
  for (int i = 0; i < rank; ++i) {
    sum.add(axes[i].stride, 2 * axes[i].reach);
    target += static_cast<__int128>(axes[i].stride) * axes[i].reach;
  }
  return sum.solve(target, /*exclude_centre=*/true);
}

}  // namespace oprt
