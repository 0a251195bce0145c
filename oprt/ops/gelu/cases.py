"""gelu: what is right, what is refused, what is timed. How such a file is written: operator_runtime.testing."""

from math import erfc, inf, nan, pi, sqrt

import numpy as np
from operator_runtime.testing import INVALID, Bench, Call, Case, Error, Suite, dense, normal, signed_log

FORMS = ("none", "tanh")
_erfc = np.vectorize(erfc, otypes=[np.float64])


def _t(x):
    return sqrt(2 / pi) * (x + 0.044715 * x**3)


def _gelu(x, approximate):
    with np.errstate(over="ignore", invalid="ignore"):
        if approximate == "none":
            return 0.5 * x * _erfc(-x / sqrt(2))
        return x / (1 + np.exp(-2 * _t(x)))


def _slack(x, approximate):
    with np.errstate(over="ignore"):
        return 8 + 3 * x**2 if approximate == "none" else 8 + 8 * abs(_t(x))


def reference(x, approximate):
    return _gelu(x, approximate)


def bound(ref, x, approximate):
    return _slack(x, approximate) * abs(ref)


def draw(d):
    shape = d.shape()
    x = d.tensor(d.broadcastable(shape), d.data(normal, dense(14), dense(100), signed_log))
    return Call(x, out=shape, approximate=d.turn(*FORMS, *reversed(FORMS)))


def cases(d):
    far = [8, 10, 10.05, 10.07, 10.5, 11, 13, 20, 100, 1e4, 65504]
    for form in FORMS:
        specials, right = [nan, -nan, inf, -inf, 0.0, -0.0], [nan, nan, inf, nan, 0.0, 0.0]
        for n in (6, 64, 67):  # the tail alone, whole vectors, both
            x = Call(np.resize(specials, n), approximate=form)
            yield Case(f"C12 NaN is kept, {form}, n={n}", x, np.resize(right, n), layouts=("contiguous", "in place"))
        yield Case(
            f"C16 the exponential overflows, {form}", Call(np.repeat([far, np.negative(far)], 3), approximate=form)
        )
        yield Case(f"x in +-14, {form}", Call(d.tensor(20_001, dense(14)), approximate=form))
        yield Case(f"x out to +-100, {form}", Call(d.tensor(20_001, dense(100)), approximate=form))
        for n in range(1, 68):
            yield Case(
                f"C29 in place, {form}, n={n}", Call(d.tensor(n, dense(5)), approximate=form), layouts=("in place",)
            )
    # At 2.699 the forms differ by 4.73e-4, which is 90 bounds of f32; at -1 by 1.53e-4, 1.25 spacings of f16, and on
    # either side of a middle of bf16.
    yield Case("C17 the definition", Call([2.699, 1.0, -1.0], approximate="none"))
    yield Case("C17 the approximation", Call([2.699, 1.0, -1.0], approximate="tanh"))
    for n in d.at_switch(32 << 10, 8 << 20):  # output bytes: a second thread; stores past the cache
        yield Case(f"switch, n={n}", Call(d.tensor(n, dense(14)), approximate="tanh"))


def errors(d):
    x = d.tensor((2, 3))
    yield Error("shape", INVALID, Call(x, out=(2, 4), approximate="none"), says=("gelu", "in", "[2, 4]", "[2, 3]"))
    yield Error("rank", INVALID, Call(x, out=(3,), approximate="tanh"), says=("gelu", "in", "[3]", "[2, 3]"))


def benchmarks(d):
    for form in FORMS:
        for n in (1_000, 10_000, 100_000, 1_000_000, 10_000_000):
            yield Bench(f"{form} {n:.0e}".replace("+0", ""), Call(d.tensor(n), approximate=form))
    yield Bench("none offset 1e6", Call(d.tensor(1_000_001), approximate="none"), layout="offset")
    yield Bench("none transposed 1024x1024", Call(d.tensor((1024, 1024)), approximate="none"), layout="transposed")


def torch(torch, outs, ins, approximate):
    return lambda: torch._C._nn.gelu(ins[0], approximate=approximate, out=outs[0])


SUITE = Suite(
    reference=reference,
    bound=bound,
    draw=draw,
    cases=cases,
    errors=errors,
    benchmarks=benchmarks,
    in_place=((0, 0),),
    hardware_exp=True,
    torch=torch,
)
