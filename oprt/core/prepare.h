// create, on a GPU: what a call would launch is loaded there and then, so that a first execute may be captured into a
// graph. A backend's own code is run for it, with the thread marked; what launches kernels then loads them instead.
#pragma once

namespace oprt {

constexpr int kNotPreparing = -1;

// The device that the calling thread's create is for, while it runs a backend's code; kNotPreparing otherwise.
inline thread_local int preparing_on = kNotPreparing;

class Preparing {
 public:
  explicit Preparing(int device) { preparing_on = device; }
  ~Preparing() { preparing_on = kNotPreparing; }
  Preparing(const Preparing&) = delete;
};

}  // namespace oprt
