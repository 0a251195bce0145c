"""docs/gpu-speed.md from the newest bench/results/gpu-*.json: every point, its target, and why a target was missed.

The targets are those of the project (Point.misses). A peer that is faster is a loss where the run before says so too.
Causes and what was tried stand in gpu_losses.txt.
"""

import fnmatch
import itertools
import json
import pathlib

ROOT = pathlib.Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "gpu-speed.md"
LOSSES = ROOT / "docs" / "gpu_losses.txt"

KB, MB = 1 << 10, 1 << 20
OWN = "oprt"
CEILINGS = ("copy ", "read ", "two reads ")
ROW_OPS = {"add_rmsnorm", "layernorm", "reduce_sum", "rmsnorm", "softmax"}
# Points that are held against peers alone: their operands are not contiguous, or not aligned.
AWKWARD = ("odd ", "padded", "columns", "transposed", "heads", " over ", " to ", " turn")
TIE = 0.97  # of the best peer
UNKNOWN = "not known yet"

HEAD = """# Speed on an NVIDIA GPU

Measured with

    {command}

on an {gpu_name} (driver {gpu_driver_version}, CUDA {cuda}; {gpu_clocks_sm} of {gpu_clocks_max_sm}), {date}:
oprt {oprt}, {versions}. Generated from [{file}](../{file}) by `python docs/generate.py`; causes stand in
[gpu_losses.txt](gpu_losses.txt).

Times are the GPU's alone: medians of graphs of 20 calls and more, going round buffers that no cache holds, all
providers in turns. *Of ceiling* is the share of plain traffic of as many bytes (a copy; a sum of reads for reduce_sum;
two reads and a write for two inputs) in the same turns. *Against it* is how many times as fast as the fastest peer oprt
is. The target stands behind a figure where there is one; **bold** is missed. Operands that are contiguous and aligned
are to reach 0.98 of the ceiling from 512 MB on (sums 0.97, gelu by erf 0.92, embedding, rope and transposes 0.95) and
0.95 from 16 MB on (rows of 131,072 0.90, rows of 128 0.93). Up to 64 KB a call may take 0.1 µs longer than the fastest
peer's, up to 1 MB elementwise work and movement 0.15 µs longer than plain traffic. No peer is to be more than 3 %
faster; cuBLAS, by PyTorch, not more than 1 %.

oprt launches its kernels so that one may start while the one before it ends (programmatic dependent launch), within
these graphs too; the kernels of plain traffic do not. That is why small work takes less time than a copy.
"""


class Point:
    """What the file says of one point: provider -> entry."""

    def __init__(self, name):
        self.name = name
        self.op, self.dtype, self.what = name.split("/", 2)
        self.times, self.host, self.failed = {}, {}, {}

    @property
    def own(self):
        return self.times[OWN]

    @property
    def bytes(self):
        return next(iter(self.times.values()))["bytes"]

    def peers(self):
        return [name for name in self.times if name != OWN and not name.startswith(CEILINGS)]

    def best_peer(self):
        return min(self.peers(), key=lambda name: self.times[name]["real_time"], default=None)

    def ceiling(self):
        """Nanoseconds of plain traffic; None where there is none."""
        return min((e["real_time"] for name, e in self.times.items() if name.startswith(CEILINGS)), default=None)

    def share(self):
        return self.ceiling() and self.ceiling() / self.own["real_time"]

    def against(self, peer):
        return self.times[peer]["real_time"] / self.own["real_time"]

    @property
    def awkward(self):
        return any(word in self.what for word in AWKWARD)

    def share_target(self):
        """The least share of the ceiling; None where there is no such target."""
        transposed = self.op == "copy" and self.what.startswith("transposed")
        if not self.ceiling() or self.bytes < 15 * MB or (self.awkward and not transposed):
            return None
        if transposed:
            return 0.95 if self.bytes >= 500 * MB else None
        if self.op in ROW_OPS and self.what.endswith("x131072"):
            return 0.90
        if self.op in ROW_OPS and self.what.endswith("x128"):
            return 0.93
        if self.bytes < 500 * MB:
            return 0.95
        if self.op.startswith("gelu") and self.what.startswith("none"):
            return 0.92
        return {"reduce_sum": 0.97, "embedding": 0.95, "rope": 0.95}.get(self.op, 0.98)

    def peer_target(self):
        """The least ratio to the fastest peer, as a ratio; up to 64 KB the 0.1 µs that it allows."""
        if self.op == "matmul":
            return None if self.what.startswith(("naive", "tiled")) else 0.99  # rungs of a ladder
        best = self.best_peer()
        if best and self.bytes <= 64 * KB:
            fastest = self.times[best]["real_time"]
            return min(TIE, fastest / (fastest + 100))
        return TIE

    def misses(self, before):
        """(against, reached, target) of every target missed. before: the same point in an earlier run, or None."""
        if OWN not in self.times:
            yield "itself", "did not run", "runs"
            return
        share, target = self.share(), self.share_target()
        if target and share < target:
            yield "ceiling", f"{share:.3f}", f"{target:g}"
        if self.ceiling() and self.bytes <= 1.1 * MB and self.op not in ROW_OPS | {"matmul"} and not self.awkward:
            late = self.own["real_time"] - self.ceiling()
            if late > 150:
                yield "ceiling", f"{late / 1e3:.2f} µs later", "0.15 µs"
        best, target = self.best_peer(), self.peer_target()
        if best and target and self.against(best) < target:
            lost_before = before is None or best not in before.times or before.against(best) < before.peer_target()
            if lost_before:
                yield best, f"{self.against(best):.3f}", f"{target:.3g}"


