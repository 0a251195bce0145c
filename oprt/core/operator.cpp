#include "oprt/core/operator.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "oprt/api/device.h"
#include "oprt/core/text.h"

namespace oprt {
namespace {

const OperatorInfo* first_operator = nullptr;
thread_local const char* last_kernel = "none";
thread_local const oprt_device_t* known_places = nullptr;  // oprt_exchange_thread_places

constexpr int kAbsent = -1;  // View::ndim of an optional operand that is not there

bool present(const View& v) { return v.ndim != kAbsent; }

Status check_aliasing(const oprt_operator_descriptor& desc, void* const* data) {
  const OperatorInfo& op = *desc.op;
  for (int o = 0; o < op.operand_count; ++o) {
    if (op.operands[o].role != Role::kOutput || !present(desc.views[o]) || is_empty(desc.views[o])) continue;
    for (int i = 0; i < op.operand_count; ++i) {
      const bool two_outputs = op.operands[i].role == Role::kOutput;
      if (i == o || (two_outputs && i < o) || !present(desc.views[i]) || is_empty(desc.views[i])) continue;
      const bool exactly =
          data[i] == data[o] && desc.views[i].dtype == desc.views[o].dtype && same_layout(desc.views[i], desc.views[o]);
      if (exactly && op.operands[i].role == Role::kInPlaceInput) continue;
      const Overlap found = overlap(desc.views[o], data[o], desc.views[i], data[i]);
      if (found == Overlap::kNo) continue;
      const std::string expected =
          op.operands[i].role == Role::kInPlaceInput
              ? std::string("exactly the memory of ") + op.operands[i].name + ", or memory apart from it"
              : std::string("memory apart from ") + op.operands[i].name;
      return invalid(op.name, op.operands[o].name, expected,
                     found == Overlap::kYes ? "an overlap" : "two layouts too intricate to tell apart in bounded work");
    }
  }
  return {};
}

Status check_outputs_distinct(const oprt_operator_descriptor& desc) {
  const OperatorInfo& op = *desc.op;
  for (int o = 0; o < op.operand_count; ++o) {
    if (op.operands[o].role != Role::kOutput || !present(desc.views[o])) continue;
    const Overlap found = self_overlap(desc.views[o]);
    if (found == Overlap::kNo) continue;
    const std::string strides = "strides " + text(desc.views[o].strides, desc.views[o].ndim);
    return invalid(
        op.name, op.operands[o].name, "an address of its own for every element",
        found == Overlap::kYes ? strides + " that repeat one" : strides + ", too intricate to decide in bounded work");
  }
  return {};
}

Status check_alignment(const OperatorInfo& op, int i, const View& v, const void* data) {
  if (reinterpret_cast<uintptr_t>(data) % size_of(v.dtype) == 0) return {};
  return invalid(op.name, op.operands[i].name, "an address that is a multiple of " + text(size_of(v.dtype)) + " bytes",
                 address(data));
}

}  // namespace

OperatorInfo::OperatorInfo(const char* name, std::initializer_list<Operand> list)
    : name(name), operand_count(static_cast<int>(list.size())) {
  int i = 0;
  for (const Operand& operand : list) operands[i++] = operand;
  const OperatorInfo** at = &first_operator;
  while (*at && std::strcmp((*at)->name, name) < 0) at = &(*at)->next;
  next = *at;
  *at = this;
}

namespace detail {

Status accept_views(oprt_operator_descriptor* desc, std::initializer_list<const View*> views) {
  const OperatorInfo& op = *desc->op;
  int i = 0;
  for (const View* view : views) {
    const Operand& operand = op.operands[i];
    View& own = desc->views[i];
    if (view) {
      own = *view;
      OPRT_TRY(check_view(op.name, operand.name, own));
      if (is_empty(own))
        std::fill(own.strides, own.strides + own.ndim, 0);  // they lead nowhere and may hold anything
      else
        OPRT_TRY(check_alignment(op, i, own, own.data));
    } else if (operand.optional) {
      own.ndim = kAbsent;
    } else {
      return invalid(op.name, operand.name, "a tensor view", "a null pointer");
    }
    ++i;
  }
  return {};
}

Status settle(oprt_operator_descriptor* desc) {
  const OperatorInfo& op = *desc->op;
  void* data[kMaxOperands] = {};
  for (int i = 0; i < op.operand_count; ++i) data[i] = desc->views[i].data;
  OPRT_TRY(check_outputs_distinct(*desc));
  OPRT_TRY(check_aliasing(*desc, data));

  // The backend is where the data lives; all of it lives in one place.
  int leader = -1;
  Place place{OPRT_BACKEND_CPU, 0};
  desc->empty = true;
  for (int i = 0; i < op.operand_count; ++i) {
    const View& v = desc->views[i];
    if (!present(v) || is_empty(v)) continue;
    if (op.operands[i].role == Role::kOutput) desc->empty = false;
    const Place here = known_places ? Place{known_places[i].backend, known_places[i].index} : place_of(v.data);
    if (leader < 0) {
      leader = i;
      place = here;
    } else if (here.backend != place.backend || here.device != place.device) {
      const auto name = [](Place p) { return std::string(oprt_backend_string(p.backend)) + ":" + text(p.device); };
      return invalid(op.name, op.operands[i].name, "data on " + name(place) + " as " + op.operands[leader].name,
                     "data on " + name(here));
    }
  }
  const oprt_backend_t wanted = current_backend();
  if (!has_backend(wanted))
    return fail(OPRT_ERR_NOT_SUPPORTED, op.name, "backend", "a backend that this build has",
                oprt_backend_string(wanted));
  if (wanted != OPRT_BACKEND_AUTO && leader >= 0 && wanted != place.backend)
    return invalid(op.name, "backend", std::string("where the data lives, ") + oprt_backend_string(place.backend),
                   oprt_backend_string(wanted));
  desc->backend = leader < 0 && wanted != OPRT_BACKEND_AUTO ? wanted : place.backend;
  desc->device = place.device;
  return {};
}

Status check_descriptor(const OperatorInfo& op, const oprt_operator_descriptor* desc) {
  if (!desc) return invalid(op.name, "desc", "a descriptor", "a null pointer");
  if (desc->op != &op)
    return invalid(op.name, "desc", std::string("a descriptor of ") + op.name, std::string("one of ") + desc->op->name);
  return {};
}

Status accept_call(const OperatorInfo& op, const oprt_operator_descriptor* desc, const Call& call,
                   size_t workspace_size) {
  OPRT_TRY(check_descriptor(op, desc));
  if (desc->empty) return {};
  if (workspace_size < desc->workspace_bytes)
    return fail(OPRT_ERR_INSUFFICIENT_WORKSPACE, op.name, "workspace_size",
                text(static_cast<int64_t>(desc->workspace_bytes)) + " bytes or more",
                text(static_cast<int64_t>(workspace_size)));
  if (desc->workspace_bytes && !call.workspace)
    return invalid(op.name, "workspace", text(static_cast<int64_t>(desc->workspace_bytes)) + " bytes",
                   "a null pointer");
  bool moved = false;
  for (int i = 0; i < op.operand_count; ++i) {
    const View& v = desc->views[i];
    const void* pointer = call.data[i];
    if (!present(v)) {
      if (pointer)
        return invalid(op.name, op.operands[i].name, "a null pointer, as its view was at create", address(pointer));
      continue;
    }
    if (pointer == v.data || is_empty(v)) continue;
    moved = true;
    if (!pointer)
      return invalid(op.name, op.operands[i].name, "data for shape " + text(v.shape, v.ndim), "a null pointer");
    OPRT_TRY(check_alignment(op, i, v, pointer));
  }
  return moved ? check_aliasing(*desc, call.data) : Status{};
}

void set_last_kernel(const char* name) { last_kernel = name; }

}  // namespace detail

oprt_status_t workspace_size(const OperatorInfo& op, oprt_operator_descriptor_t desc, size_t* size) noexcept {
  return guarded(op.name, [&]() -> Status {
    OPRT_TRY(detail::check_descriptor(op, desc));
    if (!size) return invalid(op.name, "size", "a pointer to write to", "a null pointer");
    *size = desc->workspace_bytes;
    return {};
  });
}

oprt_status_t destroy(const OperatorInfo& op, oprt_operator_descriptor_t desc) noexcept {
  return guarded(op.name, [&]() -> Status {
    if (!desc) return {};
    OPRT_TRY(detail::check_descriptor(op, desc));
    delete desc;
    return {};
  });
}

}  // namespace oprt

extern "C" {

const char* oprt_descriptor_kernel(oprt_operator_descriptor_t desc) { return desc ? desc->kernel : "none"; }

const char* oprt_last_kernel(void) { return oprt::last_kernel; }

const oprt_device_t* oprt_exchange_thread_places(const oprt_device_t* places) {
  return std::exchange(oprt::known_places, places);
}

const char* oprt_operator_name(int32_t index) {
  const oprt::OperatorInfo* op = oprt::first_operator;
  while (op && index-- > 0) op = op->next;
  return op ? op->name : nullptr;
}

const char* oprt_operator_kernel(const char* name, oprt_backend_t backend, int32_t index) {
  const oprt::OperatorInfo* op = oprt::first_operator;
  while (op && std::strcmp(op->name, name ? name : "") != 0) op = op->next;
  return op ? op->kernel_name(backend, index) : nullptr;
}

}  // extern "C"
