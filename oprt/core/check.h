// The checks that <op>.cpp is made of. Each writes a message that names operator, argument, expected and got.
#pragma once

#include "oprt/core/status.h"
#include "oprt/core/view.h"

namespace oprt {

// Rank 0 to 8, a dtype of the enum, no negative length, and lengths whose product, zeros left out, fits int64_t in
// bytes; where the view is not empty, also extents that do, and data. The strides of an empty view are not looked at.
Status check_view(const char* op, const char* argument, const View& v);

Status check_float(const char* op, const char* argument, const View& v);  // f32, f16 or bf16
Status check_index(const char* op, const char* argument, const View& v);  // i32 or i64

// v has the dtype of `other`.
Status check_same_dtype(const char* op, const char* argument, const View& v, const char* other_name, const View& other);

// v has the dtype of `other`, or is f32 (gamma and beta of 16-bit data).
Status check_same_dtype_or_f32(const char* op, const char* argument, const View& v, const char* other_name,
                               const View& other);

Status check_same_shape(const char* op, const char* argument, const View& v, const char* other_name, const View& other);

// v has exactly this shape.
Status check_shape(const char* op, const char* argument, const View& v, const int64_t* shape, int ndim);

// v becomes v broadcast to the shape of `like`.
Status check_broadcast(const char* op, const char* argument, View* v, const char* like_name, const View& like);

// axis in [-rank, rank), counted from the end where negative; rank 0 takes 0 and -1 and gives 0.
Status check_axis(const char* op, int64_t axis, int rank, int* out);

}  // namespace oprt
