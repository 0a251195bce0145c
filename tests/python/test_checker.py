"""The checker, checked: it passes what is right by a hair and catches what is wrong by one.

Kernels here are NumPy functions with the face of an operator, right ones and wrong ones. That planted wrong kernels are
caught on every real operator is tests/python/test_operators.py's business (the items named "planted").
"""

import contextlib
import itertools
import math
import types
from math import inf, nan

import ml_dtypes
import numpy as np
import pytest
from operator_runtime import InvalidArgumentError, OperatorRuntimeError
from operator_runtime.bench import timing
from operator_runtime.testing import (
    INVALID,
    LAYOUTS,
    Call,
    Case,
    Error,
    Suite,
    around,
    check,
    dtypes,
    errors,
    far,
    integers,
    items,
    normal,
    offsets,
    planted,
    rows,
)
from operator_runtime.testing import call as calls
from operator_runtime.testing.draw import Draw
from operator_runtime.testing.layout import GUARD, place, shows
from operator_runtime.testing.load import suites
from operator_runtime.testing.suite import Tensor


class Kernel:
    """A function(outs, ins) with the face of the package's operators."""

    name = "fake"
    operands = ("out", "in")
    backend = None

    def __init__(self, function):
        self.function = function

    def prepare(self, outs, ins, params):
        return Prepared(self.function, outs, ins)

    def optional_inputs(self, outputs):
        return [False]


class Prepared:
    kernel = "fake_numpy"

    def __init__(self, function, outs, ins):
        self.function, self.outs, self.ins = function, outs, ins

    def run(self):
        self.function(self.outs, self.ins)

    def destroy(self):
        pass

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        pass


def doubled(outs, ins):
    outs[0][...] = ins[0] + ins[0]


SUITE = Suite(
    reference=lambda x: x + x,
    bound=0,
    draw=lambda d: Call(d.tensor(d.shape())),
    in_place=((0, 0),),
    row=lambda d, length: Call(d.tensor((1, length))),
)


def complaints_of(function, d=None, call=None, suite=SUITE, **options):
    d = d or Draw("fake", "f32", "contiguous", 7)
    return calls.run(suite, Kernel(function), d, call or Call(d.tensor((5, 4))), **options)[0]


# The bound


def judged(got, ref, bound=0, dtype="f32", **options):
    got = dtypes.rounded(got, dtype)
    return ~check.against_bound(got, np.asarray(ref, np.float64), bound, dtype, 2.0**-24, **options).mask


@pytest.mark.parametrize("dtype, ulp", [("f32", 2.0**-23), ("f16", 2.0**-10), ("bf16", 2.0**-7)])
def test_half_an_ulp_passes_and_more_does_not(dtype, ulp):
    assert judged([1.0], [1 + ulp / 2], dtype=dtype)
    assert not judged([1.0], [1 + ulp * 0.51], dtype=dtype)
    assert judged([1 + ulp], [1 + ulp * 0.6], dtype=dtype)


def test_the_bound_is_added_to_half_an_ulp_in_units_of_u():
    error = 2.0**-24 * (1 + 3)  # half an ulp of 1, and c * G * S = 3
    assert judged([1.0], [1 + error], bound=np.array([3.0]))
    assert not judged([1.0], [1 + error * 1.01], bound=np.array([3.0]))


def test_the_smallest_allowance_is_absent_where_rounding_must_be_correct():
    tiny = 2.0**-119
    assert judged([tiny], [0.0], bound=np.array([0.0]))
    assert not judged([tiny], [0.0], bound=0)
    assert judged([2.0**-117], [0.0], bound=np.array([0.0]), floor=np.array([4.0]))


@pytest.mark.parametrize(
    "got, ref, right",
    [
        (nan, nan, True),
        (nan, 1.0, False),
        (1.0, nan, False),
        (inf, inf, True),
        (-inf, inf, False),
        (inf, nan, False),
        (60000.0, inf, False),
        (inf, 65520.0, True),  # where f16 rounds to infinity
        (inf, 65519.0, False),
        (-inf, 65520.0, False),
        (-0.0, 0.0, True),
    ],
)
def test_nan_and_infinity(got, ref, right):
    assert judged([got], [ref], dtype="f16").all() == right


def test_outside_the_bound_only_what_f32_would_give_passes():
    outside = np.array([True])
    for value, right in ((inf, True), (nan, True), (0.0, True), (3.0, False)):
        assert judged([value], [1.0], outside=outside).all() == right


