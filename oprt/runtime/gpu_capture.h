// What is done once and then kept (a counter, a pool, a library's handle) may be asked for first while a stream is
// being captured into a graph. It is no part of the graph, and allocations are refused to a thread during a capture
// unless it says that it knows.
#pragma once

#include "oprt/device/gpu.h"

namespace oprt {

class OutsideCapture {
 public:
  OutsideCapture() { cudaThreadExchangeStreamCaptureMode(&mode_); }
  ~OutsideCapture() { cudaThreadExchangeStreamCaptureMode(&mode_); }
  OutsideCapture(const OutsideCapture&) = delete;

 private:
  cudaStreamCaptureMode mode_ = cudaStreamCaptureModeRelaxed;
};

}  // namespace oprt
