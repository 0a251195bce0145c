// oprt::Event: a mark in a stream, to wait for and to measure time with.
#pragma once

#include <memory>

#include "oprt/runtime/stream.h"

namespace oprt {

class Event {
 public:
  explicit Event(Device device = Device::cpu()) {
    oprt_event_t event = nullptr;
    check(oprt_event_create(device.c(), &event));
    event_.reset(event);
  }

  // Moves the mark to the present end of the stream.
  void record(const Stream& stream) { check(oprt_event_record(event_.get(), stream.c())); }

  // Waits until the work before the mark is done; done() asks without waiting.
  void synchronize() const { check(oprt_event_synchronize(event_.get())); }
  bool done() const {
    int32_t done = 0;
    check(oprt_event_query(event_.get(), &done));
    return done != 0;
  }

  // Makes what is submitted to the stream from now on wait for the mark.
  void hold(const Stream& stream) const {
    check(oprt_stream_wait_event(stream.device().c(), stream.c(), event_.get()));
  }

  // Both marks reached.
  float milliseconds_since(const Event& start) const {
    float milliseconds = 0;
    check(oprt_event_elapsed(start.event_.get(), event_.get(), &milliseconds));
    return milliseconds;
  }

 private:
  struct Destroy {
    void operator()(oprt_event_t event) const { oprt_event_destroy(event); }
  };
  std::unique_ptr<oprt_event, Destroy> event_;
};

}  // namespace oprt
