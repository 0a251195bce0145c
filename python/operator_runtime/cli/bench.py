"""`oprt bench`: every point of the operators' benchmarks, one row each, as soon as it is measured."""

import collections
import dataclasses
import functools
import importlib.util
from collections.abc import Callable

from operator_runtime import OperatorRuntimeError
from operator_runtime.bench import gpu_points, points, results, timing
from operator_runtime.cli.files import check_folder, write_json
from operator_runtime.cli.usage import check_backend, check_names, console, one_of, refuse
from operator_runtime.testing.items import benchmarks
from operator_runtime.testing.load import suites

PEERS = ("torch", "numpy", points.LIBRARY)
LEGEND = """
time     median with cold caches; ± is half the distance between the quartiles; {last}
of copy  1.00 is as fast as copying as many bytes in this run
a peer   how many times as fast as the peer oprt is
*        faster than memory can be: some of it came from a cache"""


def run(ops, backend, dtypes, filter, json, peers, rounds):
    check_names(ops, dtypes)
    one_of("peer", peers, PEERS)
    backend = check_backend(backend)
    peers = list(peers or ())
    if backend == "nvidia" and peers:
        refuse("on a GPU bench has no peers; `./dev gpu bench` compares with other libraries.")
    for peer in peers:
        if peer != points.LIBRARY and importlib.util.find_spec(peer) is None:
            refuse(f"{peer} is not installed: pip install {peer}.")
    chosen = [
        (op, f"{op}/{dtype}/{bench.name}", d, bench)
        for op, suite in suites().items()
        if not ops or op in ops
        for dtype in suite.dtypes
        if not dtypes or set(dtype.split("-")) & set(dtypes)
        for d, bench in benchmarks(suite, op, dtype)
        if not filter or filter in f"{op}/{dtype}/{bench.name}"
    ]
    if json:
        check_folder(json)
    if not chosen:
        refuse(f"nothing ran: no benchmark matches {filter!r}." if filter else "nothing ran: no benchmark.")
    machine = gpu(rounds) if backend == "nvidia" else cpu(peers, rounds, backend)
    if machine is None:
        return 1
    console.print(f"copy that no cache holds: {machine.ceiling / 1e9:.1f} GB/s (read + write)\n", highlight=False)

    width = max(len(name) for _, name, _, _ in chosen)
    print_row("operator/dtype/point", width, *HEADINGS, *peers, machine.last)
    done, complaints = [], []
    for op, name, d, bench in chosen:
        try:
            point = machine.measure(op, name, d, bench)
        except OperatorRuntimeError as refusal:
            complaints.append(f"{name} was refused: {refusal}")
            continue
        except KeyboardInterrupt:
            complaints.append(f"Ended at {name}, with {len(chosen) - len(done)} points to go.")
            break
        done.append(point)
        complaints += [f"{name} is wrong, so its speed means nothing:\n{text}" for text in point.complaints]
        print_row(name, width, *figures(point, peers, machine.ceiling), style="red" if point.complaints else None)
    console.print(LEGEND.format(last=LAST[machine.last]), markup=False, highlight=False)
    for sentence in silent_peers(done):
        console.print(sentence, markup=False, highlight=False)
    for complaint in complaints:
        console.print(f"\n{complaint}", markup=False, highlight=False)
    if json:
        extra = {"dram_bytes_per_second": machine.ceiling, "rounds": rounds, "peers": peers, **machine.context}
        write_json(json, results.document(done, extra))
    return 1 if complaints else 0


LAST = {
    "hot": "hot is the same call over and over",
    "host": "host is what submitting a call takes",
}


@dataclasses.dataclass
class Machine:
    """What a backend is measured with."""

    measure: Callable  # (op, name, d, bench) -> Point
    ceiling: float  # bytes per second of a copy in memory
    last: str  # the heading of the last column, one of LAST
    context: dict  # for the file


def cpu(peers, rounds, backend):
    """None, and a sentence, where the clock cannot be trusted."""
    clock = timing.self_test()
    console.print(f"clock: a spin of {clock.took * 1e3:.3f} ms came out as {clock.said * 1e3:.3f} ms", highlight=False)
    if not clock.right:
        console.print("[red]That is more than 2 % off: the clock cannot be trusted here, and nothing was measured.[/]")
        return None
    if not clock.quiet:
        console.print("[yellow]It was meant to be 5 ms: the machine is busy, so trust no small difference.[/]")
    measure = functools.partial(points.run, backend=backend, peers=peers, evict=timing.Evictor(), rounds=rounds)
    context = {"clock_said": clock.said, "clock_took": clock.took}
    return Machine(measure, points.dram_ceiling(), "hot", context)


def gpu(rounds):
    """The first GPU."""
    machine = gpu_points.Machine(rounds)
    context = gpu_points.device_info()
    console.print(", ".join(context.values()) or "a GPU of which nvidia-smi says nothing", highlight=False)
    return Machine(machine.point, machine.ceiling(), "host", context)


def silent_peers(done):
    """A sentence for each reason why a peer did not run somewhere."""
    silent = collections.defaultdict(list)
    for point in done:
        for peer, why in point.missing.items():
            silent[peer, why].append(point.name)
    for (peer, why), names in silent.items():
        more = f" and {len(names) - 3} more" if len(names) > 3 else ""
        yield f"{peer} did not run at {', '.join(names[:3])}{more}: {why}"


HEADINGS = ("bytes", "time", "±", "GB/s", "of copy")


def print_row(name, width, *cells, style=None):
    console.print(
        f"{name:{width}}" + "".join(f"{cell:>9}" for cell in cells), style=style, highlight=False, soft_wrap=True
    )


def figures(point, peers, ceiling):
    """The cells of a point's row."""
    own = point.cold[points.OWN]
    cached = "*" if point.rate() > 1.05 * ceiling else ""
    return (
        amount(point.bytes),
        duration(own.median),
        f"{own.spread:.0%}",
        f"{point.rate() / 1e9:.2f}{cached}",
        f"{point.copy_share:.2f}",
        *(f"{point.against(peer):.2f}x" if peer in point.cold else "-" for peer in peers),
        duration(point.hot[points.OWN].median if point.hot else point.host[points.OWN]),
    )


def amount(count):
    for unit in ("B", "KB", "MB"):
        if count < 1000:
            return f"{count:.3g} {unit}"
        count /= 1000
    return f"{count:.3g} GB"


def duration(seconds):
    for unit, size in (("s", 1), ("ms", 1e-3), ("us", 1e-6)):
        if seconds >= size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds * 1e9:.0f} ns"
