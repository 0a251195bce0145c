"""matmul: what is right, what is refused, what is timed. How such a file is written: operator_runtime.testing."""

import ctypes
import functools
import math
from math import inf, nan

import numpy as np
from operator_runtime.testing import (
    DTYPE,
    INVALID,
    Bench,
    Call,
    Case,
    Error,
    Suite,
    integers,
    normal,
    signed_log,
    uniform,
    without,
)

ALGORITHMS = ("naive", "tiled", "library", "auto")
ACTIVATIONS = {
    None: lambda x: x,
    "relu": lambda x: np.maximum(x, 0),
    "gelu_erf": lambda x: 0.5 * x * np.vectorize(math.erfc, otypes=[float])(-x / math.sqrt(2)),
    "gelu_tanh": lambda x: x / (1 + np.exp(-2 * math.sqrt(2 / math.pi) * (x + 0.044715 * x**3))),
    "silu": lambda x: x / (1 + np.exp(-x)),
}


def reference(a, b, bias=None, activation=None, algorithm="auto"):
    return ACTIVATIONS[activation](a @ b + (0 if bias is None else bias))


def bound(ref, a, b, bias=None, activation=None, algorithm="auto"):
    k = a.shape[-1]
    one_signed = (a >= 0).all() and (b >= 0).all()
    terms = abs(a) @ abs(b) + (0 if bias is None else abs(bias))
    grows = math.log2(max(k, 1)) + 4 + (k / 16 if one_signed else 0)
    return 4 * grows * terms * (1.2 if activation else 1)


def draw(d):
    m, n, k = d.sizes(3, lengths=(1, 2, 3, 5, 6, 7, 12, 15, 16, 17, 31, 32, 33, 64, 65))
    batch = d.choice((), (), (2,), (3, 2), (2, 1, 3))
    data = d.data(normal, uniform, signed_log, integers(-8, 8))
    return Call(
        d.tensor((*d.broadcastable(batch), m, k), data),
        d.tensor((*d.broadcastable(batch), k, n), data),
        d.tensor(n, data) if d.choice(True, False) else None,
        out=(*batch, m, n),
        activation=d.choice(None, None, None, *list(ACTIVATIONS)[1:]),
        algorithm=d.turn(*ALGORITHMS),
    )


def whole(name, d, a, b, algorithm, **more):
    """A case on small integers, whose sums are exact in f32: what comes out is the rounded truth."""
    left, right = integers(-4, 4)(d.rng, a), integers(-4, 4)(d.rng, b)
    return Case(f"{name}, {algorithm}", Call(left, right, algorithm=algorithm), left @ right, **more)


