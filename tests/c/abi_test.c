// The interface that existing programs rely on, pinned: compiled as strict C99, so a change of a layout, a value or a
// signature does not build, and what only shows when run is checked in main.
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "oprt/oprt.h"

// --- layouts and values
// ------------------------------------------------------------------------------------------------

#define JOIN_(a, b) a##b
#define JOIN(a, b) JOIN_(a, b)
#define PIN(what) typedef char JOIN(pin_, __LINE__)[(what) ? 1 : -1]

PIN(OPRT_MAX_DIMS == 8);
#ifdef __LP64__
PIN(sizeof(oprt_tensor_view_t) == 144);
PIN(offsetof(oprt_tensor_view_t, data) == 0);
PIN(offsetof(oprt_tensor_view_t, dtype) == 8);
PIN(offsetof(oprt_tensor_view_t, ndim) == 12);
PIN(offsetof(oprt_tensor_view_t, shape) == 16);
PIN(offsetof(oprt_tensor_view_t, strides) == 80);
#endif

PIN(OPRT_SUCCESS == 0);
PIN(OPRT_ERR_INVALID_ARG == 1);
PIN(OPRT_ERR_UNSUPPORTED_DTYPE == 2);
PIN(OPRT_ERR_RUNTIME == 3);
PIN(OPRT_ERR_INSUFFICIENT_WORKSPACE == 4);
PIN(OPRT_ERR_NOT_SUPPORTED == 5);
PIN(OPRT_ERR_OUT_OF_MEMORY == 6);

PIN(OPRT_DTYPE_F16 == 0);
PIN(OPRT_DTYPE_F32 == 1);
PIN(OPRT_DTYPE_BF16 == 2);
PIN(OPRT_DTYPE_I32 == 3);
PIN(OPRT_DTYPE_I64 == 4);

PIN(OPRT_BACKEND_AUTO == 0);
PIN(OPRT_BACKEND_NVIDIA == 1);
PIN(OPRT_BACKEND_METAX == 2);
PIN(OPRT_BACKEND_CPU == 3);

// --- signatures
// --------------------------------------------------------------------------------------------------------

typedef oprt_operator_descriptor_t D;
typedef const oprt_tensor_view_t *V;
typedef oprt_stream_t S;

const char *(*status_string)(oprt_status_t) = oprt_status_string;
const char *(*last_error_message)(void) = oprt_last_error_message;
const char *(*backend_string)(oprt_backend_t) = oprt_backend_string;
oprt_status_t (*set_backend)(oprt_backend_t) = oprt_set_backend;
oprt_status_t (*get_backend)(oprt_backend_t *) = oprt_get_backend;
size_t (*dtype_size)(oprt_dtype_t) = oprt_dtype_size;
const char *(*dtype_string)(oprt_dtype_t) = oprt_dtype_string;
int (*abi_version)(void) = oprt_abi_version;
const char *(*version_string)(void) = oprt_version_string;
const char *(*descriptor_kernel)(D) = oprt_descriptor_kernel;
const char *(*last_kernel)(void) = oprt_last_kernel;
const char *(*operator_name)(int32_t) = oprt_operator_name;
const char *(*operator_kernel)(const char *, oprt_backend_t, int32_t) = oprt_operator_kernel;
int (*exchange_thread_backend)(int) = oprt_exchange_thread_backend;

