// Loads and stores of every width, addresses, and each thread's atomics on memory of its own.
#include <gtest/gtest.h>

#include <string>

#include "isa/reference.h"

namespace vgpu::isa_test {
namespace {

// Runs in the thread's own global bytes, by a generic address too, and in its slot of the shared tile.
const struct {
  const char *name, *address, *prepare;
} kPlaces[] = {{".global", "%own", ""},
               {"", "%own", ""},
               {".shared", "%t", "mov.u32 %n, %tid.x;\nmov.u32 %t, tile;\nmad.lo.u32 %t, %n, 32, %t;\n"},
               {"", "%w",
                "mov.u32 %n, %tid.x;\nmov.u64 %w, tile;\nmad.wide.u32 %w, %n, 32, %w;\n"
                "cvta.shared.u64 %w, %w;\n"}};

TEST(IsaMemory, NarrowLoadsExtend) {
  for (const auto& place : kPlaces) {
    const std::string space = place.name, at = std::string("[") + place.address;
    expect({place.prepare + ("st" + space + ".b64 " + at + "], %a0;\nld" + space + ".u8 %d0, " + at + "+1];\nld" +
                             space + ".s8 %d1, " + at + "+1];\nld" + space + ".u16 %d2, " + at + "+2];\nld" + space +
                             ".s16 %d3, " + at + "+2];\nld" + space + ".s32 %d4, " + at + "+4];\nld" + space +
                             ".b8 %d5, " + at + "+7];\nld" + space + ".s8 %d6, " + at + "+7];"),
            {"b64"},
            {"b32", "b32", "b32", "b64", "b64", "b32", "b64"}},
           integer_rows({64}, 300), [](const Row& x) {
             const auto part = [&](int byte, int bits) { return cut(x[0] >> 8 * byte, bits); };
             return Row{part(1, 8),
                        cut(uint64_t(sign_extended(part(1, 8), 8)), 32),
                        part(2, 16),
                        uint64_t(sign_extended(part(2, 16), 16)),
                        uint64_t(sign_extended(part(4, 32), 32)),
                        part(7, 8),
                        uint64_t(sign_extended(part(7, 8), 8))};
           });
  }
}

// Each type stored and loaded as it is, through registers of its width or wider, alone and in vectors.
TEST(IsaMemory, EveryType) {
  for (const char* name :
       {"b8", "u8", "s8", "b16", "u16", "s16", "b32", "u32", "s32", "f32", "b64", "u64", "s64", "f64"}) {
    const std::string type = name, reg = bytes_of(type) == 8 ? type : bytes_of(type) == 4 ? type : "b32";
    const int bits = 8 * bytes_of(type);
    for (const auto& place : kPlaces) {
      const std::string space = place.name, at = std::string("[") + place.address;
      const std::string st = "st" + space, ld = "ld" + space, end = "." + type + " ";
      expect({place.prepare + (st + end + at + "], %a0;\n" + ld + end + "%d0, " + at + "];\n" + st + ".v2" + end + at +
                               "], {%a1, %a0};\n" + ld + ".v2" + end + "{%d1, %d2}, " + at + "];\n" +
                               (bits < 64 ? st + ".v4" + end + at + "], {%a0, %a1, %a0, %a1};\n" + ld + ".v4" + end +
                                                "{_, %d3, %d4, _}, " + at + "];\n"
                                          : "") +
                               (bits < 32 ? st + ".v8" + end + at + "], {%a1, %a0, %a1, %a1, %a0, %a1, %a0, %a1};\n" +
                                                ld + ".v8" + end + "{%d5, %d6, _, _, _, _, _, _}, " + at + "];\n"
                                          : "")),
              {reg, reg},
              std::vector<std::string>(7, reg)},
             integer_rows({std::max(bits, 32), std::max(bits, 32)}, 50), [&](const Row& x) {
               const auto through = [&](uint64_t value) {
                 const uint64_t low = cut(value, bits);
                 return cut(type[0] == 's' ? uint64_t(sign_extended(low, bits)) : low, std::max(bits, 32));
               };
               const uint64_t a = through(x[0]), b = through(x[1]);
               return Row{a, b, a, bits < 64 ? b : 0, bits < 64 ? a : 0, bits < 32 ? b : 0, bits < 32 ? a : 0};
             });
    }
    // The other spaces, and loads that hardware may cache: here all the same.
    expect({".local .align 8 .b8 slot[16];\nst.local." + type + " [slot+8], %a0;\nld.local." + type +
                " %d0, [slot+8];\n" + "st.volatile.global." + type + " [%own], %a0;\nldu.global." + type +
                " %d1, [%own];\nld.global.nc.L1::" + "no_allocate.L2::128B." + type +
                " %d2, [%own];\nld.relaxed.gpu.global." + type + " %d3, [%own];\n" + "{ .param .b64 passed; st.param." +
                type + " [passed], %a0; ld.param." + type + " %d4, [passed]; }",
            {reg},
            std::vector<std::string>(5, reg)},
           integer_rows({std::max(bits, 32)}, 50), [&](const Row& x) {
             const uint64_t low = cut(x[0], bits),
                            all = cut(type[0] == 's' ? uint64_t(sign_extended(low, bits)) : low, std::max(bits, 32));
             return Row{all, all, all, all, all};
           });
  }
}

// 128 bits: moved whole, swapped, compared and swapped.
TEST(IsaMemory, SixteenBytes) {
  for (const auto& place : kPlaces) {
    const std::string space = place.name, at = std::string("[") + place.address + "]";
    expect(
        {".reg .b128 x, y, z;\n" + std::string(place.prepare) + "mov.b128 x, {%a0, %a1};\nmov.b128 y, {%a1, %a2};\n" +
             "st" + space + ".b128 " + at + ", x;\nld" + space + ".b128 z, " + at + ";\nmov.b128 {%d0, %d1}, z;\natom" +
             space + ".exch.b128 z, " + at + ", y;\nmov.b128 {%d2, %d3}, z;\natom" + space + ".cas.b128 z, " + at +
             ", x, x;\nmov.b128 {%d4, %d5}, z;\natom" + space + ".cas.b128 z, " + at + ", y, x;\nld" + space +
             ".b128 z, " + at + ";\nmov.b128 {%d6, %d7}, z;\nmov.b128 x, z;\nmov.b128 {_, %d8}, x;",
         {"b64", "b64", "b64"},
         std::vector<std::string>(9, "b64")},
        integer_rows({64, 64, 64}, 100),
        [](const Row& x) { return Row{x[0], x[1], x[0], x[1], x[1], x[2], x[0], x[1], x[1]}; });
  }
}

TEST(IsaMemory, ConstantsAndParametersOfTheKernel) {
  // The kernel's parameters are in, out and rows (harness.cpp).
  std::string text = ".reg .b64 x, y; .reg .b32 n; .reg .b16 h;\n";
  int d = 0;
  for (const char* type : {"b8", "u8", "s8", "b16", "u16", "s16", "b32", "u32", "s32", "f32"})
    text += std::string("ld.param.") + type + " %d" + std::to_string(d++) + ", [rows];\n";
  for (const char* type : {"b64", "u64", "s64", "f64"})
    text += std::string("ld.param.") + type + " x, [in];\nld.param.u64 y, [in];\nsub.u64 %d" + std::to_string(d++) +
            ", x, y;\n";
  std::vector<std::string> types(10, "b32");
  types.resize(14, "b64");
  expect({text, {}, types}, std::vector<Row>(0x91, Row{}), [](const Row&) {
    const uint64_t byte = 0x91, minus = 0xFFFFFF91;
    return Row{byte, byte, minus, byte, byte, byte, byte, byte, byte, byte, 0, 0, 0, 0};
  });
}

TEST(IsaMemory, Vectors) {
  for (const auto& place : kPlaces) {
    const std::string space = place.name, at = std::string("[") + place.address;
    expect({place.prepare + ("st" + space + ".v2.b64 " + at + "], {%a0, %a1};\nld" + space +
                             ".v4.u32 {%d0, %d1, %d2, %d3}, " + at + "];\nld" + space + ".v4.u16 {%d4, _, %d5, %d6}, " +
                             at + "+8];\nld" + space + ".v2.u8 {%d7, %d8}, " + at + "+6];\nst" + space + ".v4.b8 " +
                             at + "+4], {%d0, %d1, %d2, %d3};\nld" + space + ".b32 %d9, " + at + "+4];"),
            {"b64", "b64"},
            {"b32", "b32", "b32", "b32", "b16", "b16", "b16", "b16", "b16", "b32"}},
           integer_rows({64, 64}, 300), [](const Row& x) {
             return Row{
                 cut(x[0], 32), x[0] >> 32,
                 cut(x[1], 32), x[1] >> 32,
                 cut(x[1], 16), cut(x[1] >> 32, 16),
                 x[1] >> 48,    cut(x[0] >> 48, 8),
                 x[0] >> 56,    cut(x[0], 8) | cut(x[0] >> 32, 8) << 8 | cut(x[1], 8) << 16 | cut(x[1] >> 32, 8) << 24};
           });
  }
}

TEST(IsaMemory, LocalMemoryAndWindows) {
  expect({".local .align 8 .b8 slot[16];\nst.local.b64 [slot+8], %a0;\nmov.u64 %w, slot;\nld.local.b32 %d0, [%w+8];\n"
          "cvta.local.u64 %w, %w;\nld.b32 %d1, [%w+12];\nisspacep.local %d2, %w;\nisspacep.global %d3, %w;\n"
          "isspacep.global %d4, %own;\nmov.u64 %w, tile;\ncvta.shared.u64 %w, %w;\nisspacep.shared %d5, %w;\n"
          "isspacep.local %d6, %w;\nisspacep.shared::cta %d7, %w;\nisspacep.shared::cluster %d8, %w;\n"
          "isspacep.const %d9, %w;\nisspacep.param %d10, %w;\nisspacep.param::entry %d11, %w;",
          {"b64"},
          {"b32", "b32", "pred", "pred", "pred", "pred", "pred", "pred", "pred", "pred", "pred", "pred"}},
         integer_rows({64}, 100),
         [](const Row& x) { return Row{cut(x[0], 32), x[0] >> 32, 1, 0, 1, 1, 0, 1, 1, 0, 0, 0}; });
}

// To the generic address and back is where it was; the generic address is of the space that it was made from.
TEST(IsaMemory, AddressesOfEverySpace) {
  for (const std::string space :
       {"global", "const", "shared", "shared::cta", "shared::cluster", "local", "param", "param::entry"}) {
    expect({"cvta." + space + ".u64 %w, %a0;\nisspacep." + space + " %d0, %w;\ncvta.to." + space + ".u64 %d1, %w;",
            {"b64"},
            {"pred", "b64"}},
           {{0}, {16}, {0x1234}}, [](const Row& x) { return Row{1, x[0]}; });
  }
}

// Of a grid without clusters each block is one of its own, of rank 0.
TEST(IsaMemory, SharedMemoryOfTheCluster) {
  std::string text =
      ".reg .b32 a; .reg .b64 b;\nmov.u32 %n, %tid.x;\nmov.u32 %t, tile;\nmad.lo.u32 %t, %n, 32, %t;\n"
      "st.shared.b32 [%t], %a0;\ncvt.u64.u32 %w, %t;\ncvta.shared.u64 %w, %w;\n";
  int d = 0;
  const auto next = [&] { return " %d" + std::to_string(d++) + ", "; };
  for (const char* cluster : {"", ".shared::cluster"}) {
    const std::string c = cluster, generic = c.empty() ? "%w" : "b";
    if (!c.empty()) text += "cvt.u64.u32 b, %t;\n";
    text += "mapa" + c + ".u32 a, %t, 0;\nld.shared::cluster.b32" + next() + "[a];\n";
    text += "getctarank" + c + ".u32" + next() + "a;\n{ .reg .b64 m; mapa" + c + ".u64 m, " + generic + ", 0;\n";
    text += "ld" + c + ".b32" + next() + "[m];\n";
    text += "getctarank" + c + ".u64" + next() + "m; }\n";
  }
  expect({text, {"b32"}, std::vector<std::string>(8, "b32")}, integer_rows({32}, 100),
         [](const Row& x) { return Row{x[0], 0, x[0], 0, x[0], 0, x[0], 0}; });
}

// About caches: nothing that a program could see.
TEST(IsaMemory, HintsChangeNothing) {
  expect({"st.global.b32 [%own], %a0;\nprefetch.global.L1 [%own];\nprefetch.global.L2::evict_last [%own];\n"
          "prefetchu.L1 [%own];\napplypriority.global.L2::evict_normal [%own], 128;\n"
          "createpolicy.fractional.L2::evict_last.b64 %w, 1.0;\nld.global.b32 %d0, [%own];\ndiscard.global.L2 [%own], "
          "128;",
          {"b32"},
          {"b32"}},
         integer_rows({32}, 20), [](const Row& x) { return x; });
}

// Copies to shared memory that are complete when waited for. The bytes behind the source's size are zeros.
TEST(IsaMemory, AsynchronousCopies) {
  expect({"st.global.v2.b64 [%own], {%a0, %a1};\nmov.u32 %n, %tid.x;\nmov.u32 %t, tile;\nmad.lo.u32 %t, %n, 32, %t;\n"
          "st.shared.v2.b64 [%t], {%a1, %a1};\nst.shared.v2.b64 [%t+16], {%a1, %a1};\n"
          "cp.async.cg.shared.global [%t], [%own], 16;\ncp.async.commit_group;\n"
          "cp.async.ca.shared.global [%t+16], [%own], 8;\ncp.async.ca.shared.global.L2::128B [%t+24], [%own+4], 4;\n"
          "cp.async.commit_group;\ncp.async.wait_group 0;\nld.shared.v2.b64 {%d0, %d1}, [%t];\n"
          "ld.shared.v2.b64 {%d2, %d3}, [%t+16];\ncp.async.ca.shared.global [%t], [%own], 16, 4;\n"
          "cp.async.wait_all;\nld.shared.v2.b64 {%d4, %d5}, [%t];",
          {"b64", "b64"},
          std::vector<std::string>(6, "b64")},
         integer_rows({64, 64}, 100), [](const Row& x) {
           const uint64_t high = ~uint64_t{0} << 32;
           return Row{x[0], x[1], x[0], (x[1] & high) | x[0] >> 32, x[0] & ~high, 0};
         });
}

using Step = std::function<uint64_t(uint64_t old, const Row& in)>;

// %a0 is in memory, %a1 (and %a2) are the operands; the result is the old value, and memory holds the new one.
void atomic(const std::string& operation, const std::string& type, int operands, const std::vector<Row>& rows,
            const Step& step, const Same& same = {}, const std::string& stored_as = "") {
  const std::string b = stored_as.empty() ? "b" + std::to_string(8 * bytes_of(type)) : stored_as;
  for (const auto& place : kPlaces) {
    const std::string space = place.name, at = std::string("[") + place.address + "]";
    std::string in;
    for (int i = 0; i < operands; ++i) in += ", %a" + std::to_string(i + 1);
    const std::vector<std::string> types(operands + 1, type);
    const std::string begin = place.prepare + ("st" + space + "." + b + " " + at + ", %a0;\n");
    expect(
        {begin + "atom" + space + "." + operation + "." + type + " %d0, " + at + in + ";\nld" + space + "." + b +
             " %d1, " + at + ";",
         types,
         {type, type}},
        rows, [&](const Row& x) { return Row{x[0], step(x[0], x)}; }, same);
    if (operation == "exch" || operation == "cas") continue;
    expect(
        {begin + "red" + space + "." + operation + "." + type + " " + at + in + ";\nld" + space + "." + b + " %d0, " +
             at + ";",
         types,
         {type}},
        rows, [&](const Row& x) { return Row{step(x[0], x)}; },
        same ? [&](int, const Row& row, uint64_t got, uint64_t want) { return same(1, row, got, want); } : Same{});
  }
}

TEST(IsaAtomic, Integers) {
  for (const int bits : {32, 64}) {
    const auto rows = integer_rows({bits, bits}, 300);
    const std::string u = "u" + std::to_string(bits), s = "s" + std::to_string(bits), b = "b" + std::to_string(bits);
    const auto add = [&](uint64_t old, const Row& x) { return cut(old + x[1], bits); };
    const auto less = [&](uint64_t x, uint64_t y) { return sign_extended(x, bits) < sign_extended(y, bits); };
    atomic("add", u, 1, rows, add);
    if (bits == 32) atomic("add", s, 1, rows, add);
    atomic("min", u, 1, rows, [](uint64_t old, const Row& x) { return std::min(old, x[1]); });
    atomic("max", u, 1, rows, [](uint64_t old, const Row& x) { return std::max(old, x[1]); });
    atomic("min", s, 1, rows, [&](uint64_t old, const Row& x) { return std::min(old, x[1], less); });
    atomic("max", s, 1, rows, [&](uint64_t old, const Row& x) { return std::max(old, x[1], less); });
    atomic("and", b, 1, rows, [](uint64_t old, const Row& x) { return old & x[1]; });
    atomic("or", b, 1, rows, [](uint64_t old, const Row& x) { return old | x[1]; });
    atomic("xor", b, 1, rows, [](uint64_t old, const Row& x) { return old ^ x[1]; });
    atomic("exch", b, 1, rows, [](uint64_t, const Row& x) { return x[1]; });
    atomic("cas", b, 2, integer_rows({bits, bits, bits}, 100),
           [](uint64_t old, const Row& x) { return old == x[1] ? x[2] : old; });
  }
  const auto rows = integer_rows({32, 32}, 300);
  atomic("inc", "u32", 1, rows, [](uint64_t old, const Row& x) { return old >= x[1] ? 0 : old + 1; });
  atomic("dec", "u32", 1, rows, [](uint64_t old, const Row& x) { return old == 0 || old > x[1] ? x[1] : old - 1; });
  atomic("cas", "b16", 2, integer_rows({16, 16, 16}, 100),
         [](uint64_t old, const Row& x) { return old == x[1] ? x[2] : old; });
}

TEST(IsaAtomic, Floats) {
  const auto plus = [](Format f, uint64_t a, uint64_t b) {
    return encode(f, sum(decode(f, a), decode(f, b), Rounding::nearest_even));
  };
  // f32 in global memory may flush subnormal numbers, says the manual of today's hardware.
  const Same f32_same = [&](int column, const Row& x, uint64_t got, uint64_t want) {
    const uint64_t flushed = kF32.flushed(plus(kF32, kF32.flushed(x[0]), kF32.flushed(x[1])));
    return got == want || (column == 1 && got == flushed);
  };
  atomic(
      "add", "f32", 1, float_rows(kF32, 2, 500), [&](uint64_t old, const Row& x) { return plus(kF32, old, x[1]); },
      f32_same);
  const Same f64_same = [](int, const Row&, uint64_t got, uint64_t want) {
    return got == want || (kF64.is_nan(got) && kF64.is_nan(want));
  };
  atomic(
      "add", "f64", 1, float_rows(kF64, 2, 500), [&](uint64_t old, const Row& x) { return plus(kF64, old, x[1]); },
      f64_same);
  for (const auto& [name, format] : {std::pair{"f16", kF16}, std::pair{"bf16", kBf16}}) {
    const Format f = format;
    const std::vector<Row> rows = float_rows(f, 2, 500);
    atomic("add.noftz", name, 1, rows, [&](uint64_t old, const Row& x) { return plus(f, old, x[1]); });
    std::vector<Row> pairs = rows;
    for (size_t i = 0; i < rows.size(); ++i) {
      for (int c = 0; c < 2; ++c) pairs[i][c] |= rows[(i * 7 + 3) % rows.size()][c] << 16;
    }
    atomic("add.noftz", std::string(name) + "x2", 1, pairs, [&](uint64_t old, const Row& x) {
      return plus(f, old & 0xFFFF, x[1] & 0xFFFF) | plus(f, old >> 16, x[1] >> 16) << 16;
    });
  }
}

// Elements side by side, each changed as if alone: sums of floats, and of half types also the least and the greatest.
TEST(IsaAtomic, Vectors) {
  const struct {
    const char* type;
    Format format;
    int parts;  // of an element
  } types[] = {{"f32", kF32, 1}, {"f16", kF16, 1}, {"bf16", kBf16, 1}, {"f16x2", kF16, 2}, {"bf16x2", kBf16, 2}};
  for (const auto& t : types) {
    const std::string type = t.type;
    const Format f = t.format;
    const int width = f.width(), bytes = bytes_of(type);
    for (const std::string operation : {"add", "min", "max"}) {
      if (operation != "add" && width == 32) continue;
      const auto one = [&](uint64_t a, uint64_t b) {
        if (operation == "add") return encode(f, sum(decode(f, a), decode(f, b), Rounding::nearest_even));
        if (f.is_nan(a) || f.is_nan(b)) return f.is_nan(a) && f.is_nan(b) ? f.nan() : f.is_nan(a) ? b : a;
        const int order = compare(decode(f, a), decode(f, b));
        const bool a_first = order < 0 || (order == 0 && (a & f.sign()) >= (b & f.sign()));
        return a_first == (operation == "max") ? b : a;
      };
      const auto element = [&](uint64_t a, uint64_t b) {
        if (t.parts == 1) return one(a, b);
        return one(a & 0xFFFF, b & 0xFFFF) | one(a >> 16, b >> 16) << 16;
      };
      for (const int count : {2, 4, 8}) {
        if (count * bytes > 16) continue;
        const std::string name = operation + (width == 16 ? ".noftz" : "") + ".v" + std::to_string(count) + "." + type,
                          b = ".b" + std::to_string(8 * bytes);
        std::string store, load, olds = "{", in = "{";
        for (int i = 0; i < count; ++i) {
          const std::string at = "[%own+" + std::to_string(i * bytes) + "]", n = std::to_string(i);
          store += "st.global" + b + " " + at + ", %a" + n + ";\n";
          load += "ld.global" + b + " %d" + n + ", " + at + ";\n";
          in += (i ? ", %a" : "%a") + std::to_string((i + 1) % count);
          olds += (i ? ", %d" : "%d") + n;
        }
        in += "}", olds += "}";
        const std::vector<std::string> all(count, type);
        std::vector<Row> rows = float_rows(f, 2, 300);
        for (size_t i = 0; i < rows.size(); ++i) {
          for (int c = 2; c < count; ++c) rows[i][c] = rows[(i * 5 + c) % rows.size()][c % 2];
          if (t.parts == 2)
            for (int c = 0; c < count; ++c) rows[i][c] |= rows[(i * 7 + 3) % rows.size()][c] << 16;
        }
        for (Row& row : rows)
          for (uint64_t& x : row) x = cut(x, 8 * bytes);
        const auto changed = [&](const Row& x) {
          Row row{};
          for (int i = 0; i < count; ++i) row[i] = element(x[i], x[(i + 1) % count]);
          return row;
        };
        expect({store + "red.global." + name + " [%own], " + in + ";\n" + load, all, all}, rows, changed);
        expect({store + "atom.global." + name + " " + olds + ", [%own], " + in + ";", all, all}, rows,
               [&](const Row& x) {
                 Row row{};
                 for (int i = 0; i < count; ++i) row[i] = x[i];
                 return row;
               });
      }
    }
  }
}

TEST(IsaAtomic, SemanticsAndScopesAreAccepted) {
  std::string text;
  for (const char* order : {"relaxed", "acquire", "release", "acq_rel"}) {
    for (const char* scope : {"cta", "cluster", "gpu", "sys"})
      text += std::string("atom.") + order + "." + scope + ".global.add.u32 %d0, [%own], 1;\n";
  }
  expect(
      {text + "ld.relaxed.gpu.global.u32 %d0, [%own];\nld.acquire.sys.u32 %d1, [%own];\nld.volatile.u32 %d2, [%own];\n"
              "st.release.cta.global.u32 [%own], 7;\nfence.sc.gpu;\nfence.acq_rel.cta;\nmembar.gl;\nmembar.cta;\n"
              "ld.weak.global.u32 %d3, [%own];",
       {},
       {"u32", "u32", "u32", "u32"}},
      std::vector<Row>(32, Row{}), [](const Row&) { return Row{16, 16, 16, 7}; });
}

// All threads of a block on one word: every old value comes once.
TEST(IsaAtomic, Contention) {
  const Snippet snippet{
      "mov.u32 %t, tile;\nmov.u32 %n, %tid.x;\nsetp.eq.u32 %go, %n, 0;\n@%go st.shared.u32 [%t], 0;\n"
      "bar.sync 0;\natom.shared.add.u32 %d0, [%t], 1;\nbar.sync 0;\nld.shared.u32 %d1, [%t];",
      {},
      {"u32", "u32"}};
  const std::vector<Row> results = run(snippet, std::vector<Row>(128, Row{}));
  if (results.empty()) return;
  uint64_t seen[2] = {};
  for (const Row& row : results) {
    ASSERT_LT(row[0], 128u);
    seen[row[0] / 64] |= uint64_t{1} << row[0] % 64;
    EXPECT_EQ(row[1], 128u);
  }
  EXPECT_EQ(seen[0] & seen[1], ~uint64_t{0});
}

}  // namespace
}  // namespace vgpu::isa_test
