// The race check, fed events by hand, and against a check that is too simple to be wrong: a full vector clock for each
// thread and a list of every access.
#include "check/race.h"

#include <gtest/gtest.h>

#include <random>

#include "check/findings.h"
#include "exec/memory.h"

namespace vgpu {
namespace {

constexpr int kLines = 64;

// A kernel of `kLines` lines, the first two of which are bar.warp.sync and shfl.sync; the others only lend their lines.
std::string ptx() {
  std::string text = ".version 8.0\n.target sm_80\n.address_size 64\n.file 1 \"none.cu\"\n";
  text +=
      ".visible .entry k(.param .u64 p)\n{\n.reg .b32 %r<9>;\n.reg .pred %p<2>;\n.shared .align 4 .b8 tile[4096];\n";
  text += ".loc 1 1 1\nbar.warp.sync 0xffffffff;\n.loc 1 2 1\nshfl.sync.bfly.b32 %r1|%p1, %r2, 1, 31, -1;\n";
  for (int line = 3; line < kLines; ++line) text += ".loc 1 " + std::to_string(line) + " 1\nmov.u32 %r1, %r2;\n";
  return text + "ret;\n}\n";
}

class Stage {
 public:
  Stage(uint32_t blocks, uint32_t threads) : memory_(1 << 24), findings_(memory_), check_(findings_) {
    std::string error;
    program_ = Program::load(ptx::parse(ptx(), error), memory_, error);
    EXPECT_TRUE(program_) << error;
    data_ = memory_.allocate(1 << 16, MemoryKind::device, "cudaMalloc", nullptr)->address;
    launch_ = {};
    launch_.kernel = program_->kernel("k");
    launch_.module = &program_->module();
    launch_.function = program_->module().find("k");
    launch_.grid = {blocks, 1, 1};
    launch_.block = {threads, 1, 1};
    begin();
  }
  void begin() {
    check_.begin(launch_);
    for (uint32_t b = 0; b < launch_.grid.x; ++b) check_.block_begin(launch_, b, 4096);
  }
  void end() {
    for (uint32_t b = 0; b < launch_.grid.x; ++b) check_.block_end(launch_, b);
    check_.end(launch_);
  }
  // From here on things happen at that line.
  Stage& line(int line) {
    line_ = line;
    return *this;
  }
  Place place(uint32_t block, uint32_t warp, int line = 0) const {
    const auto& code = launch_.function->code;
    return {&launch_, launch_.function, &code[(line ? line : line_) - 1], block, warp};
  }

  // Lane l of `lanes` touches `bytes` bytes at first + l * stride.
  void touch(AccessKind kind, ptx::Space space, uint32_t block, uint32_t warp, uint32_t lanes, uint64_t first,
             uint64_t stride, uint32_t bytes = 4, Order order = Order::weak, Scope scope = Scope::none,
             bool async = false) {
    uint64_t address[32];
    for (uint64_t l = 0; l < 32; ++l) address[l] = (space == ptx::Space::global ? data_ : 0) + first + l * stride;
    check_.access({place(block, warp), space, kind, order, scope, lanes, bytes, address, block, async});
  }
  void read(uint32_t warp, uint32_t lanes, uint64_t first, uint64_t stride = 4, uint32_t bytes = 4) {
    touch(AccessKind::load, ptx::Space::shared, 0, warp, lanes, first, stride, bytes);
  }
  void write(uint32_t warp, uint32_t lanes, uint64_t first, uint64_t stride = 4, uint32_t bytes = 4) {
    touch(AccessKind::store, ptx::Space::shared, 0, warp, lanes, first, stride, bytes);
  }
  void barrier(uint32_t block, const std::vector<uint32_t>& warps, int id = 0, uint32_t lanes = ~0u) {
    for (uint32_t w : warps) check_.arrive(place(block, w), lanes, id, true);
    check_.open(launch_, block, id);
  }
  void syncwarp(uint32_t block, uint32_t warp, uint32_t lanes = ~0u) {
    check_.warp_sync(place(block, warp, 1), lanes, lanes, 0);
  }
  RaceCheck& check() { return check_; }
  Findings& findings() { return findings_; }
  const Launch& launch() const { return launch_; }
  // "E03 7 5": code and lines; cleared by the call.
  std::vector<std::string> found() {
    std::vector<std::string> list;
    for (const Diagnostic& d : findings_.take()) {
      std::string text = d.code;
      for (const Spot& spot : d.spots) {
        text += " " + std::to_string(spot.function->locations[spot.instruction->location].line);
      }
      list.push_back(text);
    }
    return list;
  }