def points_of(document):
    points = {}
    for entry in document["benchmarks"]:
        name, provider, state = entry["name"].rsplit("/", 2)
        point = points.setdefault(name, Point(name))
        if entry.get("error_occurred"):
            point.failed[provider] = entry["error_message"]
        else:
            (point.host if state == "host" else point.times)[provider] = entry
    return points


def losses():
    """Lines of gpu_losses.txt: pattern, against, cause, tried."""
    lines = [line for line in LOSSES.read_text().splitlines() if line.strip() and not line.startswith("#")]
    return [[part.strip() for part in line.split("|")] for line in lines]


def cause_of(name, against, known):
    for pattern, held_against, cause, tried in known:
        if fnmatch.fnmatch(name, pattern) and fnmatch.fnmatch(against, held_against):
            return [cause, tried]
    return [UNKNOWN, ""]


def cell(ratio, target):
    if ratio is None:
        return "–"
    if target is None:
        return f"{ratio:.2f}"
    return f"{ratio:.2f} ({target:.2g})" if ratio >= target else f"**{ratio:.2f}** ({target:.2g})"


def amount(count):
    for unit, size in (("GB", 1e9), ("MB", 1e6), ("KB", 1e3)):
        if count >= size:
            return f"{count / size:.3g} {unit}"
    return f"{count} B"


def microseconds(ns):
    return f"{ns / 1e3:.2f} µs" if ns < 1e6 else f"{ns / 1e6:.2f} ms"


def speed(entry):
    if "flops" in entry:
        return f"{entry['flops'] / entry['real_time'] / 1e3:.1f} TFLOP/s"
    return f"{entry['bytes'] / entry['real_time']:.0f} GB/s"


def table(headings, rows):
    rule = ["---" if text in ("point", "cause", "tried", "fastest peer", "why") else "--:" for text in headings]
    return "".join("| " + " | ".join(row) + " |\n" for row in (headings, rule, *rows))


def point_row(point):
    label = f"{point.dtype} {point.what}"
    if OWN not in point.times:
        return [label, amount(point.bytes) if point.times else "–", "did not run", "–", "–", "–", "–"]
    best = point.best_peer()
    return [
        label,
        amount(point.bytes),
        microseconds(point.own["real_time"]) + ("" if point.own["correct"] else " WRONG"),
        speed(point.own),
        cell(point.share(), point.share_target()),
        best or "–",
        cell(point.against(best), point.peer_target()) if best else "–",
    ]


