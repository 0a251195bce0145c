"""@op@: what is right, what is refused, what is timed. How such a file is written: operator_runtime.testing."""

from math import nan

from operator_runtime.testing import INVALID, Bench, Call, Case, Error, Suite, dense, normal, signed_log


def reference(x):
    raise NotImplementedError("FILL IN: the formula on float64 arrays")


def bound(ref, x):
    return abs(ref)  # FILL IN: what rounding in f32 may cost, in units of 2^-24; 0 where the result is correctly rounded


def draw(d):
    shape = d.shape()
    return Call(d.tensor(d.broadcastable(shape), d.data(normal, signed_log, dense(100))), out=shape)


def cases(d):
    yield Case("FILL IN: an input whose answer is known", Call([0.0, 1.0]))
    yield Case("C12 NaN is kept", Call([nan]), [nan])
    for n in d.at_switch(32 << 10, 8 << 20):  # output bytes: a second thread; stores past the cache
        yield Case(f"switch, n={n}", Call(d.tensor(n)))


def errors(d):
    yield Error("shape", INVALID, Call(d.tensor((2, 3)), out=(2, 4)), says=("@op@", "in", "[2, 4]", "[2, 3]"))


def benchmarks(d):
    for n in (1_000, 10_000, 100_000, 1_000_000, 10_000_000):
        yield Bench(f"{n:.0e}".replace("+0", ""), Call(d.tensor(n)))


SUITE = Suite(
    reference=reference,
    bound=bound,
    draw=draw,
    cases=cases,
    errors=errors,
    benchmarks=benchmarks,
    in_place=((0, 0),),
)
