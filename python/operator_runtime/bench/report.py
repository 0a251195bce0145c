"""A result as one HTML page: rates under the copy's roof, speed-ups over peers, a table. Needs matplotlib and
Jinja2."""

import base64
import collections
import io
import math
import re

import jinja2
import matplotlib

matplotlib.use("svg")
import matplotlib.pyplot as plt  # noqa: E402  (after the backend is chosen)
from matplotlib.patches import Patch  # noqa: E402

from operator_runtime.bench.points import OWN, ceiling_kind  # noqa: E402

SIZES = (64 << 10, 1 << 20, 16 << 20, 128 << 20)  # bytes: the groups of the bars
TICKS = (0.5, 1, 2, 4, 8, 16)  # times as fast

PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>oprt bench, {{ context.date }}</title>
<style>
body { font: 15px/1.5 system-ui, sans-serif; max-width: 72rem; margin: 2rem auto; padding: 0 1rem; color: #222; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
th, td { padding: .15rem .8rem .15rem 0; text-align: right; border-bottom: 1px solid #eee; }
th:first-child, td:first-child { text-align: left; }
img { max-width: 100%; }
.behind { color: #b00; }
</style></head><body>
<h1>oprt bench</h1>
<p>{{ context.date }}, {{ context.host_name }}:
{%- if context.gpu_name %} {{ context.gpu_name }}, driver {{ context.gpu_driver_version }},
{{ context["gpu_clocks.sm"] }} of {{ context["gpu_clocks.max.sm"] }}, memory {{ context["gpu_clocks.mem"] }};{% endif %}
{{ context.cpu }}, {{ context.num_cpus }} cores; oprt {{ context.oprt }}
{%- for name in ("torch", "triton", "cuda", "numpy") if context[name] %}, {{ name }} {{ context[name] }}{% endfor %}.
Medians with cold caches.</p>
<h2>Under the roof</h2>
<p>Bytes per second of every point; a line is plain traffic of as many bytes in the same run: a copy, on a GPU also
reads alone, and two reads and a write.</p>
<img alt="rates under the copy's roof" src="data:image/svg+xml;base64,{{ roofline }}">
{% if speedups %}<h2>Against peers</h2>
<p>How many times as fast as the peer: geometric mean over each operator's points; the line spans all of them.</p>
<img alt="speed-ups over peers" src="data:image/svg+xml;base64,{{ speedups }}">
<p>The same for sizes of bytes read and written.</p>
<img alt="speed-ups over peers, by size" src="data:image/svg+xml;base64,{{ by_size }}">{% endif %}
<h2>Every point</h2>
<table><tr><th>point</th><th>bytes</th><th>µs</th><th>±</th><th>GB/s</th><th>of copy</th>
{%- for peer in peers %}<th>{{ peer }}</th>{% endfor %}<th>kernel</th></tr>
{% for row in rows %}<tr><td>{{ row.point }}</td>
<td>{{ "{:,}".format(row.bytes) }}</td><td>{{ "%.2f"|format(row.us) }}</td>
<td>{{ "%.0f"|format(100 * row.spread) }} %</td>
<td>{{ "%.2f"|format(row.rate) }}</td><td>{{ "%.2f"|format(row.share) if row.share else "–" }}</td>
{%- for peer in peers %}<td{% if row.against[peer] and row.against[peer] < 0.97 %} class="behind"{% endif %}>
{{- "%.2f×"|format(row.against[peer]) if row.against[peer] else "–" }}</td>{% endfor %}<td>{{ row.kernel }}</td></tr>
{% endfor %}</table>
{% if failures %}<h2>What did not run</h2>
<table><tr><th>provider</th><th>why</th><th>points</th></tr>
{% for (provider, why), names in failures.items() %}<tr><td>{{ provider }}</td><td>{{ why }}</td>
<td>{{ names|length }}: {{ names[:3]|join(", ") }}{{ ", …" if names|length > 3 }}</td></tr>
{% endfor %}</table>{% endif %}</body></html>
"""


def points_of(document):
    """Point -> provider -> entry, of the cold figures."""
    found = collections.defaultdict(dict)
    for entry in document["benchmarks"]:
        match = re.fullmatch(r"(.*)/([^/]+)/cold", entry["name"])
        if match and not entry.get("error_occurred"):
            found[match[1]][match[2]] = entry
    return {name: entries for name, entries in found.items() if OWN in entries}


def failures_of(document):
    """(provider, why) -> points."""
    found = collections.defaultdict(list)
    for entry in document["benchmarks"]:
        if entry.get("error_occurred"):
            point, provider, _ = entry["name"].rsplit("/", 2)
            found[provider, entry["error_message"]].append(point)
    return found


def peers_of(points):
    names = {provider for entries in points.values() for provider in entries}
    return sorted(name for name in names if name != OWN and not ceiling_kind(name))


def picture(figure):
    buffer = io.BytesIO()
    figure.savefig(buffer, format="svg", bbox_inches="tight")
    plt.close(figure)
    return base64.b64encode(buffer.getvalue()).decode()


def roofline(points):
    """Points that move bytes; each kind of plain traffic measured beside them is a line."""
    figure, axes = plt.subplots(figsize=(10, 5))
    roofs, by_op = collections.defaultdict(dict), collections.defaultdict(list)
    for name, entries in points.items():
        size = entries[OWN]["bytes"]
        for provider, entry in entries.items():
            if kind := ceiling_kind(provider):
                roofs[kind][size] = max(roofs[kind].get(size, 0), entry["bytes_per_second"] / 1e9)
        if any(map(ceiling_kind, entries)):
            by_op[name.split("/")[0]].append((size, entries[OWN]["bytes_per_second"] / 1e9))
    for (kind, roof), style in zip(sorted(roofs.items()), ("-", "--", ":"), strict=False):
        axes.plot(*zip(*sorted(roof.items()), strict=True), style, color="black", label=kind)
    for op, dots in sorted(by_op.items()):
        axes.plot(*zip(*sorted(dots), strict=True), "o", alpha=0.7, label=op)
    axes.set(xscale="log", yscale="log", xlabel="bytes read and written", ylabel="GB/s")
    axes.grid(alpha=0.3)
    axes.legend(fontsize="small", ncols=2)
    return picture(figure)


def geometric_mean(values):
    return math.exp(sum(map(math.log, values)) / len(values))


def bucket(size):
    """The size of a point, roughly: the least of SIZES that holds it."""
    return next((i for i, limit in enumerate(SIZES) if size <= limit), len(SIZES))


def by_size(points, peers):
    """A panel for each operator, a group of bars for each size, a bar for each peer. None where nothing was beside."""
    ratios = collections.defaultdict(list)
    for name, entries in points.items():
        for peer in peers:
            if peer in entries:
                at = name.split("/")[0], bucket(entries[OWN]["bytes"]), peer
                ratios[at].append(entries[peer]["real_time"] / entries[OWN]["real_time"])
    ops = sorted({op for op, _, _ in ratios})
    if not ops:
        return None
    rows = -(-len(ops) // 3)
    figure, panels = plt.subplots(rows, 3, figsize=(12, 2.2 * rows + 0.6), squeeze=False, layout="constrained")
    labels = [f"{amount(limit)}" for limit in SIZES] + ["more"]
    for panel, op in zip(panels.flat, ops, strict=False):
        for i, peer in enumerate(peers):
            bars = {size: geometric_mean(found) for (o, size, p), found in ratios.items() if (o, p) == (op, peer)}
            places = [size + (i - (len(peers) - 1) / 2) * 0.8 / len(peers) for size in bars]
            heights = [value - 1 for value in bars.values()]
            panel.bar(places, heights, 0.8 / len(peers), bottom=1, color=f"C{i}")
        panel.axhline(1, color="black", linewidth=0.8)
        panel.set_title(op, fontsize="small")
        panel.set_yscale("log")
        panel.set_yticks(TICKS, [f"{tick:g}×" for tick in TICKS], fontsize="x-small")
        panel.minorticks_off()
        panel.set(xlim=(-0.6, len(labels) - 0.4), ylim=(min(0.45, panel.get_ylim()[0]), max(4.5, panel.get_ylim()[1])))
        panel.set_xticks(range(len(labels)), labels, fontsize="x-small")
    for panel in list(panels.flat)[len(ops) :]:
        panel.axis("off")
    colours = [Patch(color=f"C{i}", label=peer) for i, peer in enumerate(peers)]
    figure.legend(handles=colours, loc="outside upper center", ncols=len(peers))
    return picture(figure)


def amount(size):
    return f"≤ {size >> 20} MB" if size >= 1 << 20 else f"≤ {size >> 10} KB"


def speedups(points, peers):
    values = collections.defaultdict(list)
    for name, entries in points.items():
        for peer in peers:
            if peer in entries:
                values[name.split("/")[0], peer].append(entries[peer]["real_time"] / entries[OWN]["real_time"])
    if not values:
        return None
    figure, axes = plt.subplots(figsize=(10, 0.35 * len(values) + 1))
    for at, (_, ratios) in enumerate(sorted(values.items(), reverse=True)):
        mean = geometric_mean(ratios)
        axes.barh(at, mean, color="tab:green" if mean >= 1 else "tab:red", alpha=0.7)
        axes.plot([min(ratios), max(ratios)], [at, at], color="black", linewidth=1)
    axes.set_yticks(range(len(values)), [f"{op} / {peer}" for op, peer in sorted(values, reverse=True)])
    axes.axvline(1, color="black", linewidth=0.8)
    axes.set(xscale="log", xlabel="times as fast")
    return picture(figure)


def render(document):
    """The page's text. ValueError where the result has no point of ours."""
    points = points_of(document)
    if not points:
        raise ValueError("it holds no point")
    peers = peers_of(points)
    rows = [
        {
            "point": name,
            "bytes": entries[OWN]["bytes"],
            "us": entries[OWN]["real_time"] / 1e3,
            "spread": entries[OWN]["spread"],
            "rate": entries[OWN]["bytes_per_second"] / 1e9,
            "share": entries[OWN].get("copy_share"),
            "against": {p: entries[p]["real_time"] / entries[OWN]["real_time"] for p in peers if p in entries},
            "kernel": entries[OWN]["label"],
        }
        for name, entries in points.items()
    ]
    page = jinja2.Environment(autoescape=True).from_string(PAGE)
    return page.render(
        context=document["context"],
        roofline=roofline(points),
        speedups=speedups(points, peers),
        by_size=by_size(points, peers),
        failures=failures_of(document),
        peers=peers,
        rows=rows,
    )
