"""Everything there is to test about an operator, in pieces that run and fail on their own.

    <op>/<dtype>/<layout>     20 generated cases
    <op>/<dtype>/cases        the hand-made ones
    <op>/<dtype>/errors       wrong calls
    <op>/<dtype>/proof        does the suite prove anything? zeros, one value, loose bounds
    <op>/<dtype>/planted      C44: wrong kernels that must be caught
    <op>/<dtype>/offsets      C07: every operand at every offset from an aligned address
    <op>/<dtype>/far          C01: every operand with an axis whose offsets no 32 bits hold
    <op>/<dtype>/rows         C25: batch invariance
    <op>/<dtype>/threads      one thread against two and five
    <op>/all/kernels          was every kernel taken?
    <op>/all/sample           in place of all these, where a run takes long: one call of each kernel, dtype and layout,
                              and one of each CUDA kernel that these do not launch; that no kernel is left out

pytest and `oprt test` run the same items. The name of one case is its item's and its own: relu/bf16/padded/07.
"""

import collections
import contextlib
import dataclasses
import shlex
import time
import traceback
from collections.abc import Callable

import numpy as np

from operator_runtime import OperatorRuntimeError, _native
from operator_runtime.testing import call, check, errors, far, offsets, planted, rows, threads, variants
from operator_runtime.testing.draw import Draw
from operator_runtime.testing.layout import shows, telling_index
from operator_runtime.testing.load import suites
from operator_runtime.testing.suite import BITS

DRAWS = 20  # generated cases for each operator, dtype and layout
ATTEMPTS = 1000  # at a case that shows its layout
THREADS = (1, 2, 5)  # one, as many as share evenly, and a number that divides nothing
THREADED_BYTES = 16 << 20  # benchmarks with inputs up to this size are also run with so many threads


@dataclasses.dataclass
class Failure:
    case: str
    complaint: str
    backend: str | None = None

    @property
    def rerun(self):
        backend = f" --backend {self.backend}" if self.backend else ""
        sample = " --sample" if "/sample/" in self.case else ""
        return f"oprt test{backend}{sample} --filter {shlex.quote(self.case)}"

    def __str__(self):
        return (
            f"{self.case}\n"
            + "\n".join(f"  {line}" for line in self.complaint.splitlines())
            + f"\n  again: {self.rerun}"
        )


@dataclasses.dataclass
class Outcome:
    """What an item found: how many cases ran, and those that failed."""

    cases: int = 0
    failures: list = dataclasses.field(default_factory=list)
    seconds: float = 0.0


@dataclasses.dataclass(frozen=True)
class Item:
    op: str
    dtype: str
    what: str

    @property
    def name(self):
        return f"{self.op}/{self.dtype}/{self.what}"

    def may_hold(self, text):
        """Could the name of a case of this item have the text in it? What cannot need not start."""
        own = f"{self.name}/"
        reaches_into_case = any(text.startswith(own[at:]) for at in range(len(own)))
        return text in own or reaches_into_case or "/" not in text

    def run(self, backend=None, filter=None):
        """Runs the cases that have the text in their names."""
        start = time.perf_counter()
        suite = suites()[self.op]
        operator = call.Package(self.op, backend)
        outcome = Outcome()
        for name, test in CHECKS.get(self.what, layout_cases)(suite, operator, self):
            full = f"{self.name}/{name}"
            if filter and filter not in full:
                continue
            outcome.cases += 1
            try:
                complaints = test()
            except call.NotHere:
                complaints = []
            except OperatorRuntimeError as refusal:
                complaints = [f"the call was refused: {refusal}"]
            except Exception:  # a broken case is a failure of that case, not the end of the run
                complaints = [traceback.format_exc(limit=-4)]
            outcome.failures += [Failure(full, complaint, backend) for complaint in complaints]
        outcome.seconds = time.perf_counter() - start
        return outcome


CPU_ONLY = ("threads", "far")  # threads of the CPU; memory that is mapped and never touched


def items(ops=None, dtypes=None, backend=None, sample=False):
    """All items of the operators and dtypes given, or of all, that the backend is tested with; or a sample of them."""
    for name, suite in suites().items():
        if ops and name not in ops:
            continue
        if sample:
            yield Item(name, "all", "sample")
            continue
        for dtype in suite.dtypes:
            if dtypes and not set(dtype.split("-")) & set(dtypes):
                continue
            checks = ["cases", "errors", "proof", "planted", "threads", "offsets", "far"]
            checks += ["rows"] if suite.row else []
            for what in (*suite.layouts_that_apply(), *checks):
                if what not in CPU_ONLY or backend not in call.GPU_BACKENDS:
                    yield Item(name, dtype, what)
        if not dtypes:
            yield Item(name, "all", "kernels")


