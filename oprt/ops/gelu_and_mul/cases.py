"""gelu_and_mul: what is right, what is refused, what is timed. How such a file is written: operator_runtime.testing."""

from math import erfc, inf, nan, pi, sqrt

import numpy as np
from operator_runtime.testing import INVALID, Bench, Call, Case, Error, Suite, dense, normal, signed_log, without

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
    gate, up = _halves(x)
    with np.errstate(invalid="ignore"):
        return _gelu(gate, approximate) * up


def bound(ref, x, approximate):
    gate, _ = _halves(x)
    return (_slack(gate, approximate) + 2) * abs(ref)


def floor(ref, x, approximate):
    _, up = _halves(x)
    return np.maximum(1, abs(up))


def _halves(x):
    return np.split(x, 2, axis=-1)


def draw(d):
    shape = d.shape()
    lead = d.broadcastable(shape[:-1])
    x = d.tensor((*lead, 2 * shape[-1]), d.data(normal, dense(14), signed_log, dense(100)))
    return Call(x, out=shape, approximate=d.turn(*FORMS, *reversed(FORMS)))


def cases(d):
    for form in FORMS:
        x = [[nan, 1.0, inf, -inf, 2.0, 0.0, 1.0, nan, 1.0, 2.0, inf, inf]] * 3
        right = [[nan, nan, inf, nan, inf, nan]] * 3
        yield Case(f"C12 NaN is kept, from either half, {form}", Call(x, approximate=form), right)
        yield Case(f"gate in +-14, {form}", Call(d.tensor((3, 20_000), dense(14)), approximate=form))
        yield Case(f"gate out to +-100, {form}", Call(d.tensor((3, 20_000), dense(100)), approximate=form))
        far = [8, 10, 10.05, 10.07, 10.5, 11, 13, 20, 100, 1e4, 65504]
        gates = [*far, *np.negative(far)]
        yield Case(f"C16 the exponential overflows, {form}", Call([gates + [0.5] * len(gates)] * 3, approximate=form))
        yield Case(f"C17 this form and not the other, {form}", Call([[2.699, 1, -1, 1, 1, 1]], approximate=form))
        yield Case(f"C05 65,537 rows, {form}", Call(d.tensor((65_537, 16)), approximate=form))
    for n in d.at_switch(32 << 10, 8 << 20):  # output bytes: a second thread; stores past the cache
        yield Case(f"switch, n={n}", Call(d.tensor((1, 2 * n)), approximate="tanh"))
    for n in (15, 16, 17, 511, 512, 513):  # rows gathered, in place, past the cache
        yield Case(f"rows of {n}", Call(d.tensor((3, 2 * n)), approximate="tanh"), layouts=("contiguous", "padded"))


def errors(d):
    yield Error(
        "odd",
        INVALID,
        Call(d.tensor((2, 7)), out=(2, 3), approximate="none"),
        says=("gelu_and_mul", "in", "3 of out", "[2, 7]"),
    )
    yield Error(
        "not double",
        INVALID,
        Call(d.tensor((2, 3)), out=(2, 3), approximate="none"),
        says=("gelu_and_mul", "in", "[2, 3]"),
    )
    yield Error(
        "rows",
        INVALID,
        Call(d.tensor((3, 6)), out=(2, 3), approximate="none"),
        says=("gelu_and_mul", "in", "[2, 3]", "[3, 3]"),
    )
    yield Error(
        "rank 0",
        INVALID,
        Call(d.tensor((2,)), out=(), approximate="none"),
        says=("gelu_and_mul", "out", "rank 1 or more", "rank 0"),
    )
    both = np.zeros((2, 6), np.float32)
    yield Error(
        "C29 the output in the input",
        INVALID,
        Call(both, out=both[:, :3], approximate="none"),
        says=("gelu_and_mul", "out", "in"),
    )


def benchmarks(d):
    for form in FORMS:
        for n in (1_000, 10_000, 100_000, 1_000_000, 10_000_000):
            yield Bench(f"{form} {n:.0e}".replace("+0", ""), Call(d.tensor((n // 500, 1000)), approximate=form))
    yield Bench("none rows of 11008", Call(d.tensor((256, 22_016)), approximate="none"))


def torch(torch, outs, ins, approximate):
    half = outs[0].shape[-1]
    gate, up = ins[0][..., :half], ins[0][..., half:]
    return lambda: torch.mul(torch.nn.functional.gelu(gate, approximate=approximate), up, out=outs[0])


SUITE = Suite(
    reference=reference,
    bound=bound,
    draw=draw,
    cases=cases,
    errors=errors,
    benchmarks=benchmarks,
    layouts=without("rank 0"),
    hardware_exp=True,
    floor=floor,
    torch=torch,
)
