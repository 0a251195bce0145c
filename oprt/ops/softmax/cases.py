"""softmax: what is right, what is refused, what is timed. How such a file is written: operator_runtime.testing."""

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

# Switches: a lane a row up to 96, blocks of a column of 256, of a row of 4096, exponentials kept up to 16384.
LENGTHS = (*ROW_LENGTHS, 95, 96, 97, 255, 256, 257, 4095, 4096, 4097)
ROWS = (*LENGTHS, 16383, 16384, 16385, 19_999)


def along(function, x, dim, **more):
    return function(x, axis=dim, keepdims=True, **more) if x.ndim else x


def largest(x, dim):
    return along(np.max, x, dim, initial=-inf)  # -inf of an empty row


def distance(x, dim):
    """x - max, with 0 for a row that has no finite maximum: its outputs are NaN or 0 whatever the bound says."""
    far = x - largest(x, dim)
    return np.where(np.isfinite(far), far, 0)


def reference(x, dim):
    exponentials = np.exp(x - largest(x, dim))
    return exponentials / along(np.sum, exponentials, dim)


def bound(ref, x, dim):
    n = x.shape[dim] if x.ndim else 1
    return (8 + 3 * abs(distance(x, dim)) + log2(max(n, 1))) * ref


def also(out, x, dim):
    if out.dtype != np.float32 or out.size == 0:
        return None
    sums = along(np.sum, out.astype(np.float64), dim)
    worst = np.nanmax(abs(sums - 1), initial=0)
    return None if worst < 1e-6 else f"a row sums to 1 + {worst:.2g}"


def near(mean):
    """Far below or above 0, where a stray 0 that is taken for the maximum shows."""

    def values(rng, shape):
        return mean + rng.standard_normal(shape)

    values.__name__ = f"near_{mean}"
    return values


def draw(d):
    shape, dim = d.rows(ROWS if d.index % 4 else LENGTHS)
    return Call(d.tensor(shape, d.data(normal, uniform, constant(0.1), around(1000), near(-1000))), dim=dim)


def cases(d):
    for n in (385, 513, 1023, 4097, 50_257):
        yield Case(f"C08 the second row is not aligned, {n}", Call(d.tensor((3, n)), dim=-1))
    for n in (1, 2, 3, 17, 31, 32, 33, 63, 64, 65, 127, 128, 129, 1023, 1024, 1025):
        for rows in (1, 3, 257):
            yield Case(f"C09 {rows} rows of {n}", Call(d.tensor((rows, n), near(-1000)), dim=1))
    yield Case("C09 width 1", Call(d.tensor((5, 1), near(-1000)), dim=1), np.ones((5, 1)))
    yield Case("C09 -1000 and -1001", Call([[-1000.0, -1001.0]], dim=1))
    for n in (12_287, 12_288, 12_289, 33_024, 40_448, 57_344, 58_000, 131_072, 262_145):
        yield Case(f"C10 a row of {n}", Call(d.tensor((1, n if d.dtype == "f32" else 2 * n)), dim=1))
    for n in (1, 31, 32, 33, 65, 5000, 20_000):
        x = np.stack([np.full(n, -inf), np.zeros(n), np.full(n, -inf)])
        yield Case(f"C13 rows of -inf beside one of zeros, {n}", Call(x, dim=1))
        yield Case(f"C13 columns of -inf beside one of zeros, {n}", Call(np.ascontiguousarray(x.T), dim=0))
    yield Case("C13 inf makes its row NaN", Call([[inf, 1.0], [1.0, 1.0]], dim=1), [[nan, nan], [0.5, 0.5]])
    yield Case("C13 -inf beside 0", Call([[-inf, 0.0, -inf]], dim=1), [[0.0, 1.0, 0.0]])
    yield Case("C14 NaN and 1", Call([[1.0, nan], [1.0, 1.0]], dim=1), [[nan, nan], [0.5, 0.5]])
    yield Case("C14 NaN and -inf", Call([[nan, -inf, -inf]], dim=1), [[nan] * 3])
    for n in (2, 33, 65, 4097, 20_000):
        for at in sorted({0, n - 1, (n - 1) // 32 * 32, n // 2}):
            x = np.zeros((3, n))
            x[1, at] = nan
            yield Case(f"C14 NaN at {at} of {n}", Call(x, dim=1))
            yield Case(f"C14 NaN at {at} of {n}, columns", Call(np.ascontiguousarray(x.T), dim=0))
    for n in (4096, 20_000):
        yield Case(f"0.1 throughout, {n}", Call(d.tensor((2, n), constant(0.1)), dim=1))
    most = {"f32": 3e38, "f16": 65504.0, "bf16": 3e38}[d.dtype]
    yield Case("the largest values", Call([[most, most], [-most, -most]], dim=1), [[0.5, 0.5]] * 2)
    yield Case("far apart", Call([[most, -most]], dim=1), [[1.0, 0.0]])
    for rows in (15, 16, 17, 63, 64, 65, 129):  # gathered, neighbours together, and 64 at a time
        for n in (31, 255, 256, 257, 600):
            yield Case(f"switch, {rows} columns of {n}", Call(d.tensor((n, rows)), dim=0))
    for rows in (3, 16):  # more than a cluster of blocks holds, apart and side by side in words
        yield Case(f"{rows} columns of 4100", Call(d.tensor((4100, rows)), dim=0))
    for n in (95, 96, 97, 4095, 4096, 4097, 16_383, 16_384, 16_385, 1 << 15, (1 << 15) + 1, 100_003):
        yield Case(f"switch, a row of {n}", Call(d.tensor((1, n)), dim=1), layouts=("contiguous", "in place"))
    yield Case("past the cache", Call(d.tensor((2100, 2048)), dim=1))


def errors(d):
    x = d.tensor((2, 3))
    yield Error("shape", INVALID, Call(x, out=(2, 4), dim=1), says=("softmax", "in", "[2, 4]", "[2, 3]"))
    yield Error("axis", INVALID, Call(x, out=(2, 3), dim=2), says=("softmax", "axis", "-2", "2"))
    yield Error("negative axis", INVALID, Call(x, out=(2, 3), dim=-3), says=("softmax", "axis", "-3"))


def benchmarks(d):
    for rows, n in ((1, 1000), (10, 1000), (100, 1000), (1000, 1000), (10_000, 1000)):
        yield Bench(f"{rows}x{n}", Call(d.tensor((rows, n)), dim=1))
    yield Bench("64x512, in L2", Call(d.tensor((64, 512)), dim=1))
    yield Bench("8x256", Call(d.tensor((8, 256)), dim=1))
    yield Bench("1000x16", Call(d.tensor((1000, 16)), dim=1))
    yield Bench("4096x4096", Call(d.tensor((4096, 4096)), dim=1))
    yield Bench("1x1e6", Call(d.tensor((1, 1_000_000)), dim=1))
    yield Bench("1024x1024 columns", Call(d.tensor((1024, 1024)), dim=0))
    yield Bench("offset 1000x1001", Call(d.tensor((1000, 1001)), dim=1), layout="offset")


def row(d, length):
    return Call(d.tensor((1, length)), dim=1)


def torch(torch, outs, ins, dim):
    return lambda: torch.softmax(ins[0], dim, out=outs[0])


SUITE = Suite(
    reference=reference,
    bound=bound,
    also=also,
    draw=draw,
    cases=cases,
    errors=errors,
    benchmarks=benchmarks,
    in_place=((0, 0),),
    hardware_exp=True,
    row=row,
    row_lengths=ROWS,
    torch=torch,
)
