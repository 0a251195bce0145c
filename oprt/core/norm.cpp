#include "oprt/core/norm.h"

#include "oprt/core/check.h"
#include "oprt/core/text.h"

namespace oprt {

Status check_weight(const char* op, const char* argument, const View& v, const View& in, int axis, Weight* out) {
  if (v.ndim < 0) return {};
  OPRT_TRY(check_same_dtype_or_f32(op, argument, v, "in", in));
  const int64_t length = in.ndim ? in.shape[axis] : 1;
  OPRT_TRY(check_shape(op, argument, v, &length, 1));
  *out = {v.dtype, v.strides[0]};
  return {};
}

Status check_eps(const char* op, float eps) {
  if (eps >= 0) return {};
  return invalid(op, "eps", "0 or more", text(eps));
}

}  // namespace oprt
