// Text that the engine refuses by name must still parse: wgmma and tensor-map copies, of an architecture's own
// features.
#include <cstdint>

struct alignas(64) TensorMap {  // as CUtensorMap is
  char opaque[128];
};

__global__ void refused(const __grid_constant__ TensorMap map, uint64_t a, uint64_t b) {
#if __CUDA_ARCH_FEAT_SM90_ALL
  __shared__ alignas(128) char tile[1024];
  __shared__ uint64_t barrier;
  const uint32_t to = uint32_t(__cvta_generic_to_shared(tile)), bar = uint32_t(__cvta_generic_to_shared(&barrier));
  asm volatile(
      "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3}], [%4];" ::"r"(
          to),
      "l"(&map), "r"(0), "r"(8), "r"(bar)
      : "memory");
  float d[4] = {};
  asm volatile(
      "{ .reg .pred p; setp.ne.b32 p, %6, 0; wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%0, %1, %2, %3}, %4, "
      "%5, "
      "p, 1, 1, 0, 0; }"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
      : "l"(a), "l"(b), "r"(1));
  asm volatile("cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [%0, {%1, %2}], [%3];" ::"l"(&map), "r"(0),
               "r"(0), "r"(to)
               : "memory");
  tile[0] = char(d[0]);
#endif
}
