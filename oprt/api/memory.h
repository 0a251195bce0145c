// Memory: on a device, pinned on the host, and cached in pools; copies and zeros, at once or in stream order.
//
// Sizes are bytes. Every address handed out is a multiple of 256. An allocation of 0 bytes succeeds and gives null, and
// null may be freed, copied (0 bytes) and zeroed (0 bytes). Errors, wherever they apply: INVALID_ARG for a null pointer
// or a bad device, OUT_OF_MEMORY where the memory is not there, however large the request; nothing is changed then and
// everything stays usable. Every function may be called from any thread.
#ifndef OPRT_API_MEMORY_H
#define OPRT_API_MEMORY_H

#include "oprt/api/device.h"

OPRT_EXTERN_C_BEGIN

// ---- blocks ----
// The contents of a new block are undefined. free waits for work that was submitted to the device before it.

OPRT_API oprt_status_t oprt_memory_alloc(oprt_device_t device, size_t bytes, void **data);
OPRT_API oprt_status_t oprt_memory_free(oprt_device_t device, void *data);

// Host memory that `device` can copy from and to in stream order. A block that is freed while a copy submitted before
// still reads it is not given out again until that copy is done; writing to it meanwhile is the caller's mistake.
OPRT_API oprt_status_t oprt_memory_alloc_pinned(oprt_device_t device, size_t bytes, void **data);
OPRT_API oprt_status_t oprt_memory_free_pinned(oprt_device_t device, void *data);

// ---- copies ----
// Host memory, pinned or not, is the CPU's: {OPRT_BACKEND_CPU, 0}. Source and destination share no byte (INVALID_ARG
// where both are on one device and do).

// Waits for work submitted to the two devices' default streams, and returns when the copy is done.
OPRT_API oprt_status_t oprt_memory_copy(void *dst, oprt_device_t dst_device, const void *src, oprt_device_t src_device,
                                        size_t bytes);

// In the order of a stream, which belongs to the GPU that takes part (to dst's, where both sides are GPUs). Both blocks
// live and the source keeps its contents until the stream has passed the copy.
OPRT_API oprt_status_t oprt_memory_copy_async(void *dst, oprt_device_t dst_device, const void *src,
                                              oprt_device_t src_device, size_t bytes, oprt_stream_t stream);

// Fills with zero bytes.
OPRT_API oprt_status_t oprt_memory_zero(oprt_device_t device, void *data, size_t bytes);
OPRT_API oprt_status_t oprt_memory_zero_async(oprt_device_t device, void *data, size_t bytes, oprt_stream_t stream);

// ---- pools ----
// A pool allocates in stream order and keeps what is freed, so that a loop that frees and allocates the same sizes asks
// the system for memory once. A block may be used from its alloc to its free, in the order of the stream given to each.

typedef struct oprt_memory_pool *oprt_memory_pool_t;

// Filled by oprt_memory_pool_get_stats. Grows at its end: struct_size says how much of it the caller knows.
typedef struct {
  size_t struct_size;       // in: sizeof(oprt_memory_pool_stats_t)
  uint64_t reserved_bytes;  // held from the system: blocks in use and cached ones
  uint64_t used_bytes;      // of these, in use; sizes as rounded up by the pool
  uint64_t reserved_peak;   // the highest that each has been
  uint64_t used_peak;       //
  uint64_t allocations;     // successful ones, of more than 0 bytes
  uint64_t hits;            // of these, served from what was reserved already
} oprt_memory_pool_stats_t;

// limit_bytes bounds reserved_bytes; 0 means that the device's memory is the only bound.
OPRT_API oprt_status_t oprt_memory_pool_create(oprt_device_t device, uint64_t limit_bytes, oprt_memory_pool_t *pool);

// Null is fine. Errors: INVALID_ARG while blocks are in use; the pool stays.
OPRT_API oprt_status_t oprt_memory_pool_destroy(oprt_memory_pool_t pool);

// Where memory or the limit is short, cached blocks are released before the allocation fails with OUT_OF_MEMORY.
OPRT_API oprt_status_t oprt_memory_pool_alloc(oprt_memory_pool_t pool, size_t bytes, oprt_stream_t stream, void **data);

// Errors: INVALID_ARG for what is not a block of this pool in use, a second free included.
OPRT_API oprt_status_t oprt_memory_pool_free(oprt_memory_pool_t pool, void *data, oprt_stream_t stream);

// Declares that a stream other than the one to be given to free uses the block: its memory is given out again only
// after the work submitted to that stream before the free.
OPRT_API oprt_status_t oprt_memory_pool_use(oprt_memory_pool_t pool, void *data, oprt_stream_t stream);

// Releases cached blocks to the system until at most keep_bytes are reserved, or none is cached.
OPRT_API oprt_status_t oprt_memory_pool_trim(oprt_memory_pool_t pool, uint64_t keep_bytes);

// From now on, memory reserved beyond `bytes` is released as it becomes free (CPU: at the free; GPU: when the freeing
// stream is next waited for). UINT64_MAX, which a new pool has, keeps everything.
OPRT_API oprt_status_t oprt_memory_pool_set_release_threshold(oprt_memory_pool_t pool, uint64_t bytes);

OPRT_API oprt_status_t oprt_memory_pool_get_stats(oprt_memory_pool_t pool, oprt_memory_pool_stats_t *stats);

OPRT_EXTERN_C_END

#endif
