"""layernorm: what is right, what is refused, what is timed. How such a file is written: operator_runtime.testing."""

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


def mean_of(x, dim):
    return np.sum(x, axis=dim, keepdims=True) / max(x.shape[dim], 1) if x.ndim else x


def weight(w, x, dim, absent):
    """gamma or beta in a shape that broadcasts along the axis."""
    if w is None:
        return np.float64(absent)
    shape = [1] * x.ndim
    if x.ndim:
        shape[dim] = w.size
    return w.reshape(shape)


def moments(x, dim, eps):
    mean = mean_of(x, dim)
    return mean, np.sqrt(mean_of((x - mean) ** 2, dim) + np.float64(np.float32(eps)))


def reference(x, gamma, beta, dim, eps):
    mean, std = moments(x, dim, eps)
    return (x - mean) / std * weight(gamma, x, dim, 1) + weight(beta, x, dim, 0)


def bound(ref, x, gamma, beta, dim, eps):
    mean, std = moments(x, dim, eps)
    n = x.shape[dim] if x.ndim else 1
    size = abs(weight(gamma, x, dim, 1)) * (abs(x - mean) / std + 1 + abs(mean) / std) + abs(weight(beta, x, dim, 0))
    return 4 * (log2(max(n, 1)) + 4) * size


def draw(d):
    shape, dim = d.rows(ROWS if d.index % 4 else LENGTHS)
    n = shape[dim] if shape else 1
    gamma = d.turn(None, d.tensor(n), d.tensor(n, dtype="f32"), d.tensor(n))
    beta = d.turn(None, d.tensor(n), d.tensor(n, dtype="f32"), None, d.tensor(n))
    x = d.tensor(shape, d.data(normal, uniform, around(1000)))
    return Call(x, gamma, beta, dim=dim, eps=d.turn(1e-5, 1e-3))


def cases(d):
    def plain(name, x, expect=None, **more):
        return Case(name, Call(x, None, None, dim=more.pop("dim", -1), eps=1e-5), expect, **more)

    yield plain("C18 4096 and 4097 in turn", np.resize([4096.0, 4097.0], (1, 64)))
    yield plain("C18 constant 4096", np.full((2, 100), 4096.0), np.zeros((2, 100)))
    yield plain("C18 constant 4096, columns", np.full((100, 2), 4096.0), np.zeros((100, 2)), dim=0)
    for n in (64, 4096, 8192, 20_000):
        for data in (constant(0.1), constant(1000.3), around(1000), normal, uniform):
            yield plain(f"C18 {data.__name__} of {n}", d.tensor((2, n), data))
            yield plain(f"C18 {data.__name__} of {n}, columns", d.tensor((n, 2), data), dim=0)
    for n in (12_287, 12_288, 12_289, 33_024, 40_448, 57_344, 58_000, 131_072, 262_145):
        yield plain(f"C10 a row of {n}", d.tensor((1, n if d.dtype == "f32" else 2 * n)))
    yield plain("C19 squares past f16", np.resize([1000.0, -1000.0], (1, 512)))
    for n in (3, 40, 100, 5000):
        for special in (nan, inf, -inf):
            x = d.rng.standard_normal((3, n))
            x[1, n // 2] = special
            yield plain(f"{special} stays in its row of {n}", x)
    for rows in (15, 16, 17, 63, 64, 65, 129):  # gathered, neighbours together, and 64 at a time
        for n in (31, 255, 256, 257, 600):
            x, gamma, beta = d.tensor((n, rows)), d.tensor(n), d.tensor(n, dtype="f32")
            yield Case(f"switch, {rows} columns of {n}", Call(x, gamma, beta, dim=0, eps=1e-5))
    for rows in (3, 16):  # more than a cluster of blocks holds, apart and side by side in words
        x, gamma, beta = d.tensor((4100, rows)), d.tensor(4100), d.tensor(4100, dtype="f32")
        yield Case(f"{rows} columns of 4100", Call(x, gamma, beta, dim=0, eps=1e-5))
    for n in (95, 96, 97, 4095, 4096, 4097, 1 << 15, (1 << 15) + 1, 100_003):
        x, gamma, beta = d.tensor((1, n)), d.tensor(n), d.tensor(n)
        yield Case(f"switch, a row of {n}", Call(x, gamma, beta, dim=1, eps=1e-5), layouts=("contiguous", "in place"))
    x, gamma = d.tensor((2100, 2048)), d.tensor(2048)
    yield Case("past the cache", Call(x, gamma, None, dim=1, eps=1e-5))


def errors(d):
    x, w = d.tensor((2, 3)), d.tensor(3)

    def call(x, gamma=None, beta=None, out=(2, 3), dim=1, eps=1e-5):
        return Call(x, gamma, beta, out=out, dim=dim, eps=eps)

    yield Error("shape", INVALID, call(x, out=(2, 4)), says=("layernorm", "in", "[2, 4]", "[2, 3]"))
    yield Error("axis", INVALID, call(x, dim=2), says=("layernorm", "axis", "-2", "2"))
    yield Error("gamma too long", INVALID, call(x, d.tensor(4)), says=("layernorm", "gamma", "[3]", "[4]"))
    yield Error("gamma 2-D", INVALID, call(x, d.tensor((1, 3))), says=("layernorm", "gamma", "[3]", "[1, 3]"))
    yield Error("beta too short", INVALID, call(x, w, d.tensor(1)), says=("layernorm", "beta", "[3]", "[1]"))
    yield Error("eps", INVALID, call(x, eps=-1.0), says=("layernorm", "eps", "0 or more", "-1"))
    yield Error("eps NaN", INVALID, call(x, eps=nan), says=("layernorm", "eps", "0 or more", "nan"))
    other = "f16" if d.dtype != "f16" else "bf16"
    yield Error("gamma of another dtype", DTYPE, call(x, d.tensor(3, dtype=other)), says=("gamma", d.dtype, other))
    yield Error("beta of another dtype", DTYPE, call(x, w, d.tensor(3, dtype=other)), says=("beta", d.dtype, other))


def benchmarks(d):
    def point(name, rows, n, **more):
        return Bench(name, Call(d.tensor((rows, n)), d.tensor(n), d.tensor(n), dim=1, eps=1e-5), **more)

    for rows, n in ((1, 1000), (10, 1000), (100, 1000), (1000, 1000), (10_000, 1000), (128, 384), (4096, 4096)):
        yield point(f"{rows}x{n}", rows, n)
    yield point("1x1e6", 1, 1_000_000)
    yield point("offset 1000x1001", 1000, 1001, layout="offset")


def row(d, length):
    return Call(d.tensor((1, length)), d.tensor(length), d.tensor(length), dim=1, eps=1e-5)


def torch(torch, outs, ins, dim, eps):
    x, gamma, beta = ins
    if dim != 1:
        return None
    return lambda: torch.native_layer_norm(x, x.shape[1:], gamma, beta, eps)


SUITE = Suite(
    reference=reference,
    bound=bound,
    draw=draw,
    cases=cases,
    errors=errors,
    benchmarks=benchmarks,
    in_place=((0, 0),),
    row=row,
    row_lengths=ROWS,
    torch=torch,
)
