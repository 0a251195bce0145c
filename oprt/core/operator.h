// What every operator is made of: its operands, a Plan, and a Backend for each place it runs.
//
//   <op>_plan.h    struct Plan (plain data), extern const Backend<Plan> <op>_cpu, <op>_gpu
//   <op>.cpp       const Operator<Plan> k<Op>{...}; create fills the plan after every check; the C entry points
//   <op>_cpu.cpp   defines <op>_cpu: the kernels, and which of them a call takes
//
// create and execute below do what no operator should have to repeat: null and empty, backend and device, aliasing,
// workspace, kernel names, exceptions.
#pragma once

#include <initializer_list>
#include <memory>
#include <new>

#include "oprt/api/descriptor.h"
#include "oprt/core/backend.h"
#include "oprt/core/call.h"
#include "oprt/core/check.h"
#include "oprt/core/loop.h"
#include "oprt/core/prepare.h"
#include "oprt/core/status.h"
#include "oprt/core/view.h"

namespace oprt {

// What an operand is to its operator. Aliasing rules follow from it.
enum class Role {
  kOutput,        // written whole; overlaps nothing, not even itself
  kInput,         // may not share a byte with an output
  kInPlaceInput,  // may also be exactly an output: the same pointer, shape, strides and dtype
};

struct Operand {
  const char* name;
  Role role;
  bool optional = false;  // the view may be null at create, and then the pointer is null at execute
};

struct OperatorInfo {
  OperatorInfo(const char* name, std::initializer_list<Operand> operands);
  OperatorInfo(const OperatorInfo&) = delete;

  virtual const char* kernel_name(oprt_backend_t backend, int index) const = 0;

  const char* name;
  Operand operands[kMaxOperands];
  int operand_count;
  mutable const OperatorInfo* next;  // every operator of the library, by name
};

template <class Plan>
struct Operator final : OperatorInfo {
  Operator(const char* name, std::initializer_list<Operand> operands, const Backend<Plan>* cpu,
           const Backend<Plan>* gpu)
      : OperatorInfo(name, operands), cpu(cpu), gpu(gpu) {}

  const Backend<Plan>* on(oprt_backend_t backend) const { return backend == OPRT_BACKEND_CPU ? cpu : gpu; }

  const char* kernel_name(oprt_backend_t backend, int index) const override {
    const Backend<Plan>* b = on(backend);
    return b && index >= 0 && index < b->kernel_count ? b->kernels[index].name : nullptr;
  }

  const Backend<Plan>* cpu;
  const Backend<Plan>* gpu;
};

}  // namespace oprt

// The opaque struct of the C API. Immutable after create.
struct oprt_operator_descriptor {
  explicit oprt_operator_descriptor(const oprt::OperatorInfo& op) : op(&op) {}
  virtual ~oprt_operator_descriptor() = default;

  const oprt::OperatorInfo* op;
  oprt_backend_t backend = OPRT_BACKEND_CPU;
  int device = 0;
  bool empty = false;  // nothing to write: execute returns at once
  size_t workspace_bytes = 0;
  const char* kernel = "none";
  oprt::View views[oprt::kMaxOperands] = {};  // as create saw them; ndim -1 where absent
};

namespace oprt {

template <class Plan>
struct Descriptor final : oprt_operator_descriptor {
  using oprt_operator_descriptor::oprt_operator_descriptor;
  Plan plan = {};
};

namespace detail {

// create before the operator's own checks: copies the views in, each checked for itself.
Status accept_views(oprt_operator_descriptor* desc, std::initializer_list<const View*> views);

// create after them: aliasing, backend and device, empty.
Status settle(oprt_operator_descriptor* desc);

// execute before the launch: the descriptor is this operator's, workspace, pointers, aliasing where they changed.
Status accept_call(const OperatorInfo& op, const oprt_operator_descriptor* desc, const Call& call,
                   size_t workspace_size);

Status check_descriptor(const OperatorInfo& op, const oprt_operator_descriptor* desc);

void set_last_kernel(const char* name);

}  // namespace detail

// The body of oprt_create_<op>_descriptor. `plan_of(plan, views)` makes the operator's own checks and fills the plan;
// views[i] is the i-th operand, views[i].ndim < 0 where it is absent (an optional operand that was null).
template <class Plan, class PlanOf>
oprt_status_t create(const Operator<Plan>& op, oprt_operator_descriptor_t* desc,
                     std::initializer_list<const View*> views, PlanOf&& plan_of) noexcept {
  return guarded(op.name, [&]() -> Status {
    if (!desc) return invalid(op.name, "desc", "a pointer to write to", "a null pointer");
    *desc = nullptr;
    auto made = std::make_unique<Descriptor<Plan>>(op);
    OPRT_TRY(detail::accept_views(made.get(), views));
    OPRT_TRY(plan_of(made->plan, static_cast<const View*>(made->views)));
    OPRT_TRY(detail::settle(made.get()));
    if (!made->empty) {
      const Backend<Plan>* backend = op.on(made->backend);
      if (!backend)
        return fail(OPRT_ERR_NOT_SUPPORTED, op.name, "backend", "a backend for which this operator is built",
                    oprt_backend_string(made->backend));
      const Preparing preparing(made->device);
      if (backend->workspace) made->workspace_bytes = backend->workspace(made->plan);
      Call call = {};
      for (int i = 0; i < op.operand_count; ++i) call.data[i] = made->views[i].data;
      call.device = made->device;
      const Kernel<Plan>* kernel = nullptr;
      OPRT_TRY(backend->choose(made->plan, call, &kernel));
      made->kernel = kernel->name;
      if (made->backend != OPRT_BACKEND_CPU) OPRT_TRY(kernel->run(made->plan, call));
    }
    *desc = made.release();
    return {};
  });
}

// The body of oprt_execute_<op>; data in the order of the operands.
template <class Plan>
oprt_status_t execute(const Operator<Plan>& op, oprt_operator_descriptor_t desc, void* workspace, size_t workspace_size,
                      std::initializer_list<const void*> data, oprt_stream_t stream) noexcept {
  return guarded(op.name, [&]() -> Status {
    Call call = {};
    int i = 0;
    for (const void* pointer : data) call.data[i++] = const_cast<void*>(pointer);
    call.workspace = workspace;
    call.stream = stream;
    detail::set_last_kernel("none");
    OPRT_TRY(detail::accept_call(op, desc, call, workspace_size));
    if (desc->empty) return {};
    const auto& own = static_cast<const Descriptor<Plan>&>(*desc);
    call.device = own.device;
    const Kernel<Plan>* kernel = nullptr;
    OPRT_TRY(op.on(own.backend)->choose(own.plan, call, &kernel));
    OPRT_TRY(kernel->run(own.plan, call));
    detail::set_last_kernel(kernel->name);
    return {};
  });
}

// The bodies of oprt_get_<op>_workspace_size and oprt_destroy_<op>_descriptor.
oprt_status_t workspace_size(const OperatorInfo& op, oprt_operator_descriptor_t desc, size_t* size) noexcept;
oprt_status_t destroy(const OperatorInfo& op, oprt_operator_descriptor_t desc) noexcept;

}  // namespace oprt
