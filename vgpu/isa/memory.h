// How memory instructions spell order, scope and space; for ld, st, atom, red, mbarrier.
#pragma once

#include "isa/binder.h"
#include "isa/table.h"

namespace vgpu::isa::VGPU_TARGET {

inline void take_scope(Binder& b) {
  static constexpr Scope kScopes[] = {Scope::none, Scope::cta, Scope::cluster, Scope::gpu, Scope::sys};
  const int scope = b.take_one({"cta", "cluster", "gpu", "sys"}) + 1;
  if (scope) b.site.scope = kScopes[scope];
}

inline void take_order(Binder& b) {
  static constexpr Order kOrders[] = {Order::weak,    Order::weak,    Order::relaxed,   Order::acquire,
                                      Order::release, Order::acq_rel, Order::volatile_, Order::relaxed};
  b.site.order = kOrders[b.take_one({"weak", "relaxed", "acquire", "release", "acq_rel", "volatile", "mmio"}) + 1];
  if (b.next() == "relaxed") b.take("relaxed");  // .mmio.relaxed
  b.out.strong = b.site.order != Order::weak;
  take_scope(b);
}

inline ptx::Space take_space(Binder& b) {
  using ptx::Space;
  static constexpr Space kSpaces[] = {Space::generic, Space::global,   Space::shared, Space::shared, Space::shared,
                                      Space::local,   Space::constant, Space::param,  Space::param,  Space::param};
  return kSpaces[b.take_one({"global", "shared", "shared::cta", "shared::cluster", "local", "const", "param",
                             "param::entry", "param::func"}) +
                 1];
}

}  // namespace vgpu::isa::VGPU_TARGET
