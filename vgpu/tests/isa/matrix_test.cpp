// mma.sync, ldmatrix, stmatrix, movmatrix and wmma: which element lies in which register of which lane.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <string>

#include "isa/reference.h"

namespace vgpu::isa_test {
namespace {

struct Element {
  const char* name;
  int bits;
  Format format;   // of a float
  bool is_signed;  // of an integer
  bool is_float() const { return format.exponent_bits != 0; }
  uint64_t encoded(int64_t value) const {
    if (name == std::string_view("tf32")) return encode(kF32, Number::integer(value));
    return is_float() ? encode(format, Number::integer(value)) : cut(uint64_t(value), bits);
  }
};
constexpr Element kElementF16{"f16", 16, kF16, true}, kElementBf16{"bf16", 16, kBf16, true},
    kElementTf32{"tf32", 32, kTf32, true}, kElementF64{"f64", 64, kF64, true}, kElementF32{"f32", 32, kF32, true},
    kElementS8{"s8", 8, {}, true}, kElementU8{"u8", 8, {}, false}, kElementS4{"s4", 4, {}, true},
    kElementU4{"u4", 4, {}, false}, kElementB1{"b1", 1, {}, false}, kElementS32{"s32", 32, {}, true},
    kElementE4m3{"e4m3", 8, {4, 3}, true}, kElementE5m2{"e5m2", 8, {5, 2}, true};

using Matrix = std::vector<std::vector<int64_t>>;

Matrix random_matrix(int rows, int columns, const Element& element, Random& random) {
  Matrix m(rows, std::vector<int64_t>(columns));
  for (auto& row : m) {
    for (int64_t& value : row) {
      if (element.bits == 1) {
        value = random.below(2);
      } else if (element.is_float()) {
        value = int64_t(random.below(17)) - 8;  // every product and sum is exact
      } else {
        const uint64_t bits = cut(random.next(), element.bits);
        value = element.is_signed && element.bits < 32 ? sign_extended(bits, element.bits) : int64_t(bits);
        if (element.bits == 32) value = int64_t(random.below(2001)) - 1000;
      }
    }
  }
  return m;
}

// Where an element lies, by the manual's pictures: lane = 4 * group + place in the group; a register holds elements
// that follow each other along k (of A and B) or along a row (of C and D).
struct At {
  int lane, reg, part;
};
At of_a(int row, int k, int per_register) {
  return {row % 8 * 4 + k / per_register % 4, row / 8 + k / (4 * per_register) * 2, k % per_register};
}
At of_a_of_8_rows(int row, int k, int per_register) {
  return {row * 4 + k / per_register % 4, k / (4 * per_register), k % per_register};
}
At of_b(int k, int column, int per_register) {
  return {column * 4 + k / per_register % 4, k / (4 * per_register), k % per_register};
}
At of_c(int row, int column, int per_register) {
  const int element = row / 8 * 2 + column % 2;
  return {row % 8 * 4 + column / 2, element / per_register, element % per_register};
}

struct Mma {
  std::string name;
  int m, k;
  Element a, b, c, d;
  enum class Operation { multiply, xor_popc, and_popc } operation = Operation::multiply;
  bool saturate = false;
};

void expect_mma(const Mma& mma) {
  const int n = 8;
  Random random(mma.k + mma.a.bits);
  const auto registers = [&](const Element& e, int elements) { return std::max(1, elements * e.bits / 32 / 32); };
  const int wide = mma.d.bits == 64;  // f64: a register an element
  const int a_registers = wide ? mma.m * mma.k / 32 : registers(mma.a, mma.m * mma.k);
  const int b_registers = wide ? n * mma.k / 32 : registers(mma.b, n * mma.k);
  const int c_registers = wide ? mma.m * n / 32 : registers(mma.c, mma.m * n);
  const int d_registers = wide ? mma.m * n / 32 : registers(mma.d, mma.m * n);
  const auto per_register = [&](const Element& e) { return wide ? 1 : 32 / e.bits; };
  const auto list = [](const char* prefix, int first, int count) {
    std::string text;
    for (int i = 0; i < count; ++i) text += (i ? ", %" : "%") + (prefix + std::to_string(first + i));
    return count == 1 ? text : "{" + text + "}";
  };
  const auto type = [&](const Element& e) {
    return std::string(wide                                                                 ? "f64"
                       : e.is_float() && e.bits == 32 && e.name != std::string_view("tf32") ? "f32"
                                                                                            : "b32");
  };
  Snippet snippet;
  snippet.text = mma.name + " " + list("d", 0, d_registers) + ", " + list("a", 0, a_registers) + ", " +
                 list("a", a_registers, b_registers) + ", " + list("a", a_registers + b_registers, c_registers) + ";";
  for (int i = 0; i < a_registers; ++i) snippet.in.push_back(type(mma.a));
  for (int i = 0; i < b_registers; ++i) snippet.in.push_back(type(mma.b));
  for (int i = 0; i < c_registers; ++i) snippet.in.push_back(type(mma.c));
  for (int i = 0; i < d_registers; ++i) snippet.out.push_back(type(mma.d));

  std::vector<Row> rows, wanted;
  for (int warp = 0; warp < 8; ++warp) {
    const Matrix a = random_matrix(mma.m, mma.k, mma.a, random), b = random_matrix(mma.k, n, mma.b, random), c = [&] {
      Matrix sums = random_matrix(mma.m, n, mma.c, random);
      if (mma.c.name == std::string("s32")) sums[0][0] = INT32_MAX;
      return sums;
    }();
    std::vector<Row> in(32, Row{}), out(32, Row{});
    const auto put = [&](std::vector<Row>& lanes, const At& at, int first, const Element& e, int64_t value) {
      lanes[at.lane][first + at.reg] |= e.encoded(value) << (wide ? 0 : at.part * e.bits);
    };
    for (int row = 0; row < mma.m; ++row) {
      for (int k = 0; k < mma.k; ++k) {
        const int per = per_register(mma.a);
        put(in, mma.m == 16 ? of_a(row, k, per) : of_a_of_8_rows(row, k, per), 0, mma.a, a[row][k]);
      }
    }
    for (int k = 0; k < mma.k; ++k) {
      for (int column = 0; column < n; ++column)
        put(in, of_b(k, column, per_register(mma.b)), a_registers, mma.b, b[k][column]);
    }
    for (int row = 0; row < mma.m; ++row) {
      for (int column = 0; column < n; ++column) {
        put(in, of_c(row, column, per_register(mma.c)), a_registers + b_registers, mma.c, c[row][column]);
        int64_t sum = c[row][column];
        for (int k = 0; k < mma.k; ++k) {
          const int64_t x = a[row][k], y = b[k][column];
          sum += mma.operation == Mma::Operation::multiply   ? x * y
                 : mma.operation == Mma::Operation::xor_popc ? (x ^ y)
                                                             : (x & y);
        }
        if (mma.saturate) sum = std::min<int64_t>(std::max<int64_t>(sum, INT32_MIN), INT32_MAX);
        put(out, of_c(row, column, per_register(mma.d)), 0, mma.d, sum);
      }
    }
    rows.insert(rows.end(), in.begin(), in.end());
    wanted.insert(wanted.end(), out.begin(), out.end());
  }
  const std::vector<Row> results = run(snippet, rows);
  if (results.empty()) return;
  size_t wrong = 0;
  for (size_t i = 0; i < rows.size(); ++i) wrong += results[i] != wanted[i];
  EXPECT_EQ(wrong, 0u) << "of " << rows.size() << " lanes of: " << snippet.text;
}

std::string shape(int m, int k) { return "mma.sync.aligned.m" + std::to_string(m) + "n8k" + std::to_string(k); }

TEST(IsaMatrix, Halves) {
  for (const int k : {8, 16}) {
    for (const Element& d : {kElementF16, kElementF32}) {
      for (const Element& c : {kElementF16, kElementF32})
        expect_mma({shape(16, k) + ".row.col." + d.name + ".f16.f16." + c.name, 16, k, kElementF16, kElementF16, c, d});
    }
    expect_mma(
        {shape(16, k) + ".row.col.f32.bf16.bf16.f32", 16, k, kElementBf16, kElementBf16, kElementF32, kElementF32});
  }
}

TEST(IsaMatrix, EightBitFloats) {
  for (const int k : {16, 32}) {
    for (const Element& a : {kElementE4m3, kElementE5m2}) {
      for (const Element& b : {kElementE4m3, kElementE5m2}) {
        for (const Element& d : {kElementF16, kElementF32}) {
          for (const Element& c : {kElementF16, kElementF32})
            expect_mma(
                {shape(16, k) + ".row.col." + d.name + "." + a.name + "." + b.name + "." + c.name, 16, k, a, b, c, d});
        }
      }
    }
  }
}

TEST(IsaMatrix, SingleAndDouble) {
  for (const int k : {4, 8})
    expect_mma(
        {shape(16, k) + ".row.col.f32.tf32.tf32.f32", 16, k, kElementTf32, kElementTf32, kElementF32, kElementF32});
  for (const auto& [m, k] : {std::pair{8, 4}, std::pair{16, 4}, std::pair{16, 8}, std::pair{16, 16}})
    expect_mma({shape(m, k) + ".row.col.f64.f64.f64.f64", m, k, kElementF64, kElementF64, kElementF64, kElementF64});
}

TEST(IsaMatrix, Integers) {
  const struct {
    Element elements[2];
    std::pair<int, int> shapes[3];
  } kinds[] = {{{kElementS8, kElementU8}, {{8, 16}, {16, 16}, {16, 32}}},
               {{kElementS4, kElementU4}, {{8, 32}, {16, 32}, {16, 64}}}};
  for (const auto& kind : kinds) {
    for (const Element& a : kind.elements) {
      for (const Element& b : kind.elements) {
        for (const auto& [m, k] : kind.shapes) {
          for (const bool saturate : {false, true})
            expect_mma(
                {shape(m, k) + ".row.col" + (saturate ? ".satfinite" : "") + ".s32." + a.name + "." + b.name + ".s32",
                 m, k, a, b, kElementS32, kElementS32, Mma::Operation::multiply, saturate});
        }
      }
    }
  }
  for (const auto& [m, k] : {std::pair{8, 128}, std::pair{16, 128}, std::pair{16, 256}}) {
    for (const bool exclusive : {true, false})
      expect_mma({shape(m, k) + ".row.col.s32.b1.b1.s32." + (exclusive ? "xor" : "and") + ".popc", m, k, kElementB1,
                  kElementB1, kElementS32, kElementS32,
                  exclusive ? Mma::Operation::xor_popc : Mma::Operation::and_popc});
  }
}

// Each lane writes a row of 16 bytes into the tile; the matrices are read from rows in a scrambled order.
TEST(IsaMatrix, LoadAndStoreOfMatrices) {
  std::vector<Row> rows;
  Random random(5);
  for (int lane = 0; lane < 32; ++lane) rows.push_back({random.next(), random.next(), uint64_t(lane * 5 + 3) % 32});
  const auto element = [](const Row* lanes, int row, int column) {
    return lanes[row][column / 4] >> 16 * (column % 4) & 0xFFFF;
  };
  for (const int count : {1, 2, 4}) {
    for (const bool transposed : {false, true}) {
      std::string registers;
      for (int i = 0; i < count; ++i) registers += (i ? ", %d" : "%d") + std::to_string(i);
      expect_warp(
          {"mov.u32 %n, %laneid;\nmov.u32 %t, tile;\nmad.lo.u32 %t, %n, 16, %t;\nst.shared.v2.b64 [%t], {%a0, %a1};\n"
           "bar.warp.sync -1;\nmov.u32 %t, tile;\nmad.lo.u32 %t, %a2, 16, %t;\nldmatrix.sync.aligned.m8n8.x" +
               std::to_string(count) + (transposed ? ".trans" : "") + ".shared.b16 {" + registers + "}, [%t];",
           {"b64", "b64", "b32"},
           std::vector<std::string>(count, "b32")},
          rows, [&](const Row* lanes, int lane) {
            Row result{};
            for (int matrix = 0; matrix < count; ++matrix) {
              for (int part = 0; part < 2; ++part) {
                const int major = lane / 4, minor = lane % 4 * 2 + part;
                const int row = transposed ? minor : major, column = transposed ? major : minor;
                result[matrix] |= element(lanes, int(lanes[matrix * 8 + row][2]), column) << 16 * part;
              }
            }
            return result;
          });
    }
  }
  for (const bool transposed : {false, true}) {
    // Four matrices out of registers into rows, read back a row a lane.
    std::vector<Row> registers = rows;
    for (Row& row : registers) row = {cut(row[0], 32), row[0] >> 32, cut(row[1], 32), row[1] >> 32, row[2]};
    expect_warp(
        {"mov.u32 %t, tile;\nmad.lo.u32 %t, %a4, 16, %t;\nstmatrix.sync.aligned.m8n8.x4" +
             std::string(transposed ? ".trans" : "") +
             ".shared.b16 [%t], {%a0, %a1, %a2, %a3};\nbar.warp.sync -1;\nld.shared.v4.b32 {%d0, %d1, %d2, %d3}, "
             "[%t];",
         {"b32", "b32", "b32", "b32", "b32"},
         {"b32", "b32", "b32", "b32"}},
        registers, [&](const Row* lanes, int lane) {
          Row result{};
          const int matrix = lane / 8, row = lane % 8;
          for (int column = 0; column < 8; ++column) {
            const int major = transposed ? column : row, minor = transposed ? row : column;
            const uint64_t value = lanes[major * 4 + minor / 2][matrix] >> 16 * (minor % 2) & 0xFFFF;
            result[column / 2] |= value << 16 * (column % 2);
          }
          return result;
        });
  }
  expect_warp(
      {"movmatrix.sync.aligned.m8n8.trans.b16 %d0, %a0;", {"b32"}, {"b32"}},
      [&] {
        std::vector<Row> low = rows;
        for (Row& row : low) row[0] = cut(row[0], 32);
        return low;
      }(),
      [](const Row* lanes, int lane) {
        uint64_t result = 0;
        for (int part = 0; part < 2; ++part) {
          const int row = lane % 4 * 2 + part, column = lane / 4;
          result |= (lanes[row * 4 + column / 2][0] >> 16 * (column % 2) & 0xFFFF) << 16 * part;
        }
        return Row{result};
      });
}

// wmma's fragments have no defined layout: what counts is that load, multiply and store fit together. A, B and C go
// through the tile, by rows or by columns, and D after them to where C was.
struct Wmma {
  int m, n, k;
  Element a, c, d;
  int a_registers, b_registers;
  std::string suffix = "";
};

int registers_of_sum(const Element& e) { return e.bits == 64 ? 2 : e.bits == 16 ? 4 : 8; }

void expect_wmma(const Wmma& w, bool a_by_rows, bool b_by_rows, bool c_by_rows) {
  constexpr int kBytes = 1024;  // for each of A, B and C, which begin at 0, 1024 and 2048 of the tile
  const std::string type = w.a.name, element = w.a.bits == 64 ? "f64" : "b32",
                    shape = "m" + std::to_string(w.m) + "n" + std::to_string(w.n) + "k" + std::to_string(w.k);
  const auto layout = [](bool by_rows) { return std::string(by_rows ? "row" : "col"); };
  const auto list = [](const char* prefix, int count) {
    std::string text = "{";
    for (int i = 0; i < count; ++i) text += (i ? ", " : "") + (prefix + std::to_string(i));
    return text + "}";
  };
  const auto register_type = [](const Element& e) {
    return std::string(e.bits == 64 ? "f64" : e.is_float() && e.bits == 32 ? "f32" : "b32");
  };
  const std::string x = list("x", w.a_registers), y = list("y", w.b_registers), z = list("z", registers_of_sum(w.c)),
                    r = list("r", registers_of_sum(w.d));
  const auto stride = [&](int rows, int columns, bool by_rows) {
    return "mov.u32 %n, " + std::to_string(by_rows ? columns : rows) + ";\n";
  };
  const std::string types = w.a.name == std::string("f16")
                                ? std::string(w.d.name) + "." + w.c.name
                                : std::string(w.d.name) + "." + type + "." + type + "." + w.c.name;
  const Snippet snippet{
      ".reg ." + element + " x<8>, y<8>; .reg ." + register_type(w.c) + " z<8>; .reg ." + register_type(w.d) +
          " r<8>; .reg .b32 a, b, c;\nmov.u32 a, tile;\nadd.u32 b, a, 1024;\nadd.u32 c, a, 2048;\n" +
          "mov.u32 %n, %laneid;\nmad.lo.u32 %t, %n, 32, a;\nst.shared.v2.b64 [%t], {%a0, %a1};\n" +
          "st.shared.v2.b64 [%t+16], {%a2, %a3};\nst.shared.v2.b64 [%t+1024], {%a4, %a5};\n" +
          "st.shared.v2.b64 [%t+1040], {%a6, %a7};\nst.shared.v2.b64 [%t+2048], {%a8, %a9};\n" +
          "st.shared.v2.b64 [%t+2064], {%a10, %a11};\nadd.u32 %t, %t, 2048;\nbar.warp.sync -1;\n" +
          stride(w.m, w.k, a_by_rows) + "wmma.load.a.sync.aligned." + layout(a_by_rows) + "." + shape + ".shared." +
          type + " " + x + ", [a], %n;\n" + stride(w.k, w.n, b_by_rows) + "wmma.load.b.sync.aligned." +
          layout(b_by_rows) + "." + shape + ".shared::cta." + type + " " + y + ", [b], %n;\n" +
          "wmma.load.c.sync.aligned." + layout(c_by_rows) + "." + shape + ".shared." + w.c.name + " " + z +
          ", [c];\nwmma.mma.sync.aligned." + layout(a_by_rows) + "." + layout(b_by_rows) + "." + shape + "." + types +
          w.suffix + " " + r + ", " + x + ", " + y + ", " + z + ";\nbar.warp.sync -1;\n" + stride(w.m, w.n, c_by_rows) +
          "wmma.store.d.sync.aligned." + layout(c_by_rows) + "." + shape + ".shared." + w.d.name + " [c], " + r +
          ", %n;\nbar.warp.sync -1;\nld.shared.v2.b64 {%d0, %d1}, [%t];\n" + "ld.shared.v2.b64 {%d2, %d3}, [%t+16];",
      std::vector<std::string>(12, "b64"), std::vector<std::string>(4, "b64")};

  std::vector<Row> rows, wanted;
  Random random(w.m + w.a.bits);
  for (int warp = 0; warp < 4; ++warp) {
    const Matrix a = random_matrix(w.m, w.k, w.a, random), b = random_matrix(w.k, w.n, w.a, random);
    Matrix c = random_matrix(w.m, w.n, w.c, random), d = c;
    if (w.c.name == std::string("s32")) c[0][0] = d[0][0] = INT32_MAX;
    for (int i = 0; i < w.m; ++i) {
      for (int j = 0; j < w.n; ++j) {
        for (int k = 0; k < w.k; ++k) d[i][j] += a[i][k] * b[k][j];
        if (w.suffix == ".satfinite") d[i][j] = std::min<int64_t>(std::max<int64_t>(d[i][j], INT32_MIN), INT32_MAX);
      }
    }
    const auto bytes_of_matrix = [](const Matrix& m, const Element& e, bool by_rows, std::vector<uint8_t> bytes) {
      const size_t rows = m.size(), columns = m[0].size(), width = e.bits / 8;
      for (size_t i = 0; i < rows; ++i) {
        for (size_t j = 0; j < columns; ++j) {
          const uint64_t bits = e.encoded(m[i][j]);
          std::memcpy(&bytes[(by_rows ? i * columns + j : j * rows + i) * width], &bits, width);
        }
      }
      return bytes;
    };
    // C is loaded without a stride: it lies dense.
    const std::vector<uint8_t> parts[] = {bytes_of_matrix(a, w.a, a_by_rows, std::vector<uint8_t>(kBytes)),
                                          bytes_of_matrix(b, w.a, b_by_rows, std::vector<uint8_t>(kBytes)),
                                          bytes_of_matrix(c, w.c, c_by_rows, std::vector<uint8_t>(kBytes))};
    const std::vector<uint8_t> result = bytes_of_matrix(d, w.d, c_by_rows, parts[2]);
    for (int lane = 0; lane < 32; ++lane) {
      Row in{}, out{};
      for (int i = 0; i < 3; ++i) std::memcpy(&in[4 * i], &parts[i][lane * 32], 32);
      std::memcpy(&out[0], &result[lane * 32], 32);
      rows.push_back(in);
      wanted.push_back(out);
    }
  }
  const std::vector<Row> results = run(snippet, rows);
  size_t wrong = 0;
  for (size_t i = 0; i < results.size(); ++i) wrong += results[i] != wanted[i];
  EXPECT_EQ(wrong, 0u) << "of " << rows.size() << " lanes of: " << snippet.text;
}

TEST(IsaMatrix, Wmma) {
  std::vector<Wmma> cases;
  const int shapes[][2] = {{16, 16}, {32, 8}, {8, 32}};
  for (const auto& [m, n] : shapes) {
    for (const Element& c : {kElementF16, kElementF32}) {
      for (const Element& d : {kElementF16, kElementF32}) cases.push_back({m, n, 16, kElementF16, c, d, 8, 8});
    }
    cases.push_back({m, n, 16, kElementBf16, kElementF32, kElementF32, m / 4, n / 4});
    for (const Element& a : {kElementS8, kElementU8}) {
      for (const char* suffix : {"", ".satfinite"})
        cases.push_back({m, n, 16, a, kElementS32, kElementS32, m / 8, n / 8, suffix});
    }
  }
  cases.push_back({16, 16, 8, kElementTf32, kElementF32, kElementF32, 4, 4});
  for (const char* suffix : {"", ".rn"})
    cases.push_back({8, 8, 4, kElementF64, kElementF64, kElementF64, 1, 1, suffix});
  for (const Wmma& w : cases) {
    for (int layouts = 0; layouts < 8; ++layouts) expect_wmma(w, layouts & 1, layouts & 2, layouts & 4);
  }
}

}  // namespace
}  // namespace vgpu::isa_test
