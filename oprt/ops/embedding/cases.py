"""embedding: what is right, what is refused, what is timed. How such a file is written: operator_runtime.testing."""

import numpy as np
from operator_runtime.testing import (
    BITS,
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
    without,
)


def reference(table, ids):
    return table[ids]


def picks(rows):
    """Ids of a table with so many rows."""

    def ids(rng, shape):
        return rng.integers(0, rows, shape)

    return ids


def a_table(d, rows, width):
    return d.tensor((rows, width), d.data(normal, signed_log) if d.dtype in FLOATS else integers(-1000, 1000))


def draw(d):
    shape = d.shape(least=0, most=3, lengths=(1, 2, 3, 5, 17, 65))
    width = d.turn(1, 2, 3, 8, 15, 16, 17, 33, 64, 100)
    rows = d.choice(1, 3, 10, 50)
    return Call(a_table(d, rows, width), d.tensor(shape, picks(rows), d.choice("i32", "i64")), out=(*shape, width))


def cases(d):
    table = a_table(d, 10, 8)
    yield Case("an id many times", Call(table, d.values([3] * 40 + [0, 9], "i64"), out=(42, 8)))
    yield Case("C31 a table without columns", Call(d.tensor((10, 0)), d.values([1, 2], "i32"), out=(2, 0)))
    yield Case("C31 no ids of a table without rows", Call(d.tensor((0, 8)), d.values(np.zeros(0), "i32"), out=(0, 8)))
    for length in (65535, 65536, 65537):  # C05's row counts; also more ids than one thread looks at
        yield Case(f"C05 {length} rows", Call(table, d.tensor(length, picks(10), "i32"), out=(length, 8)))
    # Stores past the cache, from 8 MiB of rows that are long enough; their ends lie anywhere in a vector.
    yield Case("past the cache", Call(a_table(d, 10, 2049), d.tensor(2100, picks(10), "i32"), out=(2100, 2049)))
    # 298 bytes and more: a few whole lines of each.
    yield Case("short rows", Call(a_table(d, 10, 149), d.tensor(34_000, picks(10), "i32"), out=(34_000, 149)))
    # Threads share the elements of out: one long row is split too.
    yield Case("one long row", Call(a_table(d, 2, 100_003), d.values([1], "i64"), out=(1, 100_003)))


def errors(d):
    table, ids = a_table(d, 10, 8), d.values([1, 2, 3], "i64")
    yield Error("width", INVALID, Call(table, ids, out=(3, 9)), says=("out", "[3, 8]", "[3, 9]"))
    yield Error("ids' shape", INVALID, Call(table, ids, out=(4, 8)), says=("out", "[3, 8]", "[4, 8]"))
    yield Error(
        "table's rank", INVALID, Call(d.tensor((2, 5, 8)), ids, out=(3, 8)), says=("table", "rank 2", "[2, 5, 8]")
    )
    deep = d.tensor((1,) * 8, picks(10), "i64")
    yield Error("ids of rank 8", INVALID, Call(table, deep, out=(1,) * 8), says=("ids", "rank 7"))
    no_rows = Call(d.tensor((0, 8)), ids, out=(3, 8))
    yield Error("a table without rows", INVALID, no_rows, says=("ids", "without rows", "1 at [0]"), cpu_only=True)
    for dtype, values in (("i32", (10, -1, -1923, 2**31 - 1)), ("i64", (10, -1, -1923, -(2**63), 2**32 + 3))):
        for bad in values:
            call = Call(table, d.values([[0, 9, 5], [2, bad, bad]], dtype), out=(2, 3, 8))
            says = ("ids", "0 to 9", f"{bad} at [1, 1]")
            yield Error(f"C32 {dtype} id {bad}", INVALID, call, says, cpu_only=True)


def benchmarks(d):
    for n, width in ((1_000, 125), (10_000, 250), (100_000, 500), (1_000_000, 1000), (10_000_000, 1000)):
        ids = d.tensor(n // width, picks(10_000), "i64")
        yield Bench(f"{n:.0e}".replace("+0", ""), Call(a_table(d, 10_000, width), ids, out=(n // width, width)))


def moved(outs, ins):
    """Each row is read and written once; of the table only what is picked."""
    return 2 * outs[0].nbytes + ins[1].nbytes


def numpy(outs, ins):
    return lambda: np.take(ins[0], ins[1], axis=0, out=outs[0], mode="clip")


def torch(torch, outs, ins):
    return lambda: torch.index_select(ins[0], 0, ins[1], out=outs[0])


SUITE = Suite(
    reference=reference,
    bound=BITS,
    draw=draw,
    cases=cases,
    errors=errors,
    benchmarks=benchmarks,
    dtypes=(*FLOATS, "i32", "i64"),
    layouts=without("in place"),
    bytes=moved,
    numpy=numpy,
    torch=torch,
)
