// Devices, streams and events: one face for the CPU and the GPUs.
//
// A stream is a queue: what is submitted to it runs in order, after the call has returned. The CPU has no such queue.
// Its streams run each piece of work before the call that submits it returns, so waiting for them never waits, and a
// program written for streams runs on the CPU unchanged. Every function may be called from any thread.
#ifndef OPRT_API_DEVICE_H
#define OPRT_API_DEVICE_H

#include <stddef.h>
#include <stdint.h>

#include "oprt/api/backend.h"
#include "oprt/api/descriptor.h"

OPRT_EXTERN_C_BEGIN

typedef struct {
  oprt_backend_t backend;  // CPU, NVIDIA or METAX; AUTO names no device
  int32_t index;           // from 0, in the driver's order; the CPU is one device
} oprt_device_t;

// Filled by oprt_get_device_info. Grows at its end: struct_size says how much of it the caller knows.
typedef struct {
  size_t struct_size;       // in: sizeof(oprt_device_info_t)
  uint64_t total_bytes;     // memory of the device; the host's for the CPU
  uint64_t free_bytes;      // of these, what a new allocation could take at this moment
  int32_t compute_major;    // compute capability; 0.0 for the CPU
  int32_t compute_minor;    //
  int32_t multiprocessors;  // for the CPU: the processors that this process may use
  char name[128];           // as the system calls it; ends with a zero byte
} oprt_device_info_t;

// How many devices of a backend this process can use: 1 for the CPU, 0 where the build, the driver or the GPU is
// missing. Errors: INVALID_ARG for AUTO and outside the enum.
OPRT_API oprt_status_t oprt_device_count(oprt_backend_t backend, int32_t *count);

// Errors, here and wherever a device is an argument: INVALID_ARG for AUTO, outside the enum, or an index out of range;
// NOT_SUPPORTED for a backend that this build lacks.
OPRT_API oprt_status_t oprt_get_device_info(oprt_device_t device, oprt_device_info_t *info);

// For bindings that know where their tensors live: the device of every operand, in the operator's order, of the
// descriptors that the calling thread creates from now on; null, as at first: create asks the driver, some 0.2 us for
// each pointer. Returns what was there. The array is the caller's, and create believes it.
OPRT_API const oprt_device_t *oprt_exchange_thread_places(const oprt_device_t *places);

// Waits for everything submitted to the device.
OPRT_API oprt_status_t oprt_device_synchronize(oprt_device_t device);

// How many bad ids and positions the kernels of embedding and rope have met on the stream's device (null: the calling
// thread's current one), over all its streams, since the last take. Waits for that stream. 0 where the build or the
// machine has no GPU: the CPU refuses such a call instead.
// Errors: INVALID_ARG for a null count; NOT_SUPPORTED while the stream is being captured.
OPRT_API oprt_status_t oprt_take_device_errors(oprt_stream_t stream, int64_t *count);

// The instruction set that the CPU's kernels use: "portable", "avx2", "avx512", or Highway's name for another; never
// null. It is the best that the machine has; OPRT_CPU_TARGET in the environment, set to one of the three when the
// library is loaded, bars the better ones (other values are ignored). Results differ between them only as numerics
// allow.
OPRT_API const char *oprt_cpu_target(void);

// ---- streams ----
// oprt_stream_t (descriptor.h) is the driver's own handle on a GPU, so one made elsewhere may be passed too; null is
// the device's legacy default stream, which is never destroyed.

OPRT_API oprt_status_t oprt_stream_create(oprt_device_t device, oprt_stream_t *stream);

// Null is fine. Work already submitted still runs.
OPRT_API oprt_status_t oprt_stream_destroy(oprt_device_t device, oprt_stream_t stream);

// Waits for everything submitted to the stream.
OPRT_API oprt_status_t oprt_stream_synchronize(oprt_device_t device, oprt_stream_t stream);

// ---- events ----
// A mark in a stream: what was submitted before it, up to the latest record.

typedef struct oprt_event *oprt_event_t;

OPRT_API oprt_status_t oprt_event_create(oprt_device_t device, oprt_event_t *event);
OPRT_API oprt_status_t oprt_event_destroy(oprt_event_t event);  // null is fine

// Moves the mark to the present end of a stream of the event's device.
OPRT_API oprt_status_t oprt_event_record(oprt_event_t event, oprt_stream_t stream);

// Makes what is submitted to the stream from now on wait for the event; the caller does not wait, except where either
// side is the CPU's. An event that was never recorded holds nothing back.
OPRT_API oprt_status_t oprt_stream_wait_event(oprt_device_t device, oprt_stream_t stream, oprt_event_t event);

// Waits until the work before the mark is done; *done says whether it is (1 or 0), without waiting.
OPRT_API oprt_status_t oprt_event_synchronize(oprt_event_t event);
OPRT_API oprt_status_t oprt_event_query(oprt_event_t event, int32_t *done);

// Milliseconds between two marks of one device, both reached. Negative where `end` was reached first.
// Errors: INVALID_ARG where one was never recorded or they are of different devices; RUNTIME where one is not reached.
OPRT_API oprt_status_t oprt_event_elapsed(oprt_event_t start, oprt_event_t end, float *milliseconds);

OPRT_EXTERN_C_END

#endif