typedef oprt_device_t Device;
oprt_status_t (*device_count)(oprt_backend_t, int32_t *) = oprt_device_count;
oprt_status_t (*take_device_errors)(oprt_stream_t, int64_t *) = oprt_take_device_errors;
const oprt_device_t *(*exchange_thread_places)(const oprt_device_t *) = oprt_exchange_thread_places;
oprt_status_t (*device_info)(Device, oprt_device_info_t *) = oprt_get_device_info;
oprt_status_t (*device_synchronize)(Device) = oprt_device_synchronize;
const char *(*cpu_target)(void) = oprt_cpu_target;
oprt_status_t (*stream_create)(Device, S *) = oprt_stream_create;
oprt_status_t (*stream_destroy)(Device, S) = oprt_stream_destroy;
oprt_status_t (*stream_synchronize)(Device, S) = oprt_stream_synchronize;
oprt_status_t (*stream_wait_event)(Device, S, oprt_event_t) = oprt_stream_wait_event;
oprt_status_t (*event_create)(Device, oprt_event_t *) = oprt_event_create;
oprt_status_t (*event_destroy)(oprt_event_t) = oprt_event_destroy;
oprt_status_t (*event_record)(oprt_event_t, S) = oprt_event_record;
oprt_status_t (*event_synchronize)(oprt_event_t) = oprt_event_synchronize;
oprt_status_t (*event_query)(oprt_event_t, int32_t *) = oprt_event_query;
oprt_status_t (*event_elapsed)(oprt_event_t, oprt_event_t, float *) = oprt_event_elapsed;

oprt_status_t (*memory_alloc)(Device, size_t, void **) = oprt_memory_alloc;
oprt_status_t (*memory_free)(Device, void *) = oprt_memory_free;
oprt_status_t (*memory_alloc_pinned)(Device, size_t, void **) = oprt_memory_alloc_pinned;
oprt_status_t (*memory_free_pinned)(Device, void *) = oprt_memory_free_pinned;
oprt_status_t (*memory_copy)(void *, Device, const void *, Device, size_t) = oprt_memory_copy;
oprt_status_t (*memory_copy_async)(void *, Device, const void *, Device, size_t, S) = oprt_memory_copy_async;
oprt_status_t (*memory_zero)(Device, void *, size_t) = oprt_memory_zero;
oprt_status_t (*memory_zero_async)(Device, void *, size_t, S) = oprt_memory_zero_async;

typedef oprt_memory_pool_t Pool;
oprt_status_t (*pool_create)(Device, uint64_t, Pool *) = oprt_memory_pool_create;
oprt_status_t (*pool_destroy)(Pool) = oprt_memory_pool_destroy;
oprt_status_t (*pool_alloc)(Pool, size_t, S, void **) = oprt_memory_pool_alloc;
oprt_status_t (*pool_free)(Pool, void *, S) = oprt_memory_pool_free;
oprt_status_t (*pool_use)(Pool, void *, S) = oprt_memory_pool_use;
oprt_status_t (*pool_trim)(Pool, uint64_t) = oprt_memory_pool_trim;
oprt_status_t (*pool_set_release_threshold)(Pool, uint64_t) = oprt_memory_pool_set_release_threshold;
oprt_status_t (*pool_get_stats)(Pool, oprt_memory_pool_stats_t *) = oprt_memory_pool_get_stats;