 private:
  Memory memory_;
  Findings findings_;
  RaceCheck check_;
  std::unique_ptr<Program> program_;
  uint64_t data_ = 0;
  Launch launch_;
  int line_ = 3;
};

using List = std::vector<std::string>;
constexpr auto kGlobal = ptx::Space::global;
constexpr auto kShared = ptx::Space::shared;

TEST(Race, ABarrierOrdersABlock) {
  for (const bool with : {true, false}) {
    Stage s(1, 64);
    s.line(5).write(0, ~0u, 0);
    s.line(5).write(1, ~0u, 128);
    if (with) s.barrier(0, {0, 1});
    s.line(7).read(0, ~0u, 128);
    s.line(7).read(1, ~0u, 0);
    EXPECT_EQ(s.found(), with ? List{} : List{"E03 7 5"});
  }
}

TEST(Race, TheReadingLineIsThePlaceWhicheverCameFirst) {
  Stage s(1, 64);
  s.line(7).read(0, ~0u, 128);
  s.line(5).write(1, ~0u, 128);
  EXPECT_EQ(s.found(), List{"E03 7 5"});
}

TEST(Race, DoubleBufferingNeedsOneBarrierAStep) {
  for (const bool two_buffers : {true, false}) {
    Stage s(1, 64);
    for (int step = 0; step < 4; ++step) {
      const uint64_t buffer = two_buffers ? step % 2 * 256 : 0;
      for (uint32_t w : {0, 1}) s.line(5).write(w, ~0u, buffer + w * 128);
      s.barrier(0, {0, 1});
      for (uint32_t w : {0, 1}) s.line(7).read(w, ~0u, buffer + (1 - w) * 128);
    }
    EXPECT_EQ(s.found(), two_buffers ? List{} : List{"E03 7 5"});
  }
}

TEST(Race, LanesOfAWarpNeedSyncwarp) {
  for (const bool with : {true, false}) {
    Stage s(1, 32);
    s.line(5).write(0, ~0u, 0);
    if (with) s.syncwarp(0, 0);
    s.line(7).read(0, 0xffff, 64);
    EXPECT_EQ(s.found(), with ? List{} : List{"E03 7 5"});
  }
}

TEST(Race, AShuffleOrdersNoMemory) {
  Stage s(1, 32);
  s.line(5).write(0, ~0u, 0);
  s.check().warp_sync(s.place(0, 0, 2), ~0u, ~0u, ~0u);
  s.line(7).read(0, 0xffff, 64);
  EXPECT_EQ(s.found(), List{"E03 7 5"});
}

TEST(Race, SyncwarpOrdersTheLanesOfItsMaskOnly) {
  Stage s(1, 32);
  s.line(5).write(0, ~0u, 0);
  s.syncwarp(0, 0, 0x0000ffff);
  s.line(7).read(0, 0x000000ff, 32);  // lane l reads what lane l + 8 wrote: inside the mask
  EXPECT_EQ(s.found(), List{});
  s.line(9).read(0, 0x000000ff, 64);  // of lane l + 16: outside
  EXPECT_EQ(s.found(), List{"E03 9 5"});
}

TEST(Race, VolatileIsNoOrderInsideAWarpButAFlagBetweenWarps) {
  Stage s(1, 64);
  auto volatile_touch = [&](AccessKind kind, uint32_t warp, uint32_t lanes, uint64_t first) {
    s.touch(kind, kShared, 0, warp, lanes, first, 4, 4, Order::volatile_, Scope::sys);
  };
  s.line(5);
  volatile_touch(AccessKind::store, 0, ~0u, 0);
  s.line(6);
  volatile_touch(AccessKind::load, 1, ~0u, 0);
  EXPECT_EQ(s.found(), List{});
  s.line(7);
  volatile_touch(AccessKind::load, 0, 0xffff, 64);
  EXPECT_EQ(s.found(), List{"E03 7 5"});
}

TEST(Race, LanesThatStoreToOneByteTogether) {
  Stage s(1, 32);
  s.line(5).write(0, ~0u, 0, 2, 2);
  EXPECT_EQ(s.found(), List{});
  s.line(6).write(0, ~0u, 0, 0);
  EXPECT_EQ(s.found(), (List{"E03 6 5", "E03 6 6"}));
}

TEST(Race, BytesAreExact) {
  Stage s(1, 64);
  s.line(5).write(0, ~0u, 0, 16, 16);
  s.barrier(0, {0, 1});
  s.line(6).write(0, 1, 0, 0, 1);
  s.line(7).write(1, 1, 1, 0, 1);
  s.line(8).write(1, 1, 2, 0, 2);
  EXPECT_EQ(s.found(), List{});
  s.line(9).read(1, 1, 0, 0, 8);
  EXPECT_EQ(s.found(), List{"E03 9 6"});
}

TEST(Race, NamedBarrierOrdersThoseThatCome) {
  Stage s(1, 96);
  s.line(5).write(0, ~0u, 0);
  s.barrier(0, {0, 1}, 1);
  s.line(7).read(1, ~0u, 0);
  EXPECT_EQ(s.found(), List{});
  s.line(8).read(2, ~0u, 0);
  EXPECT_EQ(s.found(), List{"E03 8 5"});
}

TEST(Race, ArriveHandsOnWhatCameBeforeIt) {
  Stage s(1, 64);
  s.line(5).write(0, ~0u, 0);
  s.check().arrive(s.place(0, 0), ~0u, 1, false);
  s.line(6).write(0, ~0u, 256);
  s.check().arrive(s.place(0, 1), ~0u, 1, true);
  s.check().open(s.launch(), 0, 1);
  s.line(7).read(1, ~0u, 0);
  EXPECT_EQ(s.found(), List{});
  s.line(8).read(1, ~0u, 256);
  EXPECT_EQ(s.found(), List{"E03 8 6"});
}

TEST(Race, ExitedThreadsDoNotHoldABarrier) {
  Stage s(1, 64);
  s.line(5).write(1, ~0u, 128);
  s.check().exit(s.place(0, 1), ~0u);
  s.barrier(0, {0});
  s.line(7).read(0, ~0u, 128);
  EXPECT_EQ(s.found(), List{});
}

// The CUDA guide's reduction: each block's thread 0 writes its sum, fences, counts; the last block reads all sums after
// a barrier.
TEST(Race, LastBlockNeedsTheFence) {
  for (const bool with : {true, false}) {
    Stage s(3, 64);
    for (uint32_t b = 0; b < 3; ++b) {
      s.line(5).touch(AccessKind::store, kGlobal, b, 0, 1, 4 * b, 0);
      if (with) s.check().fence(s.place(b, 0), 1, Scope::gpu);
      s.line(6).touch(AccessKind::atomic, kGlobal, b, 0, 1, 1024, 0, 4, Order::relaxed, Scope::gpu);
      s.line(7).touch(AccessKind::store, kShared, b, 0, 1, 0, 0);
      s.barrier(b, {0, 1});
      s.line(8).touch(AccessKind::load, kShared, b, 0, ~0u, 0, 0);
    }
    s.line(9).touch(AccessKind::load, kGlobal, 2, 1, 7, 0, 4);
    EXPECT_EQ(s.found(), with ? List{} : List{"E04 9 5"});
  }
}

TEST(Race, FenceThenBarrierThenOneThreadPublishes) {
  Stage s(2, 64);
  for (uint32_t b = 0; b < 2; ++b) {
    for (uint32_t w : {0, 1}) {
      s.line(5).touch(AccessKind::store, kGlobal, b, w, ~0u, b * 256 + w * 128, 4);
      s.check().fence(s.place(b, w), ~0u, Scope::gpu);
    }
    s.barrier(b, {0, 1});
    s.line(6).touch(AccessKind::atomic, kGlobal, b, 0, 1, 1024, 0, 4, Order::relaxed, Scope::gpu);
    s.barrier(b, {0, 1});
  }
  for (uint32_t w : {0, 1}) s.line(7).touch(AccessKind::load, kGlobal, 1, w, ~0u, w * 128, 4);
  EXPECT_EQ(s.found(), List{});
}

// Decoupled look-back: block b waits for the flag of block b - 1 and raises its own. What block 0 wrote reaches
// block 3.
TEST(Race, FlagsHandOnWhatTheirWriterKnew) {
  for (const bool acquire : {true, false}) {
    Stage s(4, 32);
    for (uint32_t b = 0; b < 4; ++b) {
      if (b) {
        s.line(4).touch(AccessKind::load, kGlobal, b, 0, 1, 1024 + 4 * (b - 1), 0, 4, Order::volatile_, Scope::sys);
        if (acquire) s.check().fence(s.place(b, 0), 1, Scope::gpu);
      }
      s.line(5).touch(AccessKind::store, kGlobal, b, 0, 1, 4 * b, 0);
      if (b == 3) s.line(6).touch(AccessKind::load, kGlobal, b, 0, 1, 0, 0);
      s.check().fence(s.place(b, 0), 1, Scope::gpu);
      s.line(7).touch(AccessKind::store, kGlobal, b, 0, 1, 1024 + 4 * b, 0, 4, Order::volatile_, Scope::sys);
    }
    EXPECT_EQ(s.found(), acquire ? List{} : List{"E04 6 5"});
  }
}

TEST(Race, ReleaseAndAcquireOperations) {
  for (const bool wide : {true, false}) {
    Stage s(2, 32);
    const Scope scope = wide ? Scope::gpu : Scope::cta;
    s.line(5).touch(AccessKind::store, kGlobal, 0, 0, ~0u, 0, 4);
    s.syncwarp(0, 0);
    s.line(6).touch(AccessKind::store, kGlobal, 0, 0, 1, 1024, 0, 4, Order::release, scope);
    s.line(7).touch(AccessKind::load, kGlobal, 1, 0, 1, 1024, 0, 4, Order::acquire, Scope::gpu);
    s.line(8).touch(AccessKind::load, kGlobal, 1, 0, 1, 64, 0);
    EXPECT_EQ(s.found(), wide ? List{} : List{"E04 8 5"});
  }
}

TEST(Race, APlainStoreOverAFlagPublishesNothing) {
  Stage s(2, 32);
  s.line(5).touch(AccessKind::store, kGlobal, 0, 0, 1, 0, 0);
  s.line(6).touch(AccessKind::store, kGlobal, 0, 0, 1, 1024, 0, 4, Order::volatile_, Scope::sys);  // no fence before
  s.line(7).touch(AccessKind::load, kGlobal, 1, 0, 1, 1024, 0, 4, Order::acquire, Scope::gpu);
  s.line(8).touch(AccessKind::load, kGlobal, 1, 0, 1, 0, 0);
  EXPECT_EQ(s.found(), List{"E04 8 5"});
}

TEST(Race, AtomicsDoNotRaceWithEachOther) {
  Stage s(2, 32);
  for (uint32_t b = 0; b < 2; ++b) {
    s.line(5).touch(AccessKind::atomic, kGlobal, b, 0, ~0u, 0, 0, 4, Order::relaxed, Scope::gpu);
  }
  EXPECT_EQ(s.found(), List{});
  s.line(7).touch(AccessKind::load, kGlobal, 0, 0, 1, 0, 0);
  EXPECT_EQ(s.found(), List{"E04 7 5"});
}

TEST(Race, TheEndOfAKernelOrdersAll) {
  Stage s(2, 32);
  s.line(5).touch(AccessKind::store, kGlobal, 0, 0, ~0u, 0, 4);
  s.end();
  s.begin();
  s.line(7).touch(AccessKind::load, kGlobal, 1, 0, ~0u, 0, 4);
  EXPECT_EQ(s.found(), List{});
}

TEST(Race, AsynchronousCopiesLandAtTheWait) {
  for (const int variant : {0, 1, 2}) {  // waits for both groups; for none; for the older only
    Stage s(1, 64);
    for (int group = 0; group < 2; ++group) {
      for (uint32_t w : {0, 1}) {
        s.line(5).touch(AccessKind::store, kShared, 0, w, ~0u, group * 256 + w * 128, 4, 4, Order::weak, Scope::none,
                        true);
        s.check().async_commit(s.place(0, w), ~0u);
      }
    }
    if (variant != 1) {
      for (uint32_t w : {0, 1}) s.check().async_wait(s.place(0, w), ~0u, variant == 2 ? 1 : 0, false);
    }
    s.barrier(0, {0, 1});
    s.line(7).read(0, ~0u, 128);
    s.line(8).read(0, ~0u, 256 + 128);
    EXPECT_EQ(s.found(), variant == 0 ? List{} : variant == 1 ? List({"E03 7 5", "E03 8 5"}) : List{"E03 8 5"});
  }
}

TEST(Race, AThreadMustWaitForItsOwnCopy) {
  Stage s(1, 32);
  s.line(5).touch(AccessKind::store, kShared, 0, 0, 1, 0, 4, 4, Order::weak, Scope::none, true);
  s.line(7).read(0, 1, 0);
  const std::vector<Diagnostic> found = s.findings().take();
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].what,
            "a copy in the background and its own thread touch the same byte, one writes and one reads, and nothing "
            "orders them");
}

