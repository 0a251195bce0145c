// oprt::Stream: a queue of work on a device. Copies of a Stream are the same queue, destroyed with the last of them.
#pragma once

#include <memory>

#include "oprt/runtime/device.h"

namespace oprt {

class Stream {
 public:
  // A new stream.
  explicit Stream(Device device) : device_(device) {
    oprt_stream_t stream = nullptr;
    check(oprt_stream_create(device.c(), &stream));
    stream_.reset(stream, [device](oprt_stream_t s) { oprt_stream_destroy(device.c(), s); });
  }

  // The legacy default stream of a device.
  static Stream default_of(Device device) { return {device, nullptr}; }

  // Waits for everything submitted to it.
  void synchronize() const { check(oprt_stream_synchronize(device_.c(), c())); }

  Device device() const { return device_; }

  // For C functions; valid while a copy of this Stream lives.
  oprt_stream_t c() const { return stream_.get(); }

 private:
  Stream(Device device, std::nullptr_t) : device_(device) {}

  Device device_;
  std::shared_ptr<void> stream_;
};

}  // namespace oprt
