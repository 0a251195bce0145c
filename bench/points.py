"""The grid of the comparison with other libraries, written to points.json once, before anything was tuned:

    python bench/points.py

Operators, dtypes, bytes read and written, and what is awkward: odd lengths, odd offsets, rows with gaps, transposed
tensors, rows of 128 to 131,072. A point gives the shapes of the outputs and inputs, the layout of all of them, and the
operator's arguments.
"""

import json
import math
import pathlib

FILE = pathlib.Path(__file__).with_suffix(".json")
SIZE = {"f32": 4, "f16": 2, "bf16": 2}
KB, MB, GB = 1 << 10, 1 << 20, 1 << 30
LAYOUTS = ("contiguous", "offset", "padded", "transposed", "heads")  # operands.py makes them


def amount(count):
    for unit, size in (("GB", GB), ("MB", MB), ("KB", KB)):
        if count >= size:
            return f"{count // size} {unit}"
    return f"{count} B"


def point(op, dtype, what, outs, ins, layout="contiguous", **params):
    return {"name": f"{op}/{dtype}/{what}", "outs": outs, "ins": ins, "layout": layout, "params": params}


# --- elementwise ------------------------------------------------------------------------------------------------------

# Tensors read and written, and the arguments. The gated forms read twice as many elements as they write.
STREAMS = {"vector_add": 3, "mul": 3, "silu_and_mul": 3, "gelu_and_mul": 3}
GATED = {"silu_and_mul", "gelu_and_mul"}
FORMS = {"gelu": ("none", "tanh"), "gelu_and_mul": ("none", "tanh")}

WHOLE = {
    "bf16": (4 * KB, 64 * KB, MB, 4 * MB, 16 * MB, 64 * MB, 512 * MB, GB),
    "f32": (4 * KB, MB, 16 * MB, 64 * MB, GB),
    "f16": (MB, 512 * MB),
}
SOME = {"bf16": (4 * KB, MB, 64 * MB, GB), "f32": (64 * KB, 64 * MB, GB)}
GRIDS = {op: WHOLE for op in ("vector_add", "silu", "silu_and_mul", "copy")} | {op: SOME for op in ("mul", "relu")}


def options(op, form):
    named = {"negative_slope": 0.0} if op == "relu" else {"approximate": form} if form else {}
    return named, f"{form} " if form else ""


