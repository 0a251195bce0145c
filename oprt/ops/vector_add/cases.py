"""vector_add: what is right, what is refused, what is timed. How such a file is written: operator_runtime.testing."""

from math import inf, nan

import numpy as np
from operator_runtime.testing import DTYPE, INVALID, Bench, Call, Case, Error, Suite, normal, signed_log, uniform


def reference(a, b):
    return a + b


def draw(d):
    shape = d.shape()
    a, b = d.broadcastable(shape), d.broadcastable(shape)
    if d.index % 3 == 0:  # both broadcast, each along an axis that the other has
        a, b = (*shape[:1], *(1,) * len(shape[1:])), (*(1,) * len(shape[:1]), *shape[1:])
    if d.layout == "in place":
        a = shape
    return Call(d.tensor(a, d.data(normal, signed_log, uniform)), d.tensor(b, d.data(signed_log, normal)), out=shape)


def cases(d):
    for n in (6, 64, 67):  # the tail alone, whole vectors, both
        a, b = np.resize([nan, 1.0, -nan, 2.0, inf, -1.0], n), np.resize([1.0, nan, nan, 3.0, 1.0, -inf], n)
        yield Case(f"C12 NaN is kept, n={n}", Call(a, b), layouts=("contiguous", "in place"))
    yield Case("inf - inf", Call([inf, -inf, inf], [-inf, -inf, 1.0]), [nan, -inf, inf])
    rows, row = d.tensor((262_144, 64)), d.tensor((1, 64))
    if d.dtype == "f32":
        yield Case("C04 a row broadcast over 262,144", Call(rows, row))
    yield Case(
        "C04 outer axes of more than 65,535",
        Call(d.tensor((300, 301, 2)), d.tensor((300, 1, 2))),
        layouts=("transposed",),
    )
    a, b, c = d.tensor((4, 3)), d.tensor((4, 1)), d.tensor((1, 3))
    yield Case("C27 transposed and broadcast along rows", Call(a, b), layouts=("transposed", "padded", "negative"))
    yield Case("C27 transposed and broadcast along columns", Call(a, c), layouts=("transposed", "padded", "negative"))
    for rows, cols in ((31, 33), (64, 128), (130, 70)):  # a GPU's tiles: their edges, whole ones, both
        call = Call(d.tensor((rows, cols)), d.tensor((rows, cols)))
        yield Case(f"C27 {rows} x {cols} in another order", call, layouts=("transposed",))
    for n in range(1, 68):
        yield Case(f"C29 in place, n={n}", Call(d.tensor(n), d.tensor(n)), layouts=("in place",))
    for n in d.at_switch(32 << 10, 8 << 20):  # output bytes: a second thread; stores past the cache
        yield Case(f"switch, n={n}", Call(d.tensor(n), d.tensor(n)))


def errors(d):
    x = d.tensor((2, 3))
    yield Error("a's shape", INVALID, Call(x, x, out=(2, 4)), says=("vector_add", "a", "[2, 4]", "[2, 3]"))
    yield Error(
        "b's shape", INVALID, Call(d.tensor((2, 4)), x, out=(2, 4)), says=("vector_add", "b", "[2, 4]", "[2, 3]")
    )
    yield Error(
        "C24 an integer", DTYPE, Call(d.tensor((2, 3), dtype="i32"), x, out=(2, 3)), says=("vector_add", "a", "i32")
    )
    for name, shape in (("shape (1)", (1,)), ("rank 0", ())):
        other = d.tensor(shape, dtype="f16" if d.dtype == "f32" else "f32")
        yield Error(
            f"C24 mixed, {name}", DTYPE, Call(d.tensor(shape), other, out=shape), says=("vector_add", "b", other.dtype)
        )


def benchmarks(d):
    for n in (1_000, 10_000, 100_000, 1_000_000, 10_000_000):
        yield Bench(f"{n:.0e}".replace("+0", ""), Call(d.tensor(n), d.tensor(n)))
    yield Bench("offset 1e6", Call(d.tensor(1_000_001), d.tensor(1_000_001)), layout="offset")
    yield Bench("a row over 4096x1024", Call(d.tensor((4096, 1024)), d.tensor((1, 1024))))
    yield Bench("a scalar over 4096x1024", Call(d.tensor((4096, 1024)), d.tensor((1, 1))))
    yield Bench("transposed 1024x1024", Call(d.tensor((1024, 1024)), d.tensor((1024, 1024))), layout="transposed")


def numpy(outs, ins):
    return lambda: np.add(ins[0], ins[1], out=outs[0])


def torch(torch, outs, ins):
    return lambda: torch.add(ins[0], ins[1], out=outs[0])


SUITE = Suite(
    reference=reference,
    bound=0,
    draw=draw,
    cases=cases,
    errors=errors,
    benchmarks=benchmarks,
    in_place=((0, 0), (0, 1)),
    numpy=numpy,
    torch=torch,
)