def generated(suite, item, layout, index, dry=False):
    """One random case: the first that shows its layout."""
    for attempt in range(ATTEMPTS):

        def drawn(dry, purpose=f"draw {attempt}"):
            d = Draw(item.op, item.dtype, layout, index, purpose, dry)
            return d, suite.draw(d)

        live = call.build(suite, *drawn(dry=True), reference=False)
        if shows(layout, live.outs, live.ins):
            return drawn(dry)
    raise ValueError(f"draw() makes no call that is {layout}: let it ask d for shapes, or leave the layout out")


def draws(suite, item, layout, dry=False):
    return (generated(suite, item, layout, index, dry) for index in range(DRAWS))


def layout_cases(suite, operator, item):
    """Yields (name, function that returns complaints), as every check below does."""
    for index in range(DRAWS):

        def test(index=index):
            return call.run(suite, operator, *generated(suite, item, item.what, index))[0]

        yield f"{index:02}", test


def hand_made(suite, item, dry=False):
    """The cases with each of their layouts: (name, d, case)."""
    d = Draw(item.op, item.dtype, "contiguous", 0, "cases", dry)
    for case in suite.cases(d):
        for layout in case.layouts:
            placed = Draw(item.op, item.dtype, layout, telling_index(layout, case.call.inputs), case.name)
            yield case.name if layout == "contiguous" else f"{case.name} [{layout}]", placed, case


def named_cases(suite, operator, item):
    for name, d, case in hand_made(suite, item):

        def test(d=d, case=case):
            return call.run(suite, operator, d, case.call, expect=case.expect, times=max(case.times, 2))[0]

        yield name, test


def wrong_calls(suite, operator, item):
    d = Draw(item.op, item.dtype, "contiguous", 0, "errors")
    base = generated(suite, item, "contiguous", big_enough(suite, item)[0])
    for error in (*errors.free_errors(suite, operator, *base), *suite.errors(d)):
        if error.cpu_only and operator.backend in call.GPU_BACKENDS:
            continue

        def test(error=error):
            complaint = errors.check(operator, d, error)
            return [complaint] if complaint else []

        yield error.name, test


def big_enough(suite, item):
    """Indices of contiguous cases with two elements in every output: something to skip, to halve, to overlap."""
    built = (call.build(suite, d, c, reference=False) for d, c in draws(suite, item, "contiguous", dry=True))
    return [index for index, live in enumerate(built) if all(out.view.size > 1 for out in live.outs)]


def proof(suite, operator, item):
    def test():
        references, bounds = [], []
        for layout in ("contiguous", "padded", "transposed"):
            if layout not in suite.layouts:
                continue
            for d, c in draws(suite, item, layout):
                live = call.build(suite, d, c)
                for i, ref in enumerate(live.refs):
                    references.append(np.asarray(ref, np.float64))
                    if suite.bound is BITS:
                        bounds.append(None)
                    else:
                        dtype = live.outs[i].dtype
                        bounds.append(check.half_ulp(ref, dtype) + check.unit(suite, dtype) * live.bounds[i])
        said = check.proves_nothing(suite, references, bounds)
        return [said] if said else []

    yield "random cases", test


def planted_kernels(suite, operator, item):
    for kind in planted.KINDS:
        if kind == "NaN" and item.dtype.startswith("i"):  # integers have none
            continue

        def test(kind=kind):
            some = big_enough(suite, item)[: planted.TRIED]
            drawn = (generated(suite, item, "contiguous", index) for index in some)
            said, tried = planted.uncaught(suite, operator, kind, drawn)
            return [said] if said else []

        yield f"C44 {kind}", test


def batches(suite, operator, item):
    for length in rows.lengths(suite):

        def test(length=length):
            said = rows.check(suite, operator, item.dtype, length)
            return [said] if said else []

        yield f"C25 length {length}", test


def shifted(suite, operator, item):
    for length in offsets.LENGTHS:

        def test(length=length):
            said = offsets.check(suite, operator, item.dtype, length)
            return [said] if said else []

        yield f"C07 length {length}", test


def far_apart(suite, operator, item):
    for length in far.LENGTHS:

        def test(length=length):
            said = far.check(suite, operator, item.dtype, length)
            return [said] if said else []

        yield f"C01 length {length}", test


def benchmarks(suite, op, dtype):
    """Yields (d, Bench)."""
    for bench in suite.benchmarks(Draw(op, dtype, "contiguous", 0, "benchmarks")):
        yield Draw(op, dtype, bench.layout, telling_index(bench.layout, bench.call.inputs), bench.name), bench


def thread_counts(suite, operator, item):
    for placed, bench in benchmarks(suite, item.op, item.dtype):
        if call.input_bytes(placed, bench.call) > THREADED_BYTES:
            continue

        def test(d=placed, c=bench.call):
            live = call.build(suite, d, c, reference=False)
            results = []
            for count in THREADS:
                with threads.limited_to(count), operator.prepare(live.out_views(), live.in_views(), live.params) as op:
                    if op.kernel in suite.foreign:
                        return []
                    op.run()
                results.append([out.view.tobytes() for out in live.outs])
            pairs = zip(THREADS, results, strict=True)
            return [f"one thread and {count} give different bits" for count, bits in pairs if bits != results[0]]

        yield bench.name, test