def elementwise(op, dtype, size, form=None, what=None, layout="contiguous", odd=False):
    """A point of so many bytes: one axis, or rows where the layout needs two."""
    params, prefix = options(op, form)
    count = max(size // SIZE[dtype] // STREAMS.get(op, 2), 8) // 8 * 8 - odd
    width = min(count, 4096)
    rows = [count] if layout in ("contiguous", "offset") else [count // width, width]
    if op in GATED:
        width = min(count, 11008 if count > 11008 else count)
        outs, ins = [[max(count // width, 1), width - odd]], [[max(count // width, 1), 2 * (width - odd)]]
    else:
        outs, ins = [rows], [rows] * (2 if op in ("vector_add", "mul") else 1)
    return point(op, dtype, prefix + (what or amount(size)), outs, ins, layout, **params)


def elementwise_points():
    for op in ("vector_add", "mul", "relu", "silu", "silu_and_mul", "copy"):
        for dtype, sizes in GRIDS[op].items():
            yield from (elementwise(op, dtype, size) for size in sizes)
    for dtype, sizes in WHOLE.items():
        yield from (elementwise("gelu", dtype, size, "tanh") for size in sizes)
    for op, form in (("gelu", "none"), ("gelu_and_mul", "tanh"), ("gelu_and_mul", "none")):
        for dtype, sizes in SOME.items():
            yield from (elementwise(op, dtype, size, form) for size in sizes)
    for op in ("vector_add", "gelu", "silu", "silu_and_mul", "relu", "copy"):
        form = "tanh" if op == "gelu" else None
        yield elementwise(op, "bf16", 64 * MB, form, "64 MB, odd length", odd=True)
        yield elementwise(op, "bf16", 64 * MB, form, "64 MB, odd offset", "offset")
        yield elementwise(op, "bf16", 64 * MB, form, "64 MB, padded rows", "padded")
        if op not in GATED:
            yield elementwise(op, "bf16", 64 * MB, form, "64 MB, transposed", "transposed")
    whole = [8192, 1024]
    for name, shape in (("a row", [1, 1024]), ("a column", [8192, 1]), ("a scalar", [1, 1])):
        yield point("vector_add", "bf16", f"{name} over 8192x1024", [whole], [whole, shape])
    for source, target in (("f32", "bf16"), ("bf16", "f32"), ("f32", "f16")):
        for size in (4 * KB, MB, 64 * MB, GB) if "bf16" in (source, target) else (MB, 512 * MB):
            count = size // (SIZE[source] + SIZE[target])
            yield point("cast", f"{source}-{target}", amount(size), [[count]], [[count]])


def movement_points():
    for dtype in ("bf16", "f32"):
        for n in (512, 2048, 4096, 8192):
            yield point("copy", dtype, f"transposed {n}x{n}", [[n, n]], [[n, n]], "transposed")
        yield point("copy", dtype, "transposed 4095x4097", [[4095, 4097]], [[4095, 4097]], "transposed")
        yield point("copy", dtype, "heads 8x2048x32x128", [[8, 2048, 32, 128]], [[8, 2048, 32, 128]], "heads")
    yield point("copy", "bf16", "a row to 8192x4096", [[8192, 4096]], [[1, 4096]])
    for dtype in ("bf16", "f32"):
        for ids, width in ((1, 4096), (64, 4096), (1024, 4096), (8192, 4096), (8192, 768), (65536, 128)):
            yield point("embedding", dtype, f"{ids} of {width}", [[ids, width]], [[128256, width], [ids]])
    yield point("embedding", "bf16", "8192 of 4095, odd length", [[8192, 4095]], [[128256, 4095], [8192]])
    yield point("embedding", "bf16", "8192 of 4096, odd offset", [[8192, 4096]], [[128256, 4096], [8192]], "offset")
    for dtype in ("bf16", "f32"):
        for mode in ("half", "interleaved"):
            for tokens in (1, 64, 8192):
                x, table = [tokens, 32, 128], [131072, 64]
                yield point("rope", dtype, f"{mode} {tokens}x32x128", [x], [x, table, table, [tokens]], mode=mode)
    x, table = [8192, 32, 64], [131072, 16]
    yield point("rope", "bf16", "half 8192x32x64, 32 turn", [x], [x, table, table, [8192]], mode="half")
    x, table = [8192, 32, 128], [131072, 64]
    yield point("rope", "bf16", "half, padded rows", [x], [x, table, table, [8192]], "padded", mode="half")


# --- rows -------------------------------------------------------------------------------------------------------------

# Tensors of the row's length that are read and written.
ROW_OPS = {"softmax": 2, "rmsnorm": 2, "layernorm": 2, "add_rmsnorm": 4, "reduce_sum": 1}
LENGTHS = (128, 512, 768, 1024, 4096, 8192, 16384, 32768, 65536, 131072)


def rows(op, dtype, count, length, what=None, layout="contiguous", dim=1):
    x = [count, length]
    weight = [x[dim]]
    outs = {"add_rmsnorm": [x, x], "reduce_sum": [[x[1 - dim]]]}.get(op, [x])
    more = {"rmsnorm": [weight], "layernorm": [weight, weight], "add_rmsnorm": [x, weight]}.get(op, [])
    params = {"dim": dim} | ({"eps": 1e-6 if "rms" in op else 1e-5} if more else {})
    return point(op, dtype, what or f"{count}x{length}", outs, [x, *more], layout, **params)


def row_points():
    for op, streams in ROW_OPS.items():

        def of_bytes(dtype, size, length, *what, op=op, streams=streams):
            return rows(op, dtype, max(size // (streams * SIZE[dtype] * length), 1), length, *what)

        yield from (of_bytes("bf16", 512 * MB, length) for length in LENGTHS)
        yield from (of_bytes("bf16", 64 * MB, length) for length in (128, 768, 4096, 16384, 131072))
        for count, length in ((1, 4096), (16, 4096), (256, 4096), (1, 131072), (4096, 768)):
            yield rows(op, "bf16", count, length)
        yield from (of_bytes("f32", 512 * MB, length) for length in (128, 1024, 4096, 16384, 131072))
        yield rows(op, "f32", 1, 4096)
        yield rows(op, "f32", 4096, 768)
        yield rows(op, "f16", 8192, 4096)
        yield rows(op, "f16", 1, 4096)
        yield rows(op, "bf16", 8192, 4095, "8192x4095, odd length")
        yield rows(op, "bf16", 8192, 4096, "8192x4096, odd offset", "offset")
        yield rows(op, "bf16", 8192, 4096, "8192x4096, padded rows", "padded")
    for op in ("softmax", "reduce_sum"):
        yield rows(op, "bf16", 4096, 8192, "4096x8192, columns", dim=0)
        yield rows(op, "f32", 4096, 4096, "4096x4096, columns", dim=0)
    for size in (MB, 64 * MB, 512 * MB):
        yield rows("reduce_sum", "f32", 1, size // 4, f"all of {amount(size)}")


# --- matrix products --------------------------------------------------------------------------------------------------


def matmul(dtype, a, b, what=None, **params):
    out = [*a[:-1], b[-1]]
    return point("matmul", dtype, what or f"{math.prod(a[:-1])}x{b[-1]}x{a[-1]}", [out], [a, b], **params)


def matmul_points():
    for n in (512, 1024, 2048, 4096, 8192):
        yield matmul("bf16", [n, n], [n, n])
    for dtype, n in (("f16", 4096), ("f32", 1024), ("f32", 4096)):
        yield matmul(dtype, [n, n], [n, n])
    for m in (1, 16, 128):
        yield matmul("bf16", [m, 4096], [4096, 4096])
    yield matmul("bf16", [4095, 4095], [4095, 4095], "4095^3, odd length")
    yield matmul("bf16", [32, 512, 128], [32, 128, 512], "32 of 512x512x128")
    for algorithm in ("tiled", "naive"):
        for dtype in ("bf16", "f32"):
            yield matmul(dtype, [2048, 2048], [2048, 2048], f"{algorithm} 2048^3", algorithm=algorithm)


def grid():
    found = {}
    for one in (*elementwise_points(), *movement_points(), *row_points(), *matmul_points()):
        found.setdefault(one["name"], one)  # some lengths and sizes meet in one shape
    return list(found.values())


def main():
    lines = ",\n".join("  " + json.dumps(one) for one in grid())
    FILE.write_text(f"[\n{lines}\n]\n")


if __name__ == "__main__":
    main()
