#include "exec/special.h"

#include <cstddef>
#include <map>

#include "exec/block.h"
#include "exec/grid.h"

namespace vgpu {
namespace {

// The worker's clock counts instructions, so that a run repeats itself; every look at it takes some cycles, so that a
// loop which waits for a time ends.
constexpr uint64_t kCyclesOfALook = 16;

template <class T, int kShift>
const Decoded* read_clock(Warp& w, const Decoded& d, Mask lanes) {
  w.block.worker.clock += kCyclesOfALook;
  w.wrote = true;
  const T now = static_cast<T>(w.block.worker.clock >> kShift);
  for (T* out = w.lanes<T>(d.d); lanes; lanes &= lanes - 1) out[std::countr_zero(lanes)] = now;
  return &d + 1;
}

std::map<std::string_view, Special> make_table() {
  std::map<std::string_view, Special> t;
  const auto add = [&](Bank bank, std::string_view name, size_t offset, ptx::Type type = ptx::Type::u32) {
    t[name] = {Ref(bank, static_cast<uint32_t>(offset)), type, nullptr};
  };
  const auto add3 = [&](Bank bank, std::string_view x, std::string_view y, std::string_view z, size_t offset) {
    add(bank, x, offset);
    add(bank, y, offset + sizeof(LaneArray<uint32_t>));
    add(bank, z, offset + 2 * sizeof(LaneArray<uint32_t>));
  };
  using L = LaunchSpecials;
  using B = BlockSpecials;
  using W = WarpSpecials;
  add3(Bank::warp, "%tid.x", "%tid.y", "%tid.z", offsetof(W, tid));
  add(Bank::warp, "%laneid", offsetof(W, laneid));
  add(Bank::warp, "%warpid", offsetof(W, warpid));
  add(Bank::warp, "%lanemask_eq", offsetof(W, mask_eq));
  add(Bank::warp, "%lanemask_le", offsetof(W, mask_le));
  add(Bank::warp, "%lanemask_lt", offsetof(W, mask_lt));
  add(Bank::warp, "%lanemask_ge", offsetof(W, mask_ge));
  add(Bank::warp, "%lanemask_gt", offsetof(W, mask_gt));
  add3(Bank::block, "%ctaid.x", "%ctaid.y", "%ctaid.z", offsetof(B, ctaid));
  add3(Bank::block, "%clusterid.x", "%clusterid.y", "%clusterid.z", offsetof(B, clusterid));
  add3(Bank::block, "%cluster_ctaid.x", "%cluster_ctaid.y", "%cluster_ctaid.z", offsetof(B, cluster_ctaid));
  add(Bank::block, "%cluster_ctarank", offsetof(B, cluster_ctarank));
  add(Bank::block, "%smid", offsetof(B, smid));
  add3(Bank::launch, "%ntid.x", "%ntid.y", "%ntid.z", offsetof(L, ntid));
  add3(Bank::launch, "%nctaid.x", "%nctaid.y", "%nctaid.z", offsetof(L, nctaid));
  add3(Bank::launch, "%nclusterid.x", "%nclusterid.y", "%nclusterid.z", offsetof(L, nclusterid));
  add3(Bank::launch, "%cluster_nctaid.x", "%cluster_nctaid.y", "%cluster_nctaid.z", offsetof(L, cluster_nctaid));
  add(Bank::launch, "%cluster_nctarank", offsetof(L, cluster_nctarank));
  add(Bank::launch, "%is_explicit_cluster", offsetof(L, explicit_cluster), ptx::Type::pred);
  add(Bank::launch, "%nwarpid", offsetof(L, nwarpid));
  add(Bank::launch, "%nsmid", offsetof(L, nsmid));
  add(Bank::launch, "%dynamic_smem_size", offsetof(L, dynamic_smem_size));
  add(Bank::launch, "%total_smem_size", offsetof(L, total_smem_size));
  add(Bank::launch, "%aggr_smem_size", offsetof(L, total_smem_size));
  add(Bank::launch, "%gridid", offsetof(L, gridid), ptx::Type::u64);
  add(Bank::launch, "%current_graph_exec", offsetof(L, zero64), ptx::Type::u64);
  add(Bank::launch, "%envreg1", offsetof(L, workspace_high));  // of cooperative groups (grid.cpp)
  add(Bank::launch, "%envreg2", offsetof(L, workspace_low));
  // No shared memory is set aside for the system.
  for (const char* name : {"%reserved_smem_offset_begin", "%reserved_smem_offset_end", "%reserved_smem_offset_cap"})
    add(Bank::launch, name, offsetof(L, zero));
  for (const char* name : {"%pm0", "%pm1", "%pm2", "%pm3", "%pm4", "%pm5", "%pm6", "%pm7"})
    add(Bank::launch, name, offsetof(L, zero));
  t["%clock"] = {{}, ptx::Type::u32, read_clock<uint32_t, 0>};
  t["%clock_hi"] = {{}, ptx::Type::u32, read_clock<uint32_t, 32>};
  t["%clock64"] = {{}, ptx::Type::u64, read_clock<uint64_t, 0>};
  t["%globaltimer"] = {{}, ptx::Type::u64, read_clock<uint64_t, 0>};
  t["%globaltimer_lo"] = {{}, ptx::Type::u32, read_clock<uint32_t, 0>};
  t["%globaltimer_hi"] = {{}, ptx::Type::u32, read_clock<uint32_t, 32>};
  return t;
}

}  // namespace

Special special(std::string_view name) {
  static const std::map<std::string_view, Special> table = make_table();
  const auto found = table.find(name);
  if (found != table.end()) return found->second;
  return name.starts_with("%envreg") ? table.at("%pm0") : Special();  // 0
}

}  // namespace vgpu
