"""rope: what is right, what is refused, what is timed. How such a file is written: operator_runtime.testing."""

import numpy as np
from operator_runtime.testing import (
    DTYPE,
    INVALID,
    Bench,
    Call,
    Case,
    Error,
    Suite,
    normal,
    signed_log,
    uniform,
    without,
)


def pairs_of(x, cos, mode):
    """Indices of the first and second element of each pair."""
    i = np.arange(cos.shape[-1])
    return (2 * i, 2 * i + 1) if mode == "interleaved" else (i, i + len(i))


def factors(x, table, positions):
    """A row of the table for each token, shaped to fit all heads."""
    rows = table[positions]
    return np.broadcast_to(rows, (*x.shape[:-2], rows.shape[-1]))[..., None, :]


def reference(x, cos, sin, positions, mode):
    j0, j1 = pairs_of(x, cos, mode)
    c, s = factors(x, cos, positions), factors(x, sin, positions)
    out = x.copy()
    out[..., j0] = x[..., j0] * c - x[..., j1] * s
    out[..., j1] = x[..., j1] * c + x[..., j0] * s
    return out


def bound(ref, x, cos, sin, positions, mode):
    j0, j1 = pairs_of(x, cos, mode)
    both = np.zeros_like(x)
    both[..., j0] = both[..., j1] = abs(x[..., j0]) + abs(x[..., j1])
    return 2 * both


def cosines(rng, shape):
    """As a table holds them; sin is drawn on its own, so that swapping the two shows."""
    return np.cos(rng.uniform(0, 2 * np.pi, shape))


def places(rows):
    def positions(rng, shape):
        return rng.integers(0, rows, shape)

    return positions


def a_call(d, shape, pairs, mode, rows=20, per_batch=False, dtype="i64", data=normal):
    """A call on x of the shape, with tables of so many rows."""
    tables = (d.tensor((rows, pairs), cosines, "f32") for _ in range(2))
    positions = d.tensor(shape[:-2] if per_batch else shape[-3:-2], places(rows), dtype)
    return Call(d.tensor(shape, data), *tables, positions, out=shape, mode=mode)


