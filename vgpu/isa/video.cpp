// SIMD video instructions: arithmetic on the halves or the bytes of a register, as the intrinsics __vabsdiffu4 and
// their like use them. Selectors and masks of single parts (a.b7610, d.b0) are not taken.
#include <algorithm>
#include <memory>

#include "isa/lanes.h"
#include "isa/table.h"

namespace vgpu::isa::VGPU_TARGET {
namespace {

enum class Video : uint8_t { add, sub, avrg, absdiff, min, max };

struct Parts {
  Video op = Video::add;
  int count = 4;  // of parts
  bool signed_d = false, signed_a = false, signed_b = false;
  bool saturates = false, sums = false;  // .sat; .add: the parts' results are summed, with the third operand
};

int32_t part(uint32_t x, int i, int bits, bool is_signed) {
  const uint32_t top = x << (32 - bits * (i + 1));
  return is_signed ? static_cast<int32_t>(top) >> (32 - bits) : static_cast<int32_t>(top >> (32 - bits));
}

int32_t apply(Video op, int32_t a, int32_t b) {
  switch (op) {
    case Video::add: return a + b;
    case Video::sub: return a - b;
    case Video::avrg: return (a + b + (a + b >= 0)) >> 1;  // rounded away from zero
    case Video::absdiff: return a > b ? a - b : b - a;
    case Video::min: return std::min(a, b);
    case Video::max: return std::max(a, b);
  }
  return 0;
}

const Decoded* video(Warp& w, const Decoded& d, Mask lanes) {
  const Parts& p = *static_cast<const Parts*>(d.site->detail.get());
  const uint32_t *a = w.lanes<uint32_t>(d.a), *b = w.lanes<uint32_t>(d.b), *c = w.lanes<uint32_t>(d.c);
  uint32_t* out = w.lanes<uint32_t>(d.d);
  const int bits = 32 / p.count;
  const uint32_t ones = (1u << bits) - 1;
  const int32_t low = p.signed_d ? -(1 << (bits - 1)) : 0, high = static_cast<int32_t>(p.signed_d ? ones >> 1 : ones);
  for_each_lane(lanes, [&](int l) {
    uint32_t merged = c[l], sum = c[l];
    for (int i = 0; i < p.count; ++i) {
      int32_t x = apply(p.op, part(a[l], i, bits, p.signed_a), part(b[l], i, bits, p.signed_b));
      if (p.saturates) x = std::clamp(x, low, high);
      sum += static_cast<uint32_t>(x);
      merged = (merged & ~(ones << bits * i)) | (static_cast<uint32_t>(x) & ones) << bits * i;
    }
    out[l] = p.sums ? sum : merged;
  });
  return &d + 1;
}

template <Video kOp, int kCount>
bool bind(Binder& b) {
  auto p = std::make_shared<Parts>();
  p->op = kOp;
  p->count = kCount;
  for (bool* is_signed : {&p->signed_d, &p->signed_a, &p->signed_b}) {
    const int type = b.take_one({"u32", "s32"});
    if (type < 0) return b.fail("has types that the virtual GPU does not know there");
    *is_signed = type == 1;
  }
  p->saturates = b.take("sat");
  p->sums = b.take("add");
  if (b.count() != 4) return b.fail("takes 4 operands");
  b.out.d = b.destination(b.operand(0), ptx::Type::u32);
  b.out.a = b.source(b.operand(1), ptx::Type::u32);
  b.out.b = b.source(b.operand(2), ptx::Type::u32);
  b.out.c = b.source(b.operand(3), ptx::Type::u32);
  b.out.run = video;
  b.site.detail = p;
  return !b.failed();
}

template <Video kOp>
void add_both(Table& t, const std::string& name) {
  t.add({name, "2"}, bind<kOp, 2>);
  t.add({name, "4"}, bind<kOp, 4>);
}

}  // namespace

void add_video(Table& t) {
  add_both<Video::add>(t, "vadd");
  add_both<Video::sub>(t, "vsub");
  add_both<Video::avrg>(t, "vavrg");
  add_both<Video::absdiff>(t, "vabsdiff");
  add_both<Video::min>(t, "vmin");
  add_both<Video::max>(t, "vmax");
}

}  // namespace vgpu::isa::VGPU_TARGET