TEST(Race, MbarrierOrdersWhoArrivedBeforeWhoFoundItComplete) {
  for (const bool with : {true, false}) {
    Stage s(1, 64);
    const uint64_t address[32] = {2048};
    s.line(5).write(0, 1, 0);
    if (with) s.check().mbarrier(s.place(0, 0), 1, 0, address, false);
    s.check().mbarrier(s.place(0, 1), 1, 0, address, true);
    s.line(7).read(1, 1, 0);
    EXPECT_EQ(s.found(), with ? List{} : List{"E03 7 5"});
  }
}

TEST(Race, ClusterBarrierOrdersItsBlocks) {
  for (const bool with : {true, false}) {
    Stage s(2, 32);
    s.line(5).touch(AccessKind::store, kGlobal, 0, 0, ~0u, 0, 4);
    if (with) s.check().cluster_open(s.launch(), 0, 2);
    s.line(7).touch(AccessKind::load, kGlobal, 1, 0, ~0u, 0, 4);
    EXPECT_EQ(s.found(), with ? List{} : List{"E04 7 5"});
  }
}

// --- against the plain check -------------------------------------------------------------------------------

// Two blocks of two warps. A thread's clock says for each thread how many of its steps happened before.
class Plain {
 public:
  static constexpr uint32_t kThreads = 128;
  using Vector = std::array<uint32_t, kThreads>;

