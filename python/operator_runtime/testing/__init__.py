"""The case harness: what an operator's `oprt/ops/<op>/cases.py` is written with, and what runs it.

A cases.py says what is particular to its operator; the harness does the rest. relu's is the example. It holds a few
functions and one `SUITE`:

    from operator_runtime.testing import *

    def reference(x, negative_slope):           # float64 in, float64 out, never rounded; integer tensors stay integers,
        return ...                              # an absent optional input is None. Several outputs: a tuple.

    def bound(ref, x, negative_slope):          # c * G * S of each element, without u, the half ulp and 2^-118: the
        return abs(ref)                         # harness adds those. The number 0: correctly rounded. BITS: bits equal.

    def draw(d):                                # one random case. d knows dtype and layout; all randomness comes from d.
        shape = d.shape()
        return Call(d.tensor(d.broadcastable(shape)), out=shape, negative_slope=d.choice(0.0, 0.01))

    def cases(d):                               # hand-made ones, for each dtype: yield Case(name, Call, ...)
        yield Case("C12 NaN is kept", Call([nan, 1.0], negative_slope=0.0), expect=[nan, 1.0])

    def errors(d):                              # wrong calls: yield Error(name, status, Call, says=words of the message)
        yield Error("shape", INVALID, Call(d.tensor((3,)), out=(2,)), says=("relu", "in", "[2]", "[3]"))

    def benchmarks(d):                          # what `oprt bench` times: yield Bench(name, Call)
        yield Bench("1e6", Call(d.tensor(1_000_000)))

    SUITE = Suite(reference=reference, bound=bound, draw=draw, cases=cases, errors=errors, benchmarks=benchmarks, ...)

**Call(*inputs, out=None, **params)** is one call of `prepare_<op>(*outputs, *inputs, **params)`: the inputs in the order
of the Python function, its keyword arguments as params. An input is `d.tensor(shape, data, dtype)` (dtype: the case's if
left out), a list or array of values (rounded to the case's dtype), `d.values(list, dtype)`, or None. `out` is a shape,
a list of shapes or `d.tensor`s; left out, the reference's shapes in the case's dtype.

**dtypes** are names: f32, f16, bf16, i32, i64. `Suite(dtypes=...)` says what a suite runs for; a name such as "f32-bf16"
is a pair (cast): d.dtype is the first, d.out_dtype the second. A function that has an argument called `dtype` is given
the output's (add_rmsnorm's reference rounds its sum: `round_to(x, dtype)`).

**Layouts** are the harness's axis, not the author's: contiguous, padded, transposed, broadcast (stride 0 inputs), negative
strides, odd offset (each operand alone, then all; the bits must be those of the aligned call), in place, empty, rank 0.
draw() runs 20 times for each dtype and layout, and only has to ask d for its shapes: `d.shape()` gives rank and lengths
that suit the layout (rank 0 for "rank 0", a 0 for "empty", rank 2 and up for "transposed", ...), `d.rows(lengths)` a
shape and an axis of it, `d.sizes(n)` n lengths of a fixed-rank operator (one of them 0 for "empty"). A layout that
cannot apply is left out with `Suite(layouts=without("rank 0"))`; "in place" applies where `in_place` is given.

**d, a Draw**: d.dtype, d.layout, d.index (0 to 19), d.rng (NumPy's); d.choice(a, b, ...) random; d.turn(a, b, ...) each in
its turn by index, so that none is missed; d.data(a, b, ...) is turn() for data; d.at_switch(bytes, ...) the lengths at
and next to an output size at which the skeleton changes its way. Data are functions rng, shape -> values:
normal, uniform, constant(0.1), around(1000), dense(14), integers(-8, 8), signed_log; write others in place.

**Suite fields** beside the functions:
    in_place=((0, 0),)        pairs (output, input) that may be the same memory
    hardware_exp=True         u = 2^-20 in place of 2^-24 for 16-bit outputs (silu, gelu, the gated forms, softmax)
    floor=f(ref, *inputs, **params)   factor of the 2^-118 term (the gated forms: max(1, |up|))
    outside=f(ref, *inputs, **params) mask of elements outside the bound, where inf, NaN and 0 pass too (numerics.md)
    also=f(outputs, *inputs, **params)  a further property (softmax's rows sum to 1): returns a sentence if it fails
    most_zeros=0.65           share of zeros in the reference from which the suite proves nothing (0.30)
    row=f(d, length)          a Call whose input has ONE row, for batch invariance; row_lengths=(...) incl. kernel switches
    row_inputs=(0,)           the inputs that have a row for each output row (axis 0); others (gamma) are shared
    any_nan=True              with BITS: any NaN passes for a NaN (cast)
    alignment_free=False      results may depend on alignment (matmul only)
    numpy=f(outs, ins, **params), torch=f(torch, outs, ins, **params)   peers: return a function that does one call
    bytes=f(outs, ins, **params)        traffic of one call, where the default, every distinct element once, is wrong
    flops=f(outs, ins, **params)        arithmetic of one call, where it says something (matmul)

Free for every suite, nothing to write: outputs filled with NaN between guard bands and compared after; inputs unmodified;
NaN and infinity positions; determinism; one thread against two; planted wrong kernels; batch invariance; a share of zeros
that proves nothing; every kernel name hit; wrong dtypes, mixed dtypes, null operands, overlaps and repeated outputs refused.
Every kernel must be hit: put a kernel's switch sizes, and those +-1, in the lengths that draw() takes or in cases().
"""

from operator_runtime.testing.data import (
    around,
    constant,
    dense,
    integers,
    normal,
    signed_log,
    uniform,
)
from operator_runtime.testing.draw import ELEMENTWISE_LENGTHS, ROW_LENGTHS, Draw
from operator_runtime.testing.dtypes import FLOATS, round_to
from operator_runtime.testing.suite import (
    BITS,
    DTYPE,
    INVALID,
    LAYOUTS,
    NOT_SUPPORTED,
    Bench,
    Call,
    Case,
    Error,
    Suite,
    without,
)

__all__ = [
    "BITS",
    "DTYPE",
    "ELEMENTWISE_LENGTHS",
    "FLOATS",
    "INVALID",
    "LAYOUTS",
    "NOT_SUPPORTED",
    "ROW_LENGTHS",
    "Bench",
    "Call",
    "Case",
    "Draw",
    "Error",
    "Suite",
    "around",
    "constant",
    "dense",
    "integers",
    "normal",
    "round_to",
    "signed_log",
    "uniform",
    "without",
]
