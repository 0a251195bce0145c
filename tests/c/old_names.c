/* A program of the earlier runtime: its header names, its link name, its five operators. Compiled and run against the
 * installed tree by tests/python/test_install.py. */
#include <operator_runtime/api.h>
#include <operator_runtime/operator_runtime.h>
#include <operator_runtime/ops/copy.h>
#include <operator_runtime/ops/reduce_sum.h>
#include <operator_runtime/ops/relu.h>
#include <operator_runtime/ops/softmax.h>
#include <operator_runtime/ops/vector_add.h>
#include <stdio.h>
#include <stdlib.h>

static void must(oprt_status_t status) {
  if (status == OPRT_SUCCESS) return;
  printf("%s: %s\n", oprt_status_string(status), oprt_last_error_message());
  exit(1);
}

static oprt_tensor_view_t matrix(float *data, int64_t rows, int64_t columns) {
  oprt_tensor_view_t view = {NULL, OPRT_DTYPE_F32, 2, {0}, {0}};
  view.data = data;
  view.shape[0] = rows;
  view.shape[1] = columns;
  view.strides[0] = columns;
  view.strides[1] = 1;
  return view;
}

/* The call that every operator ends in: ask for the workspace, execute, destroy. */
#define RUN(op, ...)                                                   \
  do {                                                                 \
    size_t size = 0;                                                   \
    void *workspace;                                                   \
    must(oprt_get_##op##_workspace_size(desc, &size));                 \
    workspace = malloc(size + 1);                                      \
    must(oprt_execute_##op(desc, workspace, size, __VA_ARGS__, NULL)); \
    must(oprt_destroy_##op##_descriptor(desc));                        \
    free(workspace);                                                   \
  } while (0)

static void print(const char *name, const float *values, int count) {
  int i;
  printf("%s", name);
  for (i = 0; i < count; ++i) printf(" %.4f", values[i]);
  printf("\n");
}

int main(void) {
  float x[6] = {-1, 2, -3, 4, -5, 6}, y[6] = {10, 20, 30, 40, 50, 60}, out[6], sums[2];
  oprt_tensor_view_t vx = matrix(x, 2, 3), vy = matrix(y, 2, 3), vout = matrix(out, 2, 3), vsums = matrix(sums, 2, 1);
  oprt_operator_descriptor_t desc = NULL;
  oprt_backend_t backend;

  must(oprt_set_backend(OPRT_BACKEND_AUTO));
  must(oprt_get_backend(&backend));
  printf("backend %s\n", oprt_backend_string(backend));

  must(oprt_create_copy_descriptor(&desc, &vout, &vx));
  RUN(copy, out, x);
  print("copy", out, 6);

  must(oprt_create_vector_add_descriptor(&desc, &vout, &vx, &vy));
  RUN(vector_add, out, x, y);
  print("vector_add", out, 6);

  must(oprt_create_relu_descriptor(&desc, &vout, &vx, 0.5f));
  RUN(relu, out, x);
  print("relu", out, 6);

  must(oprt_create_reduce_sum_descriptor(&desc, &vsums, &vx, 1));
  RUN(reduce_sum, sums, x);
  print("reduce_sum", sums, 2);

  must(oprt_create_softmax_descriptor(&desc, &vout, &vx, 1));
  RUN(softmax, out, x);
  print("softmax", out, 6);

  if (oprt_create_softmax_descriptor(&desc, &vout, &vx, 7) != OPRT_ERR_INVALID_ARG || desc != NULL) return 1;
  printf("%s\n", oprt_last_error_message());
  return 0;
}
