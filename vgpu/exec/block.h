// A block: its warps, its shared memory, its barriers; a cluster: blocks that share more.
#pragma once

#include <array>
#include <cstdlib>
#include <memory>
#include <vector>

#include "exec/kernel.h"
#include "exec/warp.h"

namespace vgpu {

struct Grid;
class Worker;
class Block;

// One of a block's 16 barriers. Threads that are gone are not waited for.
struct Barrier {
  uint32_t arrived = 0;   // threads
  uint32_t expected = 0;  // as the instruction counts them; 0: all threads of the block
  // bar.red: over the arrived threads.
  uint32_t count = 0;
  bool all = true, any = false;
};

// The blocks of a cluster (of one block, mostly) and their barrier.
struct Cluster {
  std::vector<Block*> blocks;
  uint32_t phase = 0, arrived = 0;  // threads

  void arrive(Warp& warp, const Decoded& d, Mask lanes);
  const Decoded* wait(Warp& warp, const Decoded& d, Mask lanes);
  // Opens the barrier if all threads that are not gone have arrived.
  void try_open();
};

class Block {
 public:
  Block(Grid& grid, Worker& worker);
  ~Block();

  // Becomes the block of linear index `index`.
  void start(uint32_t index, Cluster* cluster, uint32_t rank);

  enum class State : uint8_t {
    done,
    stuck,  // no warp can go on
    spins,  // goes on, but mostly polls
    works,
    fault
  };
  // Every warp that can runs once, for a turn or until it waits.
  State round();
  // A warp-level instruction that waits for lanes that will never come goes on without them. False if there is none.
  bool release_partners();
  void end();

  // --- What handlers use -----------------------------------------------------------------------------------

  // `lanes` of the warp arrive at barrier `id` for `expected` threads (0: all) and, with `waits`, wait for them.
  // `predicate`: what bar.red combines; d.offset says how (0: not at all).
  const Decoded* arrive(Warp& warp, const Decoded& d, Mask lanes, int id, uint32_t expected, bool waits,
                        Mask predicate);
  // Threads have left: who waited for them alone goes on.
  void left(uint32_t threads);

  Grid& grid;
  Worker& worker;
  uint32_t index = 0;  // linear, in the grid
  Dim3 at{0, 0, 0};
  Cluster* cluster = nullptr;
  uint32_t rank = 0;   // in the cluster
  uint32_t live = 0;   // threads
  uint64_t polls = 0;  // polling loops in this round
  bool wrote = false;  // in this round: who polls may see something new
  std::byte* shared = nullptr;
  uint64_t shared_bytes = 0;

  const std::vector<std::unique_ptr<Warp>>& warps() const { return warps_; }

 private:
  struct Free {
    void operator()(std::byte* p) const { std::free(p); }
  };
  using Bytes = std::unique_ptr<std::byte[], Free>;
  static Bytes zeros(uint64_t bytes);
  void try_open(int id);

  std::array<Barrier, 16> barriers_;
  std::vector<std::unique_ptr<Warp>> warps_;
  std::vector<uint32_t> turns_;  // the order in which warps run
  Bytes registers_, shared_, local_;
  uint64_t local_stride_ = 0;  // of a lane
  BlockSpecials specials_;
};

}  // namespace vgpu