def cases(d):
    for algorithm in ALGORITHMS:
        # Around the tile (6 x 16 on AVX2, 6 x 32 on AVX-512), the block of 16 panels, the 256 steps between two visits.
        for m, n, k in (
            (5, 15, 255),
            (6, 16, 256),
            (7, 17, 257),
            (95, 31, 40),
            (96, 32, 512),
            (97, 33, 513),
            (193, 65, 3),
        ):
            yield whole(f"{m}x{n}x{k}", d, (m, k), (k, n), algorithm, layouts=("contiguous", "transposed", "negative"))
        # One row and one column: 64 and 1024 sums at a time, 1024 elements of a at a time.
        for n, k in ((63, 5), (64, 7), (65, 8), (1023, 4), (1024, 3), (1025, 9), (3, 1023), (2, 1024), (5, 1025)):
            yield whole(f"row of {n}, k={k}", d, (1, k), (k, n), algorithm, layouts=("contiguous", "transposed"))
            yield whole(f"column of {n}, k={k}", d, (n, k), (k, 1), algorithm, layouts=("contiguous", "transposed"))
        # Batches: one thread each or all on one, shared operands, rows merged or not.
        for a, b in (
            ((40, 30, 20), (40, 20, 10)),
            ((3, 65, 64), (64, 48)),
            ((4, 1, 50), (50, 9)),
            ((20, 30), (7, 30, 1)),
        ):
            yield whole(f"batch {a} {b}", d, a, b, algorithm, layouts=("contiguous", "transposed", "padded"))
            call = Call(d.tensor(a), d.tensor(b), algorithm=algorithm)
            yield Case(f"repeated batch {a} {b}, {algorithm}", call, layouts=("broadcast",))
        yield Case(f"C23 no TF32, {algorithm}", Call([[1024.5]], [[1.0]], algorithm=algorithm), [[1024.5]])
        yield Case(f"C23 eleven bits, {algorithm}", Call([[1 + 2.0**-11]], [[1.0]], algorithm=algorithm))
        nothing = np.zeros
        yield Case(
            f"C30 K=0, {algorithm}", Call(nothing((16, 0)), nothing((0, 16)), algorithm=algorithm), nothing((16, 16))
        )
        biased = Call(nothing((2, 3, 0)), nothing((0, 4)), [-2, 0.5, 1, 3], activation="relu", algorithm=algorithm)
        yield Case(f"C30 K=0 with a bias, {algorithm}", biased, [0, 0.5, 1, 3])
        for a, b in (((0, 5), (5, 4)), ((5, 4), (4, 0)), ((0, 3, 4), (4, 5)), ((0, 0), (0, 0))):
            yield Case(f"C30 {a} {b}, {algorithm}", Call(nothing(a), nothing(b), algorithm=algorithm))
        yield Case(
            f"large sums, {algorithm}",
            Call(d.tensor((33, 2000), uniform), d.tensor((2000, 40), uniform), algorithm=algorithm),
        )
        column, x = [[1.0]], [nan, -nan, 1.0, -1.0, inf, -inf]
        for activation in ACTIVATIONS:
            kept = Call(np.reshape(np.resize(x, 20), (20, 1)), column, activation=activation, algorithm=algorithm)
            yield Case(f"C12 NaN is kept, {activation}, {algorithm}", kept)
        in_a_sum = Call(np.resize([1.0, nan, 2.0], (3, 40)), np.ones((40, 5)), activation="relu", algorithm=algorithm)
        yield Case(f"C12 NaN in a sum, {algorithm}", in_a_sum, np.full((3, 5), nan))
        far = [8, 10, 10.05, 10.07, 10.5, 11, 13, 20, 100, 1e4, 65504]
        far = np.array([far, np.negative(far)]).reshape(-1, 1)
        for activation in ("gelu_erf", "gelu_tanh", "silu"):
            yield Case(
                f"C16 the exponential overflows, {activation}, {algorithm}",
                Call(far, column, activation=activation, algorithm=algorithm),
            )
        for activation in ("gelu_erf", "gelu_tanh"):
            call = Call([[2.699], [1.0], [-1.0]], column, activation=activation, algorithm=algorithm)
            yield Case(f"C17 {activation} and no other, {algorithm}", call)
        ones = Call(np.ones((2, 4096)), np.ones((4096, 3)), algorithm=algorithm)
        yield Case(f"C20 4096 ones, {algorithm}", ones, np.full((2, 3), 4096.0))
        cancel = Call([[32000.0] * 4 + [-32000.0] * 4], np.ones((8, 1)), algorithm=algorithm)
        yield Case(f"C20 large values cancel, {algorithm}", cancel, [[0.0]])
        for activation in ACTIVATIONS:
            call = Call(
                d.tensor((70, 30)), d.tensor((30, 50)), d.tensor(50), activation=activation, algorithm=algorithm
            )
            yield Case(f"{activation}, {algorithm}", call, layouts=("contiguous", "transposed", "negative"))
    # Enough tiles of 128 x 128 for every multiprocessor of a GPU; rows at 16-byte addresses, and not.
    for m, n, k in ((129, 72, 40), (130, 67, 37)):
        name, layouts = f"70 of {m}x{n}x{k}", ("contiguous", "transposed", "negative")
        yield whole(name, d, (70, m, k), (70, k, n), "tiled", layouts=layouts)
    for m, n, k in ((13, 15, 21), (16, 16, 16), (17, 241, 1)):  # 4095 to 4097 products: from here on the library
        yield whole(f"switch, {m}x{n}x{k}", d, (m, k), (k, n), "auto")
    for n in (2047, 2048, 2049):  # about 2^22 products: from here on the library multiplies f32 rows
        yield whole(f"switch, row of {n}, k=2048", d, (1, 2048), (2048, n), "auto")
        yield whole(f"switch, column of {n}, k=2048", d, (n, 2048), (2048, 1), "auto")
    yield Case("more than one thread, one product", Call(d.tensor((300, 200)), d.tensor((200, 300))), times=5)
    yield Case("more than one thread, many products", Call(d.tensor((64, 40, 30)), d.tensor((64, 30, 50))), times=5)


