"""copy: what is right, what is refused, what is timed. How such a file is written: operator_runtime.testing."""

from math import inf, nan

import numpy as np
from operator_runtime.testing import (
    BITS,
    DTYPE,
    ELEMENTWISE_LENGTHS,
    FLOATS,
    INVALID,
    Bench,
    Call,
    Case,
    Error,
    Suite,
    integers,
    normal,
    signed_log,
)

ALL = ("contiguous", "padded", "transposed", "negative", "offset")


def reference(x):
    return x


def _values(d):
    return integers(-(1 << 30), 1 << 30) if d.dtype in ("i32", "i64") else d.data(normal, signed_log)


def draw(d):
    shape = d.shape(lengths=(*ELEMENTWISE_LENGTHS, 4, 6, 40))
    return Call(d.tensor(d.broadcastable(shape), _values(d)), out=shape)


def cases(d):
    if d.dtype in FLOATS:
        yield Case("NaN and infinity", Call([nan, inf, -inf, -0.0, 1.0] * 5))
    # A transposed tile is 32 long and made of squares of 16 bytes: whole tiles, edges, and less than one.
    for rows, cols in ((32, 32), (31, 33), (64, 64), (65, 63), (3, 1000), (1000, 3), (1, 70), (257, 129)):
        yield Case(f"{rows} x {cols}", Call(d.tensor((rows, cols), _values(d))), layouts=ALL)
    yield Case("axes turned round", Call(d.tensor((5, 33, 2, 17), _values(d))), layouts=ALL)
    for n in (1, 15, 16, 17):
        yield Case(f"rows of {n}", Call(d.tensor((1000, n), _values(d))), layouts=ALL)
    for n in range(1, 68):
        yield Case(f"C29 onto itself, n={n}", Call(d.tensor(n, _values(d))), layouts=("in place",))
    for n in (1, 2, 5, 300):
        yield Case(f"C28 backwards, n={n}", Call(d.tensor(n, _values(d))), layouts=("negative",))
    yield Case("one value everywhere", Call(d.tensor((1, 1), _values(d)), out=(70, 300)))
    yield Case("a column everywhere", Call(d.tensor((70, 1), _values(d)), out=(70, 3000)))
    for n in d.at_switch(32 << 10, 8 << 20):  # output bytes: a second thread; stores past the cache
        yield Case(f"switch, n={n}", Call(d.tensor(n, _values(d))))
    for rows in (2047, 2048, 2049):  # the same for tiles and rows
        yield Case(f"{rows} x 2048", Call(d.tensor((rows, 2048), _values(d))), layouts=("padded", "transposed"))


def errors(d):
    x = d.tensor((2, 3))
    yield Error("shape", INVALID, Call(x, out=(2, 4)), says=("copy", "src", "[2, 4]", "[2, 3]"))
    other = d.tensor((2, 3), dtype="i32" if d.dtype != "i32" else "f32")
    yield Error("C24 another dtype", DTYPE, Call(other, out=(2, 3)), says=("copy", "src", other.dtype, d.dtype))
    buffer = np.zeros(68, np.float32)
    yield Error("C29 shifted by one", INVALID, Call(buffer[:67], out=buffer[1:]), says=("copy", "dst", "src"))
    square = np.zeros((5, 5), np.float32)
    yield Error("C29 transposed in place", INVALID, Call(square.T, out=square), says=("copy", "dst", "src"))


def benchmarks(d):
    for n in (1_000, 10_000, 100_000, 1_000_000, 10_000_000):
        yield Bench(f"{n:.0e}".replace("+0", ""), Call(d.tensor(n)))
    yield Bench("offset 1e6", Call(d.tensor(1_000_001)), layout="offset")
    for n in (256, 1024, 4096):
        yield Bench(f"transposed {n}x{n}", Call(d.tensor((n, n))), layout="transposed")
    yield Bench("padded 1024x1000", Call(d.tensor((1024, 1000))), layout="padded")
    yield Bench("padded rows of 3", Call(d.tensor((100_000, 3))), layout="padded")


def numpy(outs, ins):
    return lambda: np.copyto(outs[0], ins[0])


def torch(torch, outs, ins):
    return lambda: outs[0].copy_(ins[0])


SUITE = Suite(
    reference=reference,
    bound=BITS,
    draw=draw,
    cases=cases,
    errors=errors,
    benchmarks=benchmarks,
    dtypes=(*FLOATS, "i32", "i64"),
    in_place=((0, 0),),
    foreign=("copy_cute",),
    numpy=numpy,
    torch=torch,
)