  Plain() {
    for (uint32_t t = 0; t < kThreads; ++t) clock_[t][t] = 1;
  }
  // Whether the access races with an earlier one.
  bool touch(uint32_t thread, uint64_t word, bool write) {
    bool race = false;
    for (const Past& past : past_[word]) {
      race |= past.thread != thread && (past.write || write) && past.step > clock_[thread][past.thread];
    }
    past_[word].push_back({thread, clock_[thread][thread], write});
    return race;
  }
  void meet(const std::vector<uint32_t>& threads) {
    Vector all{}, fenced{};
    for (uint32_t t : threads) {
      take(t);
      join(all, clock_[t]);
      join(fenced, fenced_[t]);
    }
    for (uint32_t t : threads) {
      clock_[t] = all;
      fenced_[t] = fenced;
      ++clock_[t][t];
    }
  }
  void fence(uint32_t thread) {
    take(thread);
    fenced_[thread] = clock_[thread];
    ++clock_[thread][thread];
  }
  void atomic(uint32_t thread, uint32_t flag) {
    join(found_[thread], flag_[flag]);
    join(flag_[flag], fenced_[thread]);
  }

 private:
  struct Past {
    uint32_t thread, step;
    bool write;
  };
  static void join(Vector& a, const Vector& b) {
    for (uint32_t t = 0; t < kThreads; ++t) a[t] = std::max(a[t], b[t]);
  }
  void take(uint32_t t) {
    join(clock_[t], found_[t]);
    found_[t] = {};
  }
  std::array<Vector, kThreads> clock_{}, fenced_{}, found_{};
  std::array<Vector, 2> flag_{};
  std::map<uint64_t, std::vector<Past>> past_;
};

