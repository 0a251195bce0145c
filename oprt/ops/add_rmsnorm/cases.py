"""add_rmsnorm: what is right, what is refused, what is timed. How such a file is written: operator_runtime.testing."""

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
    round_to,
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


def reference(x, residual, gamma, dim, eps, dtype):
    total = round_to(x + residual, dtype)  # it is the rounded sum that feeds the norm
    return total / np.sqrt(mean_square(total, dim) + np.float64(np.float32(eps))) * weight(gamma, x, dim), total


def bound(refs, x, residual, gamma, dim, eps):
    n = x.shape[dim] if x.ndim else 1
    return 4 * (log2(max(n, 1)) + 4) * abs(refs[0]), np.zeros_like(refs[1])


def outside(refs, x, residual, gamma, dim, eps):
    n = x.shape[dim] if x.ndim else 1
    squares = mean_square(refs[1], dim) * n
    norm = np.broadcast_to((squares > 2.0**127) | (squares + n * eps < 2.0**-100), x.shape)
    return norm, np.zeros(x.shape, bool)


def draw(d):
    shape, dim = d.rows(ROWS if d.index % 4 else LENGTHS)
    n = shape[dim] if shape else 1
    gamma = d.turn(None, d.tensor(n), d.tensor(n, dtype="f32"), d.tensor(n))
    data = d.data(normal, uniform, constant(0.1), around(1000))
    return Call(d.tensor(shape, data), d.tensor(shape), gamma, dim=dim, eps=d.turn(1e-6, 1e-3))


def cases(d):
    def pair(name, shape, dim, **more):
        gamma = d.tensor(shape[dim])
        return Case(name, Call(d.tensor(shape), d.tensor(shape), gamma, dim=dim, eps=1e-6), **more)

    if d.dtype == "bf16":
        right = [[[1.4140625, 0.011047363]], [[256.0, 2.0]]]
        call = Call([[256.0, 2.0]], [[1.0, 0.0]], [1.0, 1.0], dim=1, eps=1e-6)
        yield Case("C21 the rounded sum feeds the norm", call, [np.array(r) for r in right])
    for n in (512, 513, 2048, 3072, 4096, 5120, 6144, 7168, 8192):
        yield pair(f"C11 rows of {n}", (8, n), 1, times=5)
    for n in (12_287, 12_288, 12_289, 33_024, 40_448, 57_344, 58_000, 131_072, 262_145):
        yield pair(f"C10 a row of {n}", (1, n if d.dtype == "f32" else 2 * n), 1)
    x = np.full((1, 512), 500.0)
    yield Case("C19 512 times 1000", Call(x, x, None, dim=1, eps=1e-6), [np.ones((1, 512)), 2 * x])
    for data in (constant(0.1), normal, uniform, around(1000)):
        x, residual = d.tensor((2, 4096), data), d.tensor((2, 4096), data)
        yield Case(f"{data.__name__} of 4096", Call(x, residual, None, dim=1, eps=1e-6))
    for n in (3, 40, 100, 5000):
        for special in (nan, inf, -inf):
            x = d.rng.standard_normal((3, n))
            x[1, n // 2] = special
            yield Case(f"{special} stays in its row of {n}", Call(x, np.ones((3, n)), None, dim=1, eps=1e-6))
    for rows in (15, 16, 17, 63, 64, 65, 129):  # gathered, neighbours together, and 64 at a time
        for n in (31, 255, 256, 257, 600):
            yield pair(f"switch, {rows} columns of {n}", (n, rows), 0)
    for rows in (3, 16):  # more than a cluster of blocks holds, apart and side by side in words
        yield pair(f"{rows} columns of 4100", (4100, rows), 0)
    for n in (95, 96, 97, 4095, 4096, 4097, 1 << 15, (1 << 15) + 1, 100_003):
        yield pair(f"switch, a row of {n}", (1, n), 1, layouts=("contiguous", "in place"))
    yield pair("past the cache", (2100, 2048), 1)


def errors(d):
    x = d.tensor((2, 3))

    def call(x=x, residual=x, gamma=None, out=((2, 3), (2, 3)), dim=1, eps=1e-6):
        return Call(x, residual, gamma, out=list(out), dim=dim, eps=eps)

    wide = d.tensor((2, 4))
    says = ("add_rmsnorm", "[2, 3]", "[2, 4]")
    yield Error("in's shape", INVALID, call(x=wide), says=(*says, "in"))
    yield Error("residual's shape", INVALID, call(residual=wide), says=(*says, "residual"))
    yield Error("residual_out's shape", INVALID, call(out=((2, 3), (2, 4))), says=(*says, "residual_out"))
    yield Error("axis", INVALID, call(dim=2), says=("add_rmsnorm", "axis", "-2", "2"))
    yield Error("gamma too long", INVALID, call(gamma=d.tensor(4)), says=("add_rmsnorm", "gamma", "[3]", "[4]"))
    yield Error("eps", INVALID, call(eps=-1.0), says=("add_rmsnorm", "eps", "0 or more", "-1"))
    yield Error("eps NaN", INVALID, call(eps=nan), says=("add_rmsnorm", "eps", "0 or more", "nan"))
    other = "f16" if d.dtype != "f16" else "bf16"
    gamma = d.tensor(3, dtype=other)
    yield Error("gamma of another dtype", DTYPE, call(gamma=gamma), says=("gamma", d.dtype, other))


def benchmarks(d):
    def point(name, rows, n, **more):
        x, residual = d.tensor((rows, n)), d.tensor((rows, n))
        return Bench(name, Call(x, residual, d.tensor(n), dim=1, eps=1e-6), **more)

    for rows, n in ((1, 1000), (10, 1000), (100, 1000), (1000, 1000), (10_000, 1000), (4096, 4096)):
        yield point(f"{rows}x{n}", rows, n)
    yield point("offset 1000x1001", 1000, 1001, layout="offset")


def row(d, length):
    return Call(d.tensor((1, length)), d.tensor((1, length)), d.tensor(length), dim=1, eps=1e-6)


def torch(torch, outs, ins, dim, eps):
    x, residual, gamma = ins
    if dim != 1:
        return None

    def call():
        torch.add(x, residual, out=outs[1])
        return torch.nn.functional.rms_norm(outs[1], x.shape[1:], gamma, eps)

    return call


SUITE = Suite(
    reference=reference,
    bound=bound,
    outside=outside,
    draw=draw,
    cases=cases,
    errors=errors,
    benchmarks=benchmarks,
    in_place=((0, 0), (0, 1), (1, 0), (1, 1)),
    row=row,
    row_lengths=ROWS,
    row_inputs=(0, 1),
    torch=torch,
)
