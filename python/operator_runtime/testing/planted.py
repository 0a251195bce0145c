"""Wrong kernels, planted to see whether the checker catches them. One that passes means that the suite proves
nothing."""

import numpy as np

from operator_runtime.testing.call import build, run
from operator_runtime.testing.dtypes import name_of, rounded
from operator_runtime.testing.suite import BITS


def zeros(outs, ins, was):
    for out in outs:
        out[...] = 0


def unwritten(outs, ins, was):
    for out, old in zip(outs, was, strict=True):
        out[...] = old


def input_returned(outs, ins, was):
    source = next(x for x in ins if x is not None and x.size)
    for out in outs:
        values = np.resize(source, out.shape)
        out[...] = values if values.dtype == out.dtype else rounded(values.astype(np.float64), name_of(out.dtype))


def all_nan(outs, ins, was):
    for out in outs:
        if out.dtype.kind != "i":
            out[...] = np.nan


def last_row_skipped(outs, ins, was):
    for out, old in zip(outs, was, strict=True):
        last = -1 if out.ndim else ...
        out[last] = old[last]


def half_written(outs, ins, was):
    for out, old in zip(outs, was, strict=True):
        flat, untouched = out.reshape(-1), old.reshape(-1)
        flat[out.size // 2 :] = untouched[out.size // 2 :]
        out[...] = flat.reshape(out.shape)


def input_modified(outs, ins, was):
    source = next(x for x in ins if x is not None and x.size)
    last = (-1,) * source.ndim
    source[last] = 3 if source[last] != 3 else 4


AFTER = {  # what each does once the right result is there
    "zeros": zeros,
    "unwritten": unwritten,
    "input returned": input_returned,
    "NaN": all_nan,
    "last row skipped": last_row_skipped,
    "half written": half_written,
    "input modified": input_modified,
}
KINDS = (*AFTER, "work left undone")
TRIED = 8  # cases that each is planted in


class Wrong:
    """The operator with one of these in it. Has the face of call.Package."""

    def __init__(self, operator, kind):
        self.name = operator.name
        self.operands = operator.operands
        self.operator = operator
        self.kind = kind

    def prepare(self, outs, ins, params):
        return WrongCall(self.operator.prepare(outs, ins, params), self.kind, outs, ins)


class WrongCall:
    kernel = "planted"

    def __init__(self, prepared, kind, outs, ins):
        self.prepared, self.kind, self.outs, self.ins = prepared, kind, outs, ins

    def run(self):
        if self.kind == "work left undone":  # as on another stream: the call returns before anything is written
            return
        was = [out.copy() for out in self.outs]
        self.prepared.run()
        AFTER[self.kind](self.outs, self.ins, was)

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        if self.kind == "work left undone":  # ... and all of it is, once nobody looks any more
            self.prepared.run()
        self.prepared.destroy()


def is_right_all_the_same(suite, operator, kind, d, call):
    """Does the wrong kernel give the right bits here? A copy that returns its input does; so do zeros for zeros."""
    if kind in ("unwritten", "input modified", "work left undone"):
        return False
    live = build(suite, d, call, reference=False)
    with operator.prepare(live.out_views(), live.in_views(), live.params) as prepared:
        was = [out.view.copy() for out in live.outs]
        prepared.run()
    right = [out.view.tobytes() for out in live.outs]
    AFTER[kind](live.out_views(), live.in_views(), was)
    return right == [out.view.tobytes() for out in live.outs]


def uncaught(suite, operator, kind, draws):
    """Plants the kind in each (d, call); a sentence if too few notice, and how many were tried."""
    tried = caught = 0
    for d, call in draws:
        if is_right_all_the_same(suite, operator, kind, d, call):
            continue
        tried += 1
        complaints, _ = run(suite, Wrong(operator, kind), d, call, times=1)
        caught += bool(complaints)
    # "zeros" and "input returned" can be within the bound by chance (one element near 0); nothing else can.
    enough = tried / 2 if kind in ("zeros", "input returned") else tried
    moves = kind == "input returned" and suite.bound is BITS  # a copy that returns its input is right
    if caught < enough or (tried == 0 and not moves):
        return f"{kind}: only {caught} of {tried} cases caught it", tried
    return None, tried