def draw(d):
    batch, tokens, heads, _ = d.sizes(4, lengths=(1, 2, 3, 5))
    head_dim = d.turn(2, 4, 7, 8, 16, 17, 32, 33, 64, 80, 128)
    if d.layout == "empty" and batch and tokens and heads:
        head_dim = 0
    shape = d.choice((batch, tokens, heads, head_dim), (max(tokens, batch and 1), heads, head_dim))
    if d.layout == "empty" and all(shape):
        shape = (0, *shape[1:])
    pairs = d.choice(head_dim // 2, head_dim // 4)  # partial rotary half of the time
    return a_call(
        d,
        shape,
        pairs,
        d.turn("interleaved", "half"),
        per_batch=len(shape) == 4 and d.choice(True, False),
        dtype=d.choice("i32", "i64"),
        data=d.data(normal, signed_log, uniform),
    )


def cases(d):
    x = np.arange(8.0).reshape(1, 1, 8)
    still, quarter = np.stack([np.ones(4), np.zeros(4)]), np.stack([np.zeros(4), np.ones(4)])  # rows: position 0, 1
    turned = {"interleaved": [-1, 0, -3, 2, -5, 4, -7, 6], "half": [-4, -5, -6, -7, 0, 1, 2, 3]}
    for mode, right in turned.items():
        for position, expect in ((0, np.arange(8.0)), (1, right)):
            call = Call(
                d.values(x), d.values(still, "f32"), d.values(quarter, "f32"), d.values([position], "i32"), mode=mode
            )
            expect = np.reshape(expect, (1, 1, 8)).astype(float)
            yield Case(f"C26 {mode}, position {position}", call, expect, layouts=("contiguous", "in place", "offset"))
        for pairs in (0, 1, 3, 4, 255, 256, 257, 600):  # partial rotary, and the pairs that fit a thread's stack
            for head_dim in (2 * pairs, 2 * pairs + 5):
                if head_dim:
                    call = a_call(d, (2, 3, head_dim), pairs, mode)
                    yield Case(
                        f"{mode}, {pairs} pairs of {head_dim}", call, layouts=("contiguous", "in place", "transposed")
                    )
        # A fused projection: q's and k's heads of [tokens, heads, head_dim] in rows that hold v too.
        yield Case(f"fused heads, {mode}", a_call(d, (65, 12, 64), 32, mode), layouts=("padded",))
        yield Case(f"more than one thread, {mode}", a_call(d, (2, 70, 9, 64), 32, mode, per_batch=True))


def errors(d):
    shape = (2, 3, 4, 8)
    x, table, positions = d.tensor(shape), d.tensor((5, 4), dtype="f32"), d.values([0, 1, 2], "i64")

    def wrong(name, says, status=INVALID, x=x, cos=table, sin=table, positions=positions, out=shape, **more):
        return Error(name, status, Call(x, cos, sin, positions, out=out, mode="half"), says, **more)

    yield wrong("rank", ("in", "rank 3 or 4", "[4, 8]"), x=d.tensor((4, 8)), out=(4, 8))
    yield wrong("out's shape", ("out", "[2, 3, 4, 8]", "[2, 3, 4, 7]"), out=(2, 3, 4, 7))
    yield wrong("a rotary_dim past head_dim", ("cos", "8", "[5, 5]"), cos=d.tensor((5, 5), dtype="f32"))
    yield wrong("cos of rank 1", ("cos", "max_position", "[4]"), cos=d.tensor((4,), dtype="f32"))
    yield wrong("sin's shape", ("sin", "[5, 4]", "[6, 4]"), sin=d.tensor((6, 4), dtype="f32"))
    yield wrong("C22 a table in half precision", ("cos", "f32", "f16"), DTYPE, cos=d.tensor((5, 4), dtype="f16"))
    yield wrong("positions' length", ("positions", "[3]", "[4]"), positions=d.values([0, 1, 2, 3], "i64"))
    yield wrong("positions' batch", ("positions", "[2, 3]", "[3, 3]"), positions=d.tensor((3, 3), places(5), "i32"))
    for dtype, values in (("i32", (5, -1, 2**31 - 1)), ("i64", (5, -1, -(2**63), 2**32 + 3))):
        for bad in values:
            flat = d.values([0, bad, bad], dtype)
            says = ("positions", "0 to 4", f"{bad} at [1]")
            yield wrong(f"C32 {dtype} position {bad}", says, positions=flat, cpu_only=True)
            deep = d.values([[0, 4, 1], [1, 0, bad]], dtype)
            says = (f"{bad} at [1, 2]",)
            yield wrong(f"C32 {dtype} position {bad} of a batch", says, positions=deep, cpu_only=True)


def benchmarks(d):
    for n, heads in ((1_000, 1), (10_000, 4), (100_000, 8), (1_000_000, 8), (10_000_000, 32)):
        tokens = round(n / heads / 128)
        for mode in ("interleaved", "half"):
            call = a_call(d, (tokens, heads, 128), 64, mode, rows=4096)
            yield Bench(f"{mode} {n:.0e}".replace("+0", ""), call)


def moved(outs, ins, mode):
    """x once, its tokens' rows of both tables once."""
    return 2 * outs[0].nbytes + ins[3].size * (2 * ins[1].shape[1] * 4) + ins[3].nbytes


def torch(torch, outs, ins, mode):
    """What model code does: gather the rows, two products and a turned copy."""
    x, cos, sin, positions = ins
    half = cos.shape[1]

    def once():
        c, s = cos[positions].unsqueeze(-2), sin[positions].unsqueeze(-2)
        first, second = (x[..., 0::2], x[..., 1::2]) if mode == "interleaved" else (x[..., :half], x[..., half:])
        turned = first * c - second * s, second * c + first * s
        if mode == "interleaved":
            outs[0].copy_(torch.stack(turned, -1).flatten(-2))
        else:
            outs[0].copy_(torch.cat(turned, -1))

    return once


SUITE = Suite(
    reference=reference,
    bound=bound,
    draw=draw,
    cases=cases,
    errors=errors,
    benchmarks=benchmarks,
    layouts=without("rank 0"),
    in_place=((0, 0),),
    bytes=moved,
    torch=torch,
)
