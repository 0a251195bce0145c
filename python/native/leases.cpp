#include "leases.h"

#include <deque>
#include <utility>

namespace oprt::python {
namespace {

struct Kept {
  oprt_event_t done;
  std::vector<nb::object> leases;
};

// In the order of their calls. Never destroyed: at exit the interpreter is gone before static objects are.
std::deque<Kept>& kept() {
  static auto* const all = new std::deque<Kept>;
  return *all;
}

void let_go_of_what_is_done() {
  while (!kept().empty()) {
    int32_t done = 0;
    if (oprt_event_query(kept().front().done, &done) == OPRT_SUCCESS && !done) return;
    const Kept front = std::move(kept().front());  // a lease that ends runs Python code, which may come back here
    kept().pop_front();
    oprt_event_destroy(front.done);
  }
}

}  // namespace

void keep_until_done(oprt_device_t device, oprt_stream_t stream, std::vector<nb::object> leases) noexcept {
  let_go_of_what_is_done();
  oprt_event_t event = nullptr;
  if (oprt_event_create(device, &event) == OPRT_SUCCESS && oprt_event_record(event, stream) == OPRT_SUCCESS) {
    kept().push_back({event, std::move(leases)});
    return;
  }
  oprt_event_destroy(event);
  oprt_stream_synchronize(device, stream);
}

}  // namespace oprt::python
