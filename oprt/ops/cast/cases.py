"""cast: what is right, what is refused, what is timed. How such a file is written: operator_runtime.testing."""

from math import inf, nan

from operator_runtime.testing import (
    BITS,
    DTYPE,
    FLOATS,
    INVALID,
    Bench,
    Call,
    Case,
    Error,
    Suite,
    normal,
    signed_log,
    without,
)


def reference(x):
    return x


def wide(rng, shape):
    """Of either sign, magnitudes over the whole range of f32, so that narrowing overflows and underflows too."""
    return rng.choice([-1.0, 1.0], shape) * 2.0 ** rng.uniform(-149, 127, shape)


def draw(d):
    shape = d.shape()
    x = d.tensor(d.broadcastable(shape), d.data(normal, signed_log, normal, signed_log, wide))
    return Call(x, out=d.tensor(shape, dtype=d.out_dtype))


def cases(d):
    def case(name, x, **more):
        x = d.tensor(x) if isinstance(x, int) else d.values(x)
        return Case(name, Call(x, out=d.tensor(x.shape, dtype=d.out_dtype)), **more)

    yield case("NaN and infinity", [nan, -nan, inf, -inf, 1.0] * 5)
    # Halfway between neighbours of bf16 at 1 and of f16 at 1, to even both ways, and one f32 spacing either side.
    ties = [1 + k * 2.0**-p + e for p in (8, 11) for k in (1, 3) for e in (0, 2.0**-23, -(2.0**-23))]
    yield case("ties to even", ties + [-x for x in ties])
    yield case("the largest of f16 and past it", [65504, 65519, 65520, 65536, 1e38, -65504, -65519, -65520, -65536])
    yield case(
        "subnormals of f16", [2.0**-24, 2.0**-25, 1.5 * 2.0**-25, 3 * 2.0**-25, 2.0**-14, 2.0**-15 * 1.001, -(2.0**-26)]
    )
    for n in d.at_switch(32 << 10, 8 << 20):  # output bytes: a second thread; stores past the cache
        yield case(f"switch, n={n}", n)


def errors(d):
    out = d.tensor((2, 4), dtype=d.out_dtype)
    yield Error("shape", INVALID, Call(d.tensor((2, 3)), out=out), says=("cast", "in", "[2, 4]", "[2, 3]"))
    integers = d.tensor((2, 3), dtype="i32")
    yield Error(
        "from integers", DTYPE, Call(integers, out=d.tensor((2, 3), dtype=d.out_dtype)), says=("cast", "in", "i32")
    )
    yield Error("to integers", DTYPE, Call(d.tensor((2, 3)), out=integers), says=("cast", "out", "i32"))


def benchmarks(d):
    for n in (1_000, 10_000, 100_000, 1_000_000, 10_000_000):
        yield Bench(f"{n:.0e}".replace("+0", ""), Call(d.tensor(n), out=d.tensor(n, dtype=d.out_dtype)))
    square = Call(d.tensor((1024, 1024)), out=d.tensor((1024, 1024), dtype=d.out_dtype))
    yield Bench("transposed 1024x1024", square, layout="transposed")


def torch(torch, outs, ins):
    return lambda: outs[0].copy_(ins[0])


SUITE = Suite(
    reference=reference,
    bound=BITS,
    draw=draw,
    cases=cases,
    errors=errors,
    benchmarks=benchmarks,
    dtypes=tuple(f"{a}-{b}" for a in FLOATS for b in FLOATS),
    layouts=without("in place"),
    any_nan=True,
    torch=torch,
)
