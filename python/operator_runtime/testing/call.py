"""A Call made real: its tensors in memory, its reference and bound computed, the operator run on it and looked at."""

import functools
import inspect
from dataclasses import dataclass, field

import numpy as np

import operator_runtime
from operator_runtime.testing import check, load
from operator_runtime.testing.device import OnDevice
from operator_runtime.testing.dtypes import NUMPY, rounded
from operator_runtime.testing.layout import Layout, dense_strides, operands_of, output, untouched_byte
from operator_runtime.testing.suite import BITS, Tensor

GPU_BACKENDS = ("nvidia", "metax")
NOT_SUPPORTED = 5  # of oprt_status_t


class NotHere(Exception):
    """A call that this machine may refuse, as its suite says: the case is left out."""


class Package:
    """The operator as the Python package offers it: what every check is run on, unless a wrong kernel is planted."""

    def __init__(self, name, backend=None):
        self.name = name
        self.backend = backend
        self.operands = load.operands(name)
        self._prepare = getattr(operator_runtime, f"prepare_{name}")

    def prepare(self, outs, ins, params):
        prepare = functools.partial(self._prepare, **params, backend=self.backend)
        if self.backend not in GPU_BACKENDS:
            return prepare(*outs, *ins)
        try:
            return OnDevice(prepare, [*outs, *ins])
        except operator_runtime.OperatorRuntimeError as refusal:
            may_refuse = load.suites()[self.name].may_refuse
            if refusal.status == NOT_SUPPORTED and may_refuse and may_refuse in str(refusal):
                raise NotHere(str(refusal)) from None
            raise

    def optional_inputs(self, outputs):
        """Of each input: may it be None?"""
        parameters = list(inspect.signature(self._prepare).parameters.values())[outputs:]
        return [p.default is None for p in parameters if p.name != "backend"]


def with_dtype(function, dtype, *arguments, **params):
    """Calls one of the suite's functions; one that has an argument called dtype is given the output's."""
    if _wants_dtype(function):
        params["dtype"] = dtype
    return function(*arguments, **params)


@functools.cache
def _wants_dtype(function):
    return "dtype" in inspect.signature(function).parameters


def as_tensor(value, dtype):
    if value is None or isinstance(value, Tensor):
        return value
    values = np.asarray(value)
    return Tensor(values.shape, lambda: values, dtype)


def input_bytes(d, call):
    """Bytes of the call's inputs, before any of them is made."""
    specs = [spec for spec in (as_tensor(value, d.dtype) for value in call.inputs) if spec]
    return sum(int(np.prod(spec.shape, dtype=np.int64)) * NUMPY[spec.dtype].itemsize for spec in specs)


def as_tuple(value):
    return value if isinstance(value, tuple) else (value,)


def wide(array):
    """What the reference computes with: float64, integers as they are."""
    return array.copy() if array.dtype.kind == "i" else array.astype(np.float64)


@dataclass
class Live:
    """One call's tensors in memory."""

    ins: list  # Placed, or None where an optional input is absent
    outs: list  # Placed; in place, one of `ins` itself
    params: dict
    specs: list  # the inputs' Tensors
    refs: tuple = ()  # float64, of the outputs' shapes; native where bits are compared
    bounds: tuple = ()
    floors: tuple = ()
    outsides: tuple = ()
    arguments: list = field(default_factory=list)  # what the reference was given

    def out_views(self):
        return [placed.view for placed in self.outs]

    def in_views(self):
        return [placed and placed.view for placed in self.ins]

    def all(self):
        """Every piece of memory once."""
        return [*self.outs, *(p for p in self.ins if p and not any(p is out for out in self.outs))]


def out_specs(call, dtype, refs):
    """The outputs as Tensors: as the Call says, else in the reference's shapes."""
    if call.out is None:
        return [output(np.shape(ref), dtype) for ref in refs]
    several = isinstance(call.out, list)
    return [
        output(out.shape, out.dtype) if isinstance(out, Tensor) else output(out, dtype)
        for out in (call.out if several else [call.out])
    ]


def build(suite, d, call, layout=None, reference=True):
    """Places the call's tensors in memory and computes what must come out."""
    layout_name = layout or d.layout
    specs = [as_tensor(value, d.dtype) for value in call.inputs]
    pairs = []
    if layout_name == "in place":
        first = d.index % len(suite.in_place)
        pairs = suite.in_place[first:] + suite.in_place[:first]
        layout_name = ("contiguous", "padded", "transposed")[d.index % 3]
    layout = Layout(layout_name, d.rng, d.index, operands_of(specs))
    ins = [spec and layout.place(spec, is_output=False) for spec in specs]
    live = Live(ins, [], call.params, specs)
    refs = (None,)
    if reference or call.out is None:
        native = suite.bound is BITS
        live.arguments = [p and (p.view.copy() if native else wide(p.view)) for p in ins]
        with np.errstate(all="ignore"):
            refs = as_tuple(with_dtype(suite.reference, d.out_dtype, *live.arguments, **call.params))
    outs = out_specs(call, d.out_dtype, refs)
    shared = in_place(pairs, outs, ins)
    for i, spec in enumerate(outs):
        live.outs.append(ins[shared[i]] if i in shared else layout.place(spec, is_output=True))
    if reference:
        complete(suite, d, live, refs)
    return live


def in_place(pairs, outs, ins):
    """{output: input} for the first pair that are alike, as one has to be."""
    for o, i in pairs:
        if ins[i] and outs[o].shape == ins[i].view.shape and outs[o].dtype == ins[i].dtype:
            return {o: i}
    if pairs:
        raise ValueError("in place, but no output is like its input: let draw() look at d.layout")
    return {}


