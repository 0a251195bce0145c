"""relu: what is right, what is refused, what is timed. How such a file is written: operator_runtime.testing."""

from math import inf, nan

import numpy as np
from operator_runtime.testing import INVALID, Bench, Call, Case, Error, Suite, dense, normal, signed_log


def reference(x, negative_slope):
    if negative_slope == 0:
        return np.maximum(x, 0)  # keeps NaN; 0 * -inf would not be 0
    return np.where(x > 0, x, x * np.float64(np.float32(negative_slope)))


def bound(ref, x, negative_slope):
    return 0 if negative_slope == 0 else abs(ref)


def draw(d):
    shape = d.shape()
    x = d.tensor(d.broadcastable(shape), d.data(normal, signed_log, dense(100)))
    return Call(x, out=shape, negative_slope=d.turn(0.0, 0.01, 0.0, -1.5, 2.0))


def cases(d):
    specials = [nan, -nan, 1.0, -1.0, inf, -inf]
    for n in (6, 64, 67):  # the tail alone, whole vectors, both
        x = np.resize(specials, n)
        right = np.resize([nan, nan, 1.0, 0.0, inf, 0.0], n)
        yield Case(f"C12 NaN is kept, n={n}", Call(x, negative_slope=0.0), right, layouts=("contiguous", "in place"))
    yield Case("C12 NaN is kept with a slope", Call(specials, negative_slope=0.5), [nan, nan, 1.0, -0.5, inf, -inf])
    yield Case("C15 zeros are zeros", Call([-0.0, 0.0, -3.0], negative_slope=0.0), [0.0, 0.0, 0.0])
    yield Case("C15 a slope of 0 on negative values", Call([-3.0, -0.0, -1e-3], negative_slope=-0.0), [0.0, 0.0, 0.0])
    for n in range(1, 68):  # a slope twice applied shows
        call = Call(d.tensor(n, dense(100)), negative_slope=0.25)
        yield Case(f"C29 in place, n={n}", call, layouts=("in place",))
    for n in d.at_switch(32 << 10, 8 << 20):  # output bytes: a second thread; stores past the cache
        yield Case(f"switch, n={n}", Call(d.tensor(n, dense(100)), negative_slope=0.0))


def errors(d):
    x = d.tensor((2, 3))
    yield Error("shape", INVALID, Call(x, out=(2, 4)), says=("relu", "in", "[2, 4]", "[2, 3]"))
    yield Error("rank", INVALID, Call(x, out=(3,)), says=("relu", "in", "[3]", "[2, 3]"))


def benchmarks(d):
    for n in (1_000, 10_000, 100_000, 1_000_000, 10_000_000):
        yield Bench(f"{n:.0e}".replace("+0", ""), Call(d.tensor(n), negative_slope=0.0))
    yield Bench("offset 1e6", Call(d.tensor(1_000_001), negative_slope=0.0), layout="offset")
    yield Bench("transposed 1024x1024", Call(d.tensor((1024, 1024)), negative_slope=0.0), layout="transposed")


def numpy(outs, ins, negative_slope):
    return lambda: np.maximum(ins[0], 0, out=outs[0])


def torch(torch, outs, ins, negative_slope):
    return lambda: torch.clamp_min(ins[0], 0, out=outs[0])


SUITE = Suite(
    reference=reference,
    bound=bound,
    draw=draw,
    cases=cases,
    errors=errors,
    benchmarks=benchmarks,
    in_place=((0, 0),),
    most_zeros=0.65,
    numpy=numpy,
    torch=torch,
)
