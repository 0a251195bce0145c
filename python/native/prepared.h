// PreparedOp: an operator checked once for given tensors, to be run many times.
#pragma once

#include <nanobind/nanobind.h>

#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "operator.h"
#include "workspace.h"

namespace oprt::python {

// Keeps its tensors alive until destroy. Runs from several threads take turns, since they share outputs and workspace.
class PreparedOp {
 public:
  PreparedOp(const OperatorInfo& op, std::span<PyObject* const> arguments);

  nb::object run();
  // On other inputs of the same layout, in the order they were prepared in; absent ones are left out.
  nb::object run_inputs(const nb::args& inputs);
  // Seconds that each of `count` executes in a row takes the caller, without Python between them.
  double execute_seconds(int count);
  void destroy();

  const char* kernel() const;
  size_t workspace_bytes() const;

 private:
  // All that destroy lets go of.
  struct State {
    State(const OperatorInfo& op, std::span<PyObject* const> objects);
    ~State();

    Arguments arguments;
    Descriptor descriptor;
    Workspace workspace;
    std::vector<nb::object> tensors;
    nb::object outputs;
    oprt_stream_t stream = nullptr;  // that the last run went to
  };

  State& state() const;
  nb::object execute(void* const* data);

  const OperatorInfo& op_;
  std::unique_ptr<State> state_;
  std::mutex mutex_;  // held while work runs without the GIL; never waited for with it
  bool long_;
};

void bind_prepared(nb::module_& module);

}  // namespace oprt::python