def errors(d):
    a, b = d.tensor((2, 3)), d.tensor((3, 4))
    yield Error("K", INVALID, Call(a, d.tensor((4, 4)), out=(2, 4)), says=("b", "3 rows", "[4, 4]"))
    yield Error("M", INVALID, Call(a, b, out=(3, 4)), says=("out", "2 by 4", "[3, 4]"))
    yield Error("N", INVALID, Call(a, b, out=(2, 5)), says=("out", "2 by 4", "[2, 5]"))
    yield Error("a of rank 1", INVALID, Call(d.tensor((3,)), b, out=(2, 4)), says=("a", "rank 2", "[3]"))
    yield Error("b of rank 1", INVALID, Call(a, d.tensor((3,)), out=(2, 4)), says=("b", "rank 2", "[3]"))
    yield Error("out of rank 1", INVALID, Call(a, b, out=(4,)), says=("out", "rank 2", "[4]"))
    yield Error("a's batch", INVALID, Call(d.tensor((3, 2, 3)), b, out=(2, 2, 4)), says=("a", "[2]", "[3]"))
    yield Error("b's batch", INVALID, Call(a, d.tensor((3, 3, 4)), out=(2, 2, 4)), says=("b", "[2]", "[3]"))
    yield Error("bias's length", INVALID, Call(a, b, d.tensor(5), out=(2, 4)), says=("bias", "[4]", "[5]"))
    yield Error("bias of rank 2", INVALID, Call(a, b, d.tensor((1, 4)), out=(2, 4)), says=("bias", "[4]", "[1, 4]"))
    other = "f16" if d.dtype == "f32" else "f32"
    yield Error(
        "C24 bias of another dtype", DTYPE, Call(a, b, d.tensor(4, dtype=other), out=(2, 4)), says=("bias", other)
    )


def benchmarks(d):
    for n in (16, 64, 128, 256, 512, 1024, 2048):
        yield Bench(f"{n}^3", Call(d.tensor((n, n)), d.tensor((n, n))))
    yield Bench("tiled 512^3", Call(d.tensor((512, 512)), d.tensor((512, 512)), algorithm="tiled"))
    yield Bench("naive 512^3", Call(d.tensor((512, 512)), d.tensor((512, 512)), algorithm="naive"))
    yield Bench("1x4096x4096", Call(d.tensor((1, 4096)), d.tensor((4096, 4096))))
    yield Bench("4096x1x4096", Call(d.tensor((4096, 4096)), d.tensor((4096, 1))))
    projection = Call(d.tensor((128, 384)), d.tensor((384, 1536)), d.tensor(1536), activation="gelu_erf")
    yield Bench("128x1536x384 bias gelu", projection)
    yield Bench("12 heads 128x128x32", Call(d.tensor((12, 128, 32)), d.tensor((12, 32, 128))))
    yield Bench("4096 of 30x4x1", Call(d.tensor((4096, 30, 4)), d.tensor((4096, 4, 1))))


def flops(outs, ins, activation=None, algorithm="auto"):
    return 2 * outs[0].size * ins[0].shape[-1]


def numpy(outs, ins, activation=None, algorithm="auto"):
    if activation:
        return None
    return lambda: np.matmul(ins[0], ins[1], out=outs[0])


def torch(torch, outs, ins, activation=None, algorithm="auto"):
    if activation:
        return lambda: outs[0].copy_(torch.nn.functional.gelu(torch.addmm(ins[2], ins[0], ins[1])))
    return lambda: torch.matmul(ins[0], ins[1], out=outs[0])


def library(outs, ins, activation=None, algorithm="auto"):
    c, a, b = outs[0], ins[0], ins[1]
    sgemm = dnnl_sgemm()
    if not sgemm or activation or c.ndim != 2 or c.dtype != np.float32:
        return None
    m, n, k = (ctypes.c_int64(length) for length in (*c.shape, a.shape[1]))
    one, zero, no_turn = ctypes.c_float(1), ctypes.c_float(0), ctypes.c_char(b"N")
    a_data, b_data, c_data = (ctypes.c_void_p(x.ctypes.data) for x in (a, b, c))
    return lambda: sgemm(no_turn, no_turn, m, n, k, one, a_data, k, b_data, n, zero, c_data, n)


@functools.cache
def dnnl_sgemm():
    for file in ("libdnnl.so.3", "libdnnl.so.2"):
        try:
            return ctypes.CDLL(file).dnnl_sgemm
        except OSError:
            continue
    return None


SUITE = Suite(
    reference=reference,
    bound=bound,
    draw=draw,
    cases=cases,
    errors=errors,
    benchmarks=benchmarks,
    layouts=without("in place", "rank 0"),
    foreign=("matmul_library",),
    may_refuse="algorithm: expected a library",
    flops=flops,
    numpy=numpy,
    torch=torch,
    library=library,
)
