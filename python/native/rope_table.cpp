#include "rope_table.h"

#include <algorithm>

#include "error.h"
#include "operator.h"
#include "oprt/ops/rope/rope.h"

namespace oprt::python {
namespace {

nb::tuple rope_table(nb::handle max_position, nb::handle rotary_dim, nb::handle theta, int kind, nb::handle factor,
                     nb::handle low_freq_factor, nb::handle high_freq_factor, nb::handle original_max_position) {
  const auto integer = [](const char* name, nb::handle object) {
    return parse_scalar("rope_table", {name, ScalarKind::i64}, object.ptr()).i64;
  };
  const auto number = [](const char* name, nb::handle object) {
    return parse_scalar("rope_table", {name, ScalarKind::f64}, object.ptr()).f64;
  };
  const int64_t rows = integer("max_position", max_position), dim = integer("rotary_dim", rotary_dim);
  const double base = number("theta", theta);
  oprt_rope_scaling_t scaling = {};
  scaling.struct_size = sizeof(scaling);
  scaling.kind = kind;
  scaling.factor = number("factor", factor);
  scaling.low_freq_factor = number("low_freq_factor", low_freq_factor);
  scaling.high_freq_factor = number("high_freq_factor", high_freq_factor);
  scaling.original_max_position = integer("original_max_position", original_max_position);

  const nb::object empty = nb::module_::import_("numpy").attr("empty");
  const nb::tuple shape = nb::make_tuple(std::max<int64_t>(rows, 0), std::max<int64_t>(dim, 0) / 2);
  nb::object tables[2];
  Tensor taken[2];
  for (int i = 0; i < 2; ++i) {
    tables[i] = empty(shape, "float32");
    take("rope_table", i ? "sin" : "cos", tables[i], Use::kOutput, &taken[i]);
  }
  oprt_status_t status;
  {
    nb::gil_scoped_release release;
    status = oprt_rope_table(static_cast<float*>(taken[0].view.data), static_cast<float*>(taken[1].view.data), rows,
                             dim, base, &scaling);
  }
  check(status);
  return nb::make_tuple(tables[0], tables[1]);
}

}  // namespace

void bind_rope_table(nb::module_& module) {
  module.def("rope_table", rope_table, nb::arg("max_position").none(), nb::arg("rotary_dim").none(),
             nb::arg("theta").none(), nb::arg("kind"), nb::arg("factor").none(), nb::arg("low_freq_factor").none(),
             nb::arg("high_freq_factor").none(), nb::arg("original_max_position").none(),
             "(cos, sin) as float32 arrays; see operator_runtime.rope_table.");
}

}  // namespace oprt::python