def complete(suite, d, live, refs):
    shapes = [placed.view.shape for placed in live.outs]
    live.refs = tuple(np.broadcast_to(ref, shape) for ref, shape in zip(refs, shapes, strict=True))
    if suite.bound is BITS:
        return
    count = len(live.refs)

    def of(function, otherwise):
        if not callable(function):
            return (function if function is not None else otherwise,) * count
        given = refs if count > 1 else refs[0]
        with np.errstate(all="ignore"):
            return as_tuple(with_dtype(function, d.out_dtype, given, *live.arguments, **live.params))

    live.bounds = of(suite.bound, 0)
    live.floors = of(suite.floor, 1.0)
    live.outsides = of(suite.outside, None)


def judge(suite, live, operands, expect=None):
    """A sentence for everything that is wrong with the outputs as they now are. operands: their names."""
    complaints = []
    expected = expect if isinstance(expect, list) and len(live.outs) > 1 else [expect] * len(live.outs)
    for i, (placed, ref) in enumerate(zip(live.outs, live.refs, strict=True)):
        got, dtype = placed.view, placed.dtype
        if got.size == 0:
            continue
        if expect is not None:
            want = np.broadcast_to(rounded(expected[i], dtype), got.shape)
            wrong = check.against_values(got, want, dtype)
        elif suite.bound is BITS:
            want = ref if ref.dtype == got.dtype else rounded(ref, dtype)
            wrong = check.against_bits(got, want, suite.any_nan)
        else:
            want = ref
            u = check.unit(suite, dtype)
            wrong = check.against_bound(got, ref, live.bounds[i], dtype, u, live.floors[i], live.outsides[i])
        if wrong.mask.any():
            untouched = never_written(got)
            inputs = zip(operands[len(live.outs) :], live.arguments, strict=False)
            complaints.append(check.explain(operands[i], got, np.asarray(want, np.float64), wrong, untouched, inputs))
    if suite.also and not complaints:
        outs = tuple(placed.view for placed in live.outs)
        said = suite.also(outs if len(outs) > 1 else outs[0], *live.arguments, **live.params)
        if said:
            complaints.append(said)
    return complaints


def never_written(array):
    kind = np.dtype(f"u{array.itemsize}")
    fill = int.from_bytes(bytes([untouched_byte(array.dtype)]) * array.itemsize, "little")
    return np.ascontiguousarray(array).view(kind).reshape(array.shape) == fill


def tampered(live, before, operands):
    """A sentence for each byte pattern that changed where nothing may be written."""
    complaints = []
    for placed, old in zip(live.all(), before, strict=True):
        is_output = any(placed is out for out in live.outs)
        if is_output:
            where = placed.changed_outside(old)
            if where.size:
                past = f"element {where[0]} of its memory, counted from the first"
                complaints.append(
                    f"written outside {placed_name(live, placed, operands)}, at {past} ({where.size} in all)"
                )
        elif not np.array_equal(placed.buffer.view(np.uint8), old.view(np.uint8)):
            complaints.append(f"the input {placed_name(live, placed, operands)} was modified")
    return complaints


def placed_name(live, placed, operands):
    return next(name for name, p in zip(operands, [*live.outs, *live.ins], strict=False) if p is placed)


def describe(operator, live):
    """The call on one line: relu(out f32 [2, 3] strides [4, 1], in f32 [2, 3], negative_slope=0.0)."""

    def tensor(name, placed):
        if placed is None:
            return f"{name} absent"
        strides = [stride // placed.view.itemsize for stride in placed.view.strides]
        lies = "" if strides == dense_strides(placed.view.shape) else f" strides {strides}"
        return f"{name} {placed.dtype} {list(placed.view.shape)}{lies}"

    parts = [tensor(*pair) for pair in zip(operator.operands, [*live.outs, *live.ins], strict=False)]
    parts += [f"{name}={value!r}" for name, value in live.params.items()]
    return f"{operator.name}({', '.join(parts)})"


def run(suite, operator, d, call, layout=None, expect=None, times=2):
    """Runs one case with every check there is. Returns (complaints, kernel's name)."""
    live = build(suite, d, call, layout)
    before = [placed.snapshot() for placed in live.all()]
    with operator.prepare(live.out_views(), live.in_views(), live.params) as prepared:
        prepared.run()
        kernel = prepared.kernel
        complaints = judge(suite, live, operator.operands, expect) + tampered(live, before, operator.operands)
        first = [placed.snapshot() for placed in live.outs]
        for _ in range(times - 1):
            for placed, old in zip(live.all(), before, strict=True):
                placed.restore(old)
            prepared.run()
            if not complaints and not same_bits(live.outs, first):
                complaints.append("the same call gave other bits the second time")
    if d.layout == "offset" and kernel not in suite.foreign and not complaints:
        complaints += against_aligned(suite, operator, d, call, live)
    return [f"{complaint}\nthe call: {describe(operator, live)}" for complaint in complaints], kernel


def same_bits(placed, buffers):
    return all(np.array_equal(p.buffer.view(np.uint8), b.view(np.uint8)) for p, b in zip(placed, buffers, strict=True))


def against_aligned(suite, operator, d, call, live):
    """The same values at aligned addresses must give the same bits."""
    aligned = build(suite, d, call, "contiguous", reference=False)
    with operator.prepare(aligned.out_views(), aligned.in_views(), live.params) as prepared:
        prepared.run()
    for here, there in zip(live.outs, aligned.outs, strict=True):
        if here.view.tobytes() != there.view.tobytes():
            return ["other bits than the same call at aligned addresses"]
    return []