def test_rounding_goes_once_to_nearest_even():
    values = [1 + 2.0**-8 + 2.0**-40, 1 + 2.0**-8, 1 + 3 * 2.0**-8, 3.4e38, 1e300, -inf, nan, -0.0, 1e-45]
    want = [1 + 2.0**-7, 1.0, 1 + 2.0**-6, inf, inf, -inf, nan, -0.0, 0.0]
    got = dtypes.rounded(values, "bf16")
    np.testing.assert_array_equal(got.astype(np.float64), want)
    every = np.arange(1 << 16, dtype=np.uint16).view(ml_dtypes.bfloat16)
    with np.errstate(invalid="ignore"):
        finite = np.unique(every[np.isfinite(every)].astype(np.float64))
    middle = (finite[1:] + finite[:-1]) / 2
    toward = dtypes.round_to(np.nextafter(middle, -inf), "bf16"), dtypes.round_to(np.nextafter(middle, inf), "bf16")
    np.testing.assert_array_equal(toward[0], finite[:-1])
    np.testing.assert_array_equal(toward[1], finite[1:])


# Memory


def test_a_right_kernel_passes_on_every_layout():
    for layout, index in itertools.product(LAYOUTS, range(items.DRAWS)):
        d = Draw("fake", "bf16", layout, index)
        assert not complaints_of(doubled, d, SUITE.draw(d)), (layout, index)


def test_a_write_beside_the_output_is_seen():
    def spills(outs, ins, where):
        doubled(outs, ins)
        np.lib.stride_tricks.as_strided(outs[0].reshape(-1)[:1], (1000,), (4,))[where] = 1

    rows, columns = 5, 4
    for where in (rows * columns, rows * columns + GUARD - 1):
        said = complaints_of(lambda outs, ins, where=where: spills(outs, ins, where))
        assert len(said) == 1 and "written outside out" in said[0] and str(where) in said[0]


def test_a_write_into_the_gap_of_padded_rows_is_seen():
    def whole_rows(outs, ins):
        doubled(outs, ins)
        out = outs[0]
        np.lib.stride_tricks.as_strided(out, (5, 5), out.strides)[...] = 0
        doubled(outs, ins)

    d = Draw("fake", "f32", "padded", 0)
    said = complaints_of(whole_rows, d, Call(d.tensor((5, 4))))
    assert len(said) == 1 and "written outside" in said[0]


def test_untouched_memory_is_no_number():
    tensor = Draw("fake", "f16", "contiguous", 0).tensor((3,))
    placed = place(tensor, [1])
    around_it = np.concatenate([placed.buffer[:GUARD], placed.buffer[-GUARD:]])
    assert np.isnan(around_it.astype(np.float64)).all()
    assert not np.isnan(placed.view.astype(np.float64)).any()