def every_call(suite, item):
    """Every case of a dtype: (d, call) without data, and a function that gives (d, call, expect) with them."""
    for layout in suite.layouts_that_apply():
        for index, (d, c) in enumerate(draws(suite, item, layout, dry=True)):
            yield d, c, lambda layout=layout, index=index: (*generated(suite, item, layout, index), None)
    for dry, full in zip(hand_made(suite, item, dry=True), hand_made(suite, item), strict=True):
        yield dry[1], dry[2].call, lambda d=full[1], case=full[2]: (d, case.call, case.expect)


@dataclasses.dataclass
class Taken:
    """What a call would run."""

    kernel: str
    launched: frozenset  # symbols of the CUDA kernels; empty where nobody asked
    elements: int
    what: str  # its layout, or more
    test: Callable  # runs it; returns complaints


def taken_kernels(suite, operator, item, launches=lambda prepared: ()):
    """Prepares every case of a dtype."""
    for d, c, with_data in every_call(suite, item):
        live = call.build(suite, d, c, reference=False)
        with contextlib.suppress(call.NotHere):
            with operator.prepare(live.out_views(), live.in_views(), live.params) as prepared:
                launched = frozenset(launches(prepared))

                def test(with_data=with_data):
                    d, c, expect = with_data()
                    return call.run(suite, operator, d, c, expect=expect)[0]

                elements = sum(placed.view.size for placed in live.all())
                yield Taken(prepared.kernel, launched, elements, d.layout, test)


def taken_variants(suite, operator, dtype, launches):
    """The same of calls that are made for CUDA kernels which no case launches."""
    for find in (variants.sized, variants.batches) if suite.row else (variants.sized, variants.turned):
        for elements, what, views, test in find(suite, operator, dtype):
            with contextlib.suppress(call.NotHere), operator.prepare(*views) as prepared:
                yield Taken(prepared.kernel, frozenset(launches(prepared)), elements, what, test)


def left_out(suite, operator, taken):
    """A sentence for kernels that none of the cases takes, and for those that the table does not list."""
    listed = _native.kernels(operator.name, operator.backend or "cpu")
    if operator.backend in call.GPU_BACKENDS:  # a library that is not here has no kernel to take
        listed = [name for name in listed if name in taken or name not in suite.foreign]
    missed = [name for name in listed if name not in taken]
    unlisted = taken - {*listed, "none"}
    complaints = [f"no case takes {', '.join(missed)}; add lengths or cases that do"] if missed else []
    return complaints + ([f"taken, and not listed: {', '.join(sorted(unlisted))}"] if unlisted else [])


def kernels(suite, operator, item):
    """Looks which kernels the cases take. That they run is the other items' business."""

    def test():
        each = (taken_kernels(suite, operator, dataclasses.replace(item, dtype=dtype)) for dtype in suite.dtypes)
        return left_out(suite, operator, {one.kernel for some in each for one in some})

    yield "taken", test


def launches_on(backend):
    """A function that gives the symbols of the CUDA kernels that a prepared call launches: a capture of it, which runs
    nothing, tells.
    """
    if backend not in call.GPU_BACKENDS:
        return lambda prepared: ()
    clock = _native.GpuClock()
    return lambda prepared: clock.record(prepared.launch).kernels


def by_size(calls):
    return sorted(calls, key=lambda one: one.elements)


def of_middle_size(calls):
    """Of each kernel and layout one call."""
    groups = collections.defaultdict(list)
    for one in by_size(calls):
        groups[one.kernel, one.what].append(one)
    return [group[len(group) // 2] for _, group in sorted(groups.items())]


def sample(suite, operator, item):
    taken, launched, launches = set(), set(), launches_on(operator.backend)
    count = collections.Counter()

    def name_of(dtype, one):
        name = f"{dtype} {one.kernel} {one.what}"
        count[name] += 1
        return name if count[name] == 1 else f"{name} {count[name]}"

    for dtype in suite.dtypes:
        cases = list(taken_kernels(suite, operator, dataclasses.replace(item, dtype=dtype), launches))
        taken |= {one.kernel for one in cases}
        for one in of_middle_size(cases):
            launched |= one.launched
            yield name_of(dtype, one), one.test
        more = taken_variants(suite, operator, dtype, launches) if operator.backend in call.GPU_BACKENDS else ()
        for one in by_size([*cases, *more]):
            if not one.launched <= launched:
                launched |= one.launched
                yield name_of(dtype, one), one.test
    yield "kernels", lambda: left_out(suite, operator, taken)


CHECKS = {
    "cases": named_cases,
    "errors": wrong_calls,
    "proof": proof,
    "planted": planted_kernels,
    "offsets": shifted,
    "far": far_apart,
    "rows": batches,
    "threads": thread_counts,
    "kernels": kernels,
    "sample": sample,
}
