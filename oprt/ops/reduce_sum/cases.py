"""reduce_sum: what is right, what is refused, what is timed. How such a file is written: operator_runtime.testing."""

from math import inf, log2, nan

import numpy as np
from operator_runtime.testing import (
    INVALID,
    ROW_LENGTHS,
    Bench,
    Call,
    Case,
    Error,
    Suite,
    around,
    constant,
    normal,
    uniform,
)

# Switches: a lane a row up to 16, blocks of a column of 256, of a row of 4096.
LENGTHS = (*ROW_LENGTHS, 15, 16, 255, 256, 257, 4095, 4096, 4097)


def length_of(x, dim):
    return x.shape[dim] if x.ndim else 1


def reference(x, dim):
    return x.sum(axis=dim) if x.ndim else x


def bound(ref, x, dim):
    n = length_of(x, dim)
    return 2 * (log2(max(n, 1)) + 4) * reference(abs(x), dim)


def outside(ref, x, dim):
    return reference(abs(x), dim) > 2.0**127


def draw(d):
    shape, dim = d.rows(LENGTHS)
    return Call(d.tensor(shape, d.data(normal, uniform, constant(0.1), around(1000))), dim=dim)


def cases(d):
    for n in (1, 3, 4096):
        yield Case(f"C20 {n} ones", Call(np.ones(n), dim=0), np.float64(n))
        yield Case(f"C20 {n} ones, three rows", Call(np.ones((3, n)), dim=1), np.full(3, n))
        yield Case(f"C20 {n} ones, three columns", Call(np.ones((n, 3)), dim=0), np.full(3, n))
        yield Case(f"C20 {n} ones in the middle", Call(np.ones((2, n, 3)), dim=1), np.full((2, 3), n))
    cancel, many = np.repeat([32000.0, -32000.0], 4), np.ones(70_000)
    for name, x, total in (("large values cancel", cancel, 0.0), ("70000 ones", many, 70_000.0)):
        yield Case(f"C20 {name}", Call(x, dim=0), np.float64(total))
        yield Case(f"C20 {name}, three rows", Call(np.tile(x, (3, 1)), dim=1), np.full(3, total))
        yield Case(f"C20 {name}, three columns", Call(np.tile(x[:, None], 3), dim=0), np.full(3, total))
        yield Case(f"C20 {name} in the middle", Call(np.tile(x[:, None], (2, 1, 3)), dim=1), np.full((2, 3), total))
    for n in (12_287, 12_288, 12_289, 33_024, 40_448, 57_344, 58_000, 131_072, 262_145):
        yield Case(f"C10 a row of {n}", Call(d.tensor((1, n if d.dtype == "f32" else 2 * n)), dim=1))
    for shape in ((0,), (3, 0), (0, 3)):
        for dim in range(len(shape)):
            x = np.zeros(shape)
            yield Case(f"C31 empty {shape} along {dim}", Call(x, out=x.sum(dim).shape, dim=dim), x.sum(dim))
    for n in (6, 70, 5000):
        for special, right in ((nan, nan), (inf, inf), (-inf, -inf)):
            x = np.ones((3, n))
            x[1, n // 2] = special
            yield Case(f"{special} stays in its row of {n}", Call(x, dim=1), [n, right, n])
    yield Case("inf and -inf", Call([[inf, -inf, 1.0]], dim=1), [nan])
    for n in (4096, 4099, 40_000):  # where a chain of adds drifts
        for data in (normal, uniform, constant(0.1), around(1000)):
            yield Case(f"{data.__name__} of {n}", Call(d.tensor((2, n), data), dim=-1))
            yield Case(f"{data.__name__} of {n}, columns", Call(d.tensor((n, 2), data), dim=0))
    for rows in (1, 15, 16, 17, 63, 64, 65, 129):  # one gathered, neighbours together, and 64 at a time
        for n in (31, 32, 33, 255, 256, 257, 600):
            x = d.tensor((n, rows), normal)
            yield Case(f"switch, {rows} columns of {n}", Call(x, dim=0))
    for rows in (3, 16):  # more than a cluster of blocks holds, apart and side by side in words
        yield Case(f"{rows} columns of 4100", Call(d.tensor((4100, rows), normal), dim=0))
    for n in (15, 16, 17, 4095, 4096, 4097, 1 << 15, (1 << 15) + 1, 100_003):  # the last by several threads
        yield Case(f"switch, a row of {n}", Call(d.tensor((1, n), normal), dim=1))
    yield Case("few columns, long", Call(d.tensor((5000, 3), normal), dim=0))
    yield Case("long rows, as many as the GPU has blocks for", Call(d.tensor((128, 16_385), normal), dim=1))
    yield Case("long columns, as many as the GPU has blocks for", Call(d.tensor((513, 4096), normal), dim=0))
    yield Case("the axis kept", Call(d.tensor((7, 5), normal), out=(1, 5), dim=0))


def errors(d):
    x = d.tensor((2, 3))
    yield Error("shape", INVALID, Call(x, out=(3,), dim=1), says=("reduce_sum", "out", "[2]", "[2, 1]", "[3]"))
    yield Error("kept on another axis", INVALID, Call(x, out=(1, 3), dim=1), says=("reduce_sum", "out", "[1, 3]"))
    yield Error("axis", INVALID, Call(x, out=(2,), dim=2), says=("reduce_sum", "axis", "-2", "2"))
    yield Error("negative axis", INVALID, Call(x, out=(2,), dim=-3), says=("reduce_sum", "axis", "-3"))


def benchmarks(d):
    for rows, n in ((1, 1000), (10, 1000), (100, 1000), (1000, 1000), (10_000, 1000)):
        yield Bench(f"{rows}x{n}", Call(d.tensor((rows, n)), dim=1))
    yield Bench("1x1e7", Call(d.tensor((1, 10_000_000)), dim=1))
    yield Bench("4096x4096", Call(d.tensor((4096, 4096)), dim=1))
    yield Bench("1024x1024 columns", Call(d.tensor((1024, 1024)), dim=0))
    yield Bench("offset 1000x1001", Call(d.tensor((1000, 1001)), dim=1), layout="offset")


def row(d, length):
    return Call(d.tensor((1, length)), dim=1)


def numpy(outs, ins, dim):
    return lambda: np.sum(ins[0], axis=dim, out=outs[0])


def torch(torch, outs, ins, dim):
    return lambda: torch.sum(ins[0], dim, out=outs[0])


SUITE = Suite(
    reference=reference,
    bound=bound,
    outside=outside,
    draw=draw,
    cases=cases,
    errors=errors,
    benchmarks=benchmarks,
    row=row,
    row_lengths=LENGTHS,
    numpy=numpy,
    torch=torch,
)