def test_layouts_are_what_they_say():
    def built(layout, index=0, shape=(3, 4)):
        d = Draw("fake", "f32", layout, index)
        return calls.build(SUITE, d, Call(d.tensor(shape)))

    def elements(view):
        return [stride // view.itemsize for stride in view.strides]

    assert elements(built("contiguous").ins[0].view) == [4, 1]
    assert elements(built("padded").ins[0].view)[0] > 4
    assert elements(built("transposed").ins[0].view) == [1, 3]
    assert 0 in elements(built("broadcast").ins[0].view) and elements(built("broadcast").outs[0].view) == [4, 1]
    assert min(elements(built("negative").ins[0].view)) < 0
    alone = built("offset", 0)
    assert alone.ins[0].view.ctypes.data % 8 == 4 and alone.outs[0].view.ctypes.data % 64 == 0
    together = built("offset", 2)
    assert together.ins[0].view.ctypes.data % 8 == 4 and together.outs[0].view.ctypes.data % 8 == 4
    same = built("in place")
    assert same.outs[0] is same.ins[0]
    shapes = {
        layout: [Draw("fake", "f32", layout, index).shape() for index in range(items.DRAWS)] for layout in LAYOUTS
    }
    assert all(0 in shape for shape in shapes["empty"])
    assert all(shape == () for shape in shapes["rank 0"])
    assert all(len(shape) > 1 for shape in shapes["transposed"] + shapes["padded"])


# What a kernel may not do


def test_planted_kernels_are_caught_and_a_blind_suite_is_found_out():
    draws = [(d, SUITE.draw(d)) for d in (Draw("fake", "f32", "padded", i) for i in range(8))]
    blind = Suite(reference=lambda x: x + x, bound=lambda ref, x: np.full_like(ref, inf), draw=SUITE.draw)
    for kind in planted.KINDS:
        said, tried = planted.uncaught(SUITE, Kernel(doubled), kind, draws)
        assert said is None and tried > 0, kind
    for kind in ("zeros", "input returned"):
        assert "only 0 of" in planted.uncaught(blind, Kernel(doubled), kind, draws)[0]


def test_bits_that_change_from_run_to_run_are_seen():
    runs = itertools.count()

    def restless(outs, ins):
        outs[0][...] = np.nextafter(ins[0] + ins[0], np.float32(inf)) if next(runs) else ins[0] + ins[0]

    loose = Suite(reference=lambda x: x + x, bound=lambda ref, x: 8 * abs(ref), draw=SUITE.draw)
    (said,) = complaints_of(restless, suite=loose)
    assert said.startswith("the same call gave other bits the second time")


def test_bits_that_depend_on_the_address_are_seen():
    def by_address(outs, ins):
        aligned = ins[0].ctypes.data % 64 == 0
        outs[0][...] = ins[0] + ins[0] if aligned else np.nextafter(ins[0] + ins[0], np.float32(inf))

    loose = Suite(reference=lambda x: x + x, bound=lambda ref, x: 8 * abs(ref), draw=SUITE.draw)
    d = Draw("fake", "f32", "offset", 0)
    (said,) = complaints_of(by_address, d, Call(d.tensor((5, 4))), suite=loose)
    assert said.startswith("other bits than the same call at aligned addresses")


def test_C07_an_operand_alone_at_an_odd_address_is_seen():
    def needs_aligned_input(outs, ins):
        doubled(outs, ins)
        if ins[0].ctypes.data % 16:
            outs[0][-1:] += 1

    assert offsets.check(SUITE, Kernel(doubled), "f32", 9) is None
    assert "with in 1 elements further on" in offsets.check(SUITE, Kernel(needs_aligned_input), "f32", 9)


def test_C01_an_offset_in_32_bits_is_seen():
    def wraps(outs, ins):
        doubled(outs, ins)
        if any(abs(stride) >> 31 for stride in ins[0].strides):
            outs[0][1:] = ins[0][0] + ins[0][0]

    assert far.check(SUITE, Kernel(doubled), "f16", 40) is None
    assert "axis 0 of in steps 2147483656" in far.check(SUITE, Kernel(wraps), "f16", 40)


def test_every_generated_case_shows_its_layout():
    """Where a drawn shape cannot show it, another is drawn; where none can, the suite is told."""
    only_ones = Suite(reference=lambda x: x + x, bound=0, draw=lambda d: Call(d.tensor((1, 1))))
    item = items.Item("fake", "f32", "padded")
    with pytest.raises(ValueError, match="makes no call that is padded"):
        items.generated(only_ones, item, "padded", 0)
    for layout, index in itertools.product(LAYOUTS, range(items.DRAWS)):
        d, call = items.generated(SUITE, item, layout, index)
        live = calls.build(SUITE, d, call)
        assert shows(layout, live.outs, live.ins)


def test_bits_that_depend_on_the_batch_are_seen():
    def by_batch(outs, ins):
        doubled(outs, ins)
        if len(outs[0]) >= 256:
            outs[0][...] = np.nextafter(outs[0], np.float32(inf))

    def by_place(outs, ins):
        doubled(outs, ins)
        outs[0][-1:] = np.nextafter(outs[0][-1:], np.float32(inf)) if len(outs[0]) > 1 else outs[0][-1:]

    def by_address(outs, ins):
        doubled(outs, ins)
        if ins[0].ctypes.data % 16:
            outs[0][...] = np.nextafter(outs[0], np.float32(inf))

    assert rows.check(SUITE, Kernel(doubled), "f32", 32) is None
    assert "inputs lie 1" in rows.check(SUITE, Kernel(by_address), "f32", 32)
    assert "of 256" in rows.check(SUITE, Kernel(by_batch), "f32", 33)
    assert "row 1 of 2" in rows.check(SUITE, Kernel(by_place), "f32", 33)


def test_wrong_calls_must_be_refused_with_words():
    d = Draw("fake", "f32", "contiguous", 0)
    error = Error("shape", INVALID, Call([1.0, 2.0], out=(3,)), says=("in", "[3]"))

    def answered(exception, writes=False):
        def refuse(outs, ins):
            if writes:
                outs[0][0] = 7
            if exception:
                raise exception

        return errors.check(Kernel(refuse), d, error)

    assert answered(InvalidArgumentError("fake: in: expected shape [3], got [2]")) is None
    assert answered(None).startswith("the call was accepted; it is to be refused with invalid argument")
    assert "does not say '[3]'" in answered(InvalidArgumentError("fake: in: wrong"))
    assert "does not say 'fake'" in answered(InvalidArgumentError("in [3]"))
    assert "want invalid argument" in answered(OperatorRuntimeError("fake: in [3]"))
    assert "written all the same" in answered(InvalidArgumentError("fake: in: [3]"), writes=True)


# Suites that prove nothing


def proof(values, bound):
    return check.proves_nothing(SUITE, [np.asarray(values, np.float64)], [np.asarray(bound, np.float64)])


def test_suites_that_prove_nothing_are_refused():
    good = np.linspace(1, 2, 100)
    assert proof(good, 1e-7) is None
    assert "zero" in proof(np.where(np.arange(100) < 31, 0, good), 1e-7)
    assert proof(np.where(np.arange(100) < 29, 0, good), 1e-7) is None
    assert "one value" in proof(np.where(np.arange(100) < 91, 5.0, good), 1e-7)
    assert "100 error bounds" in proof(good, 0.05)


# Formulas that look right. The suites must hold the data on which they fail.


class Formula(Kernel):
    """A kernel of one formula, a function of the first input in f32 and the call's parameters."""

    def __init__(self, function, params):
        super().__init__(lambda outs, ins: outs[0].__setitem__(..., function(ins[0].astype(np.float32), **params)))


def catches(op, dtype, function):
    """Is the formula wrong in some case of the operator's suite? Cases with more inputs (gamma) are left out."""
    suite = suites()[op]
    item = items.Item(op, dtype, "contiguous")
    tried = list(items.draws(suite, item, "contiguous"))
    tried += [(d, case.call) for _, d, case in items.hand_made(suite, item) if d.layout == "contiguous"]
    tried = [(d, call) for d, call in tried if all(more is None for more in call.inputs[1:])]
    assert len(tried) > 5
    with np.errstate(all="ignore"):
        return any(calls.run(suite, Formula(function, call.params), d, call, times=1)[0] for d, call in tried)


def chain_of_adds(x, dim):
    return np.take(np.cumsum(x, axis=dim, dtype=np.float32), -1, axis=dim) if x.ndim and x.shape[dim] else 0


def softmax_without_maximum(x, dim):
    e = np.exp(x)
    return e / e.sum(axis=dim, keepdims=True) if x.ndim else 1


def layernorm_of_squares(x, dim, eps):
    """The variance as E[x^2] - E[x]^2."""
    mean = x.mean(axis=dim, keepdims=True)
    return (x - mean) / np.sqrt((x * x).mean(axis=dim, keepdims=True) - mean * mean + np.float32(eps))


def gelu_of_one_plus(x, approximate):
    inner = np.sqrt(2 / np.pi) * (x + 0.044715 * x**3)
    one_plus = np.float32(1) + (np.tanh(inner) if approximate == "tanh" else np.vectorize(math.erf)(x / np.sqrt(2)))
    return np.float32(0.5) * x * one_plus.astype(np.float32)


@pytest.mark.parametrize(
    "op, formula, formula_dtypes",
    [
        ("reduce_sum", chain_of_adds, ["f32"]),  # a 16-bit output's rounding hides it
        ("softmax", softmax_without_maximum, dtypes.FLOATS),
        ("layernorm", layernorm_of_squares, dtypes.FLOATS),
        ("gelu", gelu_of_one_plus, ["f32", "bf16"]),  # f16 ends where the tail begins
    ],
)
def test_a_formula_that_looks_right_is_caught(op, formula, formula_dtypes):
    reference = suites()[op].reference
    absent = [None] * (2 if op == "layernorm" else 0)
    for dtype in formula_dtypes:
        assert catches(op, dtype, formula)
        assert not catches(op, dtype, lambda x, **params: reference(x.astype(np.float64), *absent, **params))


@pytest.mark.parametrize("dtype", dtypes.FLOATS)
@pytest.mark.parametrize("op", ["gelu", "gelu_and_mul"])
def test_C17_the_other_form_is_caught(op, dtype):
    reference = suites()[op].reference
    other = {"none": "tanh", "tanh": "none"}
    assert catches(op, dtype, lambda x, approximate: reference(x.astype(np.float64), other[approximate]))
    assert not catches(op, dtype, lambda x, approximate: reference(x.astype(np.float64), approximate))


NEEDED = {"normal": 1, "uniform": 1, "constant_0.1": 4096, "around_1000": 1}  # what, and how many elements at least


@pytest.mark.parametrize("dtype", dtypes.FLOATS)
@pytest.mark.parametrize(
    "op, needed",
    [(op, NEEDED) for op in ("reduce_sum", "softmax", "layernorm", "rmsnorm", "add_rmsnorm")]
    + [(op, {"dense_14": 100, "dense_100": 100}) for op in ("silu", "gelu")],
)
def test_the_suites_hold_the_data_that_shows_it(op, needed, dtype):
    suite = suites()[op]
    item = items.Item(op, dtype, "contiguous")
    tried = [call for _, call in items.draws(suite, item, "contiguous")]
    tried += [case.call for _, _, case in items.hand_made(suite, item)]
    held = [spec for call in tried for spec in call.inputs if isinstance(spec, Tensor)]
    for data, size in needed.items():
        assert any(spec.data == data and np.prod(spec.shape) >= size for spec in held), data


# What a person is told


def test_a_failure_explains_itself():
    def last_row_missing(outs, ins):
        outs[0][:-1] = ins[0][:-1] * 2

    (said,) = complaints_of(last_row_missing)
    assert "out[4, 0] of shape [5, 4]" in said and "got nan" in said and "from in[4, 0] = " in said
    assert "the call: fake(out f32 [5, 4], in f32 [5, 4])" in said
    assert "4 of 20 elements are wrong" in said and "never written" in said and "index 4 (the last) of axis 0" in said

    def an_ulp_off(outs, ins):
        outs[0][...] = np.nextafter(ins[0] + ins[0], np.float32(inf))

    (said,) = complaints_of(an_ulp_off)
    assert "times the bound)" in said and "20 of 20 elements" in said

    def swallows(outs, ins):
        outs[0][...] = np.nan_to_num(ins[0] + ins[0])

    (said,) = complaints_of(swallows, call=Call([nan, 1.0]))
    assert "a NaN was swallowed" in said


def test_a_failure_says_how_to_run_it_again():
    failure = items.Failure("relu/f32/cases/C12 NaN is kept", "out[0]: got 0, want nan", "cpu")
    assert failure.rerun == "oprt test --backend cpu --filter 'relu/f32/cases/C12 NaN is kept'"
    assert failure.rerun in str(failure)


@pytest.mark.parametrize("what", ["kernels", "sample"])
def test_a_kernel_that_no_case_takes_is_named(monkeypatch, what):
    monkeypatch.setattr(items._native, "kernels", lambda op, backend: ["relu_contiguous", "relu_forgotten"])
    missed, unlisted = items.Item("relu", "all", what).run().failures
    assert "relu_forgotten" in missed.complaint and "relu_contiguous" not in missed.complaint
    assert "taken, and not listed: relu_rows, relu_strided" in unlisted.complaint


@pytest.mark.parametrize("kernel", ["softmax_row", "softmax_columns", "softmax_gathered_columns"])
def test_cases_without_a_kernels_sizes_leave_it_out(monkeypatch, kernel):
    """The check sees the cases that there are: without those that take the kernel it is missed."""
    prepare = calls.Package.prepare

    def without(self, outs, ins, params):
        prepared = prepare(self, outs, ins, params)
        return contextlib.nullcontext(types.SimpleNamespace(kernel="none")) if prepared.kernel == kernel else prepared

    monkeypatch.setattr(calls.Package, "prepare", without)
    (failure,) = items.Item("softmax", "all", "kernels").run().failures
    assert failure.complaint.startswith(f"no case takes {kernel};")


def test_a_case_that_breaks_is_a_failure_and_not_the_end(monkeypatch):
    def broken(suite, item, dry=False):
        yield "first", Draw("relu", "f32", "contiguous", 0), Case("first", Call("no numbers"))
        d = Draw("relu", "f32", "contiguous", 0)
        yield "second", d, Case("second", Call(d.tensor(3), negative_slope=0.0))

    monkeypatch.setattr(items, "hand_made", broken)
    outcome = items.Item("relu", "f32", "cases").run()
    assert outcome.cases == 2 and [f.case for f in outcome.failures] == ["relu/f32/cases/first"]


def test_the_same_case_is_the_same_every_time():
    def values(index):
        return Draw("fake", "f32", "padded", index).tensor((100,), around(5)).values

    np.testing.assert_array_equal(values(3), values(3))
    assert not np.array_equal(values(3), values(4))
    assert set(integers(-2, 3)(np.random.default_rng(0), (500,))) == {-2.0, -1.0, 0.0, 1.0, 2.0}
    assert abs(normal(np.random.default_rng(0), (10_000,)).std() - 1) < 0.05


# The clock


def test_C43_the_clock_is_right_and_a_wrong_one_is_found_out():
    assert timing.self_test().right

    def launch_only(providers, evict, rounds):  # times the launch, not the run
        for call in providers["spin"]:
            call()
        return {"spin": timing.Timing([1e-6] * rounds, 1)}

    assert not timing.self_test(launch_only).right
