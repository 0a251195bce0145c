"""silu_and_mul: what is right, what is refused, what is timed. How such a file is written: operator_runtime.testing."""

from math import inf, nan

import numpy as np
from operator_runtime.testing import INVALID, Bench, Call, Case, Error, Suite, dense, normal, signed_log, without


def _silu(x):
    with np.errstate(over="ignore", invalid="ignore"):
        return x / (1 + np.exp(-x))


def reference(x):
    gate, up = _halves(x)
    with np.errstate(invalid="ignore"):
        return _silu(gate) * up


def bound(ref, x):
    gate, _ = _halves(x)
    return (8 + 1.5 * abs(gate) + 2) * abs(ref)


def floor(ref, x):
    _, up = _halves(x)
    return np.maximum(1, abs(up))


def _halves(x):
    return np.split(x, 2, axis=-1)


def draw(d):
    shape = d.shape()
    lead = d.broadcastable(shape[:-1])
    x = d.tensor((*lead, 2 * shape[-1]), d.data(normal, dense(14), signed_log, dense(100)))
    return Call(x, out=shape)


def cases(d):
    x = [[nan, 1.0, inf, -inf, 2.0, 0.0, 1.0, nan, 1.0, 2.0, inf, inf]] * 3
    right = [[nan, nan, inf, nan, inf, nan]] * 3
    yield Case("C12 NaN is kept, from either half", Call(x), right)
    yield Case("gate in +-14", Call(d.tensor((3, 20_000), dense(14))))
    yield Case("gate out to +-100", Call(d.tensor((3, 20_000), dense(100))))
    gates = [88.0, 89.0, 100.0, 1e4, 65504.0, -88.0, -89.0, -100.0, -1e4, -65504.0]
    yield Case("C16 the exponential overflows", Call([gates + [0.5] * len(gates)] * 3))
    yield Case("C05 65,537 rows", Call(d.tensor((65_537, 16))))
    for n in d.at_switch(32 << 10, 8 << 20):  # output bytes: a second thread; stores past the cache
        yield Case(f"switch, n={n}", Call(d.tensor((1, 2 * n))))
    for n in (15, 16, 17, 511, 512, 513):  # rows gathered, in place, past the cache
        yield Case(f"rows of {n}", Call(d.tensor((3, 2 * n))), layouts=("contiguous", "padded"))


def errors(d):
    yield Error("odd", INVALID, Call(d.tensor((2, 7)), out=(2, 3)), says=("silu_and_mul", "in", "3 of out", "[2, 7]"))
    yield Error("not double", INVALID, Call(d.tensor((2, 3)), out=(2, 3)), says=("silu_and_mul", "in", "[2, 3]"))
    yield Error("rows", INVALID, Call(d.tensor((3, 6)), out=(2, 3)), says=("silu_and_mul", "in", "[2, 3]", "[3, 3]"))
    yield Error(
        "rank 0", INVALID, Call(d.tensor((2,)), out=()), says=("silu_and_mul", "out", "rank 1 or more", "rank 0")
    )
    both = np.zeros((2, 6), np.float32)
    yield Error("C29 the output in the input", INVALID, Call(both, out=both[:, :3]), says=("silu_and_mul", "out", "in"))


def benchmarks(d):
    for n in (1_000, 10_000, 100_000, 1_000_000, 10_000_000):
        yield Bench(f"{n:.0e}".replace("+0", ""), Call(d.tensor((n // 500, 1000))))
    yield Bench("rows of 11008", Call(d.tensor((256, 22_016))))


def torch(torch, outs, ins):
    half = outs[0].shape[-1]
    gate, up = ins[0][..., :half], ins[0][..., half:]
    return lambda: torch.mul(torch.nn.functional.silu(gate), up, out=outs[0])


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
