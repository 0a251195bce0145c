// The C functions of api/device.h, but for oprt_cpu_target (device/cpu/targets.cpp).
#include "oprt/api/device.h"

#include <algorithm>
#include <cstring>

#include "oprt/core/backend.h"
#include "oprt/core/text.h"
#include "oprt/runtime/driver.h"

namespace oprt {
namespace {

Driver* driver_of(oprt_backend_t backend) {
#ifdef OPRT_GPU_BACKEND
  if (backend == OPRT_GPU_BACKEND) return &gpu_driver();
#endif
  return backend == OPRT_BACKEND_CPU ? &cpu_driver() : nullptr;
}

bool names_a_device(oprt_backend_t backend) {
  return backend == OPRT_BACKEND_CPU || backend == OPRT_BACKEND_NVIDIA || backend == OPRT_BACKEND_METAX;
}

Status null_pointer(const char* what, const char* argument, const char* expected) {
  return invalid(what, argument, expected, "a null pointer");
}

}  // namespace

Status find_driver(const char* what, const char* argument, oprt_device_t device, Driver** driver) {
  if (!names_a_device(device.backend))
    return invalid(what, argument, "a device of cpu, nvidia or metax",
                   "backend " + text(int64_t{device.backend}) + " (" + oprt_backend_string(device.backend) + ")");
  *driver = driver_of(device.backend);
  if (!*driver)
    return fail(OPRT_ERR_NOT_SUPPORTED, what, argument, "a backend that this build has",
                oprt_backend_string(device.backend));
  const int32_t count = (*driver)->device_count();
  if (device.index < 0 || device.index >= count) {
    const std::string why = count ? "" : " (" + (*driver)->why_none() + ")";
    return invalid(what, argument, "an index below the " + text(int64_t{count}) + " there are" + why,
                   text(int64_t{device.index}));
  }
  return {};
}

}  // namespace oprt

using namespace oprt;

oprt_status_t oprt_device_count(oprt_backend_t backend, int32_t* count) {
  return guarded("device_count", [&]() -> Status {
    if (!count) return null_pointer("device_count", "count", "a pointer to write to");
    if (!names_a_device(backend))
      return invalid("device_count", "backend", "cpu, nvidia or metax", text(int64_t{backend}));
    Driver* driver = driver_of(backend);
    *count = driver ? driver->device_count() : 0;
    return {};
  });
}

oprt_status_t oprt_get_device_info(oprt_device_t device, oprt_device_info_t* info) {
  return guarded("get_device_info", [&]() -> Status {
    Driver* driver;
    OPRT_TRY(find_driver("get_device_info", "device", device, &driver));
    if (!info) return null_pointer("get_device_info", "info", "a struct to fill");
    if (info->struct_size < sizeof(*info))
      return invalid("get_device_info", "info", "struct_size " + std::to_string(sizeof(*info)) + " or more",
                     std::to_string(info->struct_size));
    return driver->info(device.index, info);
  });
}

oprt_status_t oprt_device_synchronize(oprt_device_t device) {
  return guarded("device_synchronize", [&]() -> Status {
    Driver* driver;
    OPRT_TRY(find_driver("device_synchronize", "device", device, &driver));
    return driver->synchronize(device.index);
  });
}

oprt_status_t oprt_take_device_errors(oprt_stream_t stream, int64_t* count) {
  return guarded("take_device_errors", [&]() -> Status {
    if (!count) return null_pointer("take_device_errors", "count", "a pointer to write to");
    *count = 0;
#ifdef OPRT_GPU_BACKEND
    return take_gpu_errors(stream, count);
#else
    return {};
#endif
  });
}

oprt_status_t oprt_stream_create(oprt_device_t device, oprt_stream_t* stream) {
  return guarded("stream_create", [&]() -> Status {
    if (!stream) return null_pointer("stream_create", "stream", "a pointer to write to");
    *stream = nullptr;
    Driver* driver;
    OPRT_TRY(find_driver("stream_create", "device", device, &driver));
    return driver->stream_create(device.index, stream);
  });
}

oprt_status_t oprt_stream_destroy(oprt_device_t device, oprt_stream_t stream) {
  return guarded("stream_destroy", [&]() -> Status {
    Driver* driver;
    OPRT_TRY(find_driver("stream_destroy", "device", device, &driver));
    return stream ? driver->stream_destroy(device.index, stream) : Status{};
  });
}

oprt_status_t oprt_stream_synchronize(oprt_device_t device, oprt_stream_t stream) {
  return guarded("stream_synchronize", [&]() -> Status {
    Driver* driver;
    OPRT_TRY(find_driver("stream_synchronize", "device", device, &driver));
    return driver->stream_synchronize(device.index, stream);
  });
}

oprt_status_t oprt_stream_wait_event(oprt_device_t device, oprt_stream_t stream, oprt_event_t event) {
  return guarded("stream_wait_event", [&]() -> Status {
    Driver* driver;
    OPRT_TRY(find_driver("stream_wait_event", "device", device, &driver));
    if (!event) return null_pointer("stream_wait_event", "event", "an event");
    return driver->stream_wait(device.index, stream, *event);
  });
}

oprt_status_t oprt_event_create(oprt_device_t device, oprt_event_t* event) {
  return guarded("event_create", [&]() -> Status {
    if (!event) return null_pointer("event_create", "event", "a pointer to write to");
    *event = nullptr;
    Driver* driver;
    OPRT_TRY(find_driver("event_create", "device", device, &driver));
    return driver->event_create(device.index, event);
  });
}

oprt_status_t oprt_event_destroy(oprt_event_t event) {
  delete event;
  return OPRT_SUCCESS;
}

oprt_status_t oprt_event_record(oprt_event_t event, oprt_stream_t stream) {
  return guarded("event_record", [&]() -> Status {
    if (!event) return null_pointer("event_record", "event", "an event");
    return event->record(stream);
  });
}

oprt_status_t oprt_event_synchronize(oprt_event_t event) {
  return guarded("event_synchronize", [&]() -> Status {
    if (!event) return null_pointer("event_synchronize", "event", "an event");
    return event->synchronize();
  });
}

oprt_status_t oprt_event_query(oprt_event_t event, int32_t* done) {
  return guarded("event_query", [&]() -> Status {
    if (!event) return null_pointer("event_query", "event", "an event");
    if (!done) return null_pointer("event_query", "done", "a pointer to write to");
    bool reached = false;
    OPRT_TRY(event->query(&reached));
    *done = reached;
    return {};
  });
}

oprt_status_t oprt_event_elapsed(oprt_event_t start, oprt_event_t end, float* milliseconds) {
  return guarded("event_elapsed", [&]() -> Status {
    if (!start) return null_pointer("event_elapsed", "start", "an event");
    if (!end) return null_pointer("event_elapsed", "end", "an event");
    if (!milliseconds) return null_pointer("event_elapsed", "milliseconds", "a pointer to write to");
    const auto name = [](const oprt_event& event) {
      return std::string(oprt_backend_string(event.device.backend)) + ":" + text(int64_t{event.device.index});
    };
    if (start->device.backend != end->device.backend || start->device.index != end->device.index)
      return invalid("event_elapsed", "end", "an event of " + name(*start) + " as start", "one of " + name(*end));
    return end->elapsed_since(*start, milliseconds);
  });
}
