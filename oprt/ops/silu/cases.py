"""silu: what is right, what is refused, what is timed. How such a file is written: operator_runtime.testing."""

from math import inf, nan

import numpy as np
from operator_runtime.testing import INVALID, Bench, Call, Case, Error, Suite, dense, normal, signed_log


def reference(x):
    with np.errstate(over="ignore", invalid="ignore"):
        return x / (1 + np.exp(-x))


def bound(ref, x):
    return (8 + 1.5 * abs(x)) * abs(ref)


def draw(d):
    shape = d.shape()
    x = d.tensor(d.broadcastable(shape), d.data(normal, dense(14), dense(100), signed_log))
    return Call(x, out=shape)


def cases(d):
    specials = [nan, -nan, inf, -inf, 0.0, -0.0]
    for n in (6, 64, 67):  # the tail alone, whole vectors, both
        right = np.resize([nan, nan, inf, nan, 0.0, 0.0], n)
        yield Case(f"C12 NaN is kept, n={n}", Call(np.resize(specials, n)), right, layouts=("contiguous", "in place"))
    yield Case("x in +-14", Call(d.tensor(20_001, dense(14))))
    yield Case("x out to +-100", Call(d.tensor(20_001, dense(100))))
    yield Case(
        "C16 the exponential overflows", Call([88.0, 89.0, 100.0, 1e4, 6e4, -88.0, -89.0, -100.0, -1e4, -6e4] * 3)
    )
    for n in range(1, 68):
        yield Case(f"C29 in place, n={n}", Call(d.tensor(n, dense(14))), layouts=("in place",))
    for n in d.at_switch(32 << 10, 8 << 20):  # output bytes: a second thread; stores past the cache
        yield Case(f"switch, n={n}", Call(d.tensor(n, dense(14))))


def errors(d):
    x = d.tensor((2, 3))
    yield Error("shape", INVALID, Call(x, out=(2, 4)), says=("silu", "in", "[2, 4]", "[2, 3]"))
    yield Error("rank", INVALID, Call(x, out=(3,)), says=("silu", "in", "[3]", "[2, 3]"))


def benchmarks(d):
    for n in (1_000, 10_000, 100_000, 1_000_000, 10_000_000):
        yield Bench(f"{n:.0e}".replace("+0", ""), Call(d.tensor(n)))
    yield Bench("offset 1e6", Call(d.tensor(1_000_001)), layout="offset")
    yield Bench("transposed 1024x1024", Call(d.tensor((1024, 1024))), layout="transposed")


def numpy(outs, ins):
    return lambda: np.divide(ins[0], 1 + np.exp(-ins[0]), out=outs[0])


def torch(torch, outs, ins):
    return lambda: torch._C._nn.silu(ins[0], out=outs[0])


SUITE = Suite(
    reference=reference,
    bound=bound,
    draw=draw,
    cases=cases,
    errors=errors,
    benchmarks=benchmarks,
    in_place=((0, 0),),
    hardware_exp=True,
    numpy=numpy,
    torch=torch,
)
