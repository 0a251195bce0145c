"""The words a cases.py is written in. See the package's own comment for how."""

import functools
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from operator_runtime.testing.dtypes import FLOATS

LAYOUTS = (
    "contiguous",
    "padded",  # rows with unused elements after each
    "transposed",  # the axes lie in memory in another order
    "broadcast",  # an axis of an input has stride 0
    "negative",  # an axis runs backwards
    "offset",  # operands start an odd number of elements past an aligned address
    "in place",  # an output is an input
    "empty",  # an axis has length 0
    "rank 0",  # one element, no axis
)

BITS = "bits"  # as a bound: the output's bits are the reference's

# Statuses that a wrong call answers with, and so the class that Python raises.
INVALID, DTYPE, NOT_SUPPORTED = "invalid argument", "unsupported dtype", "not supported"


def without(*layouts):
    """All layouts but these."""
    unknown = set(layouts) - set(LAYOUTS)
    if unknown:
        raise ValueError(f"no such layout: {', '.join(sorted(unknown))}; there are {', '.join(LAYOUTS)}")
    return tuple(layout for layout in LAYOUTS if layout not in layouts)


@dataclass(frozen=True)
class Tensor:
    """A tensor to be made: logical values (not yet rounded) and a dtype. The harness decides where it lies."""

    shape: tuple
    make: Callable | None  # returns the values; they are made when first asked for. None for an output
    dtype: str
    data: str = "values"  # the name of what the values are

    @functools.cached_property
    def values(self):
        return None if self.make is None else np.asarray(self.make())


class Call:
    """One call: inputs in order, outputs, and keyword arguments of the Python function."""

    def __init__(self, *inputs, out=None, **params):
        self.inputs = inputs
        self.out = out
        self.params = params


@dataclass(frozen=True)
class Case:
    """A hand-made case. Compared with `expect` exactly where given (== and NaN for NaN), else with the reference."""

    name: str
    call: Call
    expect: Any = None  # values of the output, or a list of arrays where there are several outputs
    layouts: tuple = ("contiguous",)
    times: int = 1  # runs, whose bits must agree


@dataclass(frozen=True)
class Error:
    """A wrong call: the status it answers with, and words that its message must hold (expected, got, argument).

    NumPy arrays in its Call are passed as they are, so that two of them may overlap; lists and d.tensor are laid out
    contiguously. Nothing may be written.
    """

    name: str
    status: str
    call: Call
    says: tuple = ()
    cpu_only: bool = False  # a GPU finds it out too late to refuse


@dataclass(frozen=True)
class Bench:
    """One point of the benchmark. Bytes and FLOPs are counted by the suite, or given here."""

    name: str
    call: Call
    layout: str = "contiguous"
    bytes: int | None = None
    flops: int | None = None


def nothing(d):
    return ()


@dataclass(frozen=True)
class Suite:
    """Everything the harness knows about an operator."""

    reference: Callable
    bound: Any  # a function of (ref, *inputs, **params), 0 or BITS
    draw: Callable
    cases: Callable = nothing
    errors: Callable = nothing
    benchmarks: Callable = nothing
    dtypes: tuple = FLOATS
    layouts: tuple = LAYOUTS
    in_place: tuple = ()
    hardware_exp: bool = False
    floor: Callable | None = None
    outside: Callable | None = None
    also: Callable | None = None
    most_zeros: float = 0.30
    row: Callable | None = None
    row_lengths: tuple = ()
    row_inputs: tuple = (0,)
    any_nan: bool = False
    foreign: tuple = ()
    numpy: Callable | None = None
    torch: Callable | None = None
    library: Callable | None = None
    bytes: Callable | None = None
    flops: Callable | None = None
    may_refuse: str | None = None
    name: str = field(default="", compare=False)  # filled in by the loader: the folder's

    def layouts_that_apply(self):
        return tuple(layout for layout in self.layouts if layout != "in place" or self.in_place)
