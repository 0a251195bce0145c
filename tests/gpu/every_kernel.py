"""Runs every kernel of the GPU backend a few times on small inputs, for tools that make everything slow.

every_kernel.py --list FILE    chooses the calls: of each operator, dtype and kernel the smallest, a middling and the
                               largest that the operator's cases have; exit code 1 where a kernel is missed
every_kernel.py --run FILE     runs them, each twice, and looks at every result as `oprt test` does
"""

import argparse
import collections
import concurrent.futures
import contextlib
import json
import multiprocessing
import os
import pathlib
import sys

from operator_runtime import _native
from operator_runtime.testing import call
from operator_runtime.testing.items import DRAWS, Item, generated, hand_made
from operator_runtime.testing.load import suites

BACKEND = "nvidia"
MOST_BYTES = 4 << 20  # of inputs


def candidates(suite, item):
    """Yields (name of the layout or "cases", its number, d, call, layout)."""
    for layout in suite.layouts_that_apply():
        for index in range(DRAWS):
            yield layout, index, *generated(suite, item, layout, index, dry=True)
    for index, (_, d, case) in enumerate(hand_made(suite, item, dry=True)):
        yield "cases", index, d, case.call


def choose(op, dtype):
    """What is to be run of an operator and dtype, and the names of the kernels that are taken."""
    suite, operator, found = suites()[op], call.Package(op, BACKEND), collections.defaultdict(list)
    for what, index, d, drawn in candidates(suite, Item(op, dtype, "kernels")):
        live = call.build(suite, d, drawn, reference=False)
        with contextlib.suppress(call.NotHere):
            with operator.prepare(live.out_views(), live.in_views(), live.params) as prepared:
                found[prepared.kernel].append((sum(p.buffer.nbytes for p in live.all()), what, index))
    found.pop("none", None)
    calls = []
    for kernel, some in found.items():
        some.sort()
        small = [one for one in some if one[0] <= MOST_BYTES] or some[:1]
        for _, what, index in {small[0], small[len(small) // 2], small[-1]}:
            calls.append({"op": op, "dtype": dtype, "kernel": kernel, "what": what, "index": index})
    return calls, set(found)


def write_list(path):
    pairs = [(name, dtype) for name, suite in suites().items() for dtype in suite.dtypes]
    context = multiprocessing.get_context("spawn")
    with concurrent.futures.ProcessPoolExecutor(len(os.sched_getaffinity(0)), context) as pool:
        chosen = list(pool.map(choose, *zip(*pairs, strict=True)))
    taken = collections.defaultdict(set)
    for (op, _), (_, kernels) in zip(pairs, chosen, strict=True):
        taken[op] |= kernels
    calls = [one for some, _ in chosen for one in some]
    missed = [
        kernel
        for op, suite in suites().items()
        for kernel in _native.kernels(op, BACKEND)
        if kernel not in taken[op] and kernel not in suite.foreign  # a library need not be here
    ]
    path.write_text(json.dumps(calls, indent=1))
    print(f"{sum(map(len, taken.values()))} kernels, {len(calls)} calls, {len(missed)} missed {' '.join(missed)}")
    return 1 if missed else 0


def run(one, times):
    """Sentences about what is wrong."""
    suite, item = suites()[one["op"]], Item(one["op"], one["dtype"], "kernels")
    operator, expect = call.Package(item.op, BACKEND), None
    if one["what"] == "cases":
        _, d, case = list(hand_made(suite, item))[one["index"]]
        drawn, expect = case.call, case.expect
    else:
        d, drawn = generated(suite, item, one["what"], one["index"])
    complaints, kernel = call.run(suite, operator, d, drawn, expect=expect, times=times)
    if kernel != one["kernel"]:
        complaints.append(f"took {kernel}, and not {one['kernel']}")
    return complaints


def run_list(path, times):
    calls = json.loads(path.read_text())
    wrong = 0
    for one in calls:
        for complaint in run(one, times):
            wrong += 1
            print(f"{one}\n{complaint}", flush=True)
    print(f"{len(calls)} calls, {wrong} wrong")
    return 1 if wrong or not calls else 0


def main():
    arguments = argparse.ArgumentParser(description="see this file's first lines")
    arguments.add_argument("--list", type=pathlib.Path)
    arguments.add_argument("--run", type=pathlib.Path)
    arguments.add_argument("--times", type=int, default=2)
    options = arguments.parse_args()
    sys.exit(write_list(options.list) if options.list else run_list(options.run, options.times))


if __name__ == "__main__":
    main()
