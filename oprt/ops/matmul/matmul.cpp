#include "oprt/ops/matmul/matmul.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "oprt/core/operator.h"
#include "oprt/core/parallel.h"
#include "oprt/core/text.h"
#include "oprt/ops/matmul/matmul_plan.h"

namespace oprt {
namespace {

const Operator<MatmulPlan> kMatmul{
    "matmul",
    {{"out", Role::kOutput}, {"a", Role::kInput}, {"b", Role::kInput}, {"bias", Role::kInput, /*optional=*/true}},
    &matmul_cpu,
    OPRT_GPU(matmul_gpu)};

constexpr int64_t kMostOptions = 4096;  // bytes; a struct_size beyond is a mistake, not a newer version

// Bytes of the struct up to the end of a field.
#define OPRT_END_OF(field) (offsetof(oprt_matmul_options_t, field) + sizeof(oprt_matmul_options_t::field))

// The options as this build knows them; what an older caller's struct lacks is zero.
oprt_matmul_options_t read_options(const oprt_matmul_options_t* given) {
  oprt_matmul_options_t known = {};
  if (!given) return known;
  known.struct_size = given->struct_size;
  if (known.struct_size >= OPRT_END_OF(bias)) known.bias = given->bias;
  if (known.struct_size >= OPRT_END_OF(activation)) known.activation = given->activation;
  if (known.struct_size >= OPRT_END_OF(allow_tf32)) known.allow_tf32 = given->allow_tf32;
  return known;
}

Status check_options(const oprt_matmul_options_t* given, const oprt_matmul_options_t& known) {
  if (!given) return {};
  const int64_t size = static_cast<int64_t>(known.struct_size);
  if (size < int64_t{sizeof(size_t)} || size > kMostOptions)
    return invalid("matmul", "options", "struct_size in bytes, " + text(int64_t{sizeof(known)}) + " in this version",
                   text(size));
  const char* bytes = reinterpret_cast<const char*>(given);
  for (int64_t i = sizeof(known); i < size; ++i)
    if (bytes[i] != 0)
      return fail(OPRT_ERR_NOT_SUPPORTED, "matmul", "options",
                  "zero in every byte past the " + text(int64_t{sizeof(known)}) + " that this version knows",
                  "something at byte " + text(i));
  const int64_t activation = static_cast<int>(known.activation);
  if (activation < OPRT_ACTIVATION_NONE || activation > OPRT_ACTIVATION_SILU)
    return invalid("matmul", "activation", "none, relu, gelu_erf, gelu_tanh or silu, 0 to 4", text(activation));
  return {};
}

Status check_shapes(const View& out, const View& a, const View& b, const View& bias) {
  const auto shape = [](const View& v) { return "shape " + text(v.shape, v.ndim); };
  const std::pair<const char*, const View*> all[] = {{"a", &a}, {"b", &b}, {"out", &out}};
  for (const auto& [name, view] : all)
    if (view->ndim < 2) return invalid("matmul", name, "rank 2 or more", shape(*view));
  const int64_t m = a.shape[a.ndim - 2], k = a.shape[a.ndim - 1], n = b.shape[b.ndim - 1];
  if (b.shape[b.ndim - 2] != k) return invalid("matmul", "b", text(k) + " rows, as many as a has columns", shape(b));
  if (out.shape[out.ndim - 2] != m || out.shape[out.ndim - 1] != n)
    return invalid("matmul", "out", "matrices of " + text(m) + " by " + text(n), shape(out));
  if (bias.ndim >= 0) OPRT_TRY(check_shape("matmul", "bias", bias, &n, 1));
  return {};
}

// A matrix view without its last two axes: the batch.
View batch_of(View v) {
  v.ndim -= 2;
  return v;
}

MatrixStrides strides_of(const View& v) { return {v.strides[v.ndim - 2], v.strides[v.ndim - 1]}; }

// out^T = b^T a^T: the same product with rows and columns exchanged.
void turn(MatmulPlan& plan) {
  std::swap(plan.m, plan.n);
  std::swap(plan.a, plan.b);
  std::swap(plan.a_operand, plan.b_operand);
  for (MatrixStrides* s : {&plan.out, &plan.a, &plan.b, &plan.bias}) std::swap(s->row, s->column);
}

// The innermost batch axis becomes more rows, where all its products have the same b and the rows of a and out go on
// at the same stride: [batch, tokens, K] by [K, N] is one product of batch * tokens rows.
void merge_batch_into_rows(MatmulPlan& plan) {
  while (plan.batch.rank > 0 && plan.bias.row == 0) {
    const int d = plan.batch.rank - 1;
    const int64_t out = plan.batch.strides[0][d];
    const int64_t a = plan.batch.strides[plan.a_operand][d], b = plan.batch.strides[plan.b_operand][d];
    const bool one_row = plan.m == 1;
    if (b != 0 || (!one_row && (out != plan.m * plan.out.row || a != plan.m * plan.a.row))) return;
    if (one_row) plan.out.row = out, plan.a.row = a;
    plan.m *= plan.batch.shape[d];
    plan.batch.count /= plan.batch.shape[d];
    --plan.batch.rank;
  }
}

void canonicalise(MatmulPlan& plan) {
  if (plan.k == 0) {  // nothing of a and b is read; their data may be null
    plan.a = plan.b = {0, 0};
    for (int i = 1; i <= 2; ++i) {
      plan.batch.offset[i] = 0;
      std::fill_n(plan.batch.strides[i], OPRT_MAX_DIMS, 0);
    }
  }
  merge_batch_into_rows(plan);
  turn(plan);
  merge_batch_into_rows(plan);
  const bool turned_is_better = plan.m == 1 || (plan.n != 1 && plan.out.column == 1 && plan.out.row != 1);
  if (!turned_is_better) turn(plan);
}

}  // namespace
}  // namespace oprt

