"""docs/cpu-speed.md from the newest bench/results/cpu-*.json: every point, its target, and why a target was missed.

The targets are those of the project: elementwise work past the cache at 0.95 of a copy of as many bytes, and so on;
everywhere PyTorch's speed at least, more where tensors are small (Point.target).
"""

import fnmatch
import itertools
import json
import math
import pathlib

ROOT = pathlib.Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "cpu-speed.md"

ELEMENTWISE = {"cast", "copy", "gelu", "gelu_and_mul", "mul", "relu", "rope", "silu", "silu_and_mul", "vector_add"}
NORMS = {"add_rmsnorm", "layernorm", "rmsnorm"}
AGAINST = ["memcpy", "torch", "library"]  # library: matmul alone

# Why a target is missed: a point (a pattern), what it is held against, the reason. The first that fits counts; a miss
# within the noise of the run needs none. Cycles are llvm-mca's for znver3, one core, 8 elements in the first-level
# cache. In them a core's half of memcpy at 12 GB/s and 3.4 GHz moves 8 elements of f32 in 36 cycles, of 16 bits in 18.
ERF = "arithmetic: erfc is a quotient of polynomials times an exponential, {} instructions and {} cycles for 8 elements"
TANH = "arithmetic: an exponential and a division, {} instructions and {} cycles for 8 elements"
ROWS = "a row is reduced, then written: while its exponentials or squares are computed, memory waits"
CAUSES = [
    ("gelu*/f32/none *", "memcpy", ERF.format(39, 22)),
    ("gelu*/f16/none *", "memcpy", ERF.format(34, 17)),
    ("gelu*/bf16/none *", "memcpy", ERF.format(44, 22)),
    ("gelu*/f32/tanh *", "memcpy", TANH.format(25, 13)),
    ("gelu*/f16/tanh *", "memcpy", TANH.format(24, 11)),
    ("gelu*/bf16/tanh *", "memcpy", TANH.format(34, 19)),
    ("silu*/f32/*", "memcpy", TANH.format(23, 10)),
    ("silu*/f16/*", "memcpy", TANH.format(22, 9)),
    ("silu*/bf16/*", "memcpy", TANH.format(32, 16)),
    (
        "softmax/*, in L2",
        "memcpy",
        "arithmetic: an exponential takes 10 cycles for 8 elements, with 16 bits their conversions too",
    ),
    ("softmax/*", "memcpy", ROWS + "; an exponential takes 10 cycles for 8 elements"),
    ("layernorm/*", "memcpy", ROWS + "; each element is read from the cache twice more"),
    ("*rmsnorm/*", "memcpy", ROWS),
    (
        "c*/transposed *",
        "*",
        "a tile is 256 bytes of rows that lie pages apart: reading them takes longer than reading in order",
    ),
    ("softmax/*/1000x16", "torch", "rows of 16: the row skeleton takes 41 ns a row, torch 33 to 37, hot"),
    ("softmax/f32/10x1000", "torch", "cold: 10 of its 19 µs are a copy's; hot it is 1.9 times as fast as torch"),
    ("softmax/*16/* columns", "torch", "columns are turned through tiles of f32: conversions cost what 16 bits save"),
    ("copy/*/padded *", "torch", "not found: cold only, hot it is 1.0 to 1.1 times as fast as torch"),
    ("matmul/f32/64^3", "library", "our own call takes 1.7 µs hot; cold, its code and plan are fetched too"),
]

HEAD = """# Speed on a CPU

Measured with

    {command}

on {num_cpus} cores of an {cpu} ({cpu_target}; {caches}), {date}: oprt {oprt}, PyTorch {torch}, {matmul_library} for
matrix products. A copy that no cache holds moves {roof} there, read and written bytes together. Generated from
[{file}](../{file}) by `python docs/generate.py`; the causes stand in [cpu_speed.py](cpu_speed.py).

Caches are cold, times are medians. *memcpy* and *torch* say how many times as fast oprt is as memcpy of as many bytes
and as PyTorch's CPU operator; *of best copy* is the share of the fastest copy's speed, which past the cache is oprt's
own: it writes around the caches. All are measured in turns. The target stands behind the figure where there is one;
**bold** is missed. Elementwise work past the cache is to reach 0.95 of memcpy, norms 0.9, softmax 0.85, transposes 0.8;
everything 1.0 of PyTorch, softmax and the norms 1.5 with tensors below 64 KiB, elementwise work 1.3 below 4 KiB; f32
products 0.98 of the library called directly.
"""


