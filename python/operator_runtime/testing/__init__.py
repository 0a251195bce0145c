"""The case harness: what an operator's `oprt/ops/<op>/cases.py` is written with, and what runs it.

A cases.py says what is particular to its operator; the harness does the rest. relu's is the example. It holds a few
functions and one `SUITE`:

    from operator_runtime.testing import Call, Case, Suite, ...

    def reference(x, negative_slope):
        # float64 in, float64 out, never rounded; integer tensors stay integers, an absent optional input is None.
        # Several outputs: a tuple.
        return ...

    def bound(ref, x, negative_slope):
        # What each element may be off, in units of u: c * G * S. The number 0: correctly rounded. BITS: bits equal.
        return abs(ref)

    def draw(d):
        # One random case. d knows the dtype and the layout, and is the only source of randomness.
        shape = d.shape()
        return Call(d.tensor(d.broadcastable(shape)), out=shape, negative_slope=d.choice(0.0, 0.01))

    def cases(d):
        # The hand-made ones, for each dtype.
        yield Case("C12 NaN is kept", Call([nan, 1.0], negative_slope=0.0), expect=[nan, 1.0])

    def errors(d):
        # Wrong calls: the status, and words that the message must hold.
        yield Error("shape", INVALID, Call(d.tensor((3,)), out=(2,)), says=("in", "[2]", "[3]"))

    def benchmarks(d):
        # What `oprt bench` times.
        yield Bench("1e6", Call(d.tensor(1_000_000), negative_slope=0.0))

    SUITE = Suite(reference=reference, bound=bound, draw=draw, cases=cases, errors=errors, benchmarks=benchmarks)

**Right** is |got - reference| <= half an ulp of the output + u * bound + 2^-118, with u = 2^-24. The last term is
absent where the bound is 0. NaN must be where the reference has one, infinities equal; an overflow to infinity passes
where the reference and its bound reach the dtype's threshold. With BITS the reference is given the tensors in their own
dtype.

**Call(*inputs, out=None, **params)** is one call of `prepare_<op>(*outputs, *inputs, **params)`: the inputs in the
order of the Python function, its keyword arguments as params. An input is `d.tensor(shape, data, dtype)` (the case's
dtype if left out), a list or array of values (rounded to the case's dtype), `d.values(list, dtype)`, or None. `out` is
a shape, a list of shapes or `d.tensor`s; left out, it follows from the reference's shapes (not
in an Error, whose call has no reference).

**dtypes** are names: f32, f16, bf16, i32, i64. `Suite(dtypes=...)` says what a suite runs for; a name such as
"f32-bf16" is a pair (cast): d.dtype is the first, d.out_dtype the second. A function that has an argument called
`dtype` is given the output's (add_rmsnorm's reference rounds its sum: `round_to(x, dtype)`).

**Layouts** are the harness's axis, not the author's: contiguous, padded, transposed, broadcast (stride 0 inputs),
negative strides, odd offset (each operand alone, then all; the bits must be those of the aligned call), in place,
empty, rank 0. draw() runs 20 times for each dtype and layout, and only has to ask d for its shapes: `d.shape()` gives a
rank and lengths that suit the layout (rank 0 for "rank 0", a 0 for "empty", rank 2 and up for "transposed", ...),
`d.rows(lengths)` a shape and an axis of it, `d.sizes(n)` n lengths of a fixed-rank operator (one of them 0 for
"empty"). A layout that cannot apply is left out with `Suite(layouts=without("rank 0"))`; "in place" applies where
`in_place` is given.

**d, a Draw**: d.dtype, d.layout, d.index (0 to 19), d.rng (NumPy's); d.choice(a, b, ...) random; d.turn(a, b, ...) each
in its turn by index, so that none is missed; d.data(a, b, ...) is turn() for data; d.at_switch(bytes, ...) the lengths
at and next to an output size at which a kernel changes its way. Data are functions rng, shape -> values: normal,
uniform, constant(0.1), around(1000), dense(14), integers(-8, 8), signed_log; write others in place.

**Suite fields** beside the functions:

    in_place=((0, 0),)                  pairs (output, input) that may be the same memory
    hardware_exp=True                   u = 2^-20 for 16-bit outputs (silu, gelu, the gated forms, softmax)
    floor=f(ref, *inputs, **params)     factor of the 2^-118 term (the gated forms: max(1, |up|))
    outside=f(ref, *inputs, **params)   mask of elements whose sums leave f32: there inf, NaN and 0 pass too
    also=f(outs, *inputs, **params)     a further property (softmax's rows sum to 1): a sentence if it fails, else None
    most_zeros=0.65                     share of zeros in the reference from which random cases prove nothing (0.30)
    row=f(d, length)                    a Call with ONE row (shape [1, length]), for batch invariance
    row_lengths=(...)                   its lengths beside a few short ones: a kernel's switches, and those +-1
    row_inputs=(0,)                     the inputs that have a row for each output row; others (gamma) are shared
    any_nan=True                        with BITS: any NaN passes for a NaN (cast)
    foreign=("matmul_library",)         kernels of another library: bits may depend on alignment and on threads
    may_refuse="a library"              words of a NOT_SUPPORTED refusal after which a GPU's case is left out
    numpy=f(outs, ins, **params)        peers of the benchmark: return a function that makes one call
    torch=f(torch, outs, ins, **params)
    library=f(outs, ins, **params)      the library that the operator itself may call, called directly (matmul)
    bytes=f(outs, ins, **params)        traffic of one call, where the default, every distinct element once, is wrong
    flops=f(outs, ins, **params)        arithmetic of one call, where it says something (matmul)

**Free for every suite**: outputs filled with NaN between guard bands, inputs unmodified, the same bits on a second run
and with one, two and five threads, planted wrong kernels caught, batch invariance, offsets that 32 bits do not hold,
random cases that prove something, every kernel's name taken, and the refusal of wrong and mixed dtypes, missing
operands, rank 9, overlaps and outputs that repeat an address. So that every kernel is taken, put the sizes at which
kernels switch, and those +-1, in the lengths that draw() uses or in cases().
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