#define OPERATOR(op, create_arguments, execute_arguments)                        \
  oprt_status_t(*create_##op) create_arguments = oprt_create_##op##_descriptor;  \
  oprt_status_t (*workspace_##op)(D, size_t *) = oprt_get_##op##_workspace_size; \
  oprt_status_t(*execute_##op) execute_arguments = oprt_execute_##op;            \
  oprt_status_t (*destroy_##op)(D) = oprt_destroy_##op##_descriptor

// Outputs and inputs at execute.
#define DATA_1_1 (D, void *, size_t, void *, const void *, S)
#define DATA_1_2 (D, void *, size_t, void *, const void *, const void *, S)
#define DATA_1_3 (D, void *, size_t, void *, const void *, const void *, const void *, S)
#define DATA_1_4 (D, void *, size_t, void *, const void *, const void *, const void *, const void *, S)
#define DATA_2_3 (D, void *, size_t, void *, void *, const void *, const void *, const void *, S)

OPERATOR(copy, (D *, V, V), DATA_1_1);
OPERATOR(vector_add, (D *, V, V, V), DATA_1_2);
OPERATOR(relu, (D *, V, V, float), DATA_1_1);
OPERATOR(reduce_sum, (D *, V, V, int64_t), DATA_1_1);
OPERATOR(softmax, (D *, V, V, int64_t), DATA_1_1);
OPERATOR(cast, (D *, V, V), DATA_1_1);
OPERATOR(mul, (D *, V, V, V), DATA_1_2);
OPERATOR(layernorm, (D *, V, V, V, V, int64_t, float), DATA_1_3);
OPERATOR(rmsnorm, (D *, V, V, V, int64_t, float), DATA_1_2);
OPERATOR(add_rmsnorm, (D *, V, V, V, V, V, int64_t, float), DATA_2_3);
OPERATOR(embedding, (D *, V, V, V), DATA_1_2);
OPERATOR(matmul, (D *, V, V, V, oprt_matmul_t, const oprt_matmul_options_t *), DATA_1_3);

OPERATOR(gelu, (D *, V, V, oprt_gelu_t), DATA_1_1);
OPERATOR(silu, (D *, V, V), DATA_1_1);
OPERATOR(silu_and_mul, (D *, V, V), DATA_1_1);
OPERATOR(gelu_and_mul, (D *, V, V, oprt_gelu_t), DATA_1_1);
OPERATOR(rope, (D *, V, V, V, V, V, oprt_rope_t), DATA_1_4);
oprt_status_t (*rope_table)(float *, float *, int64_t, int64_t, double, const oprt_rope_scaling_t *) = oprt_rope_table;
const char *(*matmul_library)(void) = oprt_matmul_library;

PIN(OPRT_GELU_ERF == 0);
PIN(OPRT_GELU_TANH == 1);
PIN(OPRT_ROPE_INTERLEAVED == 0);
PIN(OPRT_ROPE_HALF == 1);
PIN(OPRT_ROPE_SCALING_NONE == 0);
PIN(OPRT_ROPE_SCALING_LINEAR == 1);
PIN(OPRT_ROPE_SCALING_LLAMA3 == 2);
PIN(OPRT_MATMUL_AUTO == 0);
PIN(OPRT_MATMUL_NAIVE == 1);
PIN(OPRT_MATMUL_TILED == 2);
PIN(OPRT_MATMUL_LIBRARY == 3);
PIN(OPRT_ACTIVATION_NONE == 0);
PIN(OPRT_ACTIVATION_RELU == 1);
PIN(OPRT_ACTIVATION_GELU_ERF == 2);
PIN(OPRT_ACTIVATION_GELU_TANH == 3);
PIN(OPRT_ACTIVATION_SILU == 4);
#ifdef __LP64__
PIN(sizeof(oprt_matmul_options_t) == 24);
PIN(offsetof(oprt_matmul_options_t, struct_size) == 0);
PIN(offsetof(oprt_matmul_options_t, bias) == 8);
PIN(offsetof(oprt_matmul_options_t, activation) == 16);
PIN(offsetof(oprt_matmul_options_t, allow_tf32) == 20);
PIN(sizeof(oprt_rope_scaling_t) == 48);
PIN(offsetof(oprt_rope_scaling_t, kind) == 8);
PIN(offsetof(oprt_rope_scaling_t, factor) == 16);
PIN(offsetof(oprt_rope_scaling_t, low_freq_factor) == 24);
PIN(offsetof(oprt_rope_scaling_t, high_freq_factor) == 32);
PIN(offsetof(oprt_rope_scaling_t, original_max_position) == 40);
PIN(sizeof(oprt_device_t) == 8);
PIN(sizeof(oprt_device_info_t) == 168);
PIN(offsetof(oprt_device_info_t, name) == 36);
PIN(sizeof(oprt_memory_pool_stats_t) == 56);
#endif

// --- behaviour
// ---------------------------------------------------------------------------------------------------------

static int failures;

#define CHECK(what)                                             \
  do {                                                          \
    if (!(what)) {                                              \
      printf("%s:%d: not so: %s\n", __FILE__, __LINE__, #what); \
      ++failures;                                               \
    }                                                           \
  } while (0)

static int same(const char *a, const char *b) { return strcmp(a, b) == 0; }

static void check_strings(void) {
  CHECK(same(oprt_status_string(OPRT_SUCCESS), "success"));
  CHECK(same(oprt_status_string(OPRT_ERR_INVALID_ARG), "invalid argument"));
  CHECK(same(oprt_status_string(OPRT_ERR_UNSUPPORTED_DTYPE), "unsupported dtype"));
  CHECK(same(oprt_status_string(OPRT_ERR_RUNTIME), "runtime error"));
  CHECK(same(oprt_status_string(OPRT_ERR_INSUFFICIENT_WORKSPACE), "insufficient workspace"));
  CHECK(same(oprt_status_string(OPRT_ERR_NOT_SUPPORTED), "not supported"));
  CHECK(same(oprt_status_string(OPRT_ERR_OUT_OF_MEMORY), "out of memory"));
  CHECK(same(oprt_status_string((oprt_status_t)7), "unknown status"));
  CHECK(same(oprt_backend_string(OPRT_BACKEND_AUTO), "auto"));
  CHECK(same(oprt_backend_string(OPRT_BACKEND_NVIDIA), "nvidia"));
  CHECK(same(oprt_backend_string(OPRT_BACKEND_METAX), "metax"));
  CHECK(same(oprt_backend_string(OPRT_BACKEND_CPU), "cpu"));
  CHECK(same(oprt_backend_string((oprt_backend_t)4), "unknown"));
  CHECK(oprt_dtype_size(OPRT_DTYPE_F16) == 2 && same(oprt_dtype_string(OPRT_DTYPE_F16), "f16"));
  CHECK(oprt_dtype_size(OPRT_DTYPE_F32) == 4 && same(oprt_dtype_string(OPRT_DTYPE_F32), "f32"));
  CHECK(oprt_dtype_size(OPRT_DTYPE_BF16) == 2 && same(oprt_dtype_string(OPRT_DTYPE_BF16), "bf16"));
  CHECK(oprt_dtype_size(OPRT_DTYPE_I32) == 4 && same(oprt_dtype_string(OPRT_DTYPE_I32), "i32"));
  CHECK(oprt_dtype_size(OPRT_DTYPE_I64) == 8 && same(oprt_dtype_string(OPRT_DTYPE_I64), "i64"));
  CHECK(oprt_dtype_size((oprt_dtype_t)5) == 0 && same(oprt_dtype_string((oprt_dtype_t)5), "unknown"));
  CHECK(oprt_abi_version() == OPRT_ABI_VERSION);
}

static void check_backend(void) {
  oprt_backend_t backend = OPRT_BACKEND_METAX;
  CHECK(oprt_get_backend(&backend) == OPRT_SUCCESS && backend == OPRT_BACKEND_AUTO);
  CHECK(oprt_set_backend(OPRT_BACKEND_CPU) == OPRT_SUCCESS);
  CHECK(oprt_set_backend((oprt_backend_t)4) == OPRT_ERR_INVALID_ARG);
  CHECK(oprt_set_backend((oprt_backend_t)-1) == OPRT_ERR_INVALID_ARG);
  CHECK(oprt_get_backend(NULL) == OPRT_ERR_INVALID_ARG);
  CHECK(oprt_get_backend(&backend) == OPRT_SUCCESS && backend == OPRT_BACKEND_CPU);
  CHECK(oprt_set_backend(OPRT_BACKEND_AUTO) == OPRT_SUCCESS);
}

// Every operator, through the four functions' common promises.
static void check_messages(void) {
  D desc = (D)&failures;  // anything but null
  char before[1024];
  CHECK(same(oprt_last_error_message(), ""));
  CHECK(oprt_create_relu_descriptor(&desc, NULL, NULL, 0) == OPRT_ERR_INVALID_ARG);
  CHECK(desc == NULL);
  CHECK(same(oprt_last_error_message(), "relu: out: expected a tensor view, got a null pointer"));
  strcpy(before, oprt_last_error_message());
  CHECK(oprt_destroy_relu_descriptor(NULL) == OPRT_SUCCESS);
  CHECK(same(oprt_last_error_message(), before));  // a success leaves it alone
  CHECK(same(oprt_descriptor_kernel(NULL), "none"));
  CHECK(same(oprt_last_kernel(), "none"));
}

int main(void) {
  check_messages();
  check_strings();
  check_backend();
  if (failures == 0) puts("abi: all checks passed");
  return failures != 0;
}
