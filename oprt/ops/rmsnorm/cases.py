"""rmsnorm: what is right, what is refused, what is timed. How such a file is written: operator_runtime.testing."""

from math import inf, log2, nan

import numpy as np
from operator_runtime.testing import (
    DTYPE,
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

# Switches: a lane a row up to 96, blocks of a column of 256, of a row of 4096.
LENGTHS = (*ROW_LENGTHS, 95, 96, 97, 255, 256, 257, 4095, 4096, 4097)
ROWS = (*LENGTHS, 8192, 12_289)


def mean_square(x, dim):
    return np.sum(x * x, axis=dim, keepdims=True) / max(x.shape[dim], 1) if x.ndim else x * x


def weight(gamma, x, dim):
    """gamma in a shape that broadcasts along the axis."""
    if gamma is None:
        return np.float64(1)
    shape = [1] * x.ndim
    if x.ndim:
        shape[dim] = gamma.size
    return gamma.reshape(shape)


def reference(x, gamma, dim, eps):
    return x / np.sqrt(mean_square(x, dim) + np.float64(np.float32(eps))) * weight(gamma, x, dim)


def bound(ref, x, gamma, dim, eps):
    n = x.shape[dim] if x.ndim else 1
    return 4 * (log2(max(n, 1)) + 4) * abs(ref)


def outside(ref, x, gamma, dim, eps):
    n = x.shape[dim] if x.ndim else 1
    squares = mean_square(x, dim) * n
    return np.broadcast_to((squares > 2.0**127) | (squares + n * eps < 2.0**-100), ref.shape)


def draw(d):
    shape, dim = d.rows(ROWS if d.index % 4 else LENGTHS)
    n = shape[dim] if shape else 1
    gamma = d.turn(None, d.tensor(n), d.tensor(n, dtype="f32"), d.tensor(n))
    x = d.tensor(shape, d.data(normal, uniform, constant(0.1), around(1000)))
    return Call(x, gamma, dim=dim, eps=d.turn(1e-6, 1e-3))


def cases(d):
    def plain(name, x, expect=None, dim=-1, eps=1e-6, **more):
        return Case(name, Call(x, None, dim=dim, eps=eps), expect, **more)

    for n in (512, 513, 2048, 3072, 4096, 5120, 6144, 7168, 8192):
        for rows in (1, 8):  # test_rows.py has many
            x, gamma = d.tensor((rows, n)), d.tensor(n)
            yield Case(f"C11 {rows} rows of {n}", Call(x, gamma, dim=1, eps=1e-6), times=5)
    for n in (12_287, 12_288, 12_289, 33_024, 40_448, 57_344, 58_000, 131_072, 262_145):
        yield plain(f"C10 a row of {n}", d.tensor((1, n if d.dtype == "f32" else 2 * n)))
    yield plain("C19 512 times 1000", np.full((1, 512), 1000.0), np.ones((1, 512)))
    yield plain("C19 1000 and -1000", np.resize([1000.0, -1000.0], (1, 512)), np.resize([1.0, -1.0], (1, 512)))
    yield plain("C19 small squares", np.full((1, 512), 6e-5), eps=1e-12)
    for n in (4096, 8192, 20_000):
        for data in (constant(0.1), normal, uniform, around(1000)):
            yield plain(f"{data.__name__} of {n}", d.tensor((2, n), data))
            yield plain(f"{data.__name__} of {n}, columns", d.tensor((n, 2), data), dim=0)
    for n in (3, 40, 100, 5000):
        for special in (nan, inf, -inf):
            x = d.rng.standard_normal((3, n))
            x[1, n // 2] = special
            yield plain(f"{special} stays in its row of {n}", x)
    for rows in (15, 16, 17, 63, 64, 65, 129):  # gathered, neighbours together, and 64 at a time
        for n in (31, 255, 256, 257, 600):
            yield Case(f"switch, {rows} columns of {n}", Call(d.tensor((n, rows)), d.tensor(n), dim=0, eps=1e-6))
    for rows in (3, 16):  # more than a cluster of blocks holds, apart and side by side in words
        yield Case(f"{rows} columns of 4100", Call(d.tensor((4100, rows)), d.tensor(4100), dim=0, eps=1e-6))
    for n in (95, 96, 97, 4095, 4096, 4097, 1 << 15, (1 << 15) + 1, 100_003):
        call = Call(d.tensor((1, n)), d.tensor(n), dim=1, eps=1e-6)
        yield Case(f"switch, a row of {n}", call, layouts=("contiguous", "in place"))
    yield Case("past the cache", Call(d.tensor((2100, 2048)), d.tensor(2048), dim=1, eps=1e-6))


def errors(d):
    x = d.tensor((2, 3))

    def call(gamma=None, out=(2, 3), dim=1, eps=1e-6):
        return Call(x, gamma, out=out, dim=dim, eps=eps)

    yield Error("shape", INVALID, call(out=(2, 4)), says=("rmsnorm", "in", "[2, 4]", "[2, 3]"))
    yield Error("axis", INVALID, call(dim=2), says=("rmsnorm", "axis", "-2", "2"))
    yield Error("gamma too long", INVALID, call(d.tensor(4)), says=("rmsnorm", "gamma", "[3]", "[4]"))
    yield Error("gamma 2-D", INVALID, call(d.tensor((1, 3))), says=("rmsnorm", "gamma", "[3]", "[1, 3]"))
    yield Error("eps", INVALID, call(eps=-1.0), says=("rmsnorm", "eps", "0 or more", "-1"))
    yield Error("eps NaN", INVALID, call(eps=nan), says=("rmsnorm", "eps", "0 or more", "nan"))
    other = "f16" if d.dtype != "f16" else "bf16"
    yield Error("gamma of another dtype", DTYPE, call(d.tensor(3, dtype=other)), says=("gamma", d.dtype, other))


def benchmarks(d):
    def point(name, rows, n, **more):
        return Bench(name, Call(d.tensor((rows, n)), d.tensor(n), dim=1, eps=1e-6), **more)

    for rows, n in ((1, 1000), (10, 1000), (100, 1000), (1000, 1000), (10_000, 1000), (4096, 4096)):
        yield point(f"{rows}x{n}", rows, n)
    yield point("1x1e6", 1, 1_000_000)
    yield point("offset 1000x1001", 1000, 1001, layout="offset")


def row(d, length):
    return Call(d.tensor((1, length)), d.tensor(length), dim=1, eps=1e-6)


def torch(torch, outs, ins, dim, eps):
    x, gamma = ins
    if dim != 1:
        return None
    return lambda: torch.nn.functional.rms_norm(x, x.shape[1:], gamma, eps)


SUITE = Suite(
    reference=reference,
    bound=bound,
    outside=outside,
    draw=draw,
    cases=cases,
    errors=errors,
    benchmarks=benchmarks,
    in_place=((0, 0),),
    row=row,
    row_lengths=ROWS,
    torch=torch,
)