class Point:
    """What the file says of one point: provider -> entry, with cold caches and hot."""

    def __init__(self, name):
        self.name = name
        self.op, self.dtype, self.what = name.split("/", 2)
        self.cold, self.hot = {}, {}

    @property
    def entries(self):
        return self.hot if self.what.endswith("in L2") else self.cold

    @property
    def own(self):
        return self.entries["oprt"]

    def ratio(self, against):
        """How many times as fast; None where the other did not run."""
        other = self.other(against)
        return other and other["real_time"] / self.own["real_time"]

    def noise(self, against):
        """The share by which two runs may well differ."""
        return math.hypot(self.own["spread"], self.other(against)["spread"])

    def other(self, against):
        if against == "memcpy":
            return self.entries.get("copy memcpy")
        if against == "copy":
            return min((e for p, e in self.entries.items() if p.startswith("copy")), key=lambda e: e["real_time"])
        return self.entries.get(against)

    def target(self, against, last_level_cache):
        """The least ratio, None where there is no such target."""
        traffic = self.own["bytes"]
        if against == "library":
            return None if self.what.startswith(("naive", "tiled")) else 0.98  # rungs of a ladder
        if against == "torch":
            if self.op == "matmul":
                return None
            if self.op in NORMS | {"softmax"} and traffic < 2 * (64 << 10):  # a tensor read, a tensor written
                return 1.5
            return 1.3 if self.op in ELEMENTWISE and self.what.endswith("1e3") else 1.0
        if self.what.endswith("in L2"):
            return 0.35
        if self.op == "copy" and self.what.startswith("transposed"):
            return 0.8
        if traffic <= last_level_cache or self.what.startswith("transposed"):
            return None
        return 0.95 if self.op in ELEMENTWISE else 0.9 if self.op in NORMS else 0.85 if self.op == "softmax" else None


def points_of(document):
    points = {}
    for entry in document["benchmarks"]:
        name, provider, state = entry["name"].rsplit("/", 2)
        point = points.setdefault(name, Point(name))
        if not entry.get("error_occurred"):
            (point.cold if state == "cold" else point.hot)[provider] = entry
    return list(points.values())


def cause_of(point, against):
    for pattern, held_against, why in CAUSES:
        if fnmatch.fnmatch(against, held_against) and fnmatch.fnmatch(point.name, pattern):
            return why
    return None


def cell(ratio, target):
    if ratio is None:
        return "–"
    figure = f"{ratio:.2f}"
    if target is None:
        return figure
    return f"{figure} ({target:g})" if ratio >= target else f"**{figure}** ({target:g})"


def amount(count):
    for unit in ("B", "KB", "MB"):
        if count < 1000:
            return f"{count:.3g} {unit}"
        count /= 1000
    return f"{count:.3g} GB"


def duration(ns):
    for unit, size in (("ms", 1e6), ("µs", 1e3)):
        if ns >= size:
            return f"{ns / size:.3g} {unit}"
    return f"{ns:.0f} ns"


def table(headings, rows):
    rule = ["---" if text in ("point", "why") else "--:" for text in headings]
    return "".join("| " + " | ".join(row) + " |\n" for row in (headings, rule, *rows))


def misses(points, last_level_cache):
    """Rows of the table of missed targets. SystemExit where nobody has said why one is missed."""
    found, unexplained = [], []
    for point in points:
        for against in AGAINST:
            ratio, target = point.ratio(against), point.target(against, last_level_cache)
            if ratio is None or target is None or ratio >= target:
                continue
            noise = point.noise(against)
            why = f"within the noise, {noise:.0%}" if ratio * (1 + noise) >= target else cause_of(point, against)
            if why is None:
                unexplained.append(f"{point.name} against {against}: {ratio:.2f} of {target:g}")
            found.append([point.name, against, f"{ratio:.2f}", f"{target:g}", f"{1 - ratio / target:.0%}", why])
    if unexplained:
        raise SystemExit("docs/cpu_speed.py, CAUSES, does not say why:\n  " + "\n  ".join(unexplained))
    return sorted(found, key=lambda row: row[-1])


def page(path):
    document = json.loads(path.read_text())
    context = document["context"]
    caches = [cache for cache in context["caches"] if cache["type"] != "Instruction"]
    last_level_cache = max(cache["size"] for cache in caches)
    points = points_of(document)
    missed = misses(points, last_level_cache)

    shown = {
        "file": path.relative_to(ROOT),
        "caches": ", ".join(f"L{cache['level']} {cache['size'] >> 10} KiB" for cache in caches),
        "date": context["date"][:10],
        "roof": f"{context['dram_bytes_per_second'] / 1e9:.1f} GB/s",
    }
    text = HEAD.format(**(context | shown))
    text += f"\n## Missed\n\nOf {len(points)} points:\n\n"
    text += table(["point", "against", "reached", "target", "by", "why"], missed)
    for op, group in itertools.groupby(points, key=lambda point: point.op):
        against = AGAINST if op == "matmul" else AGAINST[:2]
        rows = [
            [
                f"{point.dtype} {point.what}",
                amount(point.own["bytes"]),
                duration(point.own["real_time"]),
                cell(point.ratio("copy"), None),
                *(cell(point.ratio(other), point.target(other, last_level_cache)) for other in against),
            ]
            for point in group
        ]
        text += f"\n## {op}\n\n{table(['point', 'traffic', 'time', 'of best copy', *against], rows)}"
    return text


def newest():
    """The file that the page is made of; None where nothing was measured yet."""
    files = sorted(ROOT.glob("bench/results/cpu-*.json"))
    return files[-1] if files else None
