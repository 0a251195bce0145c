"""A result as one HTML page: rates under the copy's roof, speed-ups over peers, a table. Needs matplotlib and
Jinja2."""

import base64
import collections
import io
import re

import jinja2
import matplotlib

matplotlib.use("svg")
import matplotlib.pyplot as plt  # noqa: E402  (after the backend is chosen)

from operator_runtime.bench.points import OWN  # noqa: E402

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
<p>{{ context.date }}, {{ context.host_name }}: {{ context.cpu }}, {{ context.num_cpus }} cores; oprt {{ context.oprt }}
{%- for name in ("torch", "numpy") if context[name] %}, {{ name }} {{ context[name] }}{% endfor %}.
Medians with cold caches.</p>
<h2>Under the roof</h2>
<p>Bytes per second of every point; the line is a plain copy of as many bytes in the same run.</p>
<img alt="rates under the copy's roof" src="data:image/svg+xml;base64,{{ roofline }}">
{% if speedups %}<h2>Against peers</h2>
<p>How many times as fast as the peer: geometric mean over each operator's points; the line spans all of them.</p>
<img alt="speed-ups over peers" src="data:image/svg+xml;base64,{{ speedups }}">{% endif %}
<h2>Every point</h2>
<table><tr><th>point</th><th>bytes</th><th>µs</th><th>±</th><th>GB/s</th><th>of copy</th>
{%- for peer in peers %}<th>{{ peer }}</th>{% endfor %}<th>kernel</th></tr>
{% for row in rows %}<tr><td>{{ row.point }}</td>
<td>{{ "{:,}".format(row.bytes) }}</td><td>{{ "%.2f"|format(row.us) }}</td>
<td>{{ "%.0f"|format(100 * row.spread) }} %</td>
<td>{{ "%.2f"|format(row.rate) }}</td><td>{{ "%.2f"|format(row.share) }}</td>
{%- for peer in peers %}<td{% if row.against[peer] and row.against[peer] < 0.97 %} class="behind"{% endif %}>
{{- "%.2f×"|format(row.against[peer]) if row.against[peer] else "–" }}</td>{% endfor %}<td>{{ row.kernel }}</td></tr>
{% endfor %}</table></body></html>
"""


def points_of(document):
    """Point -> provider -> entry, of the cold figures."""
    found = collections.defaultdict(dict)
    for entry in document["benchmarks"]:
        match = re.fullmatch(r"(.*)/([^/]+)/cold", entry["name"])
        if match and not entry.get("error_occurred"):
            found[match[1]][match[2]] = entry
    return {name: entries for name, entries in found.items() if OWN in entries}


def peers_of(points):
    names = {provider for entries in points.values() for provider in entries}
    return sorted(name for name in names if name != OWN and not name.startswith("copy"))


def picture(figure):
    buffer = io.BytesIO()
    figure.savefig(buffer, format="svg", bbox_inches="tight")
    plt.close(figure)
    return base64.b64encode(buffer.getvalue()).decode()


def roofline(points):
    figure, axes = plt.subplots(figsize=(10, 5))
    roof = {}
    by_op = collections.defaultdict(list)
    for name, entries in points.items():
        size = entries[OWN]["bytes"]
        copy = max(e["bytes_per_second"] for provider, e in entries.items() if provider.startswith("copy"))
        roof[size] = max(roof.get(size, 0), copy / 1e9)
        by_op[name.split("/")[0]].append((size, entries[OWN]["bytes_per_second"] / 1e9))
    sizes = sorted(roof)
    axes.plot(sizes, [roof[size] for size in sizes], color="black", label="copy")
    for op, dots in sorted(by_op.items()):
        axes.plot(*zip(*sorted(dots), strict=True), "o", alpha=0.7, label=op)
    axes.set(xscale="log", yscale="log", xlabel="bytes read and written", ylabel="GB/s")
    axes.grid(alpha=0.3)
    axes.legend(fontsize="small", ncols=2)
    return picture(figure)


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
        mean = 1.0
        for ratio in ratios:
            mean *= ratio ** (1 / len(ratios))
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
            "share": entries[OWN]["copy_share"],
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
        peers=peers,
        rows=rows,
    )