def host_section(points):
    """A row for each operator whose host costs were taken from C and from Python."""
    rows = []
    for point in points:
        if point.what != "host":
            continue
        bare = next(name for name in point.host if name.startswith("bare launch"))
        own = f"{OWN} {point.op}_"
        shown = [
            point.host[name]["real_time"] / 1e3 for name in (f"{OWN} from C", bare, f"{OWN} prepared", own, "torch")
        ]
        bare_time = shown[1]
        limits = [bare_time + 0.3, None, bare_time + 0.8, bare_time + 1.8, None]
        cells = [f"**{x:.2f}**" if limit and x > limit else f"{x:.2f}" for x, limit in zip(shown, limits, strict=True)]
        rows.append([point.op, *cells, bare.removeprefix("bare launch, ")])
    if not rows:
        return ""
    return (
        "\n## What the host spends on a call, µs\n\nFrom C a call may cost 0.3 µs more than a bare launch of an empty "
        "kernel with as many bytes of parameters,\nprepared from Python 0.8 µs, unprepared on PyTorch's tensors 1.8 µs."
        "\n\n" + table(["point", "from C", "bare launch", "prepared", "unprepared", "torch", "parameters"], rows)
    )


def failures_section(points):
    grouped = {}
    for point in points:
        for provider, why in point.failed.items():
            grouped.setdefault((provider, why.replace("|", "/").replace("\n", " ")), []).append(point.name)
    if not grouped:
        return ""
    rows = []
    for (provider, why), names in grouped.items():
        ops = sorted({name.split("/")[0] for name in names})
        rows.append([provider, why, f"{len(names)}: {names[0] if len(names) == 1 else ', '.join(ops)}"])
    return "\n## Where a provider did not run\n\n" + table(["point", "why", "points"], sorted(rows)).replace(
        "| point |", "| provider |", 1
    )


def not_measured(points):
    """Names of the grid's points that the file lacks."""
    grid = ROOT / "bench" / "points.json"
    names = [line["name"] for line in json.loads(grid.read_text())] if grid.exists() else []
    return [name for name in names if name not in points]


def summary(measured):
    """How often oprt is first or ties, and how often it reaches its share of the ceiling."""
    beside = [point for point in measured if OWN in point.times and point.peer_target() and point.best_peer()]
    held = [point for point in measured if OWN in point.times and point.share_target()]
    ahead = sum(point.against(point.best_peer()) >= point.peer_target() for point in beside)
    high = sum(point.share() >= point.share_target() for point in held)
    return (
        f"At {ahead} of {len(beside)} points oprt is faster than every peer or ties with the fastest; at {high} of "
        f"{len(held)}\nit reaches its share of the ceiling.\n"
    )


def page(path, before_path=None):
    document = json.loads(path.read_text())
    context = document["context"]
    points = points_of(document)
    before = points_of(json.loads(before_path.read_text())) if before_path else {}
    measured = [point for point in points.values() if point.times or point.failed]

    known, missed = losses(), []
    for point in measured:
        for against, reached, target in point.misses(before.get(point.name)):
            missed.append([point.name, against, reached, target, *cause_of(point.name, against, known)])
    versions = ", ".join(
        f"{name} {context[key]}"
        for name, key in (
            ("PyTorch", "torch"),
            ("Triton", "triton"),
            ("Liger", "liger_kernel"),
            ("FlashInfer", "flashinfer"),
        )
        if key in context
    )
    if context.get("absent_peers"):
        versions += f" (not there: {', '.join(context['absent_peers'])})"
    shown = {
        "file": path.relative_to(ROOT),
        "date": context["date"][:10],
        "versions": versions,
        "gpu_clocks_sm": context["gpu_clocks.sm"],
        "gpu_clocks_max_sm": context["gpu_clocks.max.sm"],
    }
    text = HEAD.format(**(context | shown))
    runs = "in this run and in the one before it" if before_path else "in this run, the only one so far"
    text += f"\n{summary(measured)}\n## Missed\n\nOf {len(measured)} points; a faster peer {runs}:\n\n"
    text += table(["point", "against", "reached", "target", "cause", "tried"], missed) if missed else "None.\n"
    headings = ["point", "traffic", "time", "speed", "of ceiling", "fastest peer", "against it"]
    for op, group in itertools.groupby(sorted(measured, key=lambda p: p.op), key=lambda point: point.op):
        text += f"\n## {op}\n\n{table(headings, map(point_row, group))}"
    text += host_section(points.values()) + failures_section(measured)
    if absent := not_measured(points):
        text += f"\n## Not measured in this run\n\n{', '.join(absent)}\n"
    return text


def newest():
    """The two files that the page is made of, the newest first; None for what was not measured yet."""
    files = sorted(ROOT.glob("bench/results/gpu-*.json"))
    return [*reversed(files[-2:]), None, None][:2]
