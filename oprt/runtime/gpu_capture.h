// What is done once and then kept (a counter, a pool, a library's handle) may be asked for first while a stream is
// being captured into a graph, and a pool's books are kept then too. It is no part of the graph; but during a capture
// CUDA refuses a thread such calls, cudaMalloc and cudaMemPoolGetAttribute among them, and gives the capture up, unless
// the thread says that it knows.
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