TEST(Race, AgreesWithThePlainCheck) {
  int racy = 0, clean = 0;
  for (uint32_t seed = 0; seed < 800; ++seed) {
    std::mt19937 random(seed);
    auto pick = [&](uint32_t n) { return uint32_t(random() % n); };
    Stage s(2, 64);
    Plain plain;
    bool expected = false;
    std::string story;
    const uint32_t steps = 4 + pick(40), words = 1 + pick(6), calm = pick(4);
    for (uint32_t step = 0; step < steps && !expected; ++step) {
      const uint32_t block = pick(2), warp = pick(2), first = block * 64 + warp * 32;
      uint32_t lanes = pick(3) ? 1u << pick(32) : pick(2) ? ~0u : 0xffffu << 16 * pick(2);
      auto threads_of = [&](uint32_t mask, uint32_t base) {
        std::vector<uint32_t> threads;
        for (uint32_t l = 0; l < 32; ++l) {
          if (mask >> l & 1) threads.push_back(base + l);
        }
        return threads;
      };
      switch (pick(9 + calm)) {
        case 0:
        case 1:
        case 2: {
          const bool write = pick(3) == 0;
          if (write) lanes = 1u << pick(32);
          const uint64_t word = pick(words);
          s.line(3 + step).touch(write ? AccessKind::store : AccessKind::load, kGlobal, block, warp, lanes, word * 4,
                                 0);
          for (uint32_t t : threads_of(lanes, first)) expected |= plain.touch(t, word, write);
          story += " " + std::string(write ? "w" : "r") + std::to_string(word) + ":" + std::to_string(first) + "/" +
                   std::to_string(lanes);
          break;
        }
        case 3: {  // a whole warp, each lane the word behind the one before
          const bool write = pick(6) == 0;
          const uint64_t word = pick(words);
          s.line(3 + step).touch(write ? AccessKind::store : AccessKind::load, kGlobal, block, warp, ~0u, word * 4, 4);
          for (uint32_t l = 0; l < 32; ++l) expected |= plain.touch(first + l, word + l, write);
          story += " " + std::string(write ? "w" : "r") + std::to_string(word) + "...:" + std::to_string(first);
          break;
        }
        case 4:
          s.check().fence(s.place(block, warp), lanes, Scope::gpu);
          for (uint32_t t : threads_of(lanes, first)) plain.fence(t);
          story += " fence:" + std::to_string(first) + "/" + std::to_string(lanes);
          break;
        case 5:
        case 6: {
          const uint32_t flag = pick(2), lane = pick(32);
          s.touch(AccessKind::atomic, kGlobal, block, warp, 1u << lane, 1024 + 4 * flag, 0, 4, Order::relaxed,
                  Scope::gpu);
          plain.atomic(first + lane, flag);
          story += " atomic" + std::to_string(flag) + ":" + std::to_string(first + lane);
          break;
        }
        case 7:
          s.syncwarp(block, warp, lanes);
          plain.meet(threads_of(lanes, first));
          story += " sync:" + std::to_string(first) + "/" + std::to_string(lanes);
          break;
        default: {
          s.barrier(block, {0, 1});
          auto threads = threads_of(~0u, block * 64), more = threads_of(~0u, block * 64 + 32);
          threads.insert(threads.end(), more.begin(), more.end());
          plain.meet(threads);
          story += " barrier:" + std::to_string(block);
        }
      }
    }
    const List found = s.found();
    EXPECT_EQ(!found.empty(), expected) << "seed " << seed << story;
    ++(expected ? racy : clean);
  }
  EXPECT_GT(racy, 50);
  EXPECT_GT(clean, 50);
}

}  // namespace
}  // namespace vgpu
