/* Softmax of a matrix, row by row, in C.
 *
 *   cc softmax.c $(pkg-config --cflags --libs oprt) -o softmax      or the CMakeLists.txt beside this file
 */
#include <oprt/oprt.h>
#include <stdio.h>

enum { ROWS = 3, COLUMNS = 4 };

int main(void) {
  float in[ROWS][COLUMNS] = {{1, 2, 3, 4}, {0, 0, 0, 0}, {1000, 1001, 1002, 1003}};
  float out[ROWS][COLUMNS];
  const oprt_tensor_view_t in_view = {in, OPRT_DTYPE_F32, 2, {ROWS, COLUMNS}, {COLUMNS, 1}};
  const oprt_tensor_view_t out_view = {out, OPRT_DTYPE_F32, 2, {ROWS, COLUMNS}, {COLUMNS, 1}};
  oprt_operator_descriptor_t softmax;
  int row, column;

  /* Everything is checked here, once; the descriptor may then be executed from any number of threads. */
  if (oprt_create_softmax_descriptor(&softmax, &out_view, &in_view, /*axis=*/-1) != OPRT_SUCCESS ||
      oprt_execute_softmax(softmax, NULL, 0, out, in, /*stream=*/NULL) != OPRT_SUCCESS) {
    fprintf(stderr, "%s\n", oprt_last_error_message());
    return 1;
  }
  oprt_destroy_softmax_descriptor(softmax);

  for (row = 0; row < ROWS; ++row) {
    for (column = 0; column < COLUMNS; ++column) printf("%.4f ", out[row][column]);
    printf("\n");
  }
  return 0;
}
