#include "oprt/ops/embedding/embedding.h"

#include "oprt/core/operator.h"
#include "oprt/core/text.h"
#include "oprt/ops/embedding/embedding_plan.h"

namespace oprt {
namespace {

const Operator<EmbeddingPlan> kEmbedding{"embedding",
                                         {{"out", Role::kOutput}, {"table", Role::kInput}, {"ids", Role::kInput}},
                                         &embedding_cpu,
                                         OPRT_GPU(embedding_gpu)};

Status check_shapes(const View& out, const View& table, const View& ids) {
  if (table.ndim != 2)
    return invalid("embedding", "table", "rank 2, [rows, width]", "shape " + text(table.shape, table.ndim));
  if (ids.ndim == OPRT_MAX_DIMS)
    return invalid("embedding", "ids", "rank 7 at most, out has one more", "shape " + text(ids.shape, ids.ndim));
  View expected = ids;
  expected.shape[expected.ndim++] = table.shape[1];
  return check_shape("embedding", "out", out, expected.shape, expected.ndim);
}

}  // namespace
}  // namespace oprt

using namespace oprt;

oprt_status_t oprt_create_embedding_descriptor(oprt_operator_descriptor_t* desc, const oprt_tensor_view_t* out,
                                               const oprt_tensor_view_t* table, const oprt_tensor_view_t* ids) {
  return create(kEmbedding, desc, {out, table, ids}, [&](EmbeddingPlan& plan, const View* views) -> Status {
    const View &to = views[0], &from = views[1], &picks = views[2];
    OPRT_TRY(check_same_dtype("embedding", "table", from, "out", to));
    OPRT_TRY(check_index("embedding", "ids", picks));
    OPRT_TRY(check_shapes(to, from, picks));
    const bool one_column = from.shape[1] == 1;
    const View rows_of_out = without_axis(to, to.ndim - 1);
    const View* looked_up[] = {&rows_of_out, nullptr, &picks};
    plan.lookups = make_loop(looked_up, 3);
    plan.ids = picks;
    plan.rows = from.shape[0];
    plan.width = from.shape[1];
    plan.table_row = from.strides[0];
    plan.table_column = one_column ? 1 : from.strides[1];
    plan.out_column = one_column ? 1 : to.strides[to.ndim - 1];
    plan.dtype = to.dtype;
    return {};
  });
}

oprt_status_t oprt_get_embedding_workspace_size(oprt_operator_descriptor_t desc, size_t* size) {
  return workspace_size(kEmbedding, desc, size);
}

oprt_status_t oprt_execute_embedding(oprt_operator_descriptor_t desc, void* workspace, size_t workspace_size, void* out,
                                     const void* table, const void* ids, oprt_stream_t stream) {
  return execute(kEmbedding, desc, workspace, workspace_size, {out, table, ids}, stream);
}

oprt_status_t oprt_destroy_embedding_descriptor(oprt_operator_descriptor_t desc) { return destroy(kEmbedding, desc); }
