#include "isa/table.h"

namespace vgpu::isa::VGPU_TARGET {

void add_all(Table& t) {
  add_integer(t);
  add_logic(t);
  add_floating(t);
  add_half(t);
  add_compare(t);
  add_convert(t);
  add_memory(t);
  add_atomic(t);
  add_async(t);
  add_control(t);
  add_warp(t);
  add_matrix(t);
  add_video(t);
}

}  // namespace vgpu::isa::VGPU_TARGET
