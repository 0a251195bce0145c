"""`oprt test`: the items of every operator, several processes at once, failures explained at the end."""

import collections
import concurrent.futures
import multiprocessing
import os
import time

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from operator_runtime.bench.results import context
from operator_runtime.cli.files import write_json
from operator_runtime.cli.usage import check_backend, check_names, console, refuse
from operator_runtime.testing.items import items

MOST_SHOWN = 10  # failures printed in full, at most
MOST_OF_ITEM = 2  # of one operator, dtype and layout; --json has them all


def run(ops, backend, dtypes, filter, json, jobs, sample):
    check_names(ops, dtypes)
    backend = check_backend(backend)
    if sample and dtypes:
        refuse("--sample is of every dtype; leave --dtype out.")
    chosen = [item for item in items(ops, dtypes, backend, sample) if filter is None or item.may_hold(filter)]
    start = time.perf_counter()
    outcomes = run_all(chosen, backend, filter, jobs or len(os.sched_getaffinity(0)))
    seconds = time.perf_counter() - start
    cases = sum(outcome.cases for outcome in outcomes.values())
    failures = [failure for outcome in outcomes.values() for failure in outcome.failures]
    if json:
        write(json, outcomes, cases, failures, seconds)
    if cases == 0:
        refuse(f"nothing ran: no case matches {filter!r}." if filter else "nothing ran.")
    show(outcomes, cases, failures, seconds)
    return 1 if failures else 0


def run_all(chosen, backend, filter, jobs):
    """Item -> Outcome, in the items' order."""
    done = {}
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console, transient=True) as progress:
        task = progress.add_task("testing", total=len(chosen))
        if jobs == 1 or len(chosen) < 8:
            for item in chosen:
                progress.update(task, description=item.name)
                done[item] = item.run(backend, filter)
                progress.advance(task)
        else:
            os.environ.setdefault("OMP_WAIT_POLICY", "passive")  # processes share the cores: waiting must not spin
            spawn = multiprocessing.get_context("spawn")
            with concurrent.futures.ProcessPoolExecutor(jobs, spawn) as pool:
                pending = {pool.submit(item.run, backend, filter): item for item in chosen}
                for future in concurrent.futures.as_completed(pending):
                    done[pending[future]] = future.result()
                    progress.update(task, advance=1, description=pending[future].name)
    return {item: done[item] for item in chosen}


def show(outcomes, cases, failures, seconds):
    table = Table(box=None, pad_edge=False)
    for heading in ("operator", "cases", "failed", "seconds"):
        table.add_column(heading, justify="left" if heading == "operator" else "right")
    by_op = collections.defaultdict(list)
    for item, outcome in outcomes.items():
        by_op[item.op].append(outcome)
    for op, some in by_op.items():
        failed = sum(len(outcome.failures) for outcome in some)
        colour = "red" if failed else "green"
        spent = sum(outcome.seconds for outcome in some)
        table.add_row(op, str(sum(o.cases for o in some)), f"[{colour}]{failed}[/]", f"{spent:.1f}")
    shown = [failure for outcome in outcomes.values() for failure in outcome.failures[:MOST_OF_ITEM]][:MOST_SHOWN]
    for failure in shown:
        console.print(str(failure), markup=False, highlight=False, soft_wrap=True)
        console.print()
    if len(failures) > len(shown):
        console.print(f"... and {len(failures) - len(shown)} more; --json FILE has them all\n")
    console.print(table)
    verdict = f"[red]{len(failures)} of {cases} cases failed[/]" if failures else f"[green]{cases} cases passed[/]"
    console.print(f"\n{verdict} in {seconds:.1f} s")


def write(path, outcomes, cases, failures, seconds):
    document = {
        "context": context(),
        "passed": not failures and cases > 0,
        "cases": cases,
        "seconds": seconds,
        "items": [
            {"name": item.name, "cases": o.cases, "failures": len(o.failures), "seconds": o.seconds}
            for item, o in outcomes.items()
        ],
        "failures": [{"case": f.case, "message": f.complaint, "rerun": f.rerun} for f in failures],
    }
    write_json(path, document)