using namespace oprt;

oprt_status_t oprt_create_matmul_descriptor(oprt_operator_descriptor_t* desc, const oprt_tensor_view_t* out,
                                            const oprt_tensor_view_t* a, const oprt_tensor_view_t* b,
                                            oprt_matmul_t algorithm, const oprt_matmul_options_t* options) {
  const oprt_matmul_options_t known = read_options(options);
  return create(kMatmul, desc, {out, a, b, known.bias}, [&](MatmulPlan& plan, const View* views) -> Status {
    const View &to = views[0], &left = views[1], &right = views[2], &bias = views[3];
    OPRT_TRY(check_options(options, known));
    const int64_t wanted = static_cast<int>(algorithm);
    if (wanted < OPRT_MATMUL_AUTO || wanted > OPRT_MATMUL_LIBRARY)
      return invalid("matmul", "algorithm", "auto, naive, tiled or library, 0 to 3", text(wanted));
    OPRT_TRY(check_float("matmul", "out", to));
    OPRT_TRY(check_same_dtype("matmul", "a", left, "out", to));
    OPRT_TRY(check_same_dtype("matmul", "b", right, "out", to));
    plan.has_bias = bias.ndim >= 0;
    if (plan.has_bias) OPRT_TRY(check_same_dtype("matmul", "bias", bias, "out", to));
    OPRT_TRY(check_shapes(to, left, right, bias));
    const View batch = batch_of(to);
    View left_batch = batch_of(left), right_batch = batch_of(right);
    OPRT_TRY(check_broadcast("matmul", "a", &left_batch, "out", batch));
    OPRT_TRY(check_broadcast("matmul", "b", &right_batch, "out", batch));

    plan.batch = make_loop(batch, left_batch, right_batch);
    plan.a_operand = 1;
    plan.b_operand = 2;
    plan.m = to.shape[to.ndim - 2];
    plan.n = to.shape[to.ndim - 1];
    plan.k = left.shape[left.ndim - 1];
    plan.out = strides_of(to);
    plan.a = strides_of(left);
    plan.b = strides_of(right);
    plan.bias = {0, plan.has_bias && plan.n > 1 ? bias.strides[0] : 0};
    plan.dtype = to.dtype;
    plan.algorithm = algorithm;
    plan.activation = known.activation;
    plan.allow_tf32 = known.allow_tf32 != 0;
    plan.threads = parallel_threads();
    canonicalise(plan);
    return {};
  });
}

oprt_status_t oprt_get_matmul_workspace_size(oprt_operator_descriptor_t desc, size_t* size) {
  return workspace_size(kMatmul, desc, size);
}

oprt_status_t oprt_execute_matmul(oprt_operator_descriptor_t desc, void* workspace, size_t workspace_size, void* out,
                                  const void* a, const void* b, const void* bias, oprt_stream_t stream) {
  return execute(kMatmul, desc, workspace, workspace_size, {out, a, b, bias}, stream);
}

oprt_status_t oprt_destroy_matmul_descriptor(oprt_operator_descriptor_t desc) { return destroy(kMatmul, desc); }
