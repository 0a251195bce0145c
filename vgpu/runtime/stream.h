// Streams, events and capture. Operations run when they are put into a stream, on the calling thread: program order is
// one of the orders that the API allows. What a stream remembers is what programs can ask of it, and its capture.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <thread>
#include <vector>

#include "runtime/api.h"
#include "runtime/operation.h"

namespace vgpu {

// A capture under way: shared by the streams that take part in it.
struct Capture {
  std::shared_ptr<Graph> graph;
  CaptureMode mode;
  CaptureStatus status = CaptureStatus::Active;
  unsigned long long id;
  Stream* origin;
  std::thread::id thread;
  std::vector<GraphNode*> left;  // the last nodes of streams that were destroyed: to be joined all the same
};

constexpr int kLowestPriority = 0, kHighestPriority = -5;

class Stream {
 public:
  explicit Stream(int device, unsigned flags = 0, int priority = 0);

  const int device;  // current when it was made
  const unsigned flags;
  const unsigned long long id;
  int priority;
  LaunchAttribute::Value attributes[17];  // by LaunchAttribute::Id
  std::shared_ptr<Capture> capture;       // null: none
  std::vector<GraphNode*> frontier;       // of the capture: what the next operation depends on

  bool blocking() const { return !(flags & 1); }  // waits for the legacy default stream
};

class Event {
 public:
  Event(int device, unsigned flags) : device(device), flags(flags) {}
  const int device;  // current when it was made
  const unsigned flags;
  bool recorded = false;
  std::chrono::steady_clock::time_point time;
  std::shared_ptr<Capture> capture;  // recorded in a capture: what waits for it joins
  std::vector<GraphNode*> frontier;
};

// Handles: 0 and 1 are the legacy default stream of the current device, 2 the calling thread's there. Null where it is
// no stream.
constexpr uintptr_t kLegacyStream = 1, kPerThreadStream = 2;
Stream* find_stream(Stream* handle);
bool is_event(Event* event);
// What a _ptsz function makes of a stream argument.
inline Stream* per_thread(Stream* stream) { return stream ? stream : reinterpret_cast<Stream*>(kPerThreadStream); }

// Puts an operation into a stream: executes it, or adds a node to the graph that the stream is capturing.
Error submit(Stream* handle, Operation operation);

// What a call does to captures under way; tests/programs/capture_rules.txt has an H200's answers.
// Refuses, and spoils the capture, where a call may not be made: anything that waits for or may wait for the device
// (cudaMalloc, cudaEventQuery, …), unless the thread's capture mode permits it.
Error refuse_in_capture();
Error refuse_in_any_capture();       // the same, whatever the mode is
void spoil_capture(Stream* handle);  // where the stream is capturing

}  // namespace vgpu
