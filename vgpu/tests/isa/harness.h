// Runs a few PTX instructions on rows of values, through everything from text to engine.
#pragma once

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "exec/engine.h"
#include "random.h"

namespace vgpu::isa_test {

constexpr int kColumns = 16;
constexpr int kOwnBytes = 32;
using Row = std::array<uint64_t, kColumns>;  // values as bits, low ones first

// PTX text with the registers %a0, %a1, … for the inputs and %d0, %d1, … for the results, of these PTX types ("f32",
// "pred"; f16 and bf16 are .b16, their pairs .b32). Each thread runs it on one row. Threads are 32 a warp, 128 a block.
// Also at hand: %t, %n (.b32) and %w (.b64) to write to, [%own] of kOwnBytes global bytes of the thread's own, .shared
// tile[4096], and the functions twice and next of a .b32.
struct Snippet {
  std::string text;
  std::vector<std::string> in, out;
};

// One row of results for each of the inputs; a result that the text does not set is 0. Fails the test, and returns
// nothing, where the text is refused or the launch ends early.
std::vector<Row> run(const Snippet& snippet, const std::vector<Row>& inputs);

// What ends a launch of the snippet on these rows.
Fault fault_of(const Snippet& snippet, const std::vector<Row>& inputs);

// Runs and compares: `wanted` computes a row of results, `same` (bits equal unless given) says whether column i will
// do.
using Reference = std::function<Row(const Row&)>;
using Same = std::function<bool(int column, const Row& in, uint64_t got, uint64_t wanted)>;
void expect(const Snippet& snippet, const std::vector<Row>& inputs, const Reference& wanted, const Same& same = {});

// The same for instructions of a warp: from the rows of its 32 lanes, what lane `lane` gets. Full warps only.
using WarpReference = std::function<Row(const Row* lanes, int lane)>;
void expect_warp(const Snippet& snippet, const std::vector<Row>& inputs, const WarpReference& wanted);

int bytes_of(std::string_view type);

class Random : public test::Random {
 public:
  using test::Random::Random;
  // Half of them with few bits set or clear, and of any magnitude.
  uint64_t integer(int bits);
};

// Rows of integers of these widths: every combination of edge values, and random ones.
std::vector<Row> integer_rows(const std::vector<int>& widths, size_t random_rows = 2000);

inline int64_t sign_extended(uint64_t value, int bits) {
  return bits == 64 ? int64_t(value) : int64_t(value << (64 - bits)) >> (64 - bits);
}
inline uint64_t cut(uint64_t value, int bits) { return bits == 64 ? value : value & ((uint64_t{1} << bits) - 1); }

}  // namespace vgpu::isa_test
